import numpy as np
import pytest

from featherstone_ros.tools.bench.race import RacePlan, TimedCall, disagreement, keeping, race

PLAN = RacePlan(block=1e-4, duration=0.0, rounds=4)


def result(value):
    return TimedCall("value", {"value": value})


def test_every_call_has_its_turn_in_every_round():
    turns = []
    timed_calls = [
        TimedCall("None", {"turns": turns, "k": k}, setup="turns.append(k)") for k in range(3)
    ]
    seconds = race(timed_calls, PLAN)
    assert seconds.shape == (4, 3)
    assert np.all(seconds > 0)
    assert turns[-12:] == [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]


def test_setup_belongs_to_the_block_not_to_the_call():
    calls = {"setup": 0, "statement": 0}
    timed_call = TimedCall(
        "count('statement')",
        {"count": lambda what: calls.update({what: calls[what] + 1})},
        setup="count('setup')",
    )
    race([timed_call], PLAN)
    assert calls["statement"] > calls["setup"] >= 4


def test_a_race_lasts_as_long_as_it_shall():
    assert len(race([TimedCall("None", {})], RacePlan(block=1e-5, duration=0.01, rounds=1))) > 1


def test_outcome_is_no_view_of_what_the_next_call_overwrites():
    work = np.zeros(2)
    timed_call = TimedCall("numpy.add(work, 1, out=work)", {"numpy": np, "work": work})
    first = timed_call.outcome()
    timed_call.outcome()
    assert first[0].tolist() == [1, 1]


def test_equal_results_do_not_disagree():
    pair = (np.eye(3), np.arange(3.0))
    assert disagreement(result(pair), result(pair)) == 0
    assert disagreement(result(np.zeros(0)), result(np.zeros(0))) == 0


def test_disagreement_is_relative_to_the_greatest_entry():
    ours, theirs = np.array([100.0, 1.0]), np.array([100.0, 2.0])
    assert disagreement(result(ours), result(theirs)) == pytest.approx(0.01)
    worst = disagreement(result((theirs, ours)), result((theirs, theirs)))
    assert worst == pytest.approx(0.01)


@pytest.mark.parametrize("wrong", [np.array([1.0, np.nan]), np.zeros(3), np.zeros((2, 1))])
def test_what_is_not_comparable_disagrees_without_bound(wrong):
    assert disagreement(result(wrong), result(np.ones(2))) == np.inf


def test_a_caller_who_keeps_results_has_them_all():
    results = []
    keeper = keeping(TimedCall("call()", {"call": lambda: results.append(0) or np.ones(1)}))
    assert keeper.outcome()[0].tolist() == [1]
    assert len(results) == keeper.units > 1

"""What the nodes part of the benchmark makes of its measurements; the nodes are in test/ros."""

import json
import os
import time

import numpy as np
import pytest
from rich.console import Console

from featherstone_ros.tools.bench.nodes.conditions import AGAINST_ECHO, LOST, conditions
from featherstone_ros.tools.bench.nodes.distribution import EDGES, Distribution
from featherstone_ros.tools.bench.nodes.judgement import Block, judge_jitter, judge_reaction
from featherstone_ros.tools.bench.nodes.loop import MOST_GROWTH, Loop
from featherstone_ros.tools.bench.nodes.scheduling import (
    DEFAULT,
    FIFO,
    listening,
    may_be_fifo,
    processor_time,
    resident_memory,
    taking_part,
)
from featherstone_ros.tools.bench.nodes.stream import (
    Stream,
    published,
    reactions,
    silence,
    unanswered,
)
from featherstone_ros.tools.bench.nodes.tables import tables_of_nodes
from featherstone_ros.tools.bench.nodes.wake_loop import deviations, wake_times
from featherstone_ros.tools.bench.report import BenchReport
from featherstone_ros.tools.bench.results import Target
from featherstone_ros.tools.robot_setup import load

PERIOD = 1_000_000  # [ns]


def a_distribution(seconds=(1e-4, 2e-4, 3e-4), **changes):
    names = {"what": "reaction", "who": "controller", "scheduling": DEFAULT} | changes
    return Distribution.of(seconds=np.array(seconds), **names)


def a_loop(**changes):
    values = {
        "title": "one arm", "arm": 1, "scheduling": DEFAULT, "rate": 1e3, "duration": 2.0,
        "joints": 7, "states": 2000, "unanswered": 0, "gaps": 0, "silence": 2e-3, "unseen": 0,
        "not_finite": 0,
        "interventions": None, "growth": (0, 0), "load": (0.2, 0.1),
        "reaction": a_distribution(what="loop"), "jitter": a_distribution(what="loop jitter"),
    }  # fmt: skip
    return Loop(**values | changes)


def a_block(latency=(1e-4,) * 9, cost=1e-5, late=0, lost=0, follows=True):
    return Block(np.array(latency), cost, late, lost, follows)


def shown(parts):
    """Return what a narrow terminal shows."""
    console = Console(width=80, record=True, file=open(os.devnull, "w"))
    for part in parts:
        console.print(part)
    return console.export_text()


def stream(sent, number=None):
    result = Stream()
    for k, time_sent in enumerate(sent):
        result.add(int(time_sent), 40 + (k if number is None else int(number[k])))
    return result


def states(count=1000):
    return PERIOD * np.arange(1, count + 1)


# Distributions.


def test_every_time_is_counted_in_its_bin():
    seconds = np.random.default_rng(0).lognormal(-8, 1, 1000)
    it = a_distribution(seconds)
    assert sum(it.counts) == 1000 and it.counts[0] and it.counts[-1]
    for low, high, count in zip(it.edges[:-1], it.edges[1:], it.counts, strict=True):
        assert np.count_nonzero((seconds >= low) & (seconds < high)) == count
    assert (it.p50, it.longest) == (np.median(seconds), seconds.max())


def test_what_is_beyond_the_bins_is_counted_at_their_ends():
    it = a_distribution([0.0, EDGES[-1] * 2])
    assert it.counts[0] == it.counts[-1] == 1 and sum(it.counts) == 2
    assert len(it.edges) == len(EDGES)


def test_distribution_and_loop_survive_json():
    for it in (a_distribution(), a_loop(), a_loop(interventions=3, reaction=None, jitter=None)):
        assert type(it).from_dict(json.loads(json.dumps(it.as_dict()))) == it


# Streams.


def test_a_loop_that_keeps_up_leaves_nothing_unanswered():
    sent = states()
    commands = sent + 300_000
    assert unanswered(stream(sent), stream(commands)) == 0
    assert reactions(stream(sent), stream(commands)) == pytest.approx(3e-4)


@pytest.mark.parametrize("late", [(500,), (0, 1), (998, 999)])
def test_a_late_answer_is_an_answer_and_its_time_is_known(late):
    sent = states()
    commands = sent + 300_000
    commands[list(late)] += 3 * PERIOD
    commands.sort()  # a node answers in order: the next ones wait
    commands = np.maximum.accumulate(commands)
    assert unanswered(stream(sent), stream(commands)) == 0
    found = reactions(stream(sent), stream(commands))
    assert found == pytest.approx(1e-9 * (commands - sent))
    assert found.max() > 1e-3


@pytest.mark.parametrize("missed", [(400,), (400, 401), range(300, 350)])
def test_states_without_an_answer_are_counted(missed):
    sent = states()
    commands = np.delete(sent + 300_000, list(missed))
    assert unanswered(stream(sent), stream(commands)) == len(missed)
    assert reactions(stream(sent), stream(commands)) == pytest.approx(3e-4)


def test_what_the_recorder_missed_is_not_the_loops_fault():
    sent = states()
    seen_states = np.delete(np.arange(1000), [100, 500, 501])
    seen_commands = np.delete(np.arange(1000), [101, 700])
    a = stream(sent[seen_states], seen_states)
    b = stream((sent + 300_000)[seen_commands], seen_commands + 7)
    assert published(a) - len(a.number) == 3
    assert published(b) - len(b.number) == 2
    assert unanswered(a, b) == 0
    assert reactions(a, b) == pytest.approx(3e-4)
    assert len(reactions(a, b)) == 995


def test_no_time_is_made_up_where_states_were_missed_and_not_seen():
    sent = states()
    seen = np.delete(np.arange(1000), range(500, 600))
    commands = np.delete(sent + 300_000, [400])
    found = reactions(stream(sent[seen], seen), stream(commands))
    assert found == pytest.approx(3e-4) and len(found) == 898


def test_silence_is_the_longest_between_two_commands_that_were_both_seen():
    sent = np.delete(states(), range(300, 310))
    assert silence(stream(sent)) == pytest.approx(11e-3)
    seen = np.delete(np.arange(1000), range(300, 310))
    assert silence(stream(sent, seen)) == pytest.approx(1e-3)
    assert silence(stream([])) == silence(stream([5])) == 0


def test_a_loop_without_commands_answers_nothing():
    assert unanswered(stream(states()), stream([])) == 1000
    assert unanswered(stream([]), stream([])) == published(stream([])) == 0
    for commands in (stream([]), stream(states()[:1] - 5)):
        assert reactions(stream(states(3)), commands).size == 0


# Judgement.


def test_reaction_is_compared_round_by_round():
    def blocks(*scales):
        return [a_block(scale * np.linspace(1e-4, 3e-4, 101), scale * 1e-5) for scale in scales]

    results = judge_reaction(
        "controller", load("panda"), FIFO, blocks(1, 4, 2), blocks(4, 4, 4), AGAINST_ECHO
    )
    by_name = {result.algorithm: result for result in results}
    for name in ("reaction, median", "reaction, p99", "processor time"):
        assert by_name[name].ratio == pytest.approx(0.5) and by_name[name].is_met
    assert by_name["reaction, median"].theirs == pytest.approx(8e-4)
    assert by_name["reaction, longest"].ratio == pytest.approx(1.0)
    assert by_name["reaction, longest"].ours == pytest.approx(12e-4)
    assert by_name["reaction, longest"].is_met is None


def test_what_is_there_to_compare_with_has_no_target():
    block = a_block()
    results = judge_reaction("raw echo", load("panda"), FIFO, [block], [block], {})
    assert results
    for result in results:
        assert result.target is None and result.is_met is None


def test_what_disturbed_the_measurement_is_told():
    good, bad = a_block(late=2), a_block(late=3, lost=1, follows=False)
    results = judge_reaction("controller", load("panda"), FIFO, [good, bad], [good, good], {})
    told = f"controller, {FIFO}, 5 answers late (4 of echo's), 1 answers lost (0 of echo's)"
    told += ", trajectory given up in 1 of 2 turns"
    assert {result.remark for result in results} == {told}


@pytest.mark.parametrize("lost", [0, 1])
def test_no_state_may_be_lost_where_that_is_asked_for(lost):
    ours, theirs = [a_block(), a_block(late=9, lost=lost)], [a_block(lost=3), a_block(lost=4)]
    bounds = {LOST: Target(0.0)}
    *_, result = judge_reaction("controller", load("panda"), FIFO, ours, theirs, bounds, "floor")
    assert (result.algorithm, result.ours, result.theirs) == (LOST, lost, 7)
    assert result.is_met == (lost == 0)
    assert f" {lost} " in shown(tables_of_nodes([result], []))
    assert any(
        bound.get(LOST) == Target(0.0) for c in conditions(True) for bound in c.bounds.values()
    )


@pytest.mark.parametrize("peer", [None, "/a/program"])
def test_who_is_compared_takes_part_and_the_peer_if_there_is_one(peer, monkeypatch):
    monkeypatch.delenv("FEATHERSTONE_RCLCPP_ECHO", raising=False)
    if peer:
        monkeypatch.setenv("FEATHERSTONE_RCLCPP_ECHO", peer)
    for condition in conditions(quick=False):
        names = {entry.name for entry in condition.entries}
        assert names >= {name for pair in condition.bounds for name in pair}
        assert "floor" in names
    assert ("rclcpp echo" in {e.name for e in conditions(True)[0].entries}) == bool(peer)


def test_jitter_is_judged_by_its_99th_percentile():
    ours, theirs = np.linspace(0, 3e-4, 101), np.linspace(0, 1e-4, 101)
    *_, p99 = judge_jitter(load("panda"), DEFAULT, [ours], [theirs])
    assert p99.ratio == pytest.approx(3) and not p99.is_met
    assert p99.ours == pytest.approx(2.97e-4)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"unanswered": 3}, "3 states unanswered"),
        ({"not_finite": 1}, "1 commands not finite"),
        ({"interventions": 2}, "2 interventions of the governor"),
        ({"growth": (0, MOST_GROWTH + 1)}, "twin grew by 1.0 MB"),
        ({"states": 1900}, "1900 states published, expected 2000"),
    ],
)
def test_faults_of_a_loop_are_named(changes, fault):
    assert a_loop(growth=(MOST_GROWTH, -5), interventions=0).faults == []
    assert a_loop(**changes).faults == [fault]


# Measuring.


def test_the_sleeping_loop_never_wakes_early():
    begin = time.monotonic_ns()
    woke = wake_times(PERIOD, 20)
    assert np.all(woke - begin >= PERIOD * np.arange(1, 21))
    assert deviations(woke, PERIOD).shape == (19,)


def test_deviations_have_no_sign():
    assert deviations(np.array([0, 900, 2000]), 1000) == pytest.approx([1e-7, 1e-7])


def test_processor_time_is_that_of_all_threads_and_no_other_process():
    before = time.process_time_ns()
    seen = processor_time(os.getpid())
    assert before <= seen <= time.process_time_ns()


def test_resident_memory_is_in_bytes():
    seen = resident_memory(os.getpid())
    held = np.ones(8_000_000)  # 64 MB
    assert 60e6 < resident_memory(os.getpid()) - seen < 70e6
    assert held.nbytes == 64e6


@pytest.mark.skipif(not may_be_fifo(), reason="SCHED_FIFO is not allowed here")
@pytest.mark.parametrize("context", [listening, taking_part])
def test_scheduling_lasts_for_a_while_only(context):
    with context(FIFO):
        assert os.sched_getscheduler(0) == os.SCHED_FIFO
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    with context(DEFAULT):
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


# What is shown.


def a_report():
    block = a_block()
    report = BenchReport()
    report.results = judge_reaction(
        "controller", load("panda"), FIFO, [block], [block], AGAINST_ECHO
    )
    report.distributions = [a_distribution(), a_distribution(who="echo")]
    report.loops = [a_loop(), a_loop(title="4 arms", unanswered=3), a_loop(title="4 arms", arm=2)]
    report.loops += [a_loop(title="silent", states=0, reaction=None, jitter=None)]
    return report


def test_tables_say_what_holds_and_what_does_not():
    report = a_report()
    text = shown(tables_of_nodes(report.results, report.loops))
    assert "reaction, p99" in text and "≤ 0.50" in text
    assert "4 arms, arm 1: 3 states unanswered" in text
    holds, times = [line for line in text.splitlines() if line.startswith(" one arm")]
    assert holds.rstrip().endswith("yes") and times.rstrip().endswith("%")
    assert "…" not in text  # nothing is cut off in a narrow terminal


def test_nothing_measured_shows_nothing():
    assert list(tables_of_nodes([], [])) == []


@pytest.mark.parametrize("report", [a_report(), BenchReport()], ids=["measured", "empty"])
def test_the_picture_is_one(report, tmp_path):
    pytest.importorskip("matplotlib")
    from featherstone_ros.tools.bench.nodes.picture import draw

    draw(report, tmp_path / "nodes.png")
    assert (tmp_path / "nodes.png").read_bytes().startswith(b"\x89PNG")

"""The overrun budget: a sliding second."""

import numpy as np
import pytest

from featherstone_ros.realtime.deadline import OverrunBudget

LATE, GOOD = 0.0011, 0.0009


def test_overruns_within_the_budget_are_allowed():
    budget = OverrunBudget(0.001, 2)
    assert [budget.add(LATE, now) for now in (0.0, 0.1)] == [False, False]


def test_budget_is_exceeded_until_the_second_is_over():
    budget = OverrunBudget(0.001, 2)
    assert [budget.add(LATE, now) for now in (5.0, 5.1, 5.9)] == [False, False, True]
    assert budget.add(GOOD, 5.99)
    assert not budget.add(GOOD, 6.0)
    assert not budget.exceeded(6.05)
    assert budget.add(LATE, 6.05)  # 5.1, 5.9 and this one


def test_no_overrun_allowed():
    budget = OverrunBudget(0.001, 0)
    assert not budget.add(0.001, 1.0)
    assert budget.add(LATE, 1.0)
    assert not budget.exceeded(2.0)


def test_window_slides_as_a_count_over_all_overruns_says():
    random = np.random.default_rng(1)
    budget, overruns, now = OverrunBudget(0.001, 5), [], 0.0
    for _ in range(5000):
        now += random.exponential(0.05)
        duration = random.choice([LATE, GOOD])
        if duration == LATE:
            overruns.append(now)
        expected = sum(now - overrun < 1.0 for overrun in overruns) > 5
        assert budget.add(duration, now) == expected == budget.exceeded(now)


@pytest.mark.parametrize(("cycle_time", "allowed"), [(0.0, 1), (float("nan"), 1), (0.001, -1)])
def test_budget_raises_if_out_of_range(cycle_time, allowed):
    with pytest.raises(ValueError, match=r"cycle_time is|allowed is"):
        OverrunBudget(cycle_time, allowed)

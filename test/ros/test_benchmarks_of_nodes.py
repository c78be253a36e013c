"""The benchmark of nodes: what it makes of times and numbers. `make bench ARGS=--quick` runs it."""

from types import SimpleNamespace

import pytest
import support  # noqa: F401  (skips this module where ROS is missing)

from benchmarks.nodes.loops import deviations, reactions, unanswered


def test_times_of_publications_are_compared_with_the_period_and_the_newest_state():
    ms = 1_000_000
    assert deviations([0, ms, 3 * ms, 4 * ms]) == pytest.approx([0.0, 1e-3, 0.0])
    states, commands = [10 * ms, 20 * ms, 30 * ms], [9 * ms, 11 * ms, 32 * ms]
    assert reactions(states, commands) == pytest.approx([1e-3, 2e-3])


def test_states_without_a_command_are_counted_also_if_nobody_saw_them():
    states = SimpleNamespace(sent=[10, 20, 40, 50], number=[4, 5, 7, 8])  # that at 30 unseen
    commands = SimpleNamespace(sent=[11, 21, 51], number=[1, 2, 5])
    assert unanswered(states, commands) == 0
    commands.number[-1] = 3
    assert unanswered(states, commands) == 2

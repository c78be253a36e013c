"""What is told of drives whose own limits bind."""

import numpy as np
import pytest

from featherstone_ros.control.drive_watch import DriveWatch, EffortWatch
from featherstone_ros.model.drive_units import DriveUnits

NAMES = ("lift", "elbow", "wrist")
MOTOR = {"torque_constant": 0.1, "resistance": 1.0, "supply_voltage": 24.0, "stiffness": 100.0}
UNITS = DriveUnits(
    NAMES,
    ("current", "duty", "position"),
    max_current=3.0,
    max_duty=0.9,
    continuous_current=[2.0, np.inf, np.inf],
    thermal_time=10.0,
    **MOTOR,
)
NONE = np.zeros(3)
LIMIT = np.array([100.0, 50.0, 10.0])
QUIET = np.zeros((3, 3)), 0  # no efforts measured


def test_each_limit_is_named_with_what_it_has_cut_since_the_last_look():
    watch = DriveWatch(UNITS, LIMIT)
    assert watch.update(0.0, NONE, NONE, *QUIET) == {}
    assert watch.update(1.0, np.array([4.0, 2.0, 1.0]), NONE, *QUIET) == {
        "lift": "drives.lift.max_current of 3 A cut 4 commands",
        "elbow": "drives.elbow.max_duty of 0.9 cut 2 commands",
        "wrist": "the joint's position limit cut 1 commands",
    }
    assert watch.update(2.0, np.array([4.0, 2.0, 1.0]), NONE, *QUIET) == {}


def test_a_motor_is_told_of_once_it_is_too_warm():
    watch, current = DriveWatch(UNITS, LIMIT), np.array([4.0, 4.0, 0.0])
    limit = 10.0 * np.log(4.0 / 3.0)  # [s] until 4 A are too much for 2 A
    told = {t: watch.update(t, NONE, t * current**2, *QUIET) for t in np.arange(0.0, 4.0, 0.1)}
    warm = min(t for t, what in told.items() if what)
    assert warm == pytest.approx(limit, abs=0.1)
    assert list(told[warm]) == ["lift"]
    assert "its continuous current of 2 A" in told[warm]["lift"]
    charge = 4.0 * current**2
    assert watch.update(1e4, NONE, charge, *QUIET) == {}  # it has cooled down
    charge[0] += 2.0**2 * 1e4
    assert watch.update(2e4, NONE, charge, *QUIET) == {}  # that it bears for ever


def test_all_that_binds_a_drive_is_told_together():
    watch, current = DriveWatch(UNITS, LIMIT), np.array([4.0, 0.0, 0.0])
    watch.update(0.0, NONE, NONE, *QUIET)
    said = watch.update(60.0, np.array([2.0, 0.0, 0.0]), 60.0 * current**2, *QUIET)
    cut, warm = said.pop("lift").split("; ")
    assert cut.endswith("cut 2 commands") and warm.startswith("the motor is at ") and not said


def echo(command, effort):
    """Return the sums of commands and efforts (N, 3), and how many they are."""
    sums = [(command**2).sum(axis=0), (effort**2).sum(axis=0), (command * effort).sum(axis=0)]
    return np.array(sums), len(command)


def test_an_effort_in_another_unit_is_named_until_torque_is_measured():
    watch = EffortWatch(UNITS, LIMIT)
    command = 0.3 * LIMIT + 0.1 * LIMIT * np.sin(np.arange(500)[:, None] * [0.01, 0.02, 0.03])
    noise = 0.01 * LIMIT * np.random.default_rng(1).normal(size=command.shape)
    wrong = command * [0.09, 1.0, -1.0] + noise
    first, count = echo(command, wrong)
    said = watch.update(first, count)
    assert set(said) == {"lift", "wrist"}
    assert (
        said["lift"].startswith("measured effort is 0.09 times") and "drives.lift" in said["lift"]
    )
    assert "opposite sign" in said["wrist"]
    assert watch.update(first, count) == said  # nothing new
    second, more = echo(command, command + noise)
    assert watch.update(first + second, count + more) == {}


def test_an_effort_that_carries_little_or_follows_no_command_says_nothing():
    watch = EffortWatch(UNITS, LIMIT)
    command = 0.05 * LIMIT * np.ones((500, 1))
    assert watch.update(*echo(command, 0.1 * command)) == {}
    random = np.random.default_rng(2).normal(size=(500, 3))
    assert EffortWatch(UNITS, LIMIT).update(*echo(10.0 * command, random)) == {}  # brakes hold
    endless = np.full(3, np.inf)
    assert EffortWatch(UNITS, endless).update(*echo(command, 0.1 * command)) == {}
    with np.errstate(all="raise"):
        assert EffortWatch(UNITS, endless).update(np.zeros((3, 3)), 0) == {}  # no state yet

"""Drives in their own units: laws, their inverses, limits, and what is refused."""

import numpy as np
import pytest
from drive_law import commands
from refusals import refusals

from featherstone_ros.model.drive_units import COMMANDS, DriveUnits
from featherstone_ros.observer.effort_contract import (
    FULL,
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
    contract_of,
)

NAMES = ("lift", "elbow")
MOTOR = {
    "torque_constant": 0.05,
    "gear_ratio": [100.0, 80.0],
    "direction": [1.0, -1.0],
    "resistance": 2.0,
    "supply_voltage": 24.0,
    "stiffness": [30.0, 50.0],
    "damping": [0.5, 1.0],
}
LOSSES = {"efficiency": [0.8, 0.7], "backdrive_efficiency": [0.6, 0.5]}


def drives(command="torque", **more):
    return DriveUnits(NAMES, command, **MOTOR | more)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("losses", [{}, LOSSES], ids=["ideal", "lossy"])
def test_a_drive_so_told_exerts_the_torque(command, losses):
    units = drives(command, **losses)
    torque, q, qd = np.random.default_rng(3).uniform(-3.0, 3.0, size=(3, 200, 2))
    told = commands(units, torque, q, qd)
    np.testing.assert_allclose(units.torques(told, q, qd), torque, atol=1e-12)
    for k in range(3):
        np.testing.assert_array_equal(told[k], commands(units, torque[k], q[k], qd[k]))


def test_laws_by_hand():
    torque, q, qd = np.array([5.0, 4.0]), np.array([0.3, -0.2]), np.array([1.0, 2.0])
    current = np.array([5.0 / (0.05 * 100.0), -4.0 / (0.05 * 80.0)])
    np.testing.assert_allclose(commands(drives("current"), torque, q, qd), current)
    voltage = 2.0 * current + 0.05 * np.array([100.0, -80.0]) * qd
    np.testing.assert_allclose(commands(drives("duty"), torque, q, qd), voltage / 24.0)
    position = q + np.array([(5.0 + 0.5) / 30.0, (4.0 + 2.0) / 50.0])
    np.testing.assert_allclose(commands(drives("position"), torque, q, qd), position)


def test_power_that_a_motor_gives_is_divided_and_that_it_takes_multiplied_by_efficiency():
    units = drives("current", **LOSSES)
    lifting = commands(units, np.array([5.0, 4.0]), np.zeros(2), np.ones(2))
    lowering = commands(units, np.array([5.0, 4.0]), np.zeros(2), -np.ones(2))
    np.testing.assert_allclose(lifting, [1.0 / 0.8, -1.0 / 0.7])
    np.testing.assert_allclose(lowering, [0.6, -0.5])


def test_turning_round_changes_a_command_without_a_step():
    units = drives("current", **LOSSES)
    speeds = np.linspace(-0.1, 0.1, 2001)[:, None] * np.ones(2)
    told = commands(units, np.full_like(speeds, 5.0), speeds, speeds)
    steps, change = np.abs(np.diff(told, axis=0)).max(axis=0), np.abs(told[-1] - told[0])
    assert (change > 0.6).all() and (steps < change / 300).all()


@pytest.mark.parametrize(
    "unit, gain",
    [
        ("torque", [1.0, 1.0]),
        ("current", [5.0, -4.0]),
        ("percent", [0.2, 0.2]),
        ("torque_without_gravity", [1.0, 1.0]),
    ],
)
def test_measured_efforts_become_torques(unit, gain):
    units = drives(effort=unit, rated_effort=20.0)
    effort, gravity = np.array([3.0, 7.0]), np.array([10.0, -1.0])
    hidden = gravity if unit == "torque_without_gravity" else 0.0
    np.testing.assert_allclose(units.measured_torque(effort, gravity), gain * effort + hidden)


def test_limits_of_drives_as_torques():
    assert (drives(resistance=0.0).effort_limit() == np.inf).all()
    np.testing.assert_allclose(
        drives(max_current=3.0).effort_limit(), [3.0 * 0.05 * 100.0, 3.0 * 0.05 * 80.0]
    )
    stalled = drives("duty", max_current=30.0, max_duty=0.5)
    limit = stalled.effort_limit()
    np.testing.assert_allclose(limit, 0.5 * 24.0 / 2.0 * 0.05 * np.array([100.0, 80.0]))
    np.testing.assert_allclose(commands(stalled, limit, np.zeros(2), np.zeros(2)), [0.5, -0.5])


def test_a_limit_of_zero_is_none():
    """Of duty cycles as of currents: the most there is, a whole cycle."""
    free = drives("duty", max_current=0.0, max_duty=0.0, continuous_current=0.0)
    whole = drives("duty", max_duty=1.0)
    np.testing.assert_array_equal(free.max_command, whole.max_command)
    np.testing.assert_array_equal(free.max_command, [1.0, 1.0])
    np.testing.assert_array_equal(free.effort_limit(), whole.effort_limit())
    assert (drives("current", max_current=0.0, max_duty=0.0).max_command == np.inf).all()


def test_drives_by_their_parameters():
    units = DriveUnits.of(
        {
            "drives.elbow.command": "position",
            "drives.elbow.stiffness": 20.0,
            "drives.lift.effort": "current",
            "drives.lift.torque_constant": 0.1,
            "gains.lift.p": 3.0,
        },
        NAMES,
    )
    assert units.command == ("torque", "position") and units.effort == ("current", "torque")
    np.testing.assert_array_equal(units.stiffness, [0.0, 20.0])
    np.testing.assert_array_equal(units.effort_gain, [0.1, 1.0])


test_what_no_drive_has_is_refused_by_name = refusals(
    ("expected one of torque, current, duty, position", ("elbow.command", "velocity")),
    (r"drives\.elbow\.stiffness is 0, expected more than 0", ("elbow.command", "position")),
    (r"drives\.lift\.torque_constant is 0, expected more than 0", ("lift.command", "duty")),
    (r"drives\.lift\.rated_effort is 0, expected more than 0", ("lift.effort", "percent")),
    (r"drives\.lift\.direction is 0\.5: expected 1 or -1", ("lift.direction", 0.5)),
    (r"drives\.lift\.gear_ratio is 0\.0, expected 1e-06 to inf", ("lift.gear_ratio", 0.0)),
    (r"torque_constant is 1e-305: expected 0, or 1e-06 to", ("lift.torque_constant", 1e-305)),
    (r"gear_ratio is 1e\+300: expected 0, or 1e-06 to 1e\+12", ("elbow.gear_ratio", 1e300)),
    (r"damping is 1e\+308: expected 0, or 1e-06 to 1e\+12", ("elbow.damping", 1e308)),
    (r"drives\.lift\.resistance is nan, expected a finite", ("lift.resistance", np.nan)),
    (r"drives\.lift\.stiffness is inf, expected a finite", ("lift.stiffness", np.inf)),
    (r"drives\.lift\.efficiency is 1\.5, expected 0\.001 to 1\.0", ("lift.efficiency", 1.5)),
    ("no such parameter of the joints lift, elbow", ("wrist.stiffness", 1.0)),
    (r"drives\.lift\.kt: no such parameter", ("lift.kt", 1.0)),
    # A shadow has one contract for all joints.
    *((rf"drives\.elbow\.effort is torque, expected {word} as",
       lambda word=word: contract_of(drives(effort=(word, "torque"))))
      for word in ("torque_without_gravity", "torque_without_friction")),
    error=ValueError,
    of=lambda *one: DriveUnits.of({f"drives.{name}": value for name, value in one}, NAMES),
)  # fmt: skip


@pytest.mark.parametrize(
    "effort, contract, gain",
    [
        ("torque", FULL, [5.0, -4.0]),
        ("current", MOTOR_CURRENT, [5.0, -4.0]),
        (("torque", "current"), MOTOR_CURRENT, [1.0, -4.0]),
        ("percent", MOTOR_CURRENT, [0.2, 0.2]),
        ("torque_without_gravity", WITHOUT_GRAVITY, [5.0, -4.0]),
        ("torque_without_friction", WITHOUT_FRICTION, [5.0, -4.0]),
    ],
)
def test_a_shadow_is_told_the_same(effort, contract, gain):
    """And what a current would be, if it turned out to be one."""
    found, gains = contract_of(drives(effort=effort, rated_effort=20.0))
    assert found == contract
    np.testing.assert_allclose(gains, gain)

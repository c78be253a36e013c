"""The border of a controller in plain Python: torques in, drives' own units out, and back."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies import study
from test_driven_arm import ARMATURE, LIFT, START, gravity, units

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.simulation import DrivenArm
from featherstone_ros.simulation.closed_loop import ClosedLoop, Command, JointState
from featherstone_ros.simulation.drive_bus import DriveBus

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
import servo_arm

PERIOD = 0.01
STILL = np.zeros(1)


class Wire:
    """A bus that remembers what is sent, and measures what it is told."""

    def __init__(self, q=START, qd=STILL, effort=STILL):
        self.state, self.sent = JointState(q, qd, effort), []

    def read(self, now):
        return self.state

    def write(self, at, command):
        self.sent.append(command)


def arm(**parameters):
    timing = {"gains.period": PERIOD, "gains.delay": PERIOD, "armature.lift": ARMATURE}
    return ControlledArm.of(LIFT, timing | parameters)


def servo(**more):
    return DrivenArm(LIFT, units("position"), ARMATURE, q=START, time_step=1e-3, **more)


@pytest.mark.parametrize("law", ["torque", "current", "duty"])
def test_gravity_compensation_in_each_unit(law):
    """A leader arm stays where it is let go, whatever its drives are told; its friction, a third
    of the gravity torque, would not hold it.
    """
    drives = units(law, effort="current", direction=-1.0)
    plant = DrivenArm(LIFT, drives, ARMATURE, q=START, friction=0.2, time_step=1e-3)
    loop = ClosedLoop(arm(mode="gravity_compensation"), DriveBus(LIFT, drives, plant))
    record = loop.advance(1.0)
    assert np.abs(record.q - START).max() < 0.1  # until the first command, after .1 s, it falls
    np.testing.assert_allclose(record.q[-50:], record.q[-1:].repeat(50, axis=0), atol=1e-7)
    np.testing.assert_allclose(record.command[-1], gravity(plant.q), rtol=1e-3)
    plant.command = np.zeros(1)
    plant.advance(0.5)
    assert np.abs(plant.q - record.q[-1]) > 0.1


@pytest.mark.parametrize("share", [0.7, 1.0, study(1.3)])
def test_a_servo_that_is_told_the_torque_sags_by_what_its_stiffness_is_wrong(share):
    """To hold u it is told u / k' more than the position, and sags by u / k: of that
    k / k' - 1 is left.
    """
    alone = ClosedLoop(arm(output="joint_state"), OnlyPositions(servo())).advance(2.0)
    bus = DriveBus(LIFT, units("position", stiffness=40.0 * share), servo())
    record = ClosedLoop(arm(output="joint_state"), bus).advance(2.0)
    (sag,), (left,) = alone.error[-1], record.error[-1]
    assert left == pytest.approx(sag * (1.0 - 1.0 / share), abs=0.05 * abs(sag))
    assert np.ptp(record.q[-50:]) < 1e-3


class OnlyPositions:
    """The servo alone: a plant whose drives are told positions without torque."""

    def __init__(self, bus):
        self.read, self.bus = bus.read, bus

    def write(self, at, command):
        self.bus.write(at, command.position)


def test_a_servo_follows_without_the_lag_of_bus_and_damping():
    """Of a motion of 1 rad/s the servo alone lags by damping over stiffness and the delay."""
    points = [Point(1.5, START - 1.5, STILL)]
    errors = []
    for bus in (OnlyPositions(servo()), DriveBus(LIFT, units("position"), servo())):
        record = ClosedLoop(arm(output="joint_state"), bus).run(points, rest=0.2)
        errors.append(np.abs(record.error[record.time > 0.3]).max())
    assert errors[0] > 0.05 and errors[1] < 0.2 * errors[0]


def test_what_is_not_finite_is_not_sent():
    wire = Wire()
    loop = ClosedLoop(arm(output="joint_state"), DriveBus(LIFT, units("position"), wire))
    loop.advance(0.3)
    wire.state = JointState(np.array([np.nan]), np.array([np.inf]), np.array([np.nan]))
    loop.advance(3.0)
    assert len(wire.sent) > 20 and np.isfinite(wire.sent).all()


def test_a_bus_that_no_loop_asks_sends_nothing():
    wire = Wire()
    bus = DriveBus(LIFT, units("current"), wire)
    with pytest.raises(ValueError, match="told is None, expected the command of a ClosedLoop"):
        bus.write(0.0, Command(np.ones(1)))
    assert not wire.sent and not bus.binding


def test_a_position_stays_within_the_joints_limits_and_that_is_told():
    model = replace(LIFT, lower=START)
    assert gravity(START)[0] < -0.5  # its torque asks for a position beyond
    wire = Wire()
    bus = DriveBus(model, units("position"), wire)
    held = ControlledArm.of(model, {"output": "joint_state", "gains.period": PERIOD})
    ClosedLoop(held, bus).advance(0.5)
    np.testing.assert_array_equal(wire.sent, np.broadcast_to(START, (len(wire.sent), 1)))
    assert bus.binding["lift"].startswith("the joint's position limit cut ")
    assert bus.binding == bus.binding  # of the same time


def test_a_current_that_a_motor_bears_for_a_time_is_told():
    drives = units("current", continuous_current=0.1, thermal_time=0.1)
    bus = DriveBus(LIFT, drives, Wire(effort=None))
    loop = ClosedLoop(arm(), bus)
    loop.advance(0.3)
    assert not bus.binding
    loop.advance(0.5)
    assert "continuous current of 0.1 A" in bus.binding["lift"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"direction": -1.0}, "drives.lift.direction turns currents and duty cycles round"),
        ({"max_current": 8.0, "torque_constant": 0.0}, "drives.lift.max_current limits the torque"),
    ],
)
def test_what_has_no_effect_on_a_servo_is_said(more, said):
    lines = []
    bus = DriveBus(LIFT, units("position", **more), servo())
    ClosedLoop(arm(output="joint_state"), bus, notify=lines.append)
    assert len(lines) == 1 and lines[0].startswith(f"without effect: {said}")


def test_example_in_a_loop_of_its_own_time(monkeypatch):
    """The example, its clock replaced: what it holds and follows is off by little."""
    monkeypatch.setattr(sys, "argv", ["servo_arm.py"])
    clock = [0.0]

    def sleep(duration):
        clock[0] += duration

    worst = servo_arm.main(now=lambda: clock[0], sleep=sleep)
    assert worst.shape == (7,) and worst.max() < 0.01

"""The border of a controller in plain Python: torques in, drives' own units out, and back."""

import sys
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


@pytest.mark.parametrize("wrong", [0.7, study(1.0), 1.3])
def test_a_servo_that_is_told_the_torque_neither_sags_nor_swings(wrong):
    """With a stiffness that is 30 % wrong."""
    alone = ClosedLoop(arm(output="joint_state"), OnlyPositions(servo())).advance(2.0)
    known = units("position", stiffness=40.0 * wrong)
    bus = DriveBus(LIFT, known, servo())
    record = ClosedLoop(arm(output="joint_state"), bus).advance(2.0)
    assert np.abs(record.error[-1]) < 0.2 * np.abs(alone.error[-1])
    assert np.ptp(record.q[-50:]) < 1e-3
    if wrong != 1.0:
        assert abs(40.0 * bus.compliance - 1.0) < abs(1.0 / wrong - 1.0)


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


def test_measured_efforts_come_as_torques():
    drives = units("current", effort="current")
    bus = DriveBus(LIFT, drives, Wire(effort=np.array([1.5])))
    np.testing.assert_allclose(bus.read(0.0).effort, 1.5 * 0.02 * 100.0)


def test_what_is_not_finite_is_not_sent():
    wire = Wire()
    bus = DriveBus(LIFT, units("position"), wire)
    bus.read(0.0)
    for effort, position in ((np.nan, 0.7), (1.0, np.nan), (np.inf, 0.7)):
        bus.write(0.0, Command(np.array([effort]), np.array([position]), STILL))
    assert not wire.sent and np.isfinite(bus.compliance).all()
    bus.write(0.0, Command(STILL, START, STILL))
    np.testing.assert_array_equal(wire.sent, [START])


def test_nothing_is_sent_before_a_state_is_known():
    wire = Wire()
    DriveBus(LIFT, units("current"), wire).write(0.0, Command(np.ones(1)))
    assert not wire.sent


def test_a_position_stays_within_the_joints_limits_and_that_is_told():
    wire = Wire(q=LIFT.upper)
    bus = DriveBus(LIFT, units("position"), wire)
    bus.read(0.0)
    bus.write(0.0, Command(np.ones(1), LIFT.upper, STILL))
    np.testing.assert_array_equal(wire.sent, [LIFT.upper])
    assert "at most 3 rad or m" in bus.binding["lift"]
    bus.write(0.0, Command(-np.ones(1), LIFT.upper, STILL))
    assert not bus.binding and wire.sent[-1] < LIFT.upper


def test_a_current_that_a_motor_bears_for_a_time_is_told():
    drives = units("current", max_current=2.0, continuous_current=1.0, thermal_time=1.0)
    wire = Wire()
    bus = DriveBus(LIFT, drives, wire)
    for k in range(100):
        bus.read(0.01 * k)
        bus.write(0.01 * k, Command(np.array([1.9 * 0.02 * 100.0])))
    assert "continuous current of 1 A" in bus.binding["lift"]
    bus.write(1.0, Command(np.array([2.5 * 0.02 * 100.0])))
    np.testing.assert_array_equal(wire.sent[-1], [2.0])
    assert "at most 2 A" in bus.binding["lift"]


def test_a_compliance_is_learned_slowly_and_within_bounds():
    """Whatever is measured, commands have no steps."""
    wire = Wire()
    bus = DriveBus(LIFT, units("position"), wire)
    random = np.random.default_rng(0)
    for k in range(2000):
        wire.state = JointState(START + random.uniform(-3.0, 1.0, 1), STILL, None)
        bus.read(PERIOD * k)
        bus.write(PERIOD * k, Command(np.array([2.0]), START, STILL))
    assert np.abs(np.diff(wire.sent, axis=0)).max() < 4.0 * PERIOD * 4.0
    np.testing.assert_allclose(bus.compliance, 2.0 / 40.0)


def test_example_in_a_loop_of_its_own_time(monkeypatch):
    """The example, its clock replaced: what it holds and follows is off by little."""
    monkeypatch.setattr(sys, "argv", ["servo_arm.py"])
    clock = [0.0]

    def sleep(duration):
        clock[0] += duration

    worst = servo_arm.main(now=lambda: clock[0], sleep=sleep)
    assert worst.shape == (7,) and worst.max() < 0.01

"""Simulated drives in their own units, and the border of a controller in plain Python to them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import servo_arm
import urdf_text
from driven_arm import DrivenArm
from studies import study

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState

NAMES = ("lift",)
LIMITS = '<limit lower="-3" upper="3" velocity="9" effort="20"/>'
LIFT = fr.Model.from_urdf(urdf_text.chain(*NAMES, axis="0 1 0", inside=LIMITS))
PAN = fr.Model.from_urdf(urdf_text.chain(*NAMES, axis="0 0 1", inside=LIMITS))
ARMATURE, STIFFNESS = 0.05, 40.0
MOTOR = {"torque_constant": 0.02, "gear_ratio": 100.0, "resistance": 2.0, "supply_voltage": 12.0}
START = np.array([0.7])


def units(command, **more):
    return DriveUnits(NAMES, command, **MOTOR | {"stiffness": STIFFNESS, "damping": 2.0} | more)


def driven(model, drives, **more):
    return DrivenArm(model, drives, ARMATURE, q=START, **{"time_step": 5e-4} | more)


def gravity(q):
    return fr.Dynamics(LIFT).gravity(q)


def test_a_servo_sags_by_torque_over_stiffness():
    arm = driven(LIFT, units("position"))
    arm.advance(1.5)
    np.testing.assert_allclose(arm.q, START - gravity(arm.q) / STIFFNESS, atol=1e-6)
    assert abs(arm.q - START) > 0.01


def test_a_rotor_sticks_until_torque_exceeds_its_friction():
    arm = driven(PAN, units("torque"), friction=0.5)
    arm.command = np.array([0.49])
    arm.advance(0.2)
    np.testing.assert_array_equal(arm.q, START)
    arm.command = np.array([0.51])
    arm.advance(0.2)
    assert arm.q > START


def test_a_gear_with_play_moves_nothing_until_the_rotor_has_crossed_it():
    """From the middle, the rotor falls through half the play under the torque alone."""
    play, torque = 0.04, 0.5
    arm = driven(PAN, units("torque"), backlash=play)
    arm.command = np.array([torque])
    crossing = np.sqrt(play * 0.95 * ARMATURE / torque)
    arm.advance(0.98 * crossing)
    np.testing.assert_array_equal(arm.q, START)
    arm.advance(0.06 * crossing)
    assert arm.q > START


def test_a_current_loop_follows_with_its_bandwidth():
    arm = driven(PAN, units("current"), bandwidth=200.0)
    arm.command = np.array([1.5])
    arm.advance(1.0 / 200.0)
    np.testing.assert_allclose(arm.torque, 1.5 * 0.02 * 100.0 * (1.0 - np.exp(-1.0)), rtol=1e-6)


def test_a_duty_cycle_ends_at_the_speed_whose_back_emf_it_is():
    arm = driven(PAN, units("duty"))
    arm.command = np.array([0.5])
    arm.advance(0.8)
    np.testing.assert_allclose(arm.qd, 0.5 * 12.0 / (0.02 * 100.0), rtol=1e-3)


@pytest.mark.parametrize("effort", ["torque", "current", "torque_without_gravity"])
def test_what_is_measured_means_the_torque(effort):
    arm = driven(LIFT, units("position", effort=effort))
    arm.advance(0.5)
    meant = arm.units.measured_torque(arm.effort, gravity(arm.true_q))
    np.testing.assert_allclose(meant, arm.torque, rtol=1e-12)


def test_encoders_have_a_resolution():
    arm = driven(LIFT, units("position"), resolution=0.01)
    arm.advance(0.3)
    np.testing.assert_allclose(arm.q / 0.01, np.round(arm.q / 0.01), atol=1e-9)
    assert arm.q != arm.true_q


def test_a_gear_without_a_rotor_is_refused():
    with pytest.raises(ValueError, match=r"armature is .*expected more than 0"):
        DrivenArm(LIFT, units("torque"), 0.0)


# The border: torques in, drives' own units out, and back.


PERIOD = 0.01
STILL = np.zeros(1)


class Wire:
    """A bus that remembers what is sent, and measures what it is told."""

    def __init__(self, units, q=START, qd=STILL, effort=STILL):
        self.units, self.state, self.sent = units, JointState(q, qd, effort), []

    def read(self, now):
        return self.state

    def write(self, at, command):
        self.sent.append(command.told)


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
    loop = ClosedLoop(arm(mode="gravity_compensation"), plant)
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
    alone = ClosedLoop(arm(output="joint_state"), OnlyPositions(servo())).advance(1.2)
    bus = Believed(units("position", stiffness=40.0 * share), servo())
    record = ClosedLoop(arm(output="joint_state"), bus).advance(1.2)
    (sag,), (left,) = alone.error[-1], record.error[-1]
    assert left == pytest.approx(sag * (1.0 - 1.0 / share), abs=0.05 * abs(sag))
    assert np.ptp(record.q[-50:]) < 1e-3


class Believed:
    """A servo whose units are believed to be these."""

    def __init__(self, units, bus):
        self.units, self.read, self.write = units, bus.read, bus.write


class OnlyPositions:
    """The servo alone: a plant whose drives are told positions without torque."""

    def __init__(self, bus):
        self.read, self.bus = bus.read, bus

    def write(self, at, command):
        self.bus.write(at, command._replace(told=command.position))


def test_a_servo_follows_without_the_lag_of_bus_and_damping():
    """Of a motion of 1 rad/s the servo alone lags by damping over stiffness and the delay."""
    points = [Point(1.5, START - 1.5, STILL)]
    errors = []
    for bus in (OnlyPositions(servo()), servo()):
        record = ClosedLoop(arm(output="joint_state"), bus).run(points, rest=0.2)
        errors.append(np.abs(record.error[record.time > 0.3]).max())
    assert errors[0] > 0.05 and errors[1] < 0.2 * errors[0]


def test_what_is_not_finite_is_not_sent():
    wire = Wire(units("position"))
    loop = ClosedLoop(arm(output="joint_state"), wire)
    loop.advance(0.3)
    wire.state = JointState(np.array([np.nan]), np.array([np.inf]), np.array([np.nan]))
    loop.advance(3.0)
    assert len(wire.sent) > 20 and np.isfinite(wire.sent).all()


def test_what_has_cut_commands_is_told_until_time_goes_on():
    model = replace(LIFT, lower=START)  # where its torque leads it beyond
    held = ControlledArm.of(model, {"output": "joint_state", "gains.period": PERIOD})
    loop = ClosedLoop(held, Wire(units("position")))
    loop.advance(0.5)
    told = loop.binding
    assert told["lift"].startswith("the joint's position limit cut ") and loop.binding == told


def test_a_current_that_a_motor_bears_for_a_time_is_told():
    drives = units("current", continuous_current=0.1, thermal_time=0.1)
    loop = ClosedLoop(arm(), Wire(drives, effort=None))
    loop.advance(0.3)
    assert not loop.binding
    loop.advance(0.5)
    assert "continuous current of 0.1 A" in loop.binding["lift"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"direction": -1.0}, "drives.lift.direction turns currents and duty cycles round"),
        ({"max_current": 8.0, "torque_constant": 0.0}, "drives.lift.max_current limits the torque"),
    ],
)
def test_what_has_no_effect_on_a_servo_is_said(more, said):
    lines = []
    bus = Believed(units("position", **more), servo())
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


def test_example_explains_itself(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["servo_arm.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        servo_arm.main()
    assert "without it, a Panda" in capsys.readouterr().out

"""Simulated drives in their own units: servos that sag, gears with play, current loops."""

import numpy as np
import pytest
import urdf_text

import featherstone_ros as fr
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation.driven_arm import DrivenArm

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

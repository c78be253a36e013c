"""Joint states that come late: class 1 of docs/faults.md.

The law has to see the arm of now: feedback of where it was makes it swing.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulated_arm import ROBOTS, SimulatedArm
from studies import few_or_all

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode

SPEED = 1.2  # over the speed limit: what is promised
WAY = 0.4  # [rad]


def moved(arm: SimulatedArm, before: float, after: float) -> SimulatedArm:
    """Move an arm whose states are late by one time before its motion, by another in it [s]."""
    arm.delay = before
    arm.run(0.5)
    arm.follow(arm.away(WAY), 1.0)
    arm.run(0.4)
    arm.delay = after
    return arm.run(2.0)


@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
@pytest.mark.parametrize("delay", few_or_all([0.09], [0.01, 0.03, 0.06, 0.09]))
@pytest.mark.parametrize("name", ROBOTS)
def test_an_arm_follows_whether_states_are_late_from_the_start_or_in_its_motion(name, delay, mode):
    for before in (0.0, delay):
        arm = moved(SimulatedArm(name, 500, mode=mode), before, delay)
        assert arm.phase is Phase.HOLDING
        assert arm.speed < 0.5
        np.testing.assert_allclose(arm.simulator.q, arm.away(WAY), atol=0.01)


@pytest.mark.parametrize("offset", [-0.08, -0.03, 0.03, 0.3])
@pytest.mark.parametrize("name", ROBOTS)
def test_clocks_that_differ_do_no_harm(name, offset):
    """By less than state_timeout, that is taken for a delay; and states may be late as well."""
    arm = SimulatedArm(name, 500)
    arm.clock_offset = offset
    moved(arm, 0.0, 0.02)
    assert arm.phase is Phase.HOLDING
    assert arm.speed < 0.5
    np.testing.assert_allclose(arm.simulator.q, arm.away(WAY), atol=0.02)


@pytest.mark.parametrize("before", [0.0, 1000.0])
@pytest.mark.parametrize("back", few_or_all([0.05, 0.09], [0.015, 0.033, 0.05, 0.07, 0.09]))
@pytest.mark.parametrize("name", ROBOTS)
def test_a_clock_that_is_set_back_in_motion_is_no_jump_of_the_arm(name, back, before):
    """States older than the last come meanwhile; it is as if there were none."""
    arm = SimulatedArm(name, 500)
    arm.clock_offset = before
    arm.run(0.5)
    arm.follow(arm.away(WAY), 1.0)
    arm.run(0.4)
    arm.clock_offset = before - back
    arm.run(2.0)
    assert not arm.notes
    assert arm.speed < 0.5
    np.testing.assert_allclose(arm.simulator.q, arm.away(WAY), atol=0.01)


def test_without_late_states_no_estimate_is_advanced():
    """Stamps on another clock tell nothing; less than 10 ms are within the margin of the gains."""
    commands = []
    for offset, delay in ((0.0, 0.0), (1000.0, 0.0), (-0.0015, 0.0)):
        arm = SimulatedArm("panda", 500)
        arm.clock_offset, arm.delay = offset, delay
        arm.run(0.5)
        arm.follow(arm.away(WAY), 1.0)
        arm.run(0.4)
        commands.append(arm.command)
    np.testing.assert_allclose(commands[1:], [commands[0]] * 2, atol=1e-6)


@pytest.mark.parametrize("delay", [0.03, 0.06])
def test_a_joint_that_sticks_is_not_taken_for_fast_since_the_model_would_move_it(delay):
    """By friction that the model does not know; noise tells that its encoder lives."""
    random = np.random.default_rng(0)
    arm = SimulatedArm("ur5e", 500, stiction=10.0, known_friction=0.0, path_tolerance=0.0)
    arm.spoil = lambda q, qd: (q + 1e-6 * random.normal(size=q.shape), qd)
    arm.delay = delay
    arm.run(0.5)
    arm.follow(arm.away(WAY), 1.0)
    arm.run(2.0)
    assert arm.phase is not Phase.FAULT


def test_states_without_stamps_are_not_late_on_a_clock_that_begins_at_zero():
    """A simulation's: no stamp is not the time at which its clock began."""
    arm = ControlledArm.from_robot("ur5e")
    controller, q = arm.controller(), np.array([0.3, -1.2, 1.4, -1.0, -1.2, 0.4])
    controller.activate(0.0)
    for k in range(200):
        assert controller.accept_state(0.002 * k, q, 0.0 * q) is not None, controller.rejection
    assert controller.compiled.time == pytest.approx(0.002 * 199)


@pytest.mark.parametrize("name", ROBOTS)
def test_states_that_fall_behind_by_more_than_state_timeout_are_none(name):
    arm = moved(SimulatedArm(name, 200), 0.0, 0.15)
    assert arm.phase is Phase.SILENT
    assert arm.controller.refused["on the way for too long"] > 100
    assert arm.speed < SPEED

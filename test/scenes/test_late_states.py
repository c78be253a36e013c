"""Joint states that come late, or no more: class 1 of docs/faults.md.

The law has to see the arm of now: feedback of where it was makes it swing.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from arm_scene import Played, Scene, load, moved, play
from lies import NEVER, Change, late, lost_after
from studies import each_once, few_or_all, study

from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation.closed_loop import JointState

ROBOTS = ("panda", "ur5e")
SPEED = 1.2  # over the speed limit: what is promised
BEGIN, LATER = 0.5, 0.9  # [s] of the motion, and of what changes in it
SIGNS = np.array([1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
SETTINGS = [(2.0, 1.0), (3.0, 1.0), (3.0, 4.0), (0.25, 0.0), (2.0, 0.0), (0.01, 1.0), (10.0, 0.2)]
FEW = list(zip(2 * ROBOTS, SETTINGS[2:6], strict=True))


def goal(robot: str, way: float = 0.3) -> Floats:
    start = load(robot).start
    return start + way * SIGNS[: len(start)]


def played(robot: str, delay: Change, clock: Change = NEVER, **more: object) -> Played:
    """Move an arm whose states are late by one time before its motion, by another in it [s]."""
    scene = {"duration": LATER + 2.0, "state": late(delay, clock, LATER), **more}
    return play(Scene(robot, {BEGIN: moved(goal(robot), 1.0)}, **scene))


def require_followed(seen: Played, robot: str, within: float = 0.01) -> None:
    assert seen.loop.controller.phase is Phase.HOLDING
    assert seen.speed.max() < 0.5
    np.testing.assert_allclose(seen.q[-1], goal(robot), atol=within)


@pytest.mark.parametrize("delay", few_or_all([0.09], [0.01, 0.03, 0.06, 0.09]))
@pytest.mark.parametrize(
    ("robot", "mode", "is_late_before"),
    each_once(ROBOTS, ["computed_torque", "feedforward"], [False, True]),
)
def test_an_arm_follows_whether_states_are_late_from_the_start_or_in_its_motion(
    robot, mode, is_late_before, delay
):
    seen = played(robot, (is_late_before * delay, delay), parameters={"mode": mode})
    require_followed(seen, robot)


@pytest.mark.parametrize(("robot", "offset"), each_once(ROBOTS, [-0.08, -0.03, 0.03, 0.3]))
def test_clocks_that_differ_do_no_harm(robot, offset):
    """By less than state_timeout, that is taken for a delay; and states may be late as well."""
    require_followed(played(robot, (0.0, 0.02), (offset, offset)), robot, 0.02)


@pytest.mark.parametrize(("robot", "before"), each_once(ROBOTS, [0.0, 1000.0]))
@pytest.mark.parametrize("back", few_or_all([0.09], [0.015, 0.033, 0.05, 0.07, 0.09]))
def test_a_clock_that_is_set_back_in_motion_is_no_jump_of_the_arm(robot, back, before):
    """States older than the last come meanwhile; it is as if there were none."""
    seen = played(robot, NEVER, (before, before - back))
    require_followed(seen, robot)
    assert seen.text == ""


def test_without_late_states_no_estimate_is_advanced():
    """Stamps on another clock tell nothing; less than 10 ms are within the margin of the gains."""
    commands = [
        played("panda", NEVER, clock, duration=LATER).record.command[-1]
        for clock in (NEVER, (1000.0, 1000.0), (-0.0015, -0.0015))
    ]
    np.testing.assert_allclose(commands[1:], [commands[0]] * 2, atol=1e-6)


@pytest.mark.parametrize("delay", [study(0.03), 0.06])
def test_a_joint_that_sticks_is_not_taken_for_fast_since_the_model_would_move_it(delay):
    """By friction that the model does not know; noise tells that its encoder lives."""
    random, delayed = np.random.default_rng(0), late((delay, delay), NEVER, LATER)

    def noisy(state: JointState) -> JointState | None:
        return delayed(state._replace(q=state.q + 1e-6 * random.normal(size=state.q.shape)))

    arm = load("ur5e").arm
    friction = of_joints("friction.{}.coulomb", arm.model.joint_names, np.zeros(6))
    real = of_joints("friction.{}.coulomb", arm.model.joint_names, 10.0 * arm.drives.coulomb)
    known = {**friction, "path_tolerance": 0.0}
    seen = played("ur5e", NEVER, state=noisy, parameters=known, twin=real)
    assert Phase.FAULT not in seen.record.phase


def test_states_without_stamps_are_not_late_on_a_clock_that_begins_at_zero():
    """A simulation's: no stamp is not the time at which its clock began."""
    controller, q = ControlledArm.from_robot("ur5e").controller(), load("ur5e").start
    controller.activate(0.0)
    for k in range(200):
        assert controller.accept_state(0.002 * k, q, 0.0 * q) is not None, controller.rejection
    assert controller.snapshot().time == pytest.approx(0.002 * 199)


@pytest.mark.parametrize("robot", ROBOTS)
def test_states_that_fall_behind_by_more_than_state_timeout_are_none(robot):
    seen = played(robot, (0.0, 0.15))
    assert seen.loop.controller.phase is Phase.SILENT
    assert seen.loop.controller.refused["on the way for too long"] > 100
    assert seen.speed.max() < SPEED


def test_a_limit_cycle_of_a_delay_that_nobody_knows_ends_in_a_damped_hold():
    """It grows until it is noticed."""
    names = load("ur5e").arm.model.joint_names
    without = of_joints("friction.{}.coulomb", names, np.zeros(6))
    hidden = (0.02, 0.02)
    seen = played("ur5e", hidden, hidden, duration=4.0, parameters=without)
    assert seen.loop.controller.phase is Phase.FAULT
    assert "oscillates" in seen.loop.controller.hold_reason
    assert seen.speed.max() < 5.0
    assert np.abs(seen.qd[-1]).max() < 0.05


@pytest.mark.parametrize(("robot", "times"), few_or_all(FEW, product(ROBOTS, SETTINGS)))
def test_no_command_ends_while_the_arm_moves_whose_states_have_stopped(robot, times):
    """The open-loop stop does not last for stop_time, and is over before give_up_after counts."""
    stop_time, give_up_after = times
    settings = {"stop_time": stop_time, "give_up_after": give_up_after}
    most = 0.1 + 0.5 + give_up_after + 0.05
    ask = {BEGIN: moved(goal(robot, 0.6), 0.8)}
    state = lost_after(LATER)
    seen = play(Scene(robot, ask, LATER + most, parameters=settings, state=state))
    silent = seen.record.phase == Phase.SILENT
    assert silent.any()
    assert 0.3 < seen.speed[seen.since(LATER).start]
    assert seen.speed[np.argmax(silent)] < 0.05
    assert seen.speed[: np.argmax(silent)].max() < 1.0

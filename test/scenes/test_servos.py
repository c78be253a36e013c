"""Drives that are told currents or positions: one border, and one effort limit, for all."""

import numpy as np
import pytest
from arm_scene import Scene, load, play, trajectory
from driven_arm import DrivenArm
from lies import lost_after
from numpy.testing import assert_allclose
from studies import study

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.tools.trajectory_check import check_file
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

PANDA, UR5E = load("panda"), load("ur5e")
ZERO = np.zeros(7)
THERE = trajectory([Point(1.0, PANDA.start + 0.4, ZERO)])
SLOW = {"output": "joint_state", "gains.period": 0.01, "gains.delay": 0.01}
SLOW |= {f"armature.{joint}": 0.2 for joint in PANDA.model.joint_names}
SERVOS = DriveUnits(PANDA.model.joint_names, "position", stiffness=2000.0, damping=80.0)
ACCELERATION = 10.0  # limits per second: the position governor's


def told(played):
    """Return when and what drives were told (M,), (M, n)."""
    return np.array([at for at, _ in played.commands]), np.array(
        [command.told for _, command in played.commands]
    )


def other_mode(loop):
    loop.configure(mode="gravity_compensation")


GAPS = [{"state": lost_after(0.8, end)} for end in (0.95, 1.1)]


@pytest.mark.parametrize("mujoco", [False, study(True)])
@pytest.mark.parametrize("then", [{}, {"ask": {0.4: THERE, 0.9: other_mode}}, *GAPS])
def test_positions_in_plain_python_are_bounded_in_speed_and_acceleration(then, mujoco):
    """In motion, where the mode changes in motion, and after a gap; at 100 Hz.

    Where commands come as usual: in a gap drives stand where they were told.
    """
    own = {"ask": {0.4: THERE}, "parameters": SLOW, "units": SERVOS, "period": 0.01}
    time, q = told(play(Scene("panda", duration=2.0, mujoco=mujoco, **own | then)))
    limit, dt = PANDA.model.velocity_limit, np.diff(time)[:, None]
    speed = np.diff(q, axis=0) / dt
    usual = np.maximum(dt[1:], dt[:-1])[:, 0] < 0.011
    assert usual.sum() > 150 and ("state" in then or usual.all())
    assert "state" in then or np.abs(speed / limit).max() < 1.0
    acceleration = np.abs(np.diff(speed, axis=0)) / dt[1:] / limit
    assert acceleration[usual].max() < 1.01 * ACCELERATION


@pytest.mark.parametrize(("rate", "seed"), [study(30.0, 0), (30.0, 3), study(50.0, 2)])
def test_velocities_of_the_instants_at_which_servos_stand_accuse_nobody(rate, seed):
    """Stiff servos are where they were told long before the next position: they go by steps."""
    period, random = round(1.0 / rate, 3), np.random.default_rng(seed)
    units = DriveUnits(PANDA.model.joint_names, "position", stiffness=2000.0, damping=120.0)
    start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    bus = DrivenArm(PANDA.model, units, armature=0.03, q=start, time_step=1e-3)
    values = {"output": "joint_state", "gains.period": period, "gains.delay": period}
    arm, said = ControlledArm.of(PANDA.model, values), []
    loop = ClosedLoop(arm, bus, period=period, notify=said.append)
    loop.advance(0.5)
    for _ in range(3):
        goal = start + random.uniform(-0.5, 0.5, 7)
        way = np.abs(goal - bus.q).max() / PANDA.model.velocity_limit.min()
        duration = 1.875 * way / random.uniform(0.1, 0.5)
        record = loop.run([Point(duration, goal, ZERO, ZERO)], rest=0.3)
    assert said == []
    assert np.abs(record.error[-1]).max() < 0.003


# An effort limit is one number

MOTORS = DriveUnits(
    PANDA.model.joint_names, "current", torque_constant=0.1, gear_ratio=100.0, max_current=5.0
)
DRIVES = np.minimum(50.0, PANDA.model.effort_limit)  # [N m] of 5 A, where the URDF says no less
LOW, HIGH = np.array([[0, 0.9, 0, -1.6, 0, 1.6, 0], [0.5, 0.2, 0, -1.0, 0, 1.6, 0]])


@pytest.mark.parametrize(
    ("parameters", "limit"),
    [
        ({}, DRIVES),
        ({"effort_scale": 0.9}, 0.9 * DRIVES),
        ({"effort_limit.panda_joint1": 30.0}, np.minimum(DRIVES, [30.0, *[99.0] * 6])),
        ({"effort_limit.panda_joint1": 120.0}, DRIVES),
    ],
)
def test_the_least_of_description_parameter_and_drive_is_the_limit_everywhere(parameters, limit):
    arm = PANDA.arm.with_units(MOTORS).with_parameters(parameters)
    assert_allclose(arm.limits.effort, limit)
    assert_allclose(arm.settings.effort_limit, limit)  # of the governor
    fast = arm.retimed([LOW, HIGH])
    assert_allclose(fast.verdict.limits.effort, limit)
    asked = UncheckedTrajectory(fast.names, tuple(fast.points()))
    assert check_file(asked, arm).verdict.fits
    assert not check_file(asked, arm.with_parameters({"effort_scale": 0.6})).verdict.fits


@pytest.mark.parametrize("mujoco", [False, study(True)])
def test_a_motion_that_fits_is_followed_with_the_current_that_there_is(mujoco):
    """An arm stretched out, which 5 A lift slowly: with what the URDF says alone it is let fall."""
    points = PANDA.arm.with_units(MOTORS).retimed([LOW, HIGH]).points(0.5)
    scene = Scene("panda", {0.3: trajectory(points)}, 3.0, LOW, units=MOTORS, mujoco=mujoco)
    played = play(scene)
    assert np.abs(played.q[-1] - HIGH).max() < 2e-3
    assert np.abs(np.array([one.told for _, one in played.commands])).max() <= 5.0

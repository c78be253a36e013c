"""Dry friction: arms arrive, stand still, and no torque steps; the controller's feedforward of it.

The arms are real ones with 1 N m in every joint, and the gains that setup chooses for them.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from arm_scene import Scene, configured, moved, play, trajectory
from example_robots import ROBOTS
from lies import in_steps
from numpy.testing import assert_allclose
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.control.feasibility import Demand
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT, RELEASE_TIME, presliding
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.trajectory_check import started
from featherstone_ros.tools.trial_drive import drive, first_motion

ARRIVED = 2e-3  # [rad or m]
PATHS = [
    *map(robot_file, ("panda", "ur5e")),
    *(path for path in ROBOTS if path.stem in ("kinova", "xarm7", "ur10_robot")),
]
PERIOD = 0.002
STANDS = 0.2  # [s] in which an arm is taken over
OFF = 0.02  # [rad]


@cache
def proposed(path, coulomb=1.0):
    """Return a proposal for an arm with friction [N m or N], of revolute joints."""
    proposal = propose(path)
    revolute = np.array([kind != "prismatic" for kind in proposal.model.joint_types])
    return replace(proposal, model=replace(proposal.model, friction=coulomb * revolute))


def stiff(name):
    """Return a proposal with friction that feedback alone overcomes at OFF."""
    proposal = proposed(robot_file(name))
    revolute = proposal.model.friction > 0.0
    friction = OFF * proposal.gains.p * revolute
    return replace(proposal, model=replace(proposal.model, friction=friction))


def driven(name, ask, duration, true_friction=1.0, **more):
    """Play a scene of a stiff arm whose friction may be other than the controller knows."""
    own = stiff(name).arm.values
    true = {key: true_friction * own[key] for key in own if key.endswith(".coulomb")}
    loop = {"period": PERIOD, "delay": PERIOD, **more}
    played = play(Scene(str(robot_file(name)), ask, duration, parameters=own, twin=true, **loop))
    assert np.isfinite(played.record.command[played.since(STANDS)]).all()
    return played


def far(played):
    """Return how far an arm is at last from where it is to be [rad]."""
    return np.abs(played.desired[-1, 0] - played.q[-1]).max()


@pytest.mark.parametrize("duration", [study(3.0), 20.0])
@pytest.mark.parametrize(
    "path", few_or_all([path for path in PATHS if path.stem == "kinova"], PATHS)
)
def test_an_arm_with_known_friction_arrives(path, duration):
    """By tanh(qd / 0.02 rad/s) they ended up to 23 and 91 mrad off."""
    proposal = proposed(path)
    goal = replace(first_motion(proposal.model, proposal.start), time=duration)
    driven = drive(proposal.arm, proposal.start, goal)
    assert not driven.trouble
    assert driven.end.max() < ARRIVED
    assert driven.peak.max() < 3 * ARRIVED


@pytest.mark.parametrize("told", [0.7, 1.3])
@pytest.mark.parametrize("name", [study("panda"), "ur5e"])
def test_friction_that_is_wrong_costs_what_feedback_needs_for_the_difference(name, told):
    goal = stiff(name).start + 0.1
    played = driven(name, {STANDS: moved(goal, 3.0)}, 4.2, 1.0 / told)
    missing = abs(1.0 / told - 1.0) * OFF
    assert far(played) < 2.0 * missing  # joints push each other, too


@pytest.mark.parametrize(("name", "duration"), [("ur5e", 5.0), study("panda", 11.0)])
def test_friction_that_is_not_there_leaves_no_error(name, duration):
    """Compensation that stayed would leave all of 20 mrad."""
    goal = stiff(name).start + 0.1
    assert far(driven(name, {STANDS: moved(goal, 1.0)}, STANDS + duration, 0.0)) < ARRIVED


@pytest.mark.parametrize("bits", [12, study(17)])
@pytest.mark.parametrize("told", [study(1.0), 1.3])
def test_an_arm_stands_still(bits, told):
    goal, seen = stiff("ur5e").start + 0.1, in_steps(2 * np.pi / 2**bits)
    played = driven("ur5e", {STANDS: moved(goal, 1.0)}, 5.2, 1.0 / told, state=seen)
    position = played.q[played.since(2.2)]
    assert np.ptp(position, axis=0).max() < 1e-5
    assert np.abs(position[-1] - goal).max() < 0.03  # it has moved there


def test_torque_does_not_step_where_a_motion_begins_turns_and_ends():
    """Of two controllers on the same arm one compensates friction: the difference is that alone."""
    arm, start = stiff("ur5e").arm, stiff("ur5e").start
    none = {key: 0.0 for key in arm.values if key.endswith(".coulomb")}
    points = [Point(1.0, start + 0.1, *np.zeros((2, 6))), Point(2.0, start, *np.zeros((2, 6)))]
    asks = [{1.2: trajectory(points)}, {STANDS: configured(**none), 1.2: trajectory(points)}]
    loops = [driven("ur5e", ask, 1.2, 0.0).loop for ask in asks]
    shares = []
    for _ in zip(*(loop.steps(3.0) for loop in loops), strict=True):
        with_, without = (loop.controller.desired().effort for loop in loops)
        shares.append((with_ - without) / arm.drives.coulomb)
    shares = np.array(shares)
    assert shares.max() > 0.99 and shares.min() < -0.99
    assert np.abs(np.diff(shares, axis=0)).max() < 0.25
    assert np.abs(shares[-1]).max() < 1e-6


def test_the_check_of_trajectories_expects_the_friction_that_is_commanded():
    loop = driven("ur5e", {}, 0.7).loop
    model, its = loop.arm.model, loop.arm.settings.drives
    drives = replace(its, armature=0.0 * its.armature, viscous=0.0)
    start, still = loop.controller.compiled.desired[0], np.zeros(model.n)  # where it is held
    there = (0.0, start), (1.0, start + 0.1), (2.0, start)
    points = [Point(time, q, still) for time, q in there]
    motion = started(Trajectory(model.joint_names, points, JointSpace.of(model)))
    dynamics = fr.Dynamics(model)
    time, (q, qd, qdd, _) = motion.trace(0.0, 2.5, PERIOD)
    asked = Demand.of(dynamics, drives, time, q, qd, qdd)
    expected = asked.torque - dynamics.rnea(asked.position, asked.velocity, asked.acceleration)
    trajectory(points)(loop)
    commanded, times = [], []
    for sample in loop.steps(2.4):
        assert np.isfinite(sample.command).all()
        effort = loop.controller.desired().effort - dynamics.rnea(*sample.desired)
        effort -= its.armature * sample.desired[2] + its.viscous * sample.desired[1]
        commanded.append(effort / its.coulomb)
        times.append(sample.time - 0.7)
    share = expected / its.coulomb
    for j in range(model.n):
        found = np.interp(times, asked.time, share[:, j])
        # They count a period's motion at its end and in its middle.
        assert_allclose(np.array(commanded)[:, j], found, atol=0.15)
        assert np.mean(np.abs(np.array(commanded)[:, j] - found) < 0.02) > 0.95


def test_presliding_depends_on_the_way_alone_and_ends_at_rest():
    time = np.linspace(0.0, 1.0, 1001)
    position = 0.01 * np.sin(2 * np.pi * time)[:, None]
    swift, slow = (presliding(position, time=factor * time) for factor in (1.0, 100.0))
    assert_allclose(swift, slow)
    assert swift.max() > 0.999 and swift.min() < -0.999
    one = presliding(np.array([[0.0], [PRESLIDING_DISPLACEMENT]]))
    assert one[-1] == pytest.approx(1.0 - np.exp(-1.0))
    held = presliding(np.zeros((2, 1)), start=[1.0])
    rest = presliding(np.zeros((2, 1)), start=[1.0], time=np.array([0.0, RELEASE_TIME]))
    assert held[-1] == 1.0 and rest[-1] == pytest.approx(np.exp(-1.0))

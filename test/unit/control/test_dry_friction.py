"""Dry friction: arms arrive, stand still, and no torque steps; the controller's feedforward of it.

The arms are real ones with 1 N m in every joint, and the gains that setup chooses for them.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from control_arm import with_changes
from example_robots import ROBOTS
from numpy.testing import assert_allclose
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.control.feasibility.demand import demand
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT, RELEASE_TIME, presliding
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation.closed_loop import ClosedLoop, Record
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.trajectory_check import started
from featherstone_ros.tools.trial_drive import drive, first_motion

ARRIVED = 2e-3  # [rad or m]
PATHS = [
    *map(robot_file, ("panda", "ur5e")),
    *(path for path in ROBOTS if path.stem in ("kinova", "xarm7", "ur10_robot")),
]
PERIOD = 0.002


@cache
def proposed(path, coulomb=1.0):
    """Return a proposal for an arm with friction [N m or N], of revolute joints."""
    proposal = propose(path)
    revolute = np.array([kind != "prismatic" for kind in proposal.model.joint_types])
    return replace(proposal, model=replace(proposal.model, friction=coulomb * revolute))


class Bench(ClosedLoop):
    """The controller of a proposal, and its arm with friction that may be another."""

    def __init__(self, proposal, true_friction=1.0, encoder=0.0):
        arm = proposal.arm
        drives = replace(arm.drives, coulomb=true_friction * arm.drives.coulomb)
        plant = SimulatedArm.of(arm.model, drives, proposal.start, PERIOD)
        super().__init__(arm, plant, PERIOD, PERIOD)
        self.model, self.start, self.settings = arm.model, proposal.start, arm.settings
        if encoder:
            plant.measure = lambda it: it._replace(q=np.round(it.q / encoder) * encoder, qd=None)
        self.advance(0.2)

    def run(self, duration):
        """Let time pass [s]; return desired motion (N, 3, n), position and command (N, n)."""
        position = []
        record = Record.of(position.append(self.plant.q) or one for one in self.steps(duration))
        assert np.isfinite(record.command).all()
        return record.desired, np.array(position), record.command

    def move(self, way, duration=1.0, back=True):
        """Set out on a motion by ``way`` in every joint [rad or m], and back."""
        still, there = (0.0,) * self.model.n, tuple(self.start + way)
        points = [Point(duration, there, still, still)]
        if back:
            points.append(Point(2 * duration, tuple(self.start), still, still))
        self.controller.set_trajectory(self.now, self.model.joint_names, points)

    @property
    def error(self):
        """(n,) [rad or m]."""
        return self.controller.compiled.desired[0] - self.plant.q


def stiff(path, distance=0.02):
    """Return a proposal with friction that feedback alone overcomes at a distance [rad]."""
    proposal = proposed(path)
    revolute = proposal.model.friction > 0.0
    friction = distance * proposal.gains.p * revolute
    return replace(proposal, model=replace(proposal.model, friction=friction))


@pytest.mark.parametrize("duration", [study(3.0), 20.0])
@pytest.mark.parametrize(
    "path", few_or_all([path for path in PATHS if path.stem == "kinova"], PATHS)
)
def test_an_arm_with_known_friction_arrives(path, duration):
    """By tanh(qd / 0.02 rad/s) they ended up to 23 and 91 mrad off."""
    proposal = proposed(path)
    goal = replace(first_motion(proposal.model, proposal.start), time=duration)
    driven = drive(proposal, goal)
    assert not driven.trouble
    assert driven.end.max() < ARRIVED
    assert driven.peak.max() < 3 * ARRIVED


@pytest.mark.parametrize("told", [0.7, 1.3])
@pytest.mark.parametrize("name", [study("panda"), "ur5e"])
def test_friction_that_is_wrong_costs_what_feedback_needs_for_the_difference(name, told):
    bench = Bench(stiff(robot_file(name)), 1.0 / told)
    bench.move(0.1, 3.0, back=False)
    bench.run(4.0)
    missing = abs(1.0 / told - 1.0) * 0.02
    assert np.abs(bench.error).max() < 2.0 * missing  # joints push each other, too


@pytest.mark.parametrize(("name", "duration"), [("ur5e", 5.0), study("panda", 11.0)])
def test_friction_that_is_not_there_leaves_no_error(name, duration):
    """Compensation that stayed would leave all of 20 mrad."""
    bench = Bench(stiff(robot_file(name)), 0.0)
    bench.move(0.1, back=False)
    bench.run(duration)
    assert np.abs(bench.error).max() < ARRIVED


@pytest.mark.parametrize("bits", [12, study(17)])
@pytest.mark.parametrize("told", [study(1.0), 1.3])
def test_an_arm_stands_still(bits, told):
    bench = Bench(stiff(robot_file("ur5e")), 1.0 / told, 2 * np.pi / 2**bits)
    bench.move(0.1, back=False)
    bench.run(2.0)
    _, position, _ = bench.run(3.0)
    assert np.ptp(position, axis=0).max() < 1e-5
    assert np.abs(position[-1] - bench.start - 0.1).max() < 0.03  # it has moved there


def test_torque_does_not_step_where_a_motion_begins_turns_and_ends():
    """Of two controllers on the same arm one compensates friction: the difference is that alone."""
    with_, without = (Bench(stiff(robot_file("ur5e")), 0.0) for _ in range(2))
    without.controller.configure(without.now, with_changes(without.settings, coulomb=0.0))
    without.run(1.0), with_.run(1.0)
    for bench in (with_, without):
        bench.move(0.1)
    shares = []
    for _ in range(round(3.0 / PERIOD)):
        for bench in (with_, without):
            bench.run(PERIOD)
        torques = [bench.controller.desired().effort for bench in (with_, without)]
        shares.append((torques[0] - torques[1]) / with_.settings.drives.coulomb)
    shares = np.array(shares)
    assert shares.max() > 0.99 and shares.min() < -0.99
    assert np.abs(np.diff(shares, axis=0)).max() < 0.25
    assert np.abs(shares[-1]).max() < 1e-6


def test_the_check_of_trajectories_expects_the_friction_that_is_commanded():
    bench = Bench(stiff(robot_file("ur5e")))
    its = bench.settings.drives
    drives = replace(its, armature=0.0 * its.armature, viscous=0.0)
    bench.run(0.5)
    start = bench.controller.compiled.desired[0]  # where it is held
    still, there = (0.0,) * bench.model.n, tuple(start + 0.1)
    points = [
        Point(0.0, tuple(start), still),
        Point(1.0, there, still),
        Point(2.0, tuple(start), still),
    ]
    motion = started(Trajectory(bench.model.joint_names, points, JointSpace.of(bench.model)))
    dynamics = fr.Dynamics(bench.model)
    asked = demand(dynamics, drives, motion, 0.0, 2.5, PERIOD, False)
    expected = asked.torque - dynamics.rnea(asked.position, asked.velocity, asked.acceleration)
    bench.controller.set_trajectory(bench.now, bench.model.joint_names, points)
    commanded, times = [], []
    for k in range(round(2.4 / PERIOD)):
        desired, _, _ = bench.run(PERIOD)
        effort = bench.controller.desired().effort - dynamics.rnea(*desired[0])
        effort -= its.armature * desired[0, 2] + its.viscous * desired[0, 1]
        commanded.append(effort / its.coulomb)
        times.append((k + 1) * PERIOD)
    share = expected / its.coulomb
    for j in range(bench.model.n):
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

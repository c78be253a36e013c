"""Rods between points of a tree keep their length, and act as forces on the core's links."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import random_tree

from featherstone_ros import Dynamics, Model, Prismatic, Revolute, Tree, inertial
from reference import Robot, constraints
from reference.constraints import Rod

STEP = 1e-4  # of differences of fourth order [s]
GRAVITY = 9.81


class Lengths:
    """Of rods, along q(t) at these velocities and accelerations, by the core's poses."""

    def __init__(self, core, q, qd, qdd):
        self.core, self.q, self.qd, self.qdd = core, q, qd, qdd

    def place(self, q, link, point):
        T = self.core.link_pose(q, link)
        return T[:3, 3] + T[:3, :3] @ point

    def after(self, rod, t):
        """Return a rod's length at time t."""
        q = self.q + t * self.qd + t**2 / 2 * self.qdd
        return np.linalg.norm(
            self.place(q, rod.far, rod.far_point) - self.place(q, rod.near, rod.near_point)
        )

    def growth(self, rod):
        """Return its second derivative, over the scale of such accelerations."""
        weights = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
        d_ddot = sum(w * self.after(rod, k * STEP) for k, w in weights.items()) / STEP**2
        return d_ddot / (np.abs(self.qdd).max() + np.abs(self.qd).max() ** 2)


class Closed:
    """A random tree with rods, and a state of it."""

    def __init__(self, seed):
        self.model = Model.from_urdf(random_tree(seed, 8, branching=0.6))
        self.robot, self.core = Robot.of(self.model), Dynamics(self.model)
        self.random = np.random.default_rng(seed)
        self.q, self.qd, self.tau = self.random.uniform(-2, 2, (3, self.model.n))
        links = self.model.link_names
        self.f_ext = {str(self.random.choice(links)): self.random.uniform(-5, 5, 6)}
        tip = self.robot.names[-2]
        other = str(self.random.choice([name for name in links if name != tip]))
        points = self.random.uniform(-1, 1, (4, 3))
        base = self.model.base_link
        self.rods = [Rod(base, points[0], tip, points[1]), Rod(other, points[2], tip, points[3])]
        self.qdd, self.F = constraints.forward_dynamics(
            self.robot, self.q, self.qd, self.tau, self.rods, self.f_ext
        )
        self.lengths = Lengths(self.core, self.q, self.qd, self.qdd)


@pytest.fixture(scope="module", params=range(6))
def closed(request):
    return Closed(request.param)


def test_lengths_do_not_accelerate(closed):
    for rod in closed.rods:
        assert abs(closed.lengths.growth(rod)) < 1e-6


def test_rods_are_equal_and_opposite_forces_on_the_core_s_links(closed):
    forces = {name: np.array(wrench) for name, wrench in closed.f_ext.items()}
    for rod, F in zip(closed.rods, closed.F, strict=True):
        near = closed.lengths.place(closed.q, rod.near, rod.near_point)
        far = closed.lengths.place(closed.q, rod.far, rod.far_point)
        u = (far - near) / np.linalg.norm(far - near)
        for link, point, sign in ((rod.near, rod.near_point, -1), (rod.far, rod.far_point, 1)):
            R = closed.core.link_pose(closed.q, link)[:3, :3]
            force = sign * F * R.T @ u
            wrench = np.concatenate([force, np.cross(point, force)])
            forces[link] = forces.get(link, 0) + wrench
    tau = closed.core.rnea(closed.q, closed.qd, closed.qdd, f_ext=forces)
    scale = np.abs(closed.core.bias(closed.q, closed.qd)).max() + np.abs(closed.F).max()
    assert_equal_to_rounding(tau, closed.tau, scale)


def test_parallelogram_swings_as_one_pendulum():
    """Two cranks and a weightless rod as long as their distance: one angle, both inertias."""
    tree, mass, arm = Tree("wall"), np.array([2.0, 1.0]), np.array([0.4, 0.3])
    about_centre = np.array([0.1, 0.05])
    for k, at in enumerate((0.0, 0.7)):
        tensor = np.diag([0.01, 0.01, about_centre[k]])
        tree.add(
            f"crank{k}",
            parent="wall",
            joint=Revolute(f"j{k}", (0, 0, 1)),
            translation=(at, 0, 0),
            inertial=inertial(mass[k], (0, -arm[k], 0), tensor),
        )
    robot = Robot.of(tree.model(gravity=(0, -GRAVITY, 0)))
    rod = Rod("crank0", (0, -0.5, 0), "crank1", (0, -0.5, 0))
    angle, rate, tau = 0.8, 1.5, np.array([0.3, 0.2])
    qdd, _ = constraints.forward_dynamics(robot, np.full(2, angle), np.full(2, rate), tau, [rod])
    moment = tau.sum() - mass @ arm * GRAVITY * np.sin(angle)
    inertia = about_centre.sum() + mass @ arm**2
    assert_equal_to_rounding(qdd, np.full(2, moment / inertia))


def test_rod_of_a_pendulum_pulls_as_its_weight_and_circle_ask():
    """A point mass on two slides, held by a rod: F = - m (l w^2 + g cos)."""
    tree, m, length, angle, w = Tree("wall"), 1.5, 0.9, 0.6, 2.0
    point = inertial(m, (0, 0, 0), np.eye(3) * 1e-3)
    nothing = inertial(0, (0, 0, 0), np.zeros((3, 3)))
    tree.add("along", parent="wall", joint=Prismatic("x", (1, 0, 0)), inertial=nothing)
    tree.add("bob", parent="along", joint=Prismatic("y", (0, 1, 0)), inertial=point)
    robot = Robot.of(tree.model(gravity=(0, -GRAVITY, 0)))
    out, across = (
        np.array([np.sin(angle), -np.cos(angle)]),
        np.array([np.cos(angle), np.sin(angle)]),
    )
    rod = Rod("wall", (0, 0, 0), "bob", (0, 0, 0))
    qdd, F = constraints.forward_dynamics(
        robot, length * out, length * w * across, np.zeros(2), [rod]
    )
    assert_equal_to_rounding(F, [-m * (length * w**2 + GRAVITY * np.cos(angle))])
    expected = -length * w**2 * out - GRAVITY * np.sin(angle) * across
    assert_equal_to_rounding(qdd, expected)


def bob_on_a_cable(angle, w, length=0.9):
    """Return F and the length's acceleration of a point mass on two slides, held by a cable."""
    tree = Tree("wall")
    nothing = inertial(0, (0, 0, 0), np.zeros((3, 3)))
    point = inertial(1.5, (0, 0, 0), np.eye(3) * 1e-3)
    tree.add("along", parent="wall", joint=Prismatic("x", (1, 0, 0)), inertial=nothing)
    tree.add("bob", parent="along", joint=Prismatic("y", (0, 1, 0)), inertial=point)
    robot = Robot.of(tree.model(gravity=(0, -GRAVITY, 0)))
    out, across = np.array([[np.sin(angle), -np.cos(angle)], [np.cos(angle), np.sin(angle)]])
    cable = Rod("wall", (0, 0, 0), "bob", (0, 0, 0), pulls_only=True)
    qdd, F = constraints.forward_dynamics(
        robot, length * out, length * w * across, np.zeros(2), [cable]
    )
    return F[0], out @ qdd + length * w**2


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("w", [0.0, 2.0, 5.0])
def test_cable_pulls_or_is_slack(angle, w):
    """It holds the bob on its circle only if the bob would fly outwards: l w^2 + g cos > 0."""
    F, d_ddot = bob_on_a_cable(angle, w)
    outwards = 0.9 * w**2 + GRAVITY * np.cos(angle)
    if outwards > 0:
        assert_equal_to_rounding(F, -1.5 * outwards)
        assert abs(d_ddot) < 1e-12
    else:
        assert F == 0
        assert_equal_to_rounding(d_ddot, outwards)


def test_cables_share_a_load_or_are_slack_as_their_forces_ask():
    """Three from the wall to an arm's hand: each pulls and keeps its length, or is slack."""
    model = Model.from_robot("panda")
    robot, core, random = Robot.of(model), Dynamics(model), np.random.default_rng(3)
    pulled = slackened = 0
    for _ in range(8):
        q, qd, tau = random.uniform(-1, 1, (3, model.n))
        anchors, points = random.uniform(-2, 2, (3, 3)), random.uniform(-0.2, 0.2, (3, 3))
        cables = [
            Rod(model.base_link, anchor, "panda_hand", point, pulls_only=True)
            for anchor, point in zip(anchors, points, strict=True)
        ]
        qdd, F = constraints.forward_dynamics(robot, q, qd, tau, cables)
        lengths = Lengths(core, q, qd, qdd)
        for cable, force in zip(cables, F, strict=True):
            growth = lengths.growth(cable)
            if force < 0:
                pulled += 1
                assert abs(growth) < 1e-6
            else:
                slackened += 1
                assert force == 0 and growth < 1e-6
    assert pulled > 3 and slackened > 3

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

    def place(self, q, link, point):
        T = self.core.link_pose(q, link)
        return T[:3, 3] + T[:3, :3] @ point

    def length(self, rod, t):
        """Return the distance after t along q(t) with these qd and qdd, by the core's poses."""
        q = self.q + t * self.qd + t**2 / 2 * self.qdd
        return np.linalg.norm(
            self.place(q, rod.far, rod.far_point) - self.place(q, rod.near, rod.near_point)
        )


@pytest.fixture(scope="module", params=range(6))
def closed(request):
    return Closed(request.param)


def test_lengths_do_not_accelerate(closed):
    weights = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
    for rod in closed.rods:
        d_ddot = sum(w * closed.length(rod, k * STEP) for k, w in weights.items()) / STEP**2
        scale = np.abs(closed.qdd).max() + np.abs(closed.qd).max() ** 2
        assert abs(d_ddot) < 1e-6 * scale


def test_rods_are_equal_and_opposite_forces_on_the_core_s_links(closed):
    forces = {name: np.array(wrench) for name, wrench in closed.f_ext.items()}
    for rod, F in zip(closed.rods, closed.F, strict=True):
        near = closed.place(closed.q, rod.near, rod.near_point)
        far = closed.place(closed.q, rod.far, rod.far_point)
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

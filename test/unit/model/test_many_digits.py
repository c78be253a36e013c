"""Rounding errors, by the book in long double: no algorithm loses what another keeps."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from random_trees import numbers, random_tree
from studies import few_or_all
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model
from featherstone_ros.model import urdf
from reference import Robot, featherstone
from reference.spatial import mcI

if np.finfo(np.longdouble).nmant == np.finfo(float).nmant:
    pytest.skip("long double is no longer than double here", allow_module_level=True)


def wide(values):
    return np.asarray(values, np.longdouble)


class Truth:
    """The book's algorithms in long double, of a URDF without fixed joints and mimics."""

    def __init__(self, text):
        robot, read = Robot.of(Model.from_urdf(text)), urdf.parse(text)
        inertial = {link.name: link.inertial for link in read.links}
        bodies = [inertial[name] for name in robot.names]  # as written: sums have lost digits
        I_O = np.array([mcI(b.mass, wide(b.com), wide(b.inertia)) for b in bodies])
        self.robot = replace(robot, I=I_O, Xtree=wide(robot.Xtree), axis=wide(robot.axis))
        self.weightless = replace(self.robot, gravity=0 * robot.gravity)
        self.n = robot.N

    def rnea(self, q, qd, qdd):
        return featherstone.rnea(self.robot, wide(q), wide(qd), qdd)

    def crba(self, q):
        return featherstone.crba(self.robot, wide(q))

    def aba(self, q, qd, tau):
        return featherstone.aba(self.robot, wide(q), wide(qd), tau)

    def minv(self, q, joints=None):
        units = np.eye(self.n)[range(self.n) if joints is None else joints]
        columns = [featherstone.aba(self.weightless, wide(q), 0 * q, unit) for unit in units]
        return np.stack(columns, axis=1)


def error(actual, exact):
    """Greatest error relative to the greatest entry."""
    return float(np.abs(actual - exact).max() / np.abs(exact).max())


LIMIT = '<limit lower="-9" upper="9" effort="99" velocity="9"/>'


def in_a_row(bodies):
    """Return the URDF of links (mass, centre of mass, moments), each with its joint's figures."""
    parts, before = [link("base")], "base"
    for k, (*of_link, of_joint) in enumerate(bodies):
        parts.append(link(f"link{k}", *of_link))
        parts.append(joint(f"joint{k}", before, f"link{k}", "revolute", LIMIT, **of_joint))
        before = f"link{k}"
    return robot(*parts)


def rotor_and_load(rotor, load):
    """Two wheels on one axis, the second on the first."""
    turn = {"rpy": "0 0 0"}
    return in_a_row([(1e-3, "0 0 0", (rotor,) * 3, turn), (1.0, "0 0 0", (load,) * 3, turn)])


def long_levers(seed, lever=30.0):
    """Links of 0.3 m that are joined 30 m along the axis before, there and back again."""
    random, before, bodies = np.random.default_rng(seed), np.array([0.0, 0.0, 1.0]), []
    for k in range(6):
        axis = random.normal(size=3)
        moments, com = random.uniform(0.01, 0.012, 3), numbers(random.uniform(-0.2, 0.2, 3))
        mass = random.uniform(0.5, 4)
        at = random.uniform(-0.3, 0.3, 3) + (-1) ** k * lever * before
        rpy = numbers(random.uniform(-3, 3, 3))
        of_joint = {"xyz": numbers(at), "rpy": rpy, "axis": numbers(axis)}
        bodies.append((mass, com, moments, of_joint))
        before = axis / np.linalg.norm(axis)
    return in_a_row(bodies)


def far_frames(seed, lever=30.0):
    """An arm of 0.3 m links whose frames are 30 m up their axes, away from what they weigh."""
    random, bodies = np.random.default_rng(seed), []
    for k, roll in enumerate((0, np.pi / 2, -np.pi / 2, np.pi / 2, -np.pi / 2, np.pi / 2)):
        com = numbers(random.uniform(-0.2, 0.2, 3) - [0, 0, lever])
        moments = random.uniform(0.01, 0.012, 3)
        up = lever * np.array([0, -np.sin(roll), np.cos(roll)])
        at = numbers(up + np.array([0.3, 0, -lever * (k > 0)]))
        of_joint = {"xyz": at, "rpy": numbers([roll, 0, 0]), "axis": "0 0 1"}
        bodies.append((random.uniform(0.5, 4), com, moments, of_joint))
    return in_a_row(bodies)


@cache
def errors(text, seed=0, turns=0.0):
    """Return the error of each algorithm at a random state, relative to its greatest entry."""
    dynamics, truth = Dynamics(Model.from_urdf(text)), Truth(text)
    q, qd, tau = np.random.default_rng(seed).uniform(-1, 1, (3, truth.n))
    q = q + turns
    inverse = truth.minv(q)
    return {
        "rnea": error(dynamics.rnea(q, qd, tau), truth.rnea(q, qd, tau)),
        "crba": error(dynamics.crba(q), truth.crba(q)),
        "aba": error(dynamics.aba(q, qd, tau), truth.aba(q, qd, tau)),
        "minv": error(dynamics.minv(q), inverse),
        "aba_derivatives": error(dynamics.aba_derivatives(q, qd, tau)[2], inverse),
    }


ROBOTS = {
    "arm": random_tree(0, 7, branching=0),
    "tree": random_tree(1, 12, branching=0.5),
    "chain of 40": random_tree(2, 40, ["revolute"], branching=0),
    "rotor of 1e-6 on a load of 1e2": rotor_and_load(1e-6, 1e2),
    "rotor of 1e-9 on a load of 1e3": rotor_and_load(1e-9, 1e3),
    "levers of 30 m": long_levers(0),
    "frames 30 m away": far_frames(0),
}


LONG = "chain of 40"  # costs as much as all others
CASES = [
    pytest.param(text, id=name, marks=pytest.mark.study if name == LONG else ())
    for name, text in ROBOTS.items()
]


@pytest.mark.parametrize("text", CASES)
def test_errors_are_of_rounding(text):
    found = errors(text)
    assert max(found.values()) < 2e-14, found


def test_a_load_costs_no_digits():
    """Frames 30 m away, of whose links the digits beyond a double count."""
    model = Model.from_urdf(far_frames(0))
    loaded = model.with_payload("link5", 1e-300, [0, 0, 0])
    for name in ("link_parameters_rest", "first_moment_rest", "inertia_rest"):
        np.testing.assert_array_equal(getattr(loaded.tree, name), getattr(model.tree, name))
    assert model.tree.link_parameters_rest.any()


@pytest.mark.parametrize("turns", [1e3, -1e3, 1e4])
def test_joints_that_have_turned_far_keep_their_digits(turns):
    """However the frames were chosen: what they turn by is not added to the angle."""
    text = random_tree(0, 7, ["revolute"], branching=0)
    found, near = errors(text, turns=turns), errors(text)
    assert max(found.values()) < 4 * max(near.values()) + 1e-15, (found, near)


@pytest.mark.parametrize("count", few_or_all([100], [100, 300]))
def test_inverse_of_a_long_chain_keeps_its_digits(count):
    """Also in the derivatives, which are made of it; column by column, each by its own size."""
    text = random_tree(3, count, ["revolute"], branching=0)
    joints = [0, count // 2, count - 1]
    dynamics, truth = Dynamics(Model.from_urdf(text)), Truth(text)
    q = np.random.default_rng(3).uniform(-1, 1, truth.n)
    exact = truth.minv(q, joints)
    for inverse in (dynamics.minv(q), dynamics.aba_derivatives(q, 0 * q, 0 * q)[2]):
        found = [error(inverse[:, j], column) for j, column in zip(joints, exact.T, strict=True)]
        assert max(found) < 2e-14, found


def heavy_end(mass=1e9):
    """Six light links that hold a heavy one."""
    bodies = []
    for k in range(7):
        m = mass if k == 6 else 1.0
        axis = "0 0 1" if k % 2 else "0 1 0"
        of_joint = {"xyz": "0 0 0.3", "rpy": "0.5 0.3 0.1", "axis": axis}
        bodies.append((m, "0.1 0.05 0.2", m * np.array([0.02, 0.03, 0.025]), of_joint))
    return in_a_row(bodies)


@pytest.mark.parametrize("seed", few_or_all([0], [0, 1]))
def test_derivatives_of_light_links_with_a_heavy_end_keep_what_can_be_kept(seed):
    """Pinocchio 4.1 is 1.4e-7 off; with M^-1 (tau - C) for the acceleration it would be 2 to 15."""
    dynamics, truth = Dynamics(Model.from_urdf(heavy_end())), Truth(heavy_end())
    q, qd, tau = np.random.default_rng(seed).normal(size=(3, truth.n))
    found = dynamics.aba_derivatives(q, qd, tau)
    step = wide(1e-5)
    for which, derivative in enumerate(found[:2]):
        exact = np.empty((truth.n, truth.n), np.longdouble)
        for j, unit in enumerate(wide(np.eye(truth.n))):
            moved = [[wide(q), wide(qd)] for _ in range(2)]
            for state, sign in zip(moved, (1, -1), strict=True):
                state[which] = state[which] + sign * step * unit
            after, before = (truth.aba(*state, tau) for state in moved)
            exact[:, j] = (after - before) / (2 * step)
        assert error(derivative, exact) < 2e-6

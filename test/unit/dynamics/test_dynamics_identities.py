"""Identities between the core's results, on trees of all kinds whose base stands or floats.

What Pinocchio does not compute or does not show: bits, loads, links that are merged. An identity
yields pairs that are equal: actual, expected, and how nearly (comparison.py).
"""

from functools import cache

import numpy as np
import pytest
from comparison import (
    EPSILON,
    assert_equal_to_rounding,
)
from memory import growth
from methods import METHODS
from random_trees import UNLIKE, as_tree, model_of, random_tree
from states import DIFFERENCE, STEP, State
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model
from featherstone_ros.model.robots import robot_file
from reference import Robot, composite, innovations, operators

TREE = random_tree(1, 5, branching=0.6)
EXACT = 1.0, 0.0  # scale and tolerance of what has the same bits
IDENTITIES = {}


@cache
def models():
    """Return models by name; here, since every process collects this file."""
    return {name: model_of(name) for name in UNLIKE} | {
        "arm": Model.from_file(robot_file("panda")),
        "chain with mimic": Model.from_urdf(random_tree(12, 12, mimic=0.4)),
        "screws": as_tree(random_tree(3, 9), screws=0.5).model(),
        "floating tree": Model.from_urdf(TREE, base="floating"),
        "floating with mimic": Model.from_urdf(random_tree(12, 7, mimic=0.4), base="floating"),
        "floating arm": Model.from_file(robot_file("panda"), base="floating"),
        "floating body": Model.from_urdf(TREE, joints=(), base="floating"),
    }


def identity(of):
    IDENTITIES[of.__name__] = of
    return of


def check(name, model):
    """Fail where an identity does not hold."""
    for pair in IDENTITIES[name](State(model)):
        assert_equal_to_rounding(*pair)


@identity
def inertia_is_symmetric_to_the_last_bit_and_positive_definite(s):
    yield s.H, s.H.T, *EXACT
    assert np.linalg.eigvalsh(s.H).min(initial=1) > 0


@identity
def results_are_the_same_from_a_used_workspace(s):
    used = Dynamics(s.model)
    used.aba(s.q, s.tau, s.qd, f_ext=s.f_ext)
    names = [name for name in METHODS if name != "operational_space_inertia"]
    fresh = {name: METHODS[name](Dynamics(s.model), *METHODS[name].states(s.dynamics))
             for name in names}  # fmt: skip
    for name in (*names, *reversed(names)):
        yield METHODS[name](used, *METHODS[name].states(used)), fresh[name], *EXACT


@identity
def log_determinant_is_that_of_the_inertia_and_changes_as_differences_say(s):
    def expected(q):
        return np.linalg.slogdet(s.crba(q=q))[1]

    value, gradient = s.log_det_inertia()
    yield value, expected(s.q), max(1, abs(value)), s.solving
    tolerance = max(10 * DIFFERENCE, s.solving / STEP)  # what the difference of two values leaves
    for k, unit in s.freedoms():
        yield gradient[k], s.slope(expected, unit), 1 + abs(gradient[k]), tolerance
    base = gradient[: s.model.nv - s.model.n]
    yield base, 0 * base, 1, s.solving


@identity
def impulses_change_the_velocity_by_what_the_joints_yield(s):
    generalized = -s.weightless.bias(qd=s.still, f_ext=s.f_ext)  # J^T p
    jump = s.impulse_response(f_ext=s.f_ext)
    yield jump, np.linalg.solve(s.H, generalized), None, s.solving
    yield s.impulse_response(), s.still, *EXACT


@identity
def regressor_times_parameters_is_the_torque(s):
    """With any masses: loads on many links change parameters and torque alone."""
    Y = s.regressor()
    yield Y @ s.model.inertial_parameters, s.rnea()
    at_rest = s.regressor(qd=s.still, qdd=s.still)
    yield at_rest @ s.model.inertial_parameters, s.gravity()
    loaded = s.model
    for name in s.links:
        half = s.random.uniform(-0.3, 0.3, (3, 3))
        mass, com = s.random.uniform(0, 5), s.random.uniform(-0.5, 0.5, 3)
        loaded = loaded.with_payload(name, mass, com, half @ half.T)
    yield s.of(loaded).regressor(), Y, *EXACT
    yield Y @ loaded.inertial_parameters, s.of(loaded).rnea()
    same, tau = s.regressor(f_ext=s.f_ext)
    yield same, Y, *EXACT
    yield Y @ s.model.inertial_parameters + tau, s.rnea(f_ext=s.f_ext)
    yield s.regressor(f_ext={})[1], s.still, *EXACT
    for k, name in enumerate(s.model.link_names):
        unmoved = Y.reshape(s.model.nv, -1, 10)[~s.jacobian(link=name).any(axis=0), k]
        yield unmoved, 0 * unmoved, *EXACT


@pytest.mark.parametrize("name", IDENTITIES)
def test_identity_holds(name):
    for kind, model in models().items():
        try:
            check(name, model)
        except AssertionError as error:
            raise AssertionError(f"{kind}: {error}") from error


# Robots without mass, a kilometre away, and of a thousand links.


def test_model_without_mass_has_the_momentum_of_its_inertia():
    text = robot(
        link("base", None), link("rotor", 0, "0 0 0", (0, 0, 0.5)),
        joint("spin", "base", "rotor", "continuous"),
    )  # fmt: skip
    momentum = Dynamics(Model.from_urdf(text)).momentum([0.3], [4])
    np.testing.assert_allclose(momentum, [0, 0, 0, 0, 0, 2], rtol=1e-15)


def test_a_robot_on_rails_is_the_same_a_kilometre_away():
    """What it loses are the digits of its position, not their square."""
    text = robot(
        link("base"), link("wagon", 30), link("upper", 3), link("lower", 2), link("hand", 0.1),
        joint("rail", "base", "wagon", "prismatic", axis="1 0 0"),
        joint("shoulder", "wagon", "upper", rpy="0.1 0.2 0.3", axis="0 1 0"),
        joint("elbow", "upper", "lower", axis="0 1 0"),
        joint("wrist", "lower", "hand", axis="1 0 0"),
    )  # fmt: skip
    wagon = State(Model.from_urdf(text))
    away = wagon.q + np.array([1000, 0, 0, 0])
    lost = 1000 * EPSILON * 100
    assert_equal_to_rounding(wagon.dynamics.minv(away), wagon.dynamics.minv(wagon.q), None, lost)
    for method in ("rnea_derivatives", "aba_derivatives"):
        derivatives = getattr(wagon.dynamics, method)
        there, here = (derivatives(q, wagon.qd, wagon.tau) for q in (away, wagon.q))
        for actual, expected in zip(there, here, strict=True):
            assert_equal_to_rounding(actual, expected, None, lost)


LINKS = 500


def test_long_chain_needs_memory_in_proportion_to_its_length():
    """A matrix of n x n would take 2 MB; the workspace is some 200 numbers per body."""
    model = Model.from_urdf(random_tree(1000, LINKS, branching=0))
    several = []

    def make(count):
        several.extend(Dynamics(model) for _ in range(count))
        for dynamics in several[-count:]:
            dynamics.aba(*METHODS["aba"].states(dynamics))

    assert LINKS * 8 * 30 < growth(make, 1, 1) < LINKS * 8 * 300


# The inertia that a joint carries, composite and articulated: by the book, and what it means.


TREES = {
    "tree": Model.from_urdf(random_tree(2, 9, branching=0.5)),
    "screws": as_tree(random_tree(3, 9), screws=0.5).model(),
    "panda": Model.from_robot("panda"),
}
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


def blocks(M, robot):
    """Return the blocks (n, 6, 6) on the diagonal, linear part first, of the joints' bodies."""
    each = [M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] for i in range(robot.N)]
    return np.array(each)[:, LINEAR_FIRST][:, :, LINEAR_FIRST]


@pytest.mark.parametrize("model", TREES.values(), ids=TREES)
def test_they_are_those_of_the_operators(model):
    tree, robot = State(model), Robot.of(model)
    o = operators.body_frames(robot, tree.q)
    R, P = composite.composite_inertias(o), innovations.articulate(o).P
    assert_equal_to_rounding(tree.dynamics.composite_inertias(tree.q), blocks(R, robot))
    assert_equal_to_rounding(tree.dynamics.articulated_inertias(tree.q), blocks(P, robot))


@pytest.mark.parametrize("method", ["composite_inertias", "articulated_inertias"])
def test_a_floating_base_changes_nothing_beyond_in_a_batch_either(method):
    text = random_tree(2, 9, branching=0.5)
    fixed, floating = (Model.from_urdf(text, base=base) for base in ("fixed", "floating"))
    joints = np.random.default_rng(1).uniform(-2, 2, (11, fixed.n))
    batch = getattr(Dynamics(floating), method)(np.insert(joints, [0] * 7, [0] * 6 + [1], axis=1))
    for row, q in zip(batch, joints, strict=True):
        assert_equal_to_rounding(row, getattr(Dynamics(fixed), method)(q))


def test_composite_inertias_carry_mimic_joints_locked():
    robot = State(Model.from_urdf(random_tree(12, 12, mimic=0.4)))
    reference = Robot.of(robot.model)
    o = operators.body_frames(reference, reference.expand(robot.q))
    child = {joint.name: joint.child for joint in robot.model.description.joints}
    rows = [reference.names.index(child[joint]) for joint in robot.model.joint_names]
    expected = blocks(composite.composite_inertias(o), reference)[rows]
    assert_equal_to_rounding(robot.dynamics.composite_inertias(robot.q), expected)

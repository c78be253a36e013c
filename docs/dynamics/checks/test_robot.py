"""Arrays of the reference are in the order of ``model.joint_names``, or are refused."""

import re

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from random_trees import TREES, random_tree

from featherstone_ros import Dynamics, Model, ModelError
from reference import (
    Robot,
    articulated,
    composite,
    explicit,
    featherstone,
    innovations,
    kane,
    newton_euler,
    operators,
)

INVERSE = [
    featherstone.rnea,
    explicit.inverse_dynamics,
    kane.inverse_dynamics,
    lambda *of: newton_euler.inverse_dynamics(*of)[0],
]
FORWARD = [
    featherstone.aba,
    featherstone.forward_dynamics,
    lambda *of: articulated.forward_dynamics(*of)[0],
]
OPERATORS = [operators.mass_matrix, composite.mass_matrix, innovations.mass_matrix]


def outwards(model, random):
    """Return the joints of a model without mimic joints in a random order from the base on."""
    tree, order = model.tree, []
    while len(order) < model.n:
        ready = [b for b in range(model.n) if b not in order and tree.parent[b] in (-1, *order)]
        order.append(random.choice(ready))
    return [model.joint_names[tree.dof[b]] for b in order]


@pytest.fixture(params=range(6))
def branched(request):
    """A tree whose joints are listed neither branch by branch nor as the core numbers them."""
    random = np.random.default_rng(request.param)
    text = random_tree(request.param, 9, branching=0.7)
    model = Model.from_urdf(text, joints=outwards(Model.from_urdf(text), random))
    assert (model.tree.dof != np.arange(model.n)).any()
    return model, Robot.of(model), Dynamics(model), random.uniform(-2, 2, (4, model.n))


def test_torques_are_in_the_order_of_joint_names(branched):
    _, in_order, core, (q, qd, qdd, _) = branched
    expected = core.rnea(q, qd, qdd)
    for by in INVERSE:
        assert_equal_to_rounding(by(in_order, q, qd, qdd), expected)


def test_accelerations_are_in_the_order_of_joint_names(branched):
    _, in_order, core, (q, qd, _, tau) = branched
    expected = core.aba(q, qd, tau)
    tolerance = solving_tolerance(core.crba(q))
    for by in FORWARD:
        assert_equal_to_rounding(by(in_order, q, qd, tau), expected, tolerance=tolerance)


def test_inertia_is_in_the_order_of_joint_names(branched):
    _, in_order, core, (q, *_) = branched
    expected = core.crba(q)
    assert_equal_to_rounding(featherstone.crba(in_order, q), expected)
    for by in OPERATORS:
        assert_equal_to_rounding(by(operators.body_frames(in_order, q)), expected)


def test_independent_joints_need_neither_expand_nor_reduce(branched):
    _, in_order, _, (q, qd, *_) = branched
    np.testing.assert_array_equal(in_order.expand(q, qd), (q, qd))
    np.testing.assert_array_equal(in_order.reduce(q), q)


def test_bodies_and_links_have_the_numbers_of_their_joints(branched):
    model, in_order, core, (q, *_) = branched
    R, p = in_order.poses(q)
    for name, (body, X) in in_order.links.items():
        pose = core.link_pose(q, name)
        r = p[body] + R[body] @ np.array([X[5, 1], X[3, 2], X[4, 0]])
        assert_equal_to_rounding(R[body] @ X[:3, :3].T, pose[:3, :3])
        assert_equal_to_rounding(r, pose[:3, 3], scale=1.0)
    assert in_order.names[-1] == model.base_link


def test_joint_before_one_that_carries_it_is_refused_with_an_order_that_is_not():
    text = TREES["star"]
    joints = outwards(Model.from_urdf(text), np.random.default_rng(0))
    tree = Model.from_urdf(text).tree
    inner = next(b for b in range(len(tree.parent)) if b in tree.parent)
    outer = np.flatnonzero(tree.parent == inner)[0]
    inner, outer = (tree.joint_names[tree.dof[b]] for b in (inner, outer))
    joints.remove(outer)
    joints.insert(joints.index(inner), outer)
    with pytest.raises(ModelError, match=f"{outer!r} is listed before {inner!r}") as refused:
        Robot.of(Model.from_urdf(text, joints=joints))
    offered = re.findall(r"'([^']+)'", str(refused.value).split("joints=")[1])
    Robot.of(Model.from_urdf(text, joints=offered))


def test_coordinates_are_refused_where_joints_mimic_others():
    """There are fewer than joints, and no function takes them for all."""
    model = Model.from_urdf(TREES["mimic"])
    in_order, x = Robot.of(model), np.ones(model.n)
    every = in_order.expand(x)
    assert in_order.N > in_order.n
    for by in [*INVERSE, *FORWARD[:1], FORWARD[2]]:
        with pytest.raises((IndexError, ValueError)):
            by(in_order, x, x, x)
        by(in_order, every, every, every)
    with pytest.raises(IndexError):
        operators.body_frames(in_order, x)
    o = operators.body_frames(in_order, every)
    with pytest.raises(ValueError, match="matmul"):
        operators.inverse_dynamics(o, x, x)
    operators.inverse_dynamics(o, every, every)

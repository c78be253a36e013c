"""The inertia that a joint carries, composite and articulated: the reference, and what it means."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import as_tree, random_tree
from states import State

from featherstone_ros import Dynamics, Model
from reference import Robot, composite, innovations, operators

TREES = {
    "tree": Model.from_urdf(random_tree(2, 9, branching=0.5)),
    "screws": as_tree(random_tree(3, 9), screws=0.5).model(),
    "panda": Model.from_robot("panda"),
}
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


@pytest.fixture(params=TREES.values(), ids=TREES)
def tree(request):
    return State(request.param)


def blocks(M, robot):
    """Return the blocks (n, 6, 6) on the diagonal, linear part first, of the joints' bodies."""
    each = [M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] for i in range(robot.N)]
    return np.array(each)[:, LINEAR_FIRST][:, :, LINEAR_FIRST]


def test_they_are_those_of_the_operators(tree):
    robot = Robot.of(tree.model)
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


def test_articulated_inertias_need_joints_that_are_free():
    robot = State(Model.from_urdf(random_tree(12, 12, mimic=0.4)))
    with pytest.raises(NotImplementedError, match="without mimic joints"):
        robot.dynamics.articulated_inertias(robot.q)

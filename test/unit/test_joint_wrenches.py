"""The wrenches across the joints balance the motion of the bodies."""

from dataclasses import replace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import MODELS
from states import DIFFERENCE, RobotInState, difference
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def tree(request):
    return RobotInState(request.param)


def child_link(model, k):
    return model.tree.body_names[model.tree.joint_body[k] + 1]


def test_part_along_the_axis_is_the_torque(tree):
    """With mimic joints a leader's torque is its own part, and its followers' times multipliers."""
    if tree.model.mimics:
        pytest.skip("the followers' parts are not among the results")
    f_ext = tree.wrenches()
    wrenches = tree.dynamics.joint_wrenches(tree.q, tree.qd, tree.qdd, f_ext=f_ext)
    bodies = tree.model.tree.joint_body
    axis = tree.model.tree.axis[bodies]
    angular, linear = tree.model.tree.motion[bodies].T
    along = linear * (wrenches[:, :3] * axis).sum(1) + angular * (wrenches[:, 3:] * axis).sum(1)
    tau = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd, f_ext=f_ext)
    assert_equal_to_rounding(along, tau, scale=np.abs(wrenches).max())


def test_joints_of_the_base_carry_the_change_of_momentum_and_the_weight(tree):
    """Newton and Euler for all that moves, about the base's origin, f_ext included."""
    if tree.model.mimics:
        pytest.skip("followers may be jointed to the base")
    f_ext = {name: w for name, w in tree.wrenches().items() if name != tree.model.base_link}
    moving = Dynamics(without_base(tree.model))
    wrenches = tree.dynamics.joint_wrenches(tree.q, tree.qd, tree.qdd, f_ext=f_ext)
    total = sum(
        seen_from_base(tree, child_link(tree.model, k), wrenches[k])
        for k, body in enumerate(tree.model.tree.joint_body)
        if tree.model.tree.parent[body] == -1
    )
    total = total + sum(seen_from_base(tree, name, wrench) for name, wrench in f_ext.items())

    mass = moving.model.tree.mass.sum()
    centre = moving.centre_of_mass(tree.q)
    weight = mass * tree.model.gravity

    def momentum(t):
        q, qd = tree.q + tree.qd * t + tree.qdd * t**2 / 2, tree.qd + tree.qdd * t
        p, L = np.split(moving.momentum(q, qd), 2)
        return np.concatenate([p, L + np.cross(moving.centre_of_mass(q), p)])

    needed = difference(momentum, 0.0, 1.0) - [*weight, *np.cross(centre, weight)]
    scale = np.abs(total).max() + np.abs(momentum(0)).max()
    assert_equal_to_rounding(total, needed, scale=scale, tolerance=100 * DIFFERENCE)


def without_base(model):
    """Return the model with a base that weighs nothing."""
    names = ("mass", "first_moment", "inertia")
    figures = {name: getattr(model.tree, name).copy() for name in names}
    for figure in figures.values():
        figure[0] = 0
    return replace(model, tree=replace(model.tree, **figures))


def seen_from_base(tree, link, wrench):
    """Return a wrench at a link's origin, in its axes, as force and moment about the base."""
    pose = tree.dynamics.link_pose(tree.q, link)
    force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
    return np.concatenate([force, moment + np.cross(pose[:3, 3], force)])


def test_holds_a_weight_at_rest():
    """A 2 kg weight 0.3 m out along a link's y axis: the arm pushes up, and turns it back."""
    text = robot(
        link("base"), link("arm", 2, "0 0.3 0"),
        joint("turn", "base", "arm", xyz="1 2 3", rpy=f"{np.pi / 2!r} 0 0", axis="1 0 0"),
    )  # fmt: skip
    dynamics = Dynamics(Model.from_urdf(text))
    # The link's y axis is the base's z axis, its z axis the base's -y axis.
    wrench = dynamics.joint_wrenches([0], [0], [0])[0]
    np.testing.assert_allclose(wrench, [0, 2 * 9.81, 0, 0, 0, 0], atol=1e-14)
    wrench = dynamics.joint_wrenches([np.pi / 2], [0], [0])[0]
    np.testing.assert_allclose(wrench, [0, 0, -2 * 9.81, -2 * 9.81 * 0.3, 0, 0], atol=1e-14)


def test_pull_on_a_link_is_carried_by_its_joint():
    """What acts on the link, its joint holds: the opposite of f_ext, at the same place and axes."""
    text = robot(link("base"), link("arm"), joint("turn", "base", "arm", rpy="1 2 3", axis="1 2 3"))
    dynamics = Dynamics(Model.from_urdf(text))
    pull = np.array([1.0, 2, 3, 4, 5, 6])
    with_pull = dynamics.joint_wrenches([0.4], [2], [3], f_ext={"arm": pull})
    without = dynamics.joint_wrenches([0.4], [2], [3])
    np.testing.assert_allclose(with_pull - without, [-pull], rtol=1e-12)

"""Positions as a manifold: Model.integrate, difference and random_configuration."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from each import each
from example_robots import UNLIKE_ROBOTS
from random_trees import random_tree

from featherstone_ros import Dynamics, Model, Prismatic, Tree, inertial
from featherstone_ros.model.robots import robot_file

ROBOTS = {path.stem: path for path in UNLIKE_ROBOTS} | {"own": robot_file("panda")}
BASES = ("fixed", "floating")
TREE = random_tree(1, 5, branching=0.6)
ROWS = 20


@pytest.fixture(params=BASES)
def model(request):
    return Model.from_urdf(TREE, base=request.param)


@pytest.fixture
def random():
    return np.random.default_rng(4)


@each("name", ROBOTS)
@pytest.mark.parametrize("base", BASES)
def test_they_are_pinocchios(name, base, random):
    import pinocchio

    freeflyer = pinocchio.JointModelFreeFlyer()
    build = pinocchio.buildModelFromUrdf
    full = build(str(ROBOTS[name]), freeflyer) if base == "floating" else build(str(ROBOTS[name]))
    # Each free joint as one number, in the order of the model.
    model = Model.from_file(ROBOTS[name], base=base)
    own = [full.joints[full.getJointId(joint)] for joint in model.joint_names]
    bases = (7, 6) if base == "floating" else (0, 0)

    def there(q):
        whole = pinocchio.neutral(full)
        whole[: bases[0]] = q[: bases[0]]
        for its, x in zip(own, q[bases[0] :], strict=True):
            whole[its.idx_q : its.idx_q + its.nq] = [np.cos(x), np.sin(x)] if its.nq == 2 else x
        return whole

    def freedoms(v):
        whole = np.zeros(full.nv)
        whole[: bases[1]] = v[: bases[1]]
        for its, x in zip(own, v[bases[1] :], strict=True):
            whole[its.idx_v] = x
        return whole

    q, v = model.random_configuration(random), random.uniform(-1, 1, model.nv)
    moved = model.integrate(q, v, 0.7)
    assert_equal_to_rounding(there(moved), pinocchio.integrate(full, there(q), freedoms(0.7 * v)))
    back = pinocchio.difference(full, there(q), there(moved))
    assert_equal_to_rounding(freedoms(model.difference(q, moved)), back)


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-4, 1e-2, 1.0, 1.8])
def test_difference_undoes_integrate(model, random, size):
    q, v = model.random_configuration(random, ROWS), size * random.uniform(-1, 1, (ROWS, model.nv))
    moved = model.integrate(q, v)
    assert_equal_to_rounding(model.difference(q, moved), v, scale=4.0)
    assert_equal_to_rounding(model.integrate(moved, v, -1.0), q, scale=4.0)


def test_half_a_turn_and_none():
    model = Model.from_urdf(TREE, base="floating")
    q = model.neutral
    assert not model.difference(q, q).any()
    turned = q.copy()
    turned[:7] = 1, 2, 3, 0, 0, 1, 0
    v = model.difference(q, turned)
    np.testing.assert_allclose(np.abs(v[5]), np.pi)
    moved = model.integrate(q, v)
    np.testing.assert_allclose(moved[:3], turned[:3])
    np.testing.assert_allclose(np.abs(moved[3:7]), turned[3:7], atol=1e-15)


# Random positions --------------------------------------------------------------------------------


def test_random_positions_are_within_the_limits_and_fill_them():
    model = Model.from_robot("panda")
    q = model.random_configuration(1, 2000)
    low, high = model.position_range
    assert q.shape == (2000, model.n) and ((q >= low) & (q <= high)).all()
    assert (q.min(axis=0) < low + 0.01 * (high - low)).all()
    assert (q.max(axis=0) > high - 0.01 * (high - low)).all()
    np.testing.assert_array_equal(model.random_configuration(1, 2000), q)


def test_a_random_base_is_turned_anyhow():
    """Uniformly: the mean of R is 0, that of the square of each entry 1/3."""
    model = Model.from_urdf(TREE, base="floating")
    q = model.random_configuration(2, 4000)
    R = Dynamics(model).link_pose(q, model.base_link)[:, :3, :3]
    np.testing.assert_allclose(R.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose((R**2).mean(axis=0), 1 / 3, atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0)
    assert np.abs(q[:, :3]).max() <= 1.0


@pytest.mark.parametrize(("lower", "upper"), [(4.0, np.inf), (-np.inf, -5.0), (4.0, 5.0)])
def test_a_limit_far_from_zero_on_one_side_alone_is_kept(lower, upper):
    tree = Tree("base")
    slide = Prismatic("slide", lower=lower, upper=upper)
    tree.add("sled", parent="base", joint=slide, inertial=inertial(1.0, (0, 0, 0)))
    q = tree.model().random_configuration(1, 50)
    assert (q >= lower).all() and (q <= upper).all()

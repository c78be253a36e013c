"""The Coriolis matrix is that of Christoffel symbols."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import UNLIKE_MODELS, random_tree
from states import DIFFERENCE, RobotInState, difference

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


def coriolis(tree, qd=None):
    return tree.dynamics.coriolis(tree.q, tree.qd if qd is None else qd)


def scale_of(tree):
    """Return the size of the terms of C, which may cancel: inertia times velocity."""
    return np.abs(tree.inertia).max() * np.abs(tree.qd).max()


def test_columns_are_those_of_the_christoffel_symbols(tree):
    """The torque V is quadratic: V_i(qd) = sum_jk b_ijk qd_j qd_k, with b symmetric in j and k.

    So C_ij = sum_k b_ijk qd_k is V's symmetric bilinear form: (V(e_j + qd) - V(e_j) - V(qd)) / 2.
    """
    weightless = Dynamics(tree.model.with_gravity([0, 0, 0]))

    def velocity_torque(qd):
        return weightless.bias(tree.q, qd)

    C = coriolis(tree)
    own = velocity_torque(tree.qd)
    for j in tree.sample(range(tree.model.n)):
        unit = np.eye(tree.model.n)[j]
        together = velocity_torque(unit + tree.qd)
        column = (together - velocity_torque(unit) - own) / 2
        assert_equal_to_rounding(C[:, j], column, scale=max(np.abs(together).max(), 1e-3))


def test_product_with_velocity_is_what_bias_adds_to_gravity(tree):
    bias, gravity = tree.dynamics.bias(tree.q, tree.qd), tree.dynamics.gravity(tree.q)
    scale = np.abs(bias).max() + np.abs(gravity).max()
    assert_equal_to_rounding(coriolis(tree) @ tree.qd + gravity, bias, scale=scale)


def test_derivative_of_inertia_is_coriolis_and_its_transpose(tree):
    """Which says that Hdot - 2 C is skew-symmetric."""
    C = coriolis(tree)
    inertia_rate = difference(tree.dynamics.crba, tree.q, tree.qd)
    assert_equal_to_rounding(C + C.T, inertia_rate, scale_of(tree), tolerance=10 * DIFFERENCE)


def test_velocities_may_change_places(tree):
    """C(u) v = C(v) u: Christoffel symbols are symmetric, other factors of the bias are not."""
    other = tree.random.uniform(-2, 2, tree.model.n)
    C, C_other = coriolis(tree), coriolis(tree, other)
    assert_equal_to_rounding(C @ other, C_other @ tree.qd, scale=scale_of(tree))


def test_is_linear_in_velocity(tree):
    other = tree.random.uniform(-2, 2, tree.model.n)
    expected = 3 * coriolis(tree) + coriolis(tree, other)
    assert_equal_to_rounding(coriolis(tree, 3 * tree.qd + other), expected, scale=scale_of(tree))
    assert not coriolis(tree, 0 * tree.qd).any()


@pytest.mark.parametrize("seed", range(4))
def test_floating_base_has_both_properties_but_not_the_formula_of_christoffel(seed):
    """H depends on the joints alone, so the formula would have no derivatives by the base's motion.

    They would be derivatives by coordinates, whose rates the base's velocities are not.
    """
    text = random_tree(seed, 5, branching=0.5)
    model = Model.from_urdf(text, base="floating", gravity=(0, 0, 0))
    dynamics, random = Dynamics(model), np.random.default_rng(seed)
    q, qd = random.uniform(-1, 1, model.nq), random.uniform(-2, 2, model.nv)
    q[3:7] /= np.linalg.norm(q[3:7])
    C = dynamics.coriolis(q, qd)
    scale = np.abs(dynamics.crba(q)).max() * np.abs(qd).max()
    assert_equal_to_rounding(C @ qd, dynamics.bias(q, qd), scale)

    derivatives = np.zeros((model.nv, model.nv, model.nv))
    for k, joint in enumerate(np.eye(model.nq)[7:]):
        derivatives[:, :, 6 + k] = difference(dynamics.crba, q, joint)
    assert_equal_to_rounding(C + C.T, derivatives @ qd, scale, tolerance=10 * DIFFERENCE)
    symbols = derivatives + derivatives.transpose(0, 2, 1) - derivatives.transpose(2, 0, 1)
    assert np.abs(symbols @ qd / 2 - C).max() > 0.1 * scale

"""Hybrid dynamics agrees with forward and inverse dynamics, at its ends and in between."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from random_trees import TREES, UNLIKE_MODELS
from states import RobotInState
from test_dynamics_arguments import on_the_axis

from featherstone_ros import Dynamics, Model, SingularInertiaError


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


@pytest.fixture
def prescribed(tree):
    return tree.random.random(tree.model.n) < 0.5


def inputs(tree, prescribed):
    """Return q, qd, qdd, tau and prescribed, NaN where a number is not to be looked at."""
    qdd = np.where(prescribed, tree.qdd, np.nan)
    return tree.q, tree.qd, qdd, np.where(prescribed, np.nan, tree.tau), prescribed


def test_without_prescribed_joints_is_forward_dynamics(tree):
    none = np.zeros(tree.model.n, dtype=bool)
    qdd, tau = tree.dynamics.hybrid(*inputs(tree, none))
    expected = tree.dynamics.aba(tree.q, tree.qd, tree.tau)
    assert_equal_to_rounding(qdd, expected, tolerance=solving_tolerance(tree.inertia))
    np.testing.assert_array_equal(tau, tree.tau)


def test_with_all_joints_prescribed_is_inverse_dynamics(tree):
    everyone = np.ones(tree.model.n, dtype=bool)
    qdd, tau = tree.dynamics.hybrid(*inputs(tree, everyone))
    assert_equal_to_rounding(tau, tree.dynamics.rnea(tree.q, tree.qd, tree.qdd))
    np.testing.assert_array_equal(qdd, tree.qdd)


def test_solves_the_equation_of_motion(tree, prescribed):
    qdd, tau = tree.dynamics.hybrid(*inputs(tree, prescribed))
    np.testing.assert_array_equal(qdd[prescribed], tree.qdd[prescribed])
    np.testing.assert_array_equal(tau[~prescribed], tree.tau[~prescribed])
    scale = np.abs(tree.inertia).max() * np.abs(qdd).max()
    assert_equal_to_rounding(tree.dynamics.rnea(tree.q, tree.qd, qdd), tau, scale=scale)


def test_free_joints_have_the_acceleration_of_the_free_block(tree, prescribed):
    qdd, _ = tree.dynamics.hybrid(*inputs(tree, prescribed))
    free = ~prescribed
    H = tree.inertia[np.ix_(free, free)]
    bias = tree.dynamics.rnea(tree.q, tree.qd, np.where(prescribed, tree.qdd, 0))
    expected = np.linalg.solve(H, (tree.tau - bias)[free])
    assert_equal_to_rounding(qdd[free], expected, tolerance=solving_tolerance(H))


def test_undoes_itself_with_the_roles_exchanged(tree, prescribed):
    qdd, tau = tree.dynamics.hybrid(*inputs(tree, prescribed))
    again, _ = tree.dynamics.hybrid(tree.q, tree.qd, qdd, tau, ~prescribed)
    assert_equal_to_rounding(again, qdd, tolerance=10 * solving_tolerance(tree.inertia))


@pytest.mark.parametrize("urdf", TREES.values(), ids=TREES)
def test_joint_held_at_rest_is_a_joint_locked(urdf):
    robot = RobotInState(Model.from_urdf(urdf))
    prescribed = robot.random.random(robot.model.n) < 0.5
    q, qd = robot.q, np.where(prescribed, 0, robot.qd)
    qdd, _ = robot.dynamics.hybrid(q, qd, 0 * qd, robot.tau, prescribed)
    held = np.array(robot.model.joint_names)[prescribed]
    locked = Model.from_urdf(urdf, locked=dict(zip(held, q[prescribed], strict=True)))
    free = ~prescribed
    expected = Dynamics(locked).aba(q[free], qd[free], robot.tau[free])
    tolerance = solving_tolerance(robot.inertia[np.ix_(free, free)])
    assert_equal_to_rounding(qdd[free], expected, tolerance=tolerance)


def test_batch_may_prescribe_other_joints_in_every_row(tree):
    q, qd, qdd, tau = tree.random.uniform(-2, 2, (4, 5, tree.model.n))
    prescribed = tree.random.random((5, tree.model.n)) < 0.5
    batch = tree.dynamics.hybrid(q, qd, qdd, tau, prescribed)
    for k in range(5):
        single = tree.dynamics.hybrid(q[k], qd[k], qdd[k], tau[k], prescribed[k])
        for actual, expected in zip(batch, single, strict=True):
            tolerance = solving_tolerance(tree.dynamics.crba(q[k]))
            assert_equal_to_rounding(actual[k], expected, tolerance=tolerance)
        for_all = tree.dynamics.hybrid(q, qd, qdd, tau, prescribed[k])
        np.testing.assert_array_equal(for_all[0][k], batch[0][k])
        np.testing.assert_array_equal(for_all[1][k], batch[1][k])


WRIST = Model.from_urdf(on_the_axis())  # whose own torque nothing resists


def test_joint_without_inertia_may_be_prescribed():
    dynamics = Dynamics(WRIST)
    qdd, tau = dynamics.hybrid([0.1, 0.2], [1, 2], [np.nan, 3], [4, np.nan], [False, True])
    np.testing.assert_allclose(dynamics.rnea([0.1, 0.2], [1, 2], qdd), tau, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", [(), (3,)], ids=["single", "batch"])
def test_joint_without_inertia_raises_if_it_is_free(batch):
    given = np.ones((4, *batch, 2))
    with pytest.raises(SingularInertiaError, match="joint 'wrist' moves no inertia"):
        Dynamics(WRIST).hybrid(*given, [True, False])


WRIST_DRIVEN = np.array([False, True])


@pytest.mark.parametrize(
    "choice",
    [
        [False, True],
        (0, 1),
        np.array([0.0, 1.0]),
        np.array([False, True, True])[::2],
        np.array([[True, False], [False, True]])[1],
    ],
    ids=["list", "ints", "floats", "not contiguous", "view"],
)
def test_prescribed_is_whatever_says_true_or_false(choice):
    given = np.random.default_rng(1).uniform(-1, 1, (4, 2))
    expected = Dynamics(WRIST).hybrid(*given, WRIST_DRIVEN)
    np.testing.assert_array_equal(Dynamics(WRIST).hybrid(*given, choice), expected)


@pytest.mark.parametrize("choice", [[0, 2], [np.nan, 1], ["wrist", "elbow"], [-1, 1]], ids=repr)
def test_what_is_neither_true_nor_false_raises(choice):
    with pytest.raises(ValueError, match=r"^prescribed: expected "):
        Dynamics(WRIST).hybrid(*np.ones((4, 2)), choice)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 3)], ids=str)
def test_prescribed_raises_if_its_shape_does_not_fit(shape):
    for states in np.ones((4, 2)), np.ones((4, 5, 2)):
        with pytest.raises(ValueError, match=r"prescribed: expected shape \(2,\).*got ") as error:
            Dynamics(WRIST).hybrid(*states, np.ones(shape, dtype=bool))
        assert str(error.value).endswith(f"got {shape}")


def test_prescribed_of_several_rows_makes_a_batch_of_a_single_state():
    choices = np.array([[False, True], [True, True]])
    q, qd, qdd, tau = np.random.default_rng(2).uniform(-1, 1, (4, 2))
    dynamics = Dynamics(WRIST)
    together = np.stack(dynamics.hybrid(q, qd, qdd, tau, choices))
    alone = [np.stack(dynamics.hybrid(q, qd, qdd, tau, choice)) for choice in choices]
    np.testing.assert_allclose(together, np.stack(alone, axis=1), rtol=1e-14)

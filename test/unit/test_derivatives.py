"""Derivatives of rnea and aba, and the inverse of the inertia matrix."""

import re

import numpy as np
import pytest
from comparison import EPSILON, assert_equal_to_rounding, relative_error, solving_tolerance
from random_trees import TREES, UNLIKE_MODELS, random_tree
from states import DIFFERENCE, RobotInState, difference
from studies import few_or_all
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


def torque_scale(tree):
    """Return the size of the terms of the torque and its derivatives, which may cancel."""
    weight = np.abs(tree.dynamics.gravity(tree.q)).max()
    return weight + np.abs(tree.inertia).max() * max(1, np.abs(tree.qd).max()) ** 2


# Inverse dynamics --------------------------------------------------------------------------------


def test_torque_changes_with_position_as_differences_say(tree):
    dtau_dq, _, _ = tree.dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd)
    for k in tree.sample(range(tree.model.n)):
        slope = difference(
            lambda q: tree.dynamics.rnea(q, tree.qd, tree.qdd), tree.q, np.eye(tree.model.n)[k]
        )
        assert_equal_to_rounding(dtau_dq[:, k], slope, torque_scale(tree), tolerance=DIFFERENCE)


def test_torque_changes_with_velocity_as_differences_say(tree):
    """Differences of a quadratic function have no error but rounding: a step may be long."""
    _, dtau_dqd, _ = tree.dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd)
    for k in tree.sample(range(tree.model.n)):
        ahead, behind = tree.qd.copy(), tree.qd.copy()
        ahead[k] += 1
        behind[k] -= 1
        rise = tree.dynamics.bias(tree.q, ahead) - tree.dynamics.bias(tree.q, behind)
        assert_equal_to_rounding(dtau_dqd[:, k], rise / 2, torque_scale(tree))


def test_torque_changes_with_acceleration_by_the_inertia(tree):
    _, _, M = tree.dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd)
    assert_equal_to_rounding(M, tree.inertia)
    np.testing.assert_array_equal(M, M.T)


def test_derivative_by_velocity_is_twice_the_coriolis_matrix(tree):
    """Both are linear in qd and give the torque when multiplied by it."""
    _, dtau_dqd, _ = tree.dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd)
    coriolis = tree.dynamics.coriolis(tree.q, tree.qd)
    assert_equal_to_rounding(dtau_dqd, 2 * coriolis, torque_scale(tree))


def test_stiffness_of_gravity_is_symmetric(tree):
    """It is the second derivative of the potential energy."""
    at_rest = np.zeros(tree.model.n)
    stiffness, dtau_dqd, _ = tree.dynamics.rnea_derivatives(tree.q, at_rest, at_rest)
    assert_equal_to_rounding(stiffness, stiffness.T, torque_scale(tree))
    assert not dtau_dqd.any()
    weightless = Dynamics(tree.model.with_gravity([0, 0, 0]))
    assert not weightless.rnea_derivatives(tree.q, at_rest, at_rest)[0].any()


def test_joints_of_different_branches_do_not_touch(tree):
    """Neither is between the other and the base: then no entry is other than zero, exactly."""
    bodies = tree.model.tree
    apart = np.ones((tree.model.n, tree.model.n), dtype=bool)
    for body, outer in enumerate(bodies.dof):
        while body >= 0:
            apart[outer, bodies.dof[body]] = apart[bodies.dof[body], outer] = False
            body = bodies.parent[body]
    for derivative in tree.dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd):
        assert not derivative[apart].any()


# The inverse of the inertia ----------------------------------------------------------------------


def test_minv_is_the_inverse_of_crba(tree):
    Minv = tree.dynamics.minv(tree.q)
    tolerance = solving_tolerance(tree.inertia)
    assert_equal_to_rounding(Minv @ tree.inertia, np.eye(tree.model.n), 1, tolerance)
    assert_equal_to_rounding(Minv, np.linalg.inv(tree.inertia), tolerance=tolerance)
    np.testing.assert_array_equal(Minv, Minv.T)


def test_minv_has_the_columns_that_aba_gives(tree):
    weightless = Dynamics(tree.model.with_gravity([0, 0, 0]))
    at_rest = np.zeros(tree.model.n)
    Minv = tree.dynamics.minv(tree.q)
    for k in tree.sample(range(tree.model.n)):
        column = weightless.aba(tree.q, at_rest, np.eye(tree.model.n)[k])
        tolerance = solving_tolerance(tree.inertia)
        assert_equal_to_rounding(Minv[:, k], column, np.abs(Minv).max(), tolerance)


@pytest.mark.parametrize("count", few_or_all([300], [300, 1000]))
def test_minv_of_a_long_chain(count):
    chain = RobotInState(Model.from_urdf(random_tree(1000, count, branching=0)))
    Minv = chain.dynamics.minv(chain.q)
    without_bias = chain.tau - chain.dynamics.bias(chain.q, chain.qd)
    qdd = chain.dynamics.aba(chain.q, chain.qd, chain.tau)
    assert relative_error(Minv @ without_bias, qdd) <= solving_tolerance(chain.inertia)


# Forward dynamics --------------------------------------------------------------------------------


def test_aba_derivatives_solve_those_of_rnea(tree):
    """tau = rnea(q, qd, aba(q, qd, tau)) whatever q and qd are: M dqdd/dx + dtau/dx = 0."""
    dqdd_dq, dqdd_dqd, Minv = tree.dynamics.aba_derivatives(tree.q, tree.qd, tree.tau)
    qdd = tree.dynamics.aba(tree.q, tree.qd, tree.tau)
    dtau_dq, dtau_dqd, M = tree.dynamics.rnea_derivatives(tree.q, tree.qd, qdd)
    np.testing.assert_array_equal(Minv, tree.dynamics.minv(tree.q))
    for dqdd, dtau in ((dqdd_dq, dtau_dq), (dqdd_dqd, dtau_dqd)):
        scale = np.abs(M).max() * (np.abs(dqdd).max() + np.abs(qdd).max())
        assert_equal_to_rounding(M @ dqdd, -dtau, scale)


def test_acceleration_changes_as_differences_say(tree):
    dqdd_dq, dqdd_dqd, _ = tree.dynamics.aba_derivatives(tree.q, tree.qd, tree.tau)
    qdd = tree.dynamics.aba(tree.q, tree.qd, tree.tau)
    for k in tree.sample(range(tree.model.n)):
        unit = np.eye(tree.model.n)[k]
        by_q = difference(lambda q: tree.dynamics.aba(q, tree.qd, tree.tau), tree.q, unit)
        by_qd = difference(lambda qd: tree.dynamics.aba(tree.q, qd, tree.tau), tree.qd, unit)
        for column, slope in ((dqdd_dq[:, k], by_q), (dqdd_dqd[:, k], by_qd)):
            scale = np.abs(slope).max() + np.abs(qdd).max()
            assert_equal_to_rounding(column, slope, scale, tolerance=10 * DIFFERENCE)


# External wrenches -------------------------------------------------------------------------------


def test_wrenches_turn_with_their_links(tree):
    """So the torque of a wrench on a link changes with all joints that move it."""
    f_ext, at = tree.wrenches(), (tree.qd, tree.qdd)
    dtau_dq, dtau_dqd, M = tree.dynamics.rnea_derivatives(tree.q, *at, f_ext)
    for k in tree.sample(range(tree.model.n)):
        slope = difference(
            lambda q: tree.dynamics.rnea(q, *at, f_ext), tree.q, np.eye(tree.model.n)[k]
        )
        scale = torque_scale(tree) + np.abs(slope).max()
        assert_equal_to_rounding(dtau_dq[:, k], slope, scale, tolerance=DIFFERENCE)
    without = tree.dynamics.rnea_derivatives(tree.q, *at)
    np.testing.assert_array_equal([dtau_dqd, M], without[1:])


def test_acceleration_under_wrenches_changes_as_differences_say(tree):
    f_ext = tree.wrenches()
    dqdd_dq, _, _ = tree.dynamics.aba_derivatives(tree.q, tree.qd, tree.tau, f_ext)
    qdd = tree.dynamics.aba(tree.q, tree.qd, tree.tau, f_ext)
    for k in tree.sample(range(tree.model.n)):
        slope = difference(
            lambda q: tree.dynamics.aba(q, tree.qd, tree.tau, f_ext),
            tree.q,
            np.eye(tree.model.n)[k],
        )
        scale = np.abs(slope).max() + np.abs(qdd).max()
        assert_equal_to_rounding(dqdd_dq[:, k], slope, scale, tolerance=10 * DIFFERENCE)


# Mimic and locked joints -------------------------------------------------------------------------


@pytest.mark.parametrize("tree", ["mimic", "all at once"])
def test_followers_count_through_the_map_of_coordinates(tree):
    """tau = G^T tau_full(G q + offset), so that each derivative is G^T (...) G."""
    coupled = RobotInState(Model.from_urdf(TREES[tree]))
    free = Dynamics(Model.from_urdf(re.sub("<mimic[^>]*>", "", TREES[tree])))
    column = {name: k for k, name in enumerate(coupled.model.joint_names)}
    G, offset = np.zeros((free.model.n, coupled.model.n)), np.zeros(free.model.n)
    for row, name in enumerate(free.model.joint_names):
        leader, multiplier, shift = coupled.model.mimics.get(name, (name, 1, 0))
        G[row, column[leader]], offset[row] = multiplier, shift
    ours = coupled.dynamics.rnea_derivatives(coupled.q, coupled.qd, coupled.qdd)
    full = free.rnea_derivatives(G @ coupled.q + offset, G @ coupled.qd, G @ coupled.qdd)
    for derivative, full_derivative in zip(ours, full, strict=True):
        scale = np.abs(G).max() ** 2 * np.abs(full_derivative).max()
        assert_equal_to_rounding(derivative, G.T @ full_derivative @ G, scale)


def test_locked_joints_leave_the_rows_and_columns_of_the_others():
    free = RobotInState(Model.from_urdf(TREES["fixed between"]))
    names = free.model.joint_names
    locked = {name: free.q[k] for k, name in enumerate(names) if k % 3 == 1}
    kept = [k for k, name in enumerate(names) if name not in locked]
    arm = Dynamics(Model.from_urdf(TREES["fixed between"], locked=locked))
    moving = np.isin(range(len(names)), kept)
    qd, qdd = free.qd * moving, free.qdd * moving
    ours = arm.rnea_derivatives(free.q[kept], qd[kept], qdd[kept])
    full = free.dynamics.rnea_derivatives(free.q, qd, qdd)
    for derivative, full_derivative in zip(ours, full, strict=True):
        assert_equal_to_rounding(derivative, full_derivative[np.ix_(kept, kept)])
    Minv = arm.minv(free.q[kept])
    assert_equal_to_rounding(Minv, np.linalg.inv(free.inertia[np.ix_(kept, kept)]))


# Far away ----------------------------------------------------------------------------------------


def test_a_robot_on_rails_is_the_same_a_kilometre_away():
    """What it loses are the digits of its position, not their square."""
    text = robot(
        link("base"), link("wagon", 30), link("upper", 3), link("lower", 2), link("hand", 0.1),
        joint("rail", "base", "wagon", "prismatic", axis="1 0 0"),
        joint("shoulder", "wagon", "upper", rpy="0.1 0.2 0.3", axis="0 1 0"),
        joint("elbow", "upper", "lower", axis="0 1 0"),
        joint("wrist", "lower", "hand", axis="1 0 0"),
    )  # fmt: skip
    wagon = RobotInState(Model.from_urdf(text))
    away = wagon.q + np.array([1000, 0, 0, 0])
    lost = 1000 * EPSILON * 100
    assert_equal_to_rounding(wagon.dynamics.minv(away), wagon.dynamics.minv(wagon.q), None, lost)
    for method in ("rnea_derivatives", "aba_derivatives"):
        derivatives = getattr(wagon.dynamics, method)
        there, here = (derivatives(q, wagon.qd, wagon.tau) for q in (away, wagon.q))
        for actual, expected in zip(there, here, strict=True):
            assert_equal_to_rounding(actual, expected, None, lost)


# Results in the caller's arrays -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rnea_derivatives", "aba_derivatives"])
@pytest.mark.parametrize("batch", [(), (0,), (11,)], ids=["single", "B=0", "B=11"])
def test_out_receives_the_derivatives(method, batch):
    derive = getattr(Dynamics(Model.from_robot("panda")), method)
    states = np.random.default_rng(1).uniform(-1, 1, (3, *batch, 7))
    expected = [y.copy() for y in derive(*states)]
    out = tuple(np.full((*batch, 7, 7), np.nan) for _ in range(3))
    found = derive(*states, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((3, 1, 1)), "out: expected 3 arrays, got ndarray"),
        ([np.empty((1, 1))] * 2, "out: expected 3 arrays, got 2"),
        ([np.empty((1, 1))] * 3, r"out: expected arrays apart from each other"),
        ([np.empty((2, 2))] * 3, r"out: expected shape \(1, 1\), got \(2, 2\)"),
    ],
)
def test_out_that_does_not_fit_is_refused(out, message):
    arm = Dynamics(Model.from_robot("panda", joints=["panda_joint2"]))
    with pytest.raises(ValueError, match=message):
        arm.rnea_derivatives([0.1], [0.2], [0.3], out=out)


def test_out_that_is_an_input_is_refused():
    arm, q = Dynamics(Model.from_robot("panda", joints=["panda_joint2"])), np.array([0.1])
    out = (np.empty((1, 1)), q.reshape(1, 1), np.empty((1, 1)))
    with pytest.raises(ValueError, match=r"it overlaps q$"):
        arm.aba_derivatives(q, [0.2], [0.3], out=out)

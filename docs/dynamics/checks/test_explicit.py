"""Lagrange's explicit form agrees with the compiled core, term by term, and with RBDA's tables."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from reference_cases import few_or_all_cases

from featherstone_ros import Dynamics
from reference import BASE, explicit
from reference.featherstone import crba, rnea


@pytest.fixture(scope="module", params=few_or_all_cases(14), ids=repr)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def derivatives(case):
    return explicit.inertia_derivatives(case.robot, case.q_J)


def velocity_terms_of_the_core(case):
    """Return V(qd) of the compiled core: its bias without gravity."""
    dynamics = Dynamics(case.model.with_gravity([0, 0, 0]))
    return lambda qd: dynamics.bias(case.q, qd)


def test_inertia_agrees_with_the_core(case):
    M = explicit.inertia(case.robot, case.q_J)
    assert_equal_to_rounding(M, crba(case.robot, case.q_J))
    assert_equal_to_rounding(case.robot.reduce(M), case.dynamics.crba(case.q))


def test_kinetic_energy_is_the_core_s(case):
    M = explicit.inertia(case.robot, case.q_J)
    kinetic, _ = case.dynamics.energy(case.q, case.qd)
    assert_equal_to_rounding(case.qd_J @ M @ case.qd_J / 2, kinetic)


def test_gravity_agrees_with_the_core(case):
    G = explicit.gravity(case.robot, case.q_J)
    assert_equal_to_rounding(case.robot.reduce(G), case.dynamics.gravity(case.q))


def test_velocity_terms_agree_with_the_core(case):
    V = case.robot.reduce(explicit.velocity_terms(case.robot, case.q_J, case.qd_J))
    M = np.abs(case.dynamics.crba(case.q)).max()
    assert_equal_to_rounding(V, velocity_terms_of_the_core(case)(case.qd), scale=M)


def test_torques_agree_with_the_core(case):
    tau = explicit.inverse_dynamics(case.robot, case.q_J, case.qd_J, case.qdd_J)
    assert_equal_to_rounding(tau, rnea(case.robot, case.q_J, case.qd_J, case.qdd_J))
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd)
    assert_equal_to_rounding(case.robot.reduce(tau), expected)


def test_coriolis_matrix_agrees_with_the_core(case, derivatives):
    C = explicit.coriolis_matrix(explicit.christoffel(derivatives), case.qd_J)
    M = np.abs(case.dynamics.crba(case.q)).max()
    assert_equal_to_rounding(case.robot.reduce(C), case.dynamics.coriolis(case.q, case.qd), scale=M)


def test_every_christoffel_symbol_is_what_the_core_s_torques_say(case, derivatives):
    """V is quadratic in qd, so 2 b_ijk = V_i(e_j + e_k) - V_i(e_j) - V_i(e_k)."""
    V, n, G = velocity_terms_of_the_core(case), case.robot.n, case.robot.G
    e = np.eye(n)
    single = np.array([V(e[j]) for j in range(n)])
    double = np.array([[V(e[j] + e[k]) for k in range(n)] for j in range(n)])
    expected = (double - single[:, None] - single[None]).transpose(2, 0, 1) / 2
    b = np.einsum("ijk,ia,jb,kc->abc", explicit.christoffel(derivatives), G, G, G)
    scale = np.abs(case.dynamics.crba(case.q)).max()
    assert_equal_to_rounding(b, expected, scale=scale)


def test_symbols_are_zero_where_no_joint_beyond_moves(case, derivatives):
    """b_iii = 0, and b_iji = m_iij / 2, which is 0 unless joint j is beyond joint i."""
    b, N, parent = explicit.christoffel(derivatives), case.robot.N, case.robot.parent
    b_iji = np.einsum("iji->ij", b)
    scale = max(np.abs(case.dynamics.crba(case.q)).max(), np.abs(b).max())
    assert_equal_to_rounding(b_iji, np.einsum("iij->ij", derivatives) / 2, scale)
    beyond = np.zeros((N, N), dtype=bool)
    for j in range(N):
        i = parent[j]
        while i != BASE:
            beyond[i, j] = True
            i = parent[i]
    assert_equal_to_rounding(b_iji[~beyond], np.zeros((~beyond).sum()), scale)
    assert N == 1 or np.abs(b_iji[beyond]).max(initial=0.0) > 1e-3 * np.abs(b).max()


def test_coriolis_matrix_has_craig_s_product(case, derivatives):
    b = explicit.christoffel(derivatives)
    V = explicit.velocity_terms(case.robot, case.q_J, case.qd_J)
    scale = np.abs(b).max()
    assert_equal_to_rounding(explicit.coriolis_matrix(b, case.qd_J) @ case.qd_J, V, scale=scale)


def test_derivative_of_inertia_less_two_c_is_skew(case, derivatives):
    M_dot = derivatives @ case.qd_J
    C = explicit.coriolis_matrix(explicit.christoffel(derivatives), case.qd_J)
    N = M_dot - 2 * C
    assert_equal_to_rounding(N, -N.T, scale=np.abs(derivatives).max())


def test_work_done_raises_the_energy(case, derivatives):
    """Along any motion qd . tau is the rate of kinetic energy, plus qd . G of the potential one."""
    M = explicit.inertia(case.robot, case.q_J)
    tau = explicit.inverse_dynamics(case.robot, case.q_J, case.qd_J, case.qdd_J)
    G = explicit.gravity(case.robot, case.q_J)
    qd, M_dot = case.qd_J, derivatives @ case.qd_J
    rate = qd @ M @ case.qdd_J + qd @ M_dot @ qd / 2
    assert_equal_to_rounding(rate, qd @ (tau - G), scale=np.abs(qd) @ np.abs(tau))

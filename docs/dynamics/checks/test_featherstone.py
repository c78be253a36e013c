"""The reference's RNEA, CRBA and ABA agree with the compiled core, and with each other."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from reference_cases import few_or_all_cases

from reference import featherstone as rbda


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def case(request):
    return request.param


def test_rnea_agrees_with_the_core(case):
    tau = rbda.rnea(case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext)
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    assert_equal_to_rounding(case.robot.reduce(tau), expected)


def test_rnea_at_rest_agrees_with_the_core(case):
    still = np.zeros(case.robot.N)
    tau = rbda.rnea(case.robot, case.q_J, still, still)
    assert_equal_to_rounding(case.robot.reduce(tau), case.dynamics.gravity(case.q))


def test_crba_agrees_with_the_core(case):
    H = rbda.crba(case.robot, case.q_J)
    assert_equal_to_rounding(case.robot.reduce(H), case.dynamics.crba(case.q))


def test_aba_is_the_inverse_of_rnea(case):
    tau = rbda.rnea(case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext)
    qdd = rbda.aba(case.robot, case.q_J, case.qd_J, tau, case.f_ext)
    H = rbda.crba(case.robot, case.q_J)
    assert_equal_to_rounding(qdd, case.qdd_J, tolerance=solving_tolerance(H))


def test_forward_dynamics_agrees_with_the_core(case):
    tau = case.random.uniform(-20, 20, case.robot.n)
    expected = case.dynamics.aba(case.q, case.qd, tau, f_ext=case.f_ext)
    tolerance = solving_tolerance(case.dynamics.crba(case.q))
    qdd = rbda.forward_dynamics(case.robot, case.q, case.qd, tau, case.f_ext)
    assert_equal_to_rounding(qdd, expected, tolerance=tolerance)
    if not case.coupled:
        in_order = case.robot.G @ tau  # G only sorts here
        qdd_J = rbda.aba(case.robot, case.q_J, case.qd_J, in_order, case.f_ext)
        assert_equal_to_rounding(case.robot.G.T @ qdd_J, expected, tolerance=tolerance)

"""Kane's equations give the core's torques; partial velocities are what velocities are made of."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from reference_cases import few_or_all_cases

from reference import kane, newton_euler, operators
from reference.spatial import rot, xlt


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def case(request):
    return request.param


def test_torques_agree_with_the_core(case):
    tau = kane.inverse_dynamics(case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext)
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    assert_equal_to_rounding(case.robot.reduce(tau), expected)


def test_weights_alone_are_the_core_s_gravity(case):
    F = kane.active_forces(case.robot, case.q_J)
    assert_equal_to_rounding(case.robot.reduce(-F), case.dynamics.gravity(case.q))


def test_inertia_forces_are_newton_s_and_euler_s_without_gravity(case):
    still = kane.active_forces(case.robot, case.q_J)
    tau, _, _ = newton_euler.inverse_dynamics(case.robot, case.q_J, case.qd_J, case.qdd_J)
    F_star = kane.inertia_forces(case.robot, case.q_J, case.qd_J, case.qdd_J)
    assert_equal_to_rounding(F_star, -tau - still, scale=np.abs(tau).max())


def test_partial_velocities_make_the_velocities_of_the_core(case):
    v_r, w_r = kane.partial_velocities(case.robot, case.q_J)
    v, w = (np.einsum("irk,r->ik", partial, case.qd_J) for partial in (v_r, w_r))
    for i, name in enumerate(case.robot.names[:-1]):
        linear, angular = case.dynamics.link_velocity(case.q, case.qd, name).reshape(2, 3)
        c = case.dynamics.link_pose(case.q, name)[:3, :3] @ case.robot.c[i]
        scale = 1 + np.abs(v).max()
        assert_equal_to_rounding(v[i], linear + np.cross(angular, c), scale=scale)
        assert_equal_to_rounding(w[i], angular, scale=scale)


def test_partial_velocities_are_columns_of_the_operators(case):
    """phi* H*, taken to the centres of mass and into the base's axes."""
    o = operators.body_frames(case.robot, case.q_J)
    R, _ = case.robot.poses(case.q_J)
    v_r, w_r = kane.partial_velocities(case.robot, case.q_J)
    columns = (o.phi.T @ o.H.T).reshape(case.robot.N, 6, -1)
    for i in range(case.robot.N):
        at_centre = rot(R[i]) @ xlt(case.robot.c[i]) @ columns[i]
        expected = np.vstack([w_r[i].T, v_r[i].T])
        assert_equal_to_rounding(at_centre, expected, scale=1 + np.abs(expected).max())

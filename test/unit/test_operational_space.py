"""The hand in space: derivatives of the Jacobian, and inertia and momentum as seen there."""

from pathlib import Path

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import as_tree, random_tree
from states import DIFFERENCE, RobotInState, difference

import featherstone_ros as fr
from featherstone_ros import Dynamics, Model, SingularJacobianError

CONFIG = Path(__file__).resolve().parents[2] / "config"
POINT = np.array([0.1, -0.2, 0.3])
ARM = "panda_hand"


@pytest.fixture(scope="module")
def panda():
    return RobotInState(Model.from_file(CONFIG / "panda.urdf"))


@pytest.fixture(params=["chain", "mimic", "screws"])
def robot(request, panda):
    if request.param == "chain":
        return panda
    if request.param == "mimic":
        return RobotInState(Model.from_urdf(random_tree(12, 12, mimic=0.4)))
    return RobotInState(as_tree(random_tree(3, 9), screws=0.5).model())


def test_jacobian_derivative_is_that_of_the_jacobian_at_the_same_point(robot):
    for link in robot.sample(robot.model.link_names):
        expected = difference(
            lambda q, link=link: robot.dynamics.jacobian(q, link, POINT), robot.q, robot.qd
        )
        Jdot = robot.dynamics.jacobian_derivative(robot.q, robot.qd, link, POINT)
        assert_equal_to_rounding(Jdot, expected, 1 + np.abs(expected).max(), DIFFERENCE)


def test_link_acceleration_is_the_derivative_of_the_velocity(robot):
    d, q, qd, qdd = robot.dynamics, robot.q, robot.qd, robot.qdd
    for link in robot.sample(robot.model.link_names):
        along_q = difference(lambda q, link=link: d.link_velocity(q, qd, link), q, qd)
        expected = along_q + d.jacobian(q, link) @ qdd
        a = d.link_acceleration(q, qd, qdd, link)
        assert_equal_to_rounding(a, expected, 1 + np.abs(expected).max(), DIFFERENCE)
        without = d.link_acceleration(q, qd, 0 * qdd, link)
        assert_equal_to_rounding(d.jacobian_derivative(q, qd, link) @ qd, without, scale=10)


def test_gravity_is_not_in_the_acceleration(panda):
    thrown = Dynamics(panda.model.with_gravity((1.0, 2.0, 3.0)))
    at = panda.q, panda.qd, panda.qdd, ARM
    np.testing.assert_array_equal(
        thrown.link_acceleration(*at), panda.dynamics.link_acceleration(*at)
    )


def test_jacobian_at_a_point_is_that_of_a_link_fixed_there(panda):
    """panda_hand_tcp is fixed to panda_hand, 0.1034 m along its z axis."""
    J = panda.dynamics.jacobian(panda.q, ARM, (0, 0, 0.1034))
    assert_equal_to_rounding(J, panda.dynamics.jacobian(panda.q, "panda_hand_tcp"))


def test_operational_space_inertia_is_the_inverse_of_what_a_wrench_accelerates(panda):
    d, q = panda.dynamics, panda.q
    J = d.jacobian(q, ARM, POINT)
    Lambda = d.operational_space_inertia(q, ARM, POINT)
    assert_equal_to_rounding(Lambda @ J @ np.linalg.solve(panda.inertia, J.T), np.eye(6))
    np.testing.assert_array_equal(Lambda, Lambda.T)


def test_operational_space_inertia_knows_mimic_joints():
    robot = RobotInState(Model.from_urdf(random_tree(12, 14, mimic=0.3, branching=0.0)))
    link = robot.model.link_names[-1]
    J = robot.dynamics.jacobian(robot.q, link)
    assert robot.model.mimics and np.linalg.matrix_rank(J) == 6
    Lambda = robot.dynamics.operational_space_inertia(robot.q, link)
    expected = np.linalg.inv(J @ np.linalg.solve(robot.inertia, J.T))
    assert_equal_to_rounding(Lambda, expected, tolerance=1e-8)


def test_operational_space_inertia_of_a_batch_is_that_of_its_states(panda):
    q = panda.random.uniform(-2, 2, (37, panda.model.n))
    batch = panda.dynamics.operational_space_inertia(q, ARM)
    for state, Lambda in zip(q, batch, strict=True):
        one = panda.dynamics.operational_space_inertia(state, ARM)
        assert_equal_to_rounding(Lambda, one)


@pytest.mark.parametrize("elbow", [0.0, 1e-9])
def test_a_stretched_arm_has_no_operational_space_inertia(elbow):
    ur5e = Dynamics(Model.from_file(CONFIG / "ur5e.urdf"))
    q = np.array([0.3, -1.0, elbow, 0.4, 0.7, 0.2])
    with pytest.raises(SingularJacobianError, match=r"'tool0'.*rank"):
        ur5e.operational_space_inertia(q, "tool0")
    batch = np.tile(q, (20, 1))
    batch[:-1, 2] = 1.0
    with pytest.raises(SingularJacobianError, match="'tool0'"):
        ur5e.operational_space_inertia(batch, "tool0")
    assert np.isfinite(ur5e.operational_space_inertia(batch[:-1], "tool0")).all()


def test_a_link_with_fewer_than_six_joints_has_no_operational_space_inertia(panda):
    with pytest.raises(fr.SingularJacobianError, match="'panda_link4'"):
        panda.dynamics.operational_space_inertia(panda.q, "panda_link4")


def test_centroidal_momentum_matrix_gives_the_momentum(robot):
    d, q, qd = robot.dynamics, robot.q, robot.qd
    assert_equal_to_rounding(d.centroidal_momentum_matrix(q) @ qd, d.momentum(q, qd))


def test_centre_of_mass_jacobian_is_the_derivative_of_the_centre_of_mass(robot):
    expected = difference(robot.dynamics.centre_of_mass, robot.q, robot.qd)
    velocity = robot.dynamics.centre_of_mass_jacobian(robot.q) @ robot.qd
    assert_equal_to_rounding(velocity, expected, 1, DIFFERENCE)


def test_a_point_that_is_none_is_refused(panda):
    with pytest.raises(ValueError, match=r"point: expected shape \(3,\).*, got \(2,\)"):
        panda.dynamics.jacobian(panda.q, ARM, (1.0, 2.0))

"""Spatial algebra holds its identities; the robot in book notation stands where the core's does."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from reference_cases import few_or_all_cases

from reference import spatial
from reference.robot import BASE

RANDOM = np.random.default_rng(5)
AXIS = np.array([2, -1, 2]) / 3
r = RANDOM.normal(size=3)
v, m = RANDOM.normal(size=(2, 6))
f = RANDOM.normal(size=6)
X = spatial.rot(spatial.turn(AXIS, 0.7)) @ spatial.xlt(r)


def test_turn_gives_coordinates_in_the_turned_frame():
    x, y = np.eye(3)[:2]
    assert_equal_to_rounding(spatial.turn([0, 0, 1], np.pi / 2) @ y, x)
    assert_equal_to_rounding(spatial.turn(AXIS, 0.7) @ AXIS, AXIS)
    assert_equal_to_rounding(spatial.turn(AXIS, 0.7) @ spatial.turn(AXIS, -0.7), np.eye(3))


def test_velocity_of_a_shifted_origin_is_that_of_the_point_there():
    expected = np.concatenate([v[:3], v[3:] + np.cross(v[:3], r)])
    assert_equal_to_rounding(spatial.xlt(r) @ v, expected)


def test_parts_of_a_transform_make_it():
    E, p = spatial.parts_of(X)
    assert_equal_to_rounding(E, spatial.turn(AXIS, 0.7))
    assert_equal_to_rounding(p, r)


def test_inverse_and_dual_are_what_they_say():
    assert_equal_to_rounding(spatial.inverse(X) @ X, np.eye(6))
    assert_equal_to_rounding(spatial.dual(X), np.linalg.inv(X).T)


def test_power_is_the_same_in_all_frames():
    assert_equal_to_rounding((spatial.dual(X) @ f) @ (X @ v), f @ v)


def test_cross_products_turn_with_the_frame():
    assert_equal_to_rounding(X @ spatial.crm(v) @ m, spatial.crm(X @ v) @ X @ m)
    dual = spatial.dual(X)
    assert_equal_to_rounding(dual @ spatial.crf(v) @ f, spatial.crf(X @ v) @ dual @ f)


def test_cross_products_keep_the_power():
    assert_equal_to_rounding((spatial.crm(v) @ m) @ f, -m @ (spatial.crf(v) @ f))


def test_rigid_body_has_the_kinetic_energy_of_its_mass_and_its_turning():
    mass, c, I_C = 2.5, np.array([0.3, -0.2, 0.1]), np.diag([0.2, 0.3, 0.4])
    w, v_C = v[:3], v[3:] + np.cross(v[:3], c)
    expected = (mass * v_C @ v_C + w @ I_C @ w) / 2
    assert_equal_to_rounding(v @ spatial.mcI(mass, c, I_C) @ v / 2, expected)


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def case(request):
    return request.param


def test_bodies_are_where_the_core_has_their_links(case):
    R, p = case.robot.poses(case.q_J)
    for body, name in enumerate(case.robot.names[:-1]):
        pose = case.dynamics.link_pose(case.q, name)
        assert_equal_to_rounding(R[body], pose[:3, :3])
        assert_equal_to_rounding(p[body], pose[:3, 3], scale=1 + np.abs(p).max())


def test_joints_move_their_body_as_the_core_says(case):
    """The velocity that S and the transforms give is that of the body's link."""
    robot = case.robot
    v = np.zeros((robot.N + 1, 6))
    for i in range(robot.N):
        XJ, S = robot.jcalc(i, case.q_J[i])
        v[i] = XJ @ robot.Xtree[i] @ v[robot.parent[i]] + S * case.qd_J[i]
    R, _ = robot.poses(case.q_J)
    for i, name in enumerate(robot.names[:-1]):
        expected = case.dynamics.link_velocity(case.q, case.qd, name)
        assert_equal_to_rounding(np.concatenate([R[i] @ v[i, 3:], R[i] @ v[i, :3]]), expected)


def test_wrenches_at_links_arrive_at_bodies_with_their_work(case):
    """Power is wrench times velocity of the link, and force times velocity of the body."""
    robot = case.robot
    forces = robot.body_forces(case.f_ext)
    X0 = robot.X0(case.q_J)
    in_base = robot.base_forces(case.f_ext, case.q_J)
    for i in (*range(robot.N), BASE):
        assert_equal_to_rounding(spatial.dual(X0[i]) @ in_base[i], forces[i])
    power = 0.0
    for link, wrench in case.f_ext.items():
        velocity = case.dynamics.link_velocity(case.q, case.qd, link)
        R = case.dynamics.link_pose(case.q, link)[:3, :3]
        power += (R @ wrench[:3]) @ velocity[:3] + (R @ wrench[3:]) @ velocity[3:]
    body_power = 0.0
    for i, name in enumerate(robot.names[:-1]):
        velocity = case.dynamics.link_velocity(case.q, case.qd, name)
        R = case.dynamics.link_pose(case.q, name)[:3, :3]
        body_power += forces[i, 3:] @ R.T @ velocity[:3] + forces[i, :3] @ R.T @ velocity[3:]
    scale = 30 * np.abs(case.qd).max() * len(case.f_ext)
    assert_equal_to_rounding(body_power, power, scale=scale)

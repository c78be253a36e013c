"""Pose error, its derivative, and inverse kinematics."""

from pathlib import Path

import numpy as np
import pinocchio
import pytest
from comparison import assert_equal_to_rounding
from random_trees import random_tree
from refusals import refusals
from scipy.spatial.transform import Rotation

from featherstone_ros import Dynamics, Model, UnknownNameError
from featherstone_ros.kinematics import (
    inverse_kinematics,
    pose_error,
    pose_error_derivative,
    twist_axis,
    wrench_axis,
)

CONFIG = Path(__file__).resolve().parents[3] / "config"
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}


def pose(rotation, position=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation.as_matrix(), position
    return T


@pytest.fixture
def random():
    return np.random.default_rng(5)


@pytest.fixture(params=TIPS.items(), ids=TIPS)
def arm(request):
    name, tip = request.param
    model = Model.from_file(CONFIG / f"{name}.urdf")
    return model, Dynamics(model), tip


# Error -------------------------------------------------------------------------------------------


def test_error_is_pinocchios_logarithm(random):
    rotations, positions = (
        Rotation.random(300, np.random.default_rng(7)),
        random.uniform(-2, 2, (300, 3)),
    )
    poses = [pose(R, p) for R, p in zip(rotations, positions, strict=True)]
    errors = pose_error(poses[:-1], poses[1:])
    for error, a, b in zip(errors, poses[:-1], poses[1:], strict=True):
        phi = pinocchio.log3(b[:3, :3] @ a[:3, :3].T)
        assert_equal_to_rounding(error, [*(b - a)[:3, 3], *phi], 1.0)


@pytest.mark.parametrize("angle", [0, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi - 1e-7, np.pi - 1e-13])
def test_error_is_exact_for_any_angle(angle, random):
    axis = random.normal(size=3)
    axis /= np.linalg.norm(axis)
    turned = Rotation.from_rotvec(angle * axis)
    error = pose_error(np.eye(4), pose(turned))[3:]
    np.testing.assert_allclose(error, angle * axis, rtol=1e-8, atol=1e-15)


def test_sign_of_a_quaternion_does_not_matter(random):
    a, b = Rotation.random(2, np.random.default_rng(3))
    p, q = (np.concatenate([random.uniform(-1, 1, 3), R.as_quat()]) for R in (a, b))
    other = np.concatenate([q[:3], -q[3:]])
    np.testing.assert_array_equal(pose_error(p, q), pose_error(p, other))
    assert_equal_to_rounding(pose_error(p, q), pose_error(pose(a, p[:3]), pose(b, q[:3])))


def test_error_does_not_jump_at_pi():
    axis = np.array([0.6, 0.0, 0.8])
    angles = np.linspace(0, 1.45 * np.pi, 500)
    errors = [np.zeros(6)]
    for angle in angles:
        errors.append(
            pose_error(np.eye(4), pose(Rotation.from_rotvec(angle * axis)), last=errors[-1])
        )
    np.testing.assert_allclose([e[3:] for e in errors[1:]], np.outer(angles, axis), atol=1e-12)
    assert np.linalg.norm(pose_error(np.eye(4), pose(Rotation.from_rotvec(4 * axis)))) < np.pi


def test_derivative_of_the_error(random):
    for a, b in zip(
        Rotation.random(50, np.random.default_rng(1)),
        Rotation.random(50, np.random.default_rng(2)),
        strict=True,
    ):
        v, w = random.uniform(-1, 1, (2, 6))
        ahead, behind = (
            pose_error(
                pose(Rotation.from_rotvec(h * v[3:]) * a, h * v[:3]),
                pose(Rotation.from_rotvec(h * w[3:]) * b, h * w[:3]),
            )
            for h in (1e-6, -1e-6)
        )
        error = pose_error(pose(a), pose(b))
        rate = pose_error_derivative(error, v, w)
        np.testing.assert_allclose(rate, (ahead - behind) / 2e-6, rtol=0, atol=1e-7)


def test_derivative_near_zero_is_the_difference_of_velocities(random):
    v, w = random.uniform(-1, 1, (2, 6))
    np.testing.assert_allclose(pose_error_derivative(np.zeros(6), v, w), w - v, rtol=1e-15)
    np.testing.assert_array_equal(pose_error_derivative(np.zeros((4, 6)), v), np.tile(-v, (4, 1)))


test_what_is_no_pose_is_refused = refusals(
    ("pose: expected a rotation matrix", 2 * np.eye(4)),
    ("pose: expected a rotation matrix", np.diag([1, 1, -1, 1])),
    (r"pose: expected shape \(4, 4\)", np.eye(3)),
    ("pose: expected a quaternion x y z w of length 1", np.ones(7)),
    ("pose: expected numbers", "here"),
    ("wrench: expected shape", lambda: wrench_axis([1, 2, 3])),
    error=ValueError, of=lambda given=(0.1, 0.2, 0.3, 0, 0, 0, 1): pose_error(given, np.eye(4)),
)  # fmt: skip


# Inverse kinematics ------------------------------------------------------------------------------


def test_poses_of_nearby_postures_are_reached(arm, random):
    model, dynamics, tip = arm
    lower, upper = np.maximum(model.lower, -2), np.minimum(model.upper, 2)
    postures = random.uniform(lower, upper, (500, model.n))
    targets = dynamics.link_pose(postures, tip)
    start = postures + random.uniform(-0.3, 0.3, postures.shape)
    found = inverse_kinematics(model, tip, targets, start)
    assert found.success.mean() > 0.98
    assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    left = pose_error(dynamics.link_pose(found.q, tip), targets)
    np.testing.assert_allclose(left, found.error, atol=1e-12)
    assert np.abs(left[found.success]).max() <= 1e-6
    assert (np.linalg.norm(left[~found.success], axis=1) > 1e-6).all()


def test_without_a_start_every_pose_within_reach_is_found(arm, random):
    model, dynamics, tip = arm
    poses = dynamics.link_pose(random.uniform(model.lower, model.upper, (200, model.n)), tip)
    found = inverse_kinematics(model, tip, poses)
    assert found.success.all()
    np.testing.assert_allclose(dynamics.link_pose(found.q, tip), poses, atol=5e-6)
    assert np.all((found.q >= model.lower) & (found.q <= model.upper))
    from_the_middle = inverse_kinematics(model, tip, poses, 0.5 * (model.lower + model.upper))
    assert not from_the_middle.success.all()  # so several starts were needed
    again = inverse_kinematics(model, tip, poses)
    np.testing.assert_array_equal(again.q, found.q)
    alone = inverse_kinematics(model, tip, poses[0])
    assert alone.success and alone.q.shape == (model.n,)


def test_a_position_alone_is_reached_in_any_orientation(arm, random):
    model, dynamics, tip = arm
    postures = random.uniform(model.lower, model.upper, (50, model.n))
    places = dynamics.link_pose(postures, tip)[:, :3, 3]
    found = inverse_kinematics(model, tip, places)
    assert found.success.all()
    np.testing.assert_allclose(dynamics.link_pose(found.q, tip)[:, :3, 3], places, atol=1e-6)
    np.testing.assert_array_equal(found.error[:, 3:], 0.0)
    assert inverse_kinematics(model, tip, places[0], postures[0]).iterations == 0


def test_what_is_out_of_reach_is_a_failure_that_says_so(arm):
    model, dynamics, tip = arm
    found = inverse_kinematics(model, tip, [5.0, 0.0, 0.3])
    assert not found.success
    assert "stuck" in found.outcome or "not reached" in found.outcome
    assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    best = dynamics.link_pose(found.q, tip)[0, 3]
    q = np.random.default_rng(1).uniform(model.lower, model.upper, (2000, model.n))
    assert best > dynamics.link_pose(q, tip)[:, 0, 3].max()


def test_a_joint_without_limits_needs_no_start():
    model = Model.from_urdf(random_tree(3, 6).replace('type="revolute"', 'type="continuous"'))
    tip = model.link_names[-1]
    places = Dynamics(model).link_pose(np.random.default_rng(4).uniform(-2, 2, (20, 6)), tip)
    assert inverse_kinematics(model, tip, places[:, :3, 3]).success.all()


def test_limits_are_kept_unless_they_are_not_wanted(random):
    model = Model.from_urdf(random_tree(4, 8, branching=0.0))
    tip, dynamics = model.link_names[-1], Dynamics(model)
    beyond = np.where(np.isfinite(model.upper), model.upper + 0.2, 0.5)
    target = dynamics.link_pose(beyond, tip)
    start = np.clip(beyond - 0.3, model.lower, model.upper)
    found = inverse_kinematics(model, tip, target, start)
    assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    assert inverse_kinematics(model, tip, target, start, limits=False).success


def test_rows_with_weight_zero_are_free(arm):
    model, dynamics, tip = arm
    q = np.clip(np.full(model.n, 0.4), model.lower, model.upper)
    target = dynamics.link_pose(q, tip)
    target[:3, 3] += (0.05, 0, -0.05)
    target[:3, :3] = Rotation.random(None, np.random.default_rng(1)).as_matrix()
    found = inverse_kinematics(model, tip, target, q, weights=(1, 1, 1, 0, 0, 0))
    assert found.success
    np.testing.assert_allclose(dynamics.link_pose(found.q, tip)[:3, 3], target[:3, 3], atol=1e-6)


def test_a_mimic_joint_follows_its_leader():
    model = Model.from_urdf(random_tree(12, 14, mimic=0.3, branching=0.0))
    assert model.mimics
    tip, dynamics = model.link_names[-1], Dynamics(model)
    q = np.clip(np.full(model.n, 0.2), model.lower, model.upper)
    found = inverse_kinematics(model, tip, dynamics.link_pose(q, tip), q + 0.05)
    assert found.success


def test_wrong_arguments_are_named(arm):
    model, _, tip = arm
    with pytest.raises(UnknownNameError, match="no link 'hand'"):
        inverse_kinematics(model, "hand", np.eye(4), np.zeros(model.n))
    with pytest.raises(ValueError, match="q0: expected shape"):
        inverse_kinematics(model, tip, np.eye(4), np.zeros(model.n + 1))
    with pytest.raises(ValueError, match="weights: expected six finite numbers >= 0"):
        inverse_kinematics(model, tip, np.eye(4), np.zeros(model.n), weights=-np.ones(6))


# Axes of twists and wrenches ---------------------------------------------------------------------


@pytest.mark.parametrize("rows", [(), (4,)])
def test_a_screw_has_the_axis_and_pitch_that_it_was_made_of(random, rows):
    direction, near = random.normal(size=(2, *rows, 3))
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    size, pitch = random.uniform(1, 2, rows)[..., np.newaxis], random.normal(size=rows)[..., None]
    resultant = size * direction
    at_origin = np.cross(near, resultant) + pitch * resultant  # v of the point at O, or n about it
    for axis in (
        twist_axis(np.concatenate([at_origin, resultant], axis=-1)),
        wrench_axis(np.concatenate([resultant, at_origin], axis=-1)),
    ):
        assert_equal_to_rounding(axis.direction, direction)
        assert_equal_to_rounding(axis.pitch, pitch[..., 0])
        assert_equal_to_rounding(axis.magnitude, size[..., 0])
        nearest = near - np.sum(near * direction, axis=-1, keepdims=True) * direction
        assert_equal_to_rounding(axis.point, nearest)


def test_without_rotation_or_force_the_pitch_is_infinite():
    axis = twist_axis([[0, 3, 4, 0, 0, 0], [0, 0, 1, 0, 0, 2]])
    assert axis.pitch.tolist() == [np.inf, 0.5] and axis.magnitude.tolist() == [5, 2]
    np.testing.assert_array_equal(axis.direction, [[0, 0.6, 0.8], [0, 0, 1]])
    np.testing.assert_array_equal(axis.point, np.zeros((2, 3)))
    couple = wrench_axis([0, 0, 0, -2, 0, 0])
    assert couple.pitch == np.inf and couple.direction.tolist() == [-1, 0, 0]
    assert np.isnan(twist_axis(np.zeros(6)).pitch)

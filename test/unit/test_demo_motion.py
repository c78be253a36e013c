import numpy as np
import pytest
import urdf_text

import featherstone_ros as fr
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import Motion as FollowedMotion
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.tools.multi_sine import POINT_SPACING, load_share, plan
from featherstone_ros.tools.robot_setup import load

LIMIT = '<limit lower="-0.02" upper="0.02" velocity="0.5" effort="100"/>'


def slider(mass):
    carriage = urdf_text.link("carriage", mass, "0 0 0", (1, 1, 1))
    slide = urdf_text.joint("slide", "base", "carriage", "prismatic", LIMIT)
    return fr.Model.from_urdf(urdf_text.robot(urdf_text.link("base"), carriage, slide))


@pytest.fixture(scope="module", params=["panda", "ur5e"])
def robot(request):
    return load(request.param)


@pytest.fixture(scope="module")
def motion(robot):
    return plan(robot.model, robot.inverse_dynamics, robot.start)


def test_motion_moves_every_joint_at_half_its_speed_limit_or_more(robot, motion):
    _, _, velocity, _ = motion.samples(0.001)
    share = np.abs(velocity).max(axis=0) / robot.model.velocity_limit
    assert share.min() >= 0.5 and share.max() <= 0.9


def test_motion_stays_within_position_and_effort_limits(robot, motion):
    _, position, _, _ = motion.samples(0.001)
    assert np.all(position > robot.model.lower) and np.all(position < robot.model.upper)
    assert load_share(motion, robot.model, robot.inverse_dynamics) <= 0.8


def test_motion_keeps_the_arm_above_the_floor(robot, motion):
    dynamics = fr.Dynamics(robot.model)
    moving = [
        link
        for link, body in zip(robot.model.link_names, robot.model.tree.link_body, strict=True)
        if body >= 1
    ]
    for q in motion.samples(0.05)[1]:
        assert min(dynamics.link_pose(q, link)[2, 3] for link in moving) > 0.05


def test_motion_is_at_rest_at_both_ends_and_outside(motion):
    outside = [-1.0, 0.0, motion.duration, motion.duration + 1.0]
    position, velocity, acceleration = motion.at(outside)
    np.testing.assert_allclose(position, np.tile(motion.centre, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(acceleration, 0.0, atol=1e-12)


def test_velocity_and_acceleration_are_the_derivatives(motion):
    t, h = np.linspace(0.05, motion.duration - 0.05, 500), 1e-5
    before, here, after = motion.at(t - h), motion.at(t), motion.at(t + h)
    for order in (0, 1):
        slope = (after[order] - before[order]) / (2 * h)
        np.testing.assert_allclose(here[order + 1], slope, atol=1e-6)


def test_trajectory_points_lose_nothing_of_the_motion(robot, motion):
    """What the controller interpolates between the points sent is what the demo compares with."""
    model = robot.model
    space = JointSpace.of(model)
    points = [Point(*row) for row in zip(*motion.samples(POINT_SPACING), strict=True)]
    trajectory = Trajectory(model.joint_names, points, space)
    followed = trajectory.motion(0.0, trajectory.state(0), 0.1)
    assert isinstance(followed, FollowedMotion)
    time, *expected = motion.samples(0.0037)
    found = followed.sample(time)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-4)


def test_motion_swings_faster_where_there_is_little_room():
    model = slider(0.1)
    motion = plan(model, fr.Dynamics(model).rnea, [0.0])
    _, position, velocity, _ = motion.samples(0.001)
    assert np.abs(position).max() <= 0.02
    assert np.abs(velocity).max() == pytest.approx(0.8 * 0.5, rel=1e-2)


def test_motion_gets_smaller_where_torque_does_not_suffice():
    model = slider(6.0)
    dynamics = fr.Dynamics(model)
    motion = plan(model, dynamics.rnea, [0.0])
    assert load_share(motion, model, dynamics.rnea) <= 0.8
    _, _, velocity, _ = motion.samples(0.001)
    assert 0.01 < np.abs(velocity).max() < 0.8 * 0.5

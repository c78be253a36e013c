"""Splines through points that have positions alone, and what a stream of them asks of an arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import MotionState
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.control.spline import spline_velocities
from featherstone_ros.control.trajectory import Point, Trajectory

FREE = np.full(2, np.inf)
SPACE = JointSpace(("a", "b"), ("revolute",) * 2, -FREE, FREE, FREE, FREE)


def random_points(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(count)
    return np.cumsum(rng.uniform(0.01, 0.3, count)), rng.normal(size=(count, 2))


@pytest.mark.parametrize("count", [2, 3, 17, 400])
def test_velocities_are_those_of_scipys_spline(count):
    interpolate = pytest.importorskip("scipy.interpolate")
    times, positions = random_points(count)
    spline = interpolate.CubicSpline(times, positions, bc_type=((2, [0.0, 0.0]), (1, [0.0, 0.0])))
    assert_allclose(spline_velocities(times, positions), spline(times, 1), rtol=1e-9, atol=1e-9)


def test_the_motion_has_no_step_of_velocity_or_acceleration_and_ends_at_rest():
    times, positions = random_points(12)
    positions *= 1e-4  # slow enough to stop where they end
    points = [Point(t, q) for t, q in zip(times, positions, strict=True)]
    path = Trajectory(SPACE.names, points, SPACE, interpolation=Interpolation.SPLINE).compiled()
    for t, q in zip(times[:-1], positions[:-1], strict=True):
        before, after = path.sample(t - 1e-9), path.sample(t + 1e-9)
        assert_allclose(before[0], q, atol=1e-6)
        assert_allclose(before[:3], after[:3], rtol=1e-5, atol=1e-5)
    rest = np.zeros(2)
    assert_allclose(path.sample(times[-1] - 1e-9)[:3], [positions[-1], rest, rest], atol=1e-3)


@pytest.mark.parametrize("count", [1, 2, 12])
@pytest.mark.parametrize("first", [0.0, 0.04, 0.7])
def test_from_rest_the_acceleration_has_no_step(first, count):
    times, positions = random_points(12)
    times = times[:count] - times[0] + first
    points = [Point(t, q) for t, q in zip(times, positions[:count], strict=True)]
    trajectory = Trajectory(SPACE.names, points, SPACE, interpolation=Interpolation.SPLINE)
    rest = MotionState(positions[0], *np.zeros((3, 2)))
    motion = trajectory.motion(0.0, rest, 0.25)
    steps = []
    for period in (1e-3, 1e-4):
        acceleration = motion.sample(np.arange(-period, motion.end + period, period))[2]
        steps.append(np.abs(np.diff(acceleration, axis=0)).max())
    assert motion.sample(np.zeros(1))[2] == pytest.approx(0.0, abs=1e-9)
    assert steps[1] <= 0.2 * steps[0]
    assert_allclose(motion.state(motion.end).position, positions[count - 1])


@pytest.mark.parametrize(
    ("position", "velocity", "time"),
    [
        (0.0, 0.3, 0.05),  # 1.25 of the points' periods
        (0.005, 0.02, 0.25),  # noise, mostly
        (0.005, 0.3, 0.2 / 3),  # 4 x / v
        (0.005, 0.0, 0.25),
    ],
)
def test_a_chunk_takes_over_soon_if_it_asks_for_another_velocity(position, velocity, time):
    space = replace(SPACE, velocity=np.full(2, 4.0))
    points = [Point(0.04 * k, [0.0, 0.0]) for k in range(30)]
    chunk = Trajectory(space.names, points, space, interpolation=Interpolation.SPLINE)
    asked = MotionState(*np.array([[position, 0.0], [velocity, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    position, *rates, _ = chunk.motion(0.0, asked, 0.25).sample(np.array([0.9, 1.0]) * time)
    assert np.abs(position[0]).max() > 0.0
    assert_allclose([position[1], rates[0][1], rates[1][1]], 0.0, atol=1e-9)


def test_points_with_velocities_are_taken_as_they_are():
    points = [Point(0.5, [0.0, 0.0], [1.0, 1.0]), Point(1.0, [1.0, 2.0], [0.0, 0.0])]
    paths = [Trajectory(SPACE.names, points, SPACE, interpolation=kind) for kind in Interpolation]
    coefficients = [path.compiled().coefficients for path in paths]
    assert_allclose(*coefficients, rtol=0.0)

"""Splines through points that have positions alone, and what a stream of them asks of an arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from simulated_arm import ROBOTS, SimulatedArm
from studies import few_or_all

from featherstone_ros.arrays import Floats
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.motion import MotionState
from featherstone_ros.control.phases import Phase
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


def test_a_single_point_is_a_place_to_stand_at():
    assert not spline_velocities([1.0], np.ones((1, 2))).any()


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


LATENCY, RATE, HORIZON = 0.1, 30, 16  # [s], chunks and points per second, points of a chunk


def streamed(name: str, interpolation: Interpolation, noise: float) -> tuple[SimulatedArm, Floats]:
    """Follow chunks of positions, each stamped when it was asked for, and late.

    Args:
        name: The robot.
        interpolation: Between points.
        noise: By which chunks disagree, and 6 % of that within each [rad].

    Returns:
        The arm; the desired velocities (K, n) every 2 ms.
    """
    arm = SimulatedArm(name, 500, interpolation=interpolation)
    arm.run(0.5)
    rng, begin, velocities = np.random.default_rng(1), arm.now, []
    on_their_way: list[tuple[float, list[Point]]] = []
    for tick in range(1500):
        if tick % round(500 / RATE) == 0:
            times = arm.now - begin + np.arange(1, HORIZON + 1) / RATE
            way = 0.15 * (1.0 - np.cos(2.0 * np.pi * 0.3 * times))[:, None]
            positions = arm.start + way + rng.normal(0.0, noise, arm.model.n)
            positions += rng.normal(0.0, 0.06 * noise, positions.shape)
            on_their_way.append(
                (arm.now, [Point((k + 1) / RATE, q) for k, q in enumerate(positions)])
            )
        if on_their_way and on_their_way[0][0] + LATENCY <= arm.now + 1e-9:
            asked, points = on_their_way.pop(0)
            names = arm.model.joint_names
            arm.controller.set_trajectory(arm.now, names, points, asked - arm.now)
        arm.run(0.002)
        velocities.append(arm.controller.compiled.desired[1])
    return arm, np.array(velocities)


@pytest.mark.parametrize("name", few_or_all(ROBOTS[:1], ROBOTS))
def test_a_stream_of_chunks_that_disagree_is_smooth(name):
    """By 5 mrad, as those of a learned policy do: lines have steps of the velocity there."""
    _, lines = streamed(name, Interpolation.LINEAR, 0.005)
    arm, spline = streamed(name, Interpolation.SPLINE, 0.005)
    steps = [np.abs(np.diff(desired, axis=0)).max() for desired in (lines, spline)]
    assert steps[1] < 0.3 * steps[0]
    assert arm.phase is Phase.TRAJECTORY
    assert arm.speed < 0.3


@pytest.mark.parametrize("name", ROBOTS)
def test_a_stream_that_ends_comes_to_rest_and_goes_on_when_it_returns(name):
    arm, _ = streamed(name, Interpolation.SPLINE, 0.0)
    arm.run(HORIZON / RATE + 0.25)
    assert arm.phase is Phase.HOLDING
    assert np.abs(arm.simulator.qd).max() < 0.01
    arm.follow(arm.start, 1.0)
    assert arm.run(1.5).phase is Phase.HOLDING
    assert_allclose(arm.simulator.q, arm.start, atol=0.01)

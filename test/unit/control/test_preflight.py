"""Will a trajectory stay within the motors: torque along it, limits, how much slower."""

from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
from control_arm import NAMES, Bench, Q, model, settings, space
from each import each
from numpy.testing import assert_allclose
from studies import study

from featherstone_ros import Dynamics
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import (
    MAX_VALUES,
    Demand,
    Feasibility,
    check,
    check_trajectory,
    is_beyond,
    round_up,
    slow_down,
)
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import (
    Motion,
    MotionState,
    Point,
    Trajectory,
    TrajectoryError,
)
from featherstone_ros.model.drives import Drives
from featherstone_ros.tools.multi_sine import plan
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.taught_motion import slowed
from featherstone_ros.tools.trajectory_check import check_file, largest_gap, started
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

ROBOTS = ["panda", study("ur5e")]
STILL = np.zeros(2)
NO_DRIVES = Drives(*np.zeros((3, 2)))


robot_of = cache(load)


@cache
def motion_of(name: str) -> Any:
    robot = robot_of(name)
    return plan(robot.model, robot.inverse_dynamics, robot.start, 4.0, 0.9)


def fast_motion(name: str, stretch: float) -> UncheckedTrajectory:
    """A motion of every joint whose speeds are 90 % of the limits in its own time."""
    robot, (time, q, qd, qdd) = robot_of(name), motion_of(name).samples(0.02)
    rows = zip(time * stretch, q, qd / stretch, qdd / stretch**2, strict=True)
    return UncheckedTrajectory(robot.model.joint_names, tuple(Point(*row) for row in rows))


def random_motion(rng: np.random.Generator) -> Motion:
    """Through points of every kind, from a state before the first one that is not on the way."""
    times = np.cumsum(rng.uniform(0.1, 0.4, 5))
    points = [
        Point(time, *rng.normal(size=(fields, 3)), effort=rng.normal(size=3))
        for time, fields in zip(times, (3, 2, 1, 3, 1), strict=True)
    ]
    wide = np.full(3, 100.0)
    path = Trajectory(
        ("a", "b", "c"),
        points,
        JointSpace(("a", "b", "c"), ("revolute",) * 3, -wide, wide, wide, wide),
    )
    return path.motion(times[0] + 0.05, MotionState(*rng.normal(size=(4, 3))), 0.5)


def random_demand(rng: np.random.Generator) -> tuple[Demand, JointSpace]:
    """Parabolas of every shape, standing within the limits or, now and then, not."""
    standing, viscous, inertial = rng.normal(size=(3, 6, 2)) * [[[0.5]], [[1.0]], [[2.0]]]
    zero = np.zeros((6, 2))
    asked = Demand(np.linspace(0, 1, 6), zero, zero, zero, standing, viscous, inertial)
    unlimited = np.full(2, inf)
    limits = JointSpace(("a", "b"), ("revolute",) * 2, -unlimited, unlimited, unlimited, np.ones(2))
    return asked, limits


def resting(position: np.ndarray) -> MotionState:
    return MotionState(position, *np.zeros((3, len(position))))


# Samples of a motion


def test_trace_agrees_with_sample():
    motion = random_motion(np.random.default_rng(1))
    begin, end = motion.corners[0] - 0.1, motion.corners[-1] + 0.2
    time, states = motion.trace(begin, end, 0.01)
    assert time[0] == begin and time[-1] == end
    assert np.diff(time).min() >= 0.0 and np.diff(time).max() <= 0.01 + 1e-12
    corners = {*motion.corners, motion.corners[0] + 0.05, motion.corners[0] + 0.55}
    for k in np.flatnonzero(~np.isin(time, list(corners))):
        assert_allclose(states[:, k], motion.state(time[k]).rows(), atol=1e-9)


def test_trace_has_both_sides_of_every_corner():
    motion = random_motion(np.random.default_rng(2))
    time, states = motion.trace(motion.corners[0], motion.end, inf)
    tiny = 1e-9
    for corner in motion.corners[1:-1]:
        before, after = np.flatnonzero(time == corner)
        for k, moment in ((before, corner - tiny), (after, corner + tiny)):
            assert_allclose(states[:, k], motion.state(moment).rows(), atol=1e-5)
    time, states = motion.trace(3.0, 3.0, 1e-3)  # a moment
    assert set(time) == {3.0}
    assert_allclose(states[0], [motion.state(3.0).position] * len(time))


# Torque


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_is_what_the_simulated_arm_needs(name):
    robot, given = robot_of(name), fast_motion(name, 1.0)
    arm = robot.arm
    asked = check_file(given, arm).verdict.demand
    needed = robot.inverse_dynamics(asked.position, asked.velocity, asked.acceleration)
    swift = np.abs(asked.velocity) > 0.1
    # But where a joint has just turned back: friction follows within 0.1 mrad.
    close = np.isclose(asked.torque[swift], needed[swift], rtol=1e-3, atol=1e-3)
    assert close.mean() > 0.998


# How much slower


@each("seed", range(40))
def test_slow_down_is_the_least_that_fits(seed):
    asked, limits = random_demand(np.random.default_rng(seed))
    factor = slow_down(asked, limits)
    assert factor <= round_up(factor) <= 1.001 * factor

    def excess(shares):
        x = np.asarray(shares)[..., None, None]
        torque = asked.standing + x * asked.viscous + x * x * asked.inertial
        return (np.abs(torque) - limits.effort).max(axis=(-2, -1))

    shares = np.linspace(0.0, 1.0, 20_001)
    fastest = shares[excess(shares) <= 0.0].max(initial=0.0)
    if factor == inf:
        assert fastest == 0.0
    else:
        assert excess(1.0 / factor) < 1e-5
        assert fastest - 1e-4 <= 1.0 / factor <= fastest + 1e-4


def test_random_demands_are_of_both_kinds_and_rms_is_over_time():
    factors = [slow_down(*random_demand(np.random.default_rng(seed))) for seed in range(40)]
    assert any(f == inf for f in factors) and any(1.0 < f < inf for f in factors)
    ramp, zero = np.linspace(0.0, 3.0, 1001)[:, None], np.zeros((1001, 1))
    asked = Demand(np.linspace(2.0, 5.0, 1001), zero, zero, zero, ramp, zero, zero)
    assert asked.rms() == pytest.approx(np.sqrt(3.0), rel=1e-6)


@pytest.mark.parametrize("stretch", [0.45, study(0.7)])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_trajectory_slowed_down_as_advised_fits_and_one_less_so_does_not(name, stretch):
    given = fast_motion(name, stretch)
    arm = robot_of(name).arm
    verdict = check_file(given, arm).verdict
    assert not verdict.fits and 1.0 < verdict.slow_down < inf
    assert check_file(slowed(given, round_up(verdict.slow_down)), arm).verdict.fits
    assert not check_file(slowed(given, 0.999 * verdict.slow_down), arm).verdict.fits


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_alone_decides_where_there_are_no_speed_limits(name):
    arm = robot_of(name).arm
    free = replace(arm.unloaded, velocity_limit=np.full(arm.model.n, inf))
    verdict = check_file(fast_motion(name, 0.3), replace(arm, unloaded=free)).verdict
    assert {excess.quantity for excess in verdict.excesses} == {"torque"}
    slowed = verdict.demand.slowed(verdict.slow_down)
    share = (np.abs(slowed.torque) / arm.limits.effort).max()
    assert share == pytest.approx(1.0, abs=2e-6)
    span, asked_span = (np.ptp(d.time) for d in (slowed, verdict.demand))
    assert span == pytest.approx(verdict.slow_down * asked_span)
    ways = [np.diff(d.time)[:, None] * d.velocity[1:] for d in (slowed, verdict.demand)]
    assert_allclose(*ways, rtol=1e-9, atol=1e-12)


# Verdicts


def arm_of_two(effort: float = 20.0) -> ControlledArm:
    efforts = {f"effort_limit.{joint}": effort for joint in NAMES}
    return ControlledArm.of(model(), {**efforts, **{f"armature.{joint}": 0.0 for joint in NAMES}})


def given(*points: Point) -> UncheckedTrajectory:
    return UncheckedTrajectory(NAMES, points)


def test_gravity_that_is_too_much_is_said_to_be():
    weight = np.abs(Dynamics(model()).gravity(np.array([np.pi / 2, 0.0])))
    arm = arm_of_two(0.9 * weight.max())
    rest = (0.0, 0.0)
    path = given(Point(0.0, (np.pi / 2, 0.0), rest), Point(2.0, (1.2, 0.0), rest))
    verdict = check_file(path, arm).verdict
    assert verdict.slow_down == inf
    assert [excess.joint for excess in verdict.standing_excesses] == ["shoulder"]
    assert "gravity" in verdict.advice() and "'shoulder'" in verdict.advice()
    assert "slowed down" not in str(verdict)


def test_a_constant_effort_of_a_drive_counts():
    rest = (0.0, 0.0)
    path = given(Point(0.0, rest, rest), Point(2.0, (0.1, 0.1), rest))
    arm = arm_of_two()
    verdict = check_file(path, arm).verdict
    assert verdict.fits and verdict.slow_down == 1.0 and str(verdict) == "fits"
    (excess,) = check_file(
        path, arm.with_parameters({"friction.elbow.offset": -25.0})
    ).verdict.excesses
    assert (excess.joint, excess.quantity) == ("elbow", "torque")


def test_a_cubic_that_leaves_the_position_limits_between_its_points_is_found():
    path = given(
        Point(0.0, (2.8, 0.0), (0.0, 0.0)),
        Point(1.0, (2.8, 0.0), (-2.0, 0.0)),
        Point(2.0, (2.0, 0.0), (0.0, 0.0)),
    )
    verdict = check_file(path, arm_of_two()).verdict
    (excess,) = (e for e in verdict.excesses if e.quantity == "position")
    assert excess.joint == "shoulder" and 0.0 < excess.time < 1.0 and excess.limit == 2.9
    assert excess.value == pytest.approx(2.8 + 2.0 * 4 / 27, abs=1e-5)  # at two thirds of the time
    assert "position" in verdict.advice()


def test_extra_effort_counts_where_it_is_commanded_and_not_else():
    rest = ((0.1, 0.2), (0.0, 0.0), (), (5.0, -5.0))
    path = given(Point(0.0, *rest), Point(1.0, *rest))
    motion = started(Trajectory(NAMES, path.points, space()))
    dynamics = Dynamics(model())
    without, with_ = (
        check(dynamics, NO_DRIVES, space(), motion, 0.0, 1.0, STILL, 0.1, extra).demand
        for extra in (False, True)
    )
    assert_allclose(with_.torque - without.torque, [[5.0, -5.0]] * len(with_.time))


def test_friction_that_grows_with_the_load_counts():
    """With that of gravity, and with what accelerates the links the same way."""
    dynamics, time = Dynamics(model()), np.linspace(0.0, 1.0, 5)
    drives = Drives([0.1, 0.05], [0.5, 0.3], [0.8, 0.4], load=np.array([0.2, 0.1]))
    q, qd = Q + 0.4 * time[:, None], np.full((5, 2), 0.4)
    weight = dynamics.gravity(q)
    wanted = 0.5 * weight - (dynamics.bias(q, qd) - weight)
    qdd = np.linalg.solve(dynamics.crba(q), wanted[..., None])[..., 0]
    asked = Demand.of(dynamics, drives, time, q, qd, qdd)
    assert_allclose(asked.torque, drives.torque(dynamics, q, qd, qdd, sliding=1.0), rtol=1e-9)


def test_the_velocity_that_was_desired_until_a_motion_takes_over_counts():
    line = started(Trajectory(NAMES, [Point(0.0, Q), Point(1.0, Q + 0.1)], space()))
    dynamics, before = Dynamics(model()), np.array([2.0, -1.0])
    found = check(dynamics, NO_DRIVES, arm_of_two().limits, line, 0.0, 1.0, before, 0.1).jumps
    at_begin = {jump.joint: (jump.before, jump.value) for jump in found if jump.time == 0.0}
    assert at_begin == {
        name: pytest.approx((v, 0.1 - v)) for name, v in zip(NAMES, before, strict=True)
    }


def test_line_for_the_log_names_the_worst_of_each_quantity():
    path = fast_motion("panda", 0.4)
    verdict = check_file(path, robot_of("panda").arm).verdict
    text = str(verdict)
    assert text.count("velocity of") == 1 and text.count("torque of") <= 1
    assert f"and {len(verdict.excesses) - text.count(' of joint ')} more" in text


# Efforts


@pytest.mark.parametrize("name", ROBOTS)
def test_filled_efforts_are_the_torque_at_the_points(name):
    path = fast_motion(name, 1.0)
    checked = check_file(path, robot_of(name).arm)
    asked = checked.verdict.demand
    for point in checked.filled.points[:-1]:
        k = int(np.searchsorted(asked.time, point.time, side="right")) - 1
        assert asked.time[k] == point.time
        assert_allclose(point.effort, asked.torque[k], atol=1e-6)
    gravity = Dynamics(checked.arm.model).gravity(path.points[-1].positions)
    assert_allclose(checked.filled.points[-1].effort, gravity, atol=1e-9)
    assert (largest_gap(checked.filled, asked) < 0.1 * checked.arm.limits.effort).all()


# The check of what arrives at the controller


def bench_following(*points: Point) -> tuple[Bench, list[tuple[Motion, float]]]:
    """A controller that is given a trajectory half-way through another one."""
    bench = Bench().start()
    bench.controller.set_trajectory(bench.now, NAMES, [Point(0.4, Q + 0.1)])
    bench.run(0.2)
    seen: list[tuple[Motion, float]] = []
    bench.controller.set_trajectory(
        bench.now, NAMES, points, inspect=lambda motion, begin: seen.append((motion, begin))
    )
    return bench, seen


def test_the_motion_inspected_is_the_one_that_is_followed():
    bench, seen = bench_following(Point(0.3, Q), Point(0.8, Q + 0.2))
    ((motion, begin),) = seen
    assert begin == 0.0
    start = bench.controller.snapshot().time
    for _ in range(5):
        bench.run(0.09)
        desired = bench.controller.desired()
        expected = motion.state(bench.controller.snapshot().time - start)
        assert_allclose(desired.position, expected.position, atol=2e-3)
        assert_allclose(desired.velocity, expected.velocity, atol=2e-2)


def test_what_inspection_refuses_changes_nothing():
    bench, _ = bench_following(Point(0.5, Q))
    before = bench.controller.desired()

    def refuse(motion, begin):
        raise TrajectoryError("refused by the test")

    with pytest.raises(TrajectoryError, match=r"^refused by the test$"):
        bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, Q + 0.3)], inspect=refuse)
    assert_allclose(bench.controller.desired().position, before.position)
    bench.run(1.0)
    assert_allclose(bench.controller.desired().position, Q)


@pytest.mark.parametrize(
    ("count", "duration"), [(1, 1.0), (1, 1e6), (100, 1e3), (20_000, 1.0), study(20_000, 1e6)]
)
def test_an_arriving_trajectory_is_checked_with_few_samples(duration, count):
    times = np.linspace(0.0, duration, count + 1)
    path = Trajectory(NAMES, [Point(time, Q + 0.1 * time / duration) for time in times], space())
    verdict = arriving(started(path))
    assert verdict.fits
    assert len(verdict.demand.time) <= 2 * MAX_VALUES / 2 + 1
    verdict = arriving(started(path), effort_limit=np.full(2, 1.0))  # which may be used
    assert verdict.excesses and {excess.limit for excess in verdict.excesses} <= {1.0, -1.0}


def test_what_overflows_does_not_fit():
    huge = [Point(0.0, Q, (0.0, 0.0)), Point(1.0, Q, (1e200, 0.0)), Point(2.0, Q, (0.0, 0.0))]
    verdict = arriving(started(Trajectory(NAMES, huge, space())))
    assert not verdict.fits and verdict.slow_down > 1e6
    assert str(verdict)


def arriving(motion: Motion, before: np.ndarray = STILL, **changes: Any) -> Feasibility:
    """What the controller says of a motion that takes over now."""
    return check_trajectory(Dynamics(model()), model(), settings(**changes), motion, 0.0, before)


def check_arrival(*points: Point, desired: MotionState | None = None) -> Feasibility:
    desired = desired or resting(Q)
    motion = Trajectory(NAMES, points, space()).motion(0.0, desired, settings().stop_time)
    return arriving(motion, desired.velocity)


def test_a_velocity_that_jumps_does_not_fit_on_arrival_either():
    fast = 0.5 * model().velocity_limit
    lines = check_arrival(Point(0.4, Q + 0.4 * fast), Point(0.8, Q), Point(1.6, Q))
    assert {(jump.joint, jump.time) for jump in lines.jumps} == {(name, 0.4) for name in NAMES}
    assert lines.jumps[0].before == pytest.approx(fast[0])
    assert lines.jumps[0].value == pytest.approx(-2.0 * fast[0])
    assert not lines.fits and lines.slow_down >= lines.jumps[0].share()
    assert "jumps from" in str(lines) and "velocities" in lines.advice()
    too_fast = check_arrival(Point(0.8, Q), Point(1.2, Q + fast), Point(2.8, Q))
    assert ["jumps" in told for told in str(too_fast).split("; ")[:2]] == [False, True]
    still = (0.0, 0.0)
    assert not check_arrival(Point(0.8, Q + 0.4 * fast, still), Point(1.6, Q, still)).jumps


@pytest.mark.parametrize("share", [0.24, 0.26])
def test_to_rest_at_the_end_velocity_jumps_by_a_quarter_of_its_limit_at_most(share):
    speed = share * model().velocity_limit
    way = MotionState(Q, speed, STILL, STILL)
    asked = check_arrival(Point(0.5, Q + 0.5 * speed), desired=way)
    assert {jump.time for jump in asked.jumps} == ({0.5} if share > 0.25 else set())


def test_a_trajectory_that_takes_over_in_motion_is_led_in_without_a_jump():
    fast = 0.9 * model().velocity_limit
    way = MotionState(Q, fast, STILL, STILL)
    slow = 0.1 * model().velocity_limit
    assert not check_arrival(Point(1.0, Q + slow), desired=way).jumps
    # From rest: the line, as it is, unless there is less time than for a stop.
    assert check_arrival(Point(0.3, Q + slow)).jumps
    assert not check_arrival(Point(0.2, Q + slow)).jumps


# What is refused whichever way it comes

AT_HALF = np.full(2, 0.5)


@pytest.mark.parametrize(
    ("points", "refused"),
    [
        ([Point(0.35, AT_HALF + 1.0, np.zeros(2))], True),  # 1.5 / 0.35 = 4.3 rad/s, limit 3
        ([Point(0.55, AT_HALF + 1.0, np.zeros(2))], False),
        ([Point(1.0, AT_HALF), Point(1.5, AT_HALF + 1.04 * 1.5), Point(2.0, AT_HALF)], False),
        ([Point(1.0, AT_HALF), Point(1.5, AT_HALF + 1.07 * 1.5), Point(2.0, AT_HALF)], True),
        ([Point(2.0, [2.8, 0.5], [1.5, 0.0]), Point(3.0, [2.8, 0.5], [0.0, 0.0])], True),  # 0.2 out
        ([Point(2.0, [2.8, 0.5], [0.5, 0.0]), Point(3.0, [2.8, 0.5], [0.0, 0.0])], False),
    ],
)
def test_what_is_too_fast_or_leaves_the_range_is_refused(points, refused):
    """Limits: 3 rad/s and 2.9 rad; 5 % of speed and a milliradian are forgiven."""
    motion = Trajectory(NAMES, points, space()).motion(0.0, resting(AT_HALF), 0.25)
    assert is_beyond(arriving(motion), motion, STILL) == refused


def test_an_arm_beyond_its_limit_may_be_led_back():
    back = Trajectory(NAMES, [Point(2.0, AT_HALF, np.zeros(2))], space())
    motion = back.motion(0.0, resting(np.array([3.0, 0.5])), 0.25)
    assert not is_beyond(arriving(motion), motion, STILL)

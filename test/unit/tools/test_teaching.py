"""What was led by hand becomes a trajectory: smooth, not delayed, of few points, within limits."""

from collections import namedtuple
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from example_robots import ROBOTS
from rich.console import Console
from studies import study
from urdf_text import chain

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import Point, TrajectoryError
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.tools import teach
from featherstone_ros.tools.taught_motion import (
    FASTEST,
    SHARE,
    STILL,
    TOLERANCE,
    few_points,
    fitted,
    gaps,
    slowed,
    slower,
    smooth,
    taught,
    way_to,
)
from featherstone_ros.tools.trajectory_check import check_file, started, trajectory_of
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, as_yaml, parse

RATE = 250.0  # [Hz] of the joint states
Sample = namedtuple("Sample", "time position effort")  # as of the client, without ROS
OTHERS = ("double_pendulum_continuous", "pr2", "a1")  # prismatic, continuous; a branched tree


def arm_named(name):
    if name in ("panda", "ur5e"):
        return ControlledArm.from_robot(name, Model.from_robot(name).joint_names)
    (path,) = (path for path in ROBOTS if path.stem == name)
    return ControlledArm.of(path)


def test_when_states_were_missing_is_told():
    stamps = np.append(np.arange(0.0, 1.001, 1.0 / RATE), np.arange(1.5, 2.0, 1.0 / RATE))
    (told,) = gaps(stamps)
    assert "No joint states for 0.5 s, from 1.000 s on" in told


@pytest.fixture(
    scope="module", params=["panda", *map(study, ("ur5e", *OTHERS) if ROBOTS else ("ur5e",))]
)
def arm(request):
    return arm_named(request.param)


@pytest.fixture(scope="module")
def panda():
    return arm_named("panda")


def led(arm, duration=6.0, size=0.3, seed=0):
    """Return times and positions of an arm that rests, is led to and fro, and rests elsewhere."""
    random = np.random.default_rng(seed)
    time = np.arange(0.0, duration, 1.0 / RATE)
    share = np.clip((time - 1.0) / (duration - 2.0), 0.0, 1.0)[:, None]
    envelope = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)  # from rest to rest
    wave = np.zeros((len(time), arm.model.n))
    for frequency, height in ((0.2, 0.8), (0.7, 0.2), (1.5, 0.03)):
        phase = random.uniform(0.0, 2.0 * np.pi, arm.model.n)
        wave += height * np.sin(2.0 * np.pi * frequency * time[:, None] + phase)
    still = 4.0 * share * (1.0 - share)
    low, high = np.maximum(arm.limits.lower, -3.0), np.minimum(arm.limits.upper, 3.0)
    reach = size * (high - low) / 2.0
    return time, (low + high) / 2.0 + reach * (0.4 * envelope + 0.4 * still**3 * wave)


def test_points_keep_the_motion_within_a_milliradian_of_the_controllers_interpolation(arm):
    time, q, qd, qdd = smooth(*led(arm))
    trajectory = few_points(arm, time, q, qd, qdd)
    motion = started(trajectory_of(trajectory, arm))
    off = np.abs(motion.sample(time)[0] - q)
    assert TOLERANCE / 2.0 < off.max() <= TOLERANCE + 1e-12
    assert len(trajectory.points) < len(time) / 20


def test_no_point_could_be_left_out(arm):
    time, q, qd, qdd = smooth(*led(arm, 4.0))
    points = few_points(arm, time, q, qd, qdd).points
    assert len(points) > 4
    for k in range(1, len(points) - 1):
        fewer = UncheckedTrajectory(arm.model.joint_names, points[:k] + points[k + 1 :])
        motion = started(trajectory_of(fewer, arm))
        assert np.abs(motion.sample(time)[0] - q).max() > TOLERANCE, k


def test_smoothing_neither_delays_nor_shrinks():
    time = np.arange(0.0, 8.0, 1.0 / RATE)
    window = np.sin(np.pi * time / 8.0)[:, None] ** 4
    motion = 0.2 * window * np.sin(2.0 * np.pi * 1.0 * time)[:, None]
    told, q, qd, _ = smooth(time, motion)
    begin = told[-1] - time[-1]  # of rest before and after
    there = np.interp(time + begin / 2.0, told, q[:, 0])
    assert np.abs(there - motion[:, 0]).max() < 2e-4  # 1 ms of delay would be 1.3e-3
    speed = np.interp(time + begin / 2.0, told, qd[:, 0])
    assert np.abs(speed - np.gradient(motion[:, 0], time)).max() < 5e-3  # of 1.26


def test_noise_is_removed_and_both_ends_rest():
    time, q = led(arm_named("ur5e"))
    random = np.random.default_rng(1)
    noise = random.normal(0.0, 1e-3, q.shape)
    (told, clean, *_), (_, noisy, qd, qdd) = smooth(time, q), smooth(time, q + noise)
    led_meanwhile = (noisy - clean)[len(told) // 4 : -len(told) // 4]
    assert np.sqrt((led_meanwhile**2).mean()) < 0.3 * 1e-3
    for rates in (qd, qdd):
        assert not rates[[0, -1]].any()
    assert told[0] == 0.0 and (np.diff(told) > 0.0).all()


def test_a_mark_divides_what_was_taught_where_the_arm_waits(panda):
    time, q = led(panda)
    twice = np.concatenate([time, time + time[-1] + 1.0 / RATE])
    there_and_back = np.concatenate([q, q[::-1]])
    parts = taught(panda, twice, there_and_back, [time[-1]])
    assert len(parts) == 2
    read = parse("---\n".join(map(as_yaml, parts)), "file")
    assert [part.names for part in read] == [part.names for part in parts]
    assert [len(part.points) for part in read] == [len(part.points) for part in parts]
    for part in parts:
        first, last = part.points[0], part.points[-1]
        assert first.time == 0.0 and not any((*first.velocities, *last.velocities))
        assert 3.5 < last.time < 5.5  # rest at both ends is left out
    np.testing.assert_allclose(parts[0].points[0].positions, q[0], atol=2 * STILL)
    np.testing.assert_allclose(parts[0].points[-1].positions, q[-1], atol=2 * STILL)
    np.testing.assert_allclose(parts[1].points[0].positions, q[-1], atol=2 * STILL)


@pytest.mark.parametrize("marks", [study([0.5]), [0.2, 0.4], [100.0], study([-1.0])], ids=str)
def test_marks_without_a_motion_between_make_no_part(panda, marks):
    (part,) = taught(panda, *led(panda), marks)
    assert part.points[-1].time > 3.5


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_nothing_taught_is_said(panda, count):
    random = np.random.default_rng(2)
    still = random.uniform(-0.4, 0.4, (count, 7)) * STILL
    expected = rf"no joint moved by more than 0\.002 rad or m in {count} joint states"
    with pytest.raises(FeatherstoneError, match=expected):
        taught(panda, np.arange(count) / RATE, still)


def test_slowed_down_it_is_the_same_path(panda):
    (part,) = taught(panda, *led(panda))
    time = np.linspace(0.0, part.points[-1].time, 500)
    before = started(trajectory_of(part, panda)).sample(time)
    after = started(trajectory_of(slowed(part, 2.0), panda)).sample(2.0 * time)
    for power in range(3):
        np.testing.assert_allclose(after[power], before[power] / 2.0**power, atol=1e-9)


def test_a_motion_beyond_the_limits_is_slowed_down_as_far_as_they_ask(panda):
    time, q = led(panda)
    (part,) = taught(panda, time / 6.0, q)
    assert not check_file(part, panda).fits
    slower, factor = fitted(part, panda)
    assert factor > 1.0 and check_file(slower, panda).fits
    assert not check_file(slowed(slower, 0.99), panda).fits
    assert fitted(slower, panda) == (slower, 1.0)


def test_a_stop_that_gives_way_ends_the_motion_at_its_limit(panda):
    time, q = led(panda, 8.0)
    share = np.clip((time - 1.0) / 6.0, 0.0, 1.0)
    beyond = panda.limits.upper[0] + 0.02
    q[:, 0] = beyond * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    (part,) = taught(panda, time, q)
    assert fitted(part, panda)[1] == 1.0
    assert part.points[-1].positions[0] == pytest.approx(panda.limits.upper[0], abs=1e-3)


@pytest.mark.parametrize("give", [0.0, study(0.02)], ids=["stiff stop", "stop gives way"])
def test_what_was_led_suddenly_into_a_stop_passes_preflight(panda, give):
    """A smooth motion overshoots there: 4 mrad and more."""
    time = np.arange(0.0, 3.0, 1.0 / RATE)
    q = np.tile((panda.limits.lower + panda.limits.upper) / 2.0, (len(time), 1))
    stop = panda.limits.upper[0] + give
    q[:, 0] = np.minimum(stop - 0.8 + 1.5 * np.clip(time - 1.0, 0.0, None), stop)
    q[:, 1] = np.maximum(q[:, 1] - 1.5 * np.clip(time - 1.2, 0.0, None), panda.limits.lower[1])
    upper, lower = panda.limits.upper, panda.limits.lower
    overshoot = smooth(time, np.minimum(q, upper))[1][:, 0].max() - upper[0]
    assert overshoot > 4e-3
    (part,) = taught(panda, time, q)
    part, _ = fitted(part, panda)
    (read,) = parse(as_yaml(part), "file")
    assert check_file(read, panda).fits
    assert part.points[-1].positions[0] > upper[0] - 2.0 * overshoot
    q, *_ = started(trajectory_of(part, panda)).sample(np.linspace(0.0, part.points[-1].time, 9999))
    assert (np.maximum(q - upper, lower - q) < 1e-5).all()


def test_the_way_begins_within_the_limits_where_a_stop_has_given_way(panda):
    beyond = panda.limits.upper.copy()
    beyond[0] += 4e-3
    goal = 0.5 * (panda.limits.lower + panda.limits.upper)
    np.testing.assert_array_equal(
        way_to(goal, beyond, panda).points[0].positions, panda.limits.upper
    )


@pytest.mark.parametrize(("early", "said"), [(" ", True), ("", False)])
def test_a_key_before_the_arm_floats_is_not_lost_without_a_word(early, said):
    states = iter(Sample(0.01 * k, np.full(1, 0.01 * k), np.zeros(1)) for k in range(9))
    arm = SimpleNamespace(limits=JointSpace.of(Model.from_urdf(chain("turn"))))
    controller = SimpleNamespace(arm=arm, look=lambda: [next(states)])
    console = Console(file=StringIO(), width=100)
    keys = iter([early, "", " ", "m", " "])
    samples, marks = teach._lead(controller, console, lambda: next(keys))
    assert ("does not count: press it now" in console.file.getvalue()) == said
    assert ([sample.time for sample in samples], marks) == ([0.01, 0.02, 0.03], [0.02])
    assert teach._lead(controller, console, lambda: "q") == ([], [])
    assert "0.02 rad from its start (turn)" in str(teach._line(samples, [], arm.limits))


def test_a_file_of_other_joints_or_beyond_the_position_limits_is_refused_by_name(panda):
    points = (Point(0.0, (0.0,) * 7), Point(9.0, (3.0, *(0.0,) * 6)))
    with pytest.raises(TrajectoryError, match=r"cannot follow: position of joint 'panda_joint1' 3"):
        fitted(UncheckedTrajectory(panda.model.joint_names, points), panda)
    with pytest.raises(TrajectoryError, match=r"unknown joint 'elbow'; the joints are panda_joi"):
        fitted(UncheckedTrajectory(("elbow", *panda.model.joint_names[1:]), points), panda)


def test_the_way_to_a_start_is_at_bounded_speed(panda):
    low, high = panda.limits.lower, panda.limits.upper
    begin, goal = low + 0.3 * (high - low), low + 0.7 * (high - low)
    way = way_to(goal, begin, panda)
    motion = started(trajectory_of(way, panda))
    q, qd, *_ = motion.sample(np.linspace(0.0, motion.end, 2001))
    bound = np.minimum(SHARE * panda.limits.velocity, FASTEST)
    assert (np.abs(qd).max(axis=0) <= bound * (1.0 + 1e-9)).all()
    assert (np.abs(qd).max(axis=0) / bound).max() > 0.99
    np.testing.assert_allclose(q[[0, -1]], [begin, goal], atol=1e-12)
    assert check_file(way, panda).fits


def test_a_single_point_is_a_place_to_go_to_in_its_time(panda):
    low, high = panda.limits.lower, panda.limits.upper
    begin, goal = low + 0.45 * (high - low), low + 0.55 * (high - low)
    there = UncheckedTrajectory(panda.model.joint_names, (Point(4.0, tuple(goal)),))
    assert slowed(there, 2.0).points[0].time == 8.0
    first, last = way_to(goal, begin, panda, 4.0).points
    assert (first.time, last.time) == (0.0, 4.0)
    np.testing.assert_allclose([first.positions, last.positions], [begin, goal])
    assert way_to(goal, begin, panda, 0.01).points[-1].time > 0.1  # within the limits


def test_joints_that_turn_without_end_go_the_shortest_way():
    model = Model.from_urdf(chain("turn", kind="continuous", axis="0 0 1"))
    arm = ControlledArm.of(model)
    first, last = way_to(np.array([3.0]), np.array([-3.0]), arm).points
    assert last.positions[0] - first.positions[0] == pytest.approx(6.0 - 2.0 * np.pi)


@pytest.mark.parametrize("rate", [20.0, 1000.0])
def test_states_may_come_at_any_rate_repeated_and_unordered(panda, rate):
    time, q = led(panda)
    fewer = np.arange(0.0, time[-1], 1.0 / rate)
    resampled = np.stack([np.interp(fewer, time, joint) for joint in q.T], axis=1)
    order = np.argsort(np.repeat(fewer, 2)[::-1], kind="stable")[::-1]
    (part,) = taught(panda, fewer, resampled)
    (same,) = taught(panda, np.repeat(fewer, 2)[order], np.repeat(resampled, 2, axis=0)[order])
    assert len(same.points) == len(part.points)
    assert all(a.time < b.time for a, b in pairwise(part.points))
    assert fitted(part, panda)[1] == 1.0


@pytest.mark.parametrize("fields", [1, 2])
def test_a_faster_timing_is_named_where_points_have_positions_alone(fields):
    rest = (0.0,)
    points = tuple(Point(t, *((q,), rest)[:fields]) for t, q in ((0.0, 0.0), (1.0, 1.0)))
    said = slower(UncheckedTrajectory(("a",), points), 2.0)
    assert said.startswith("2 times slower, to fit")
    assert ("featherstone-ros retime would be faster" in said) == (fields == 1)

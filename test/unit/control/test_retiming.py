"""Time a path anew: as fast as the limits allow, along the same path, from rest to rest."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import urdf_text
from control_arm import NAMES, URDF, model, space
from numpy.testing import assert_allclose
from refusals import refusals, refused_commands
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.retiming.path import BACK, of_corners, of_motion
from featherstone_ros.control.retiming.timing import durations
from featherstone_ros.control.settings import ControllerSettings, Interpolation
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.drives import Drives, presliding
from featherstone_ros.tools.trajectory_check import started
from featherstone_ros.tools.trajectory_files import (
    UncheckedTrajectory,
    as_yaml,
    parse,
    read_timed,
)

pytestmark = pytest.mark.filterwarnings("error")  # a joint without limits is none of NumPy's
ARM = model()
DRIVES = Drives(np.array([0.1, 0.05]), np.array([0.5, 0.3]), np.array([0.8, 0.4]))
PATH = np.array([[0.3, 0.4], [1.2, -0.8], [0.2, -1.0], [-0.5, 0.6]])
TIGHT = replace(space(), effort=np.array([14.0, 5.0]))
SLIDE = fr.Model.from_urdf(
    urdf_text.chain(
        "a", kind="prismatic", inside='<limit lower="-9" upper="9" velocity="0" effort="0"/>'
    )
)
WAY = 1.5  # [m]


def sampled(timed, step=2e-4):
    """Times, positions, velocities and accelerations of the quintics, between the points too."""
    n = timed.positions.shape[1]
    free = replace(
        timed.verdict.limits,
        lower=np.full(n, -99.0),
        upper=np.full(n, 99.0),
        effort=np.full(n, 1e9),
    )
    trajectory = Trajectory(timed.names, timed.points(), free)
    motion = trajectory.motion(0.0, trajectory.state(0), ControllerSettings.stop_time)
    time = np.arange(0.0, timed.duration, step)
    return time, *motion.sample(time)[:3]


def from_lines(points, corners):
    """Distance of points (K, n) from the lines between corners: the largest joint's."""
    nearest = np.full(len(points), np.inf)
    for begin, end in pairwise(corners):
        way = end - begin
        share = np.clip((points - begin) @ way / (way @ way), 0.0, 1.0)
        off = np.abs(points - begin - share[:, None] * way).max(axis=1)
        nearest = np.minimum(nearest, off)
    return nearest


def retimed(path=PATH, model=ARM, **changes):
    """Time a path, the one above unless told otherwise, of the arm that friction slows."""
    usual = {"drives": DRIVES, "limits": TIGHT, "blend": 0.05}
    return fr.control.retime(model, path, **usual | changes)


@pytest.fixture(scope="module")
def timed():
    return retimed()


@pytest.mark.parametrize("load", [0.0, 0.2])
def test_limits_hold_between_the_points_and_are_used(load):
    """Also where friction grows with the load, by up to what each part of that would take."""
    drives = replace(DRIVES, load=np.full(2, load))
    timed = retimed(drives=drives)
    time, q, qd, qdd = sampled(timed)
    dynamics = fr.Dynamics(ARM)
    sliding = presliding(q, drives.presliding_displacement, 0.0, time)
    torque = drives.torque(dynamics, q, qd, qdd, sliding)
    assert (np.abs(torque).max(axis=0) < 1.001 * TIGHT.effort).all()
    assert (np.abs(qd).max(axis=0) < 1.001 * TIGHT.velocity).all()
    used = np.maximum(np.abs(torque) / TIGHT.effort, np.abs(qd) / TIGHT.velocity).max(axis=1)
    assert np.quantile(used, 0.25) > 0.985


def test_the_torque_has_no_steps(timed):
    """Its rate is the default; Coulomb friction has one where a joint turns back."""
    time, q, qd, qdd = sampled(timed)
    smooth = replace(DRIVES, coulomb=np.zeros(2))
    torque = smooth.torque(fr.Dynamics(ARM), q, qd, qdd, 0.0)
    rate = np.abs(torque[50:] - torque[:-50]) / (time[50] * TIGHT.effort)
    assert 45.0 < rate.max() < 50.5


def test_corners_are_rounded_within_the_tolerance_and_the_ends_reached(timed):
    _, q, _, _ = sampled(timed)
    off = from_lines(q, PATH)
    assert 0.01 < off.max() < 0.0501
    assert_allclose(timed.positions[[0, -1]], PATH[[0, -1]], atol=1e-9)
    for field in (timed.velocities, timed.accelerations):
        assert_allclose(field[[0, -1]], 0.0, atol=1e-9)


def test_without_blend_the_arm_stops_at_each_corner(timed):
    stopping = retimed(blend=0.0)
    assert from_lines(stopping.positions, PATH).max() < 1e-9
    assert (np.abs(stopping.velocities).max(axis=1) < 1e-9).sum() == len(PATH)
    assert stopping.duration > 1.05 * timed.duration


SHORT = [(20.0, way, 1.3) for way in (3e-2, 1e-2, 1e-3, 1e-5)]  # rate of torque would do likewise


@pytest.mark.parametrize(("jerk", "way", "longest"), [(5.0, WAY, 1.01), (40.0, WAY, 1.01), *SHORT])
def test_a_jerk_limit_is_used_to_the_full(jerk, way, longest):
    """From rest to rest in four equal times of the greatest jerk: T = (32 D / J)^(1/3)."""
    limits = replace(JointSpace.of(SLIDE), jerk=np.array([jerk]))
    timed = fr.control.retime(SLIDE, [[0.0], [way]], limits=limits, acceleration=50.0)
    least = np.cbrt(32.0 * way / jerk)
    assert least < timed.duration < longest * least
    if way == WAY:
        time, _, _, qdd = sampled(timed)
        assert np.abs(np.diff(qdd[:, 0]) / np.diff(time)).max() < 1.005 * jerk


def test_braking_may_be_weaker_than_speeding_up():
    limits = replace(
        JointSpace.of(SLIDE), acceleration=np.array([4.0]), deceleration=np.array([1.0])
    )
    timed = fr.control.retime(SLIDE, [[0.0], [WAY]], limits=limits)
    assert timed.duration == pytest.approx(np.sqrt(2.0 * WAY * (1.0 + 0.25)), rel=0.03)
    assert timed.accelerations.min() > -1.001 < 3.5 < timed.accelerations.max() < 4.001


def test_scaled_limits_scale_the_time():
    """Without gravity and friction: twice the time is half the velocity, a quarter of torque."""
    free = fr.Model.from_urdf(URDF, gravity=(0.0, 0.0, 0.0))
    drives = replace(DRIVES, viscous=np.zeros(2), coulomb=np.zeros(2))
    took = [
        retimed(
            model=free,
            drives=drives,
            limits=replace(TIGHT, effort=TIGHT.effort / k**2, velocity=TIGHT.velocity / k),
            acceleration=40.0 / k**2,
            torque_rate=200.0 * TIGHT.effort / k**3,
        ).duration
        for k in (1.0, 1.5)
    ]
    assert took[1] / took[0] == pytest.approx(1.5, rel=0.01)


def test_less_effort_takes_longer(timed):
    weaker = retimed(effort=0.95)
    assert weaker.duration > 1.005 * timed.duration
    assert (np.abs(weaker.verdict.demand.torque).max(axis=0) < 0.951 * TIGHT.effort).all()


def test_the_speed_of_a_link_is_limited(timed):
    link, most = ARM.link_names[-1], 0.5
    slow = retimed(link_speed={link: most})
    _, q, qd, _ = sampled(slow, 2e-3)
    dynamics = fr.Dynamics(ARM)
    speed = [
        np.linalg.norm(dynamics.jacobian(*at, link)[:3] @ v)
        for at, v in zip(zip(q, strict=True), qd, strict=True)
    ]
    assert 0.98 * most < max(speed) < 1.001 * most
    assert slow.duration > timed.duration


def test_a_trajectory_keeps_its_curve_and_loses_its_pauses():
    times = [0.0, 1.0, 1.7, 2.5]
    spline = Trajectory(
        NAMES,
        [Point(t, q) for t, q in zip(times, PATH, strict=True)],
        space(),
        interpolation=Interpolation.SPLINE,
    )
    timed = fr.control.retime(ARM, spline, drives=DRIVES, limits=TIGHT)
    motion = spline.motion(0.0, spline.state(0), ControllerSettings.stop_time)
    curve = motion.sample(np.linspace(0.0, 2.5, 5000))[0]
    off = [np.abs(curve - at).max(axis=1).min() for at in sampled(timed, 5e-3)[1]]
    assert max(off) < 1e-3
    assert (np.linalg.norm(timed.velocities[1:-1], axis=1) > 1e-3).all()
    stops = zip((*times, 9.0), (*PATH, PATH[-1]), strict=True)
    waiting = Trajectory(NAMES, [Point(t, q, np.zeros(2)) for t, q in stops], space())
    assert len(of_motion(started(waiting), 0.0, 9.0)) == len(of_motion(started(waiting), 0.0, 2.5))


def test_the_arm_stops_where_a_path_turns_back():
    """At a point, and between two where a cubic overshoots."""
    there = Trajectory(
        NAMES,
        [
            Point(0.0, (0.0, 0.0), (0.0, 0.0)),
            Point(1.0, (1.0, 0.5), (0.0, 0.0)),
            Point(2.0, (0.0, 0.0), (0.0, 0.0)),
        ],
        space(),
    )
    parts = of_motion(started(there), 0.0, 2.0)
    assert [part.length for part in parts] == pytest.approx([np.hypot(1.0, 0.5)] * 2, rel=1e-3)
    over = Trajectory(
        ("a",), [Point(0.0, (0.0,), (4.0,)), Point(1.0, (0.5,), (0.0,))], JointSpace.of(SLIDE), True
    )
    parts = of_motion(started(over), 0.0, 1.0)
    turn = parts[0].at(np.array([parts[0].length]))[0][0, 0]
    times = np.linspace(0.0, 1.0, 100_001)
    assert turn == pytest.approx(started(over).sample(times)[0].max(), abs=1e-6)
    timed = fr.control.retime(ARM, there, drives=DRIVES, limits=TIGHT)
    at = np.abs(timed.positions - [1.0, 0.5]).max(axis=1).argmin()
    assert_allclose(timed.positions[at], [1.0, 0.5], atol=1e-6)
    assert_allclose(timed.velocities[at], 0.0, atol=1e-9)


def test_sharp_corners_of_lines_are_stops():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.2]])
    cosine = (corners[1] - corners[0]) @ (corners[2] - corners[1])
    assert cosine / np.linalg.norm(corners[2] - corners[1]) < BACK
    assert len(of_corners(corners, 0.05)) == 2
    assert len(of_corners(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), 0.05)) == 1


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_dense_points_take_no_longer_than_few(noise):
    """Work goes by what the path does: the spline has few knots, and the motion no more time."""
    share = np.linspace(0.0, 1.4, 2000)[:, None]
    dense = np.concatenate([np.sin(share), np.cos(2.0 * share)], axis=1)
    few, rng = dense[::100], np.random.default_rng(0)
    dense = dense + noise * rng.standard_normal(dense.shape)
    (stretch,) = of_corners(dense, 0.02)
    assert len(stretch.grid) < 100
    assert from_lines(stretch.at(np.linspace(0.0, stretch.length, 500))[0], dense[::5]).max() < 0.02
    ours, expected = (fr.control.retime(ARM, path, blend=0.02).duration for path in (dense, few))
    assert ours < 1.05 * expected  # whose chords are shorter than the curve


@pytest.mark.parametrize(("count", "radius", "angle"), [(12, 1.0, 1.5), (30, 1.0, 3.0)])
def test_a_curve_within_the_tolerance_is_rounded_at_none_of_its_points(count, radius, angle):
    """Its curvature is that of the arc, about, everywhere but at its ends."""
    turned = np.linspace(0.0, angle, count)
    arc = radius * np.stack([np.sin(turned), 1.0 - np.cos(turned)], axis=1)
    (stretch,) = of_corners(arc, 0.02)
    q, _, curvature = stretch.at(np.linspace(0.0, stretch.length, 500))
    assert np.linalg.norm(curvature, axis=1).max() < 1.5 / radius
    assert from_lines(q, arc).max() < 0.02


def test_corners_of_dense_lines_stay_corners():
    dense = np.concatenate(
        [a + np.linspace(0.0, 1.0, 200)[:, None] * (b - a) for a, b in pairwise(PATH)]
    )
    timed, plain = retimed(dense), retimed()
    assert timed.duration == pytest.approx(plain.duration, rel=1e-3)
    assert from_lines(sampled(timed)[1], PATH).max() < 0.0501


@pytest.mark.parametrize("seed", few_or_all(range(6), range(20)))
def test_no_curve_leaves_the_lines_by_more_than_the_tolerance(seed):
    """Random walks with a drift, of which some turns are slight and some sharp."""
    rng = np.random.default_rng(seed)
    path = np.cumsum(0.1 * rng.standard_normal((30, 2)) + rng.uniform(-0.3, 0.3, 2), axis=0)
    for part in of_corners(path, 0.05):
        q = part.at(np.linspace(0.0, part.length, 2000))[0]
        assert from_lines(q, path).max() < 0.05


def test_a_dense_line_there_and_back_has_a_stop():
    there = np.linspace(0.0, 1.0, 300)
    ways = np.concatenate([there, 0.5 + there[:150:-1] / 2.0, there[150:]])
    parts = of_corners(np.stack([ways, ways / 2.0], axis=1), 0.02)
    assert len(parts) == 3


def test_points_that_change_nothing_change_nothing():
    """Repeated ones, and those on a straight line."""
    doubled = np.array([[0.0, 0.0], [0.5, 0.25], [0.5, 0.25], [1.0, 0.5], [1.0, 0.5]])
    plain = fr.control.retime(ARM, doubled[[0, -1]], drives=DRIVES)
    assert fr.control.retime(ARM, doubled, drives=DRIVES).duration == pytest.approx(
        plain.duration, rel=1e-3
    )


retime, RetimingError = fr.control.retime, fr.control.RetimingError
NOWHERE = [[[0.3, 0.4]], [[0.3, 0.4]] * 3, [[0.3, 0.4], [0.3, 0.401]] * 2 + [[0.3, 0.4]]]
WEAK = replace(space(), effort=np.array([3.0, 20.0]))
test_what_cannot_be_timed_is_refused_by_name = refusals(
    *((RetimingError, "leads nowhere", lambda path=path: retime(ARM, path)) for path in NOWHERE),
    (RetimingError, r"take .* of joint 'shoulder', .* limit of 3",
     lambda: retime(ARM, PATH, limits=WEAK)),
    (RetimingError, r"joint 'shoulder' to 3\.5 rad, outside",
     lambda: retime(ARM, [[0.0, 0.0], [3.5, 0.0]], limits=space())),
    (RetimingError, "joint 'a' has no limit of velocity", lambda: retime(SLIDE, [[0.0], [1.0]])),
    (ValueError, "effort is 1.2, expected a share", lambda: retime(ARM, PATH, effort=1.2)),
    (ValueError, "effort is 0, expected", lambda: retime(ARM, PATH, effort=0.0)),
    (ValueError, "acceleration is -1, expected", lambda: retime(ARM, PATH, acceleration=-1.0)),
    (ValueError, "blend is -0.1, expected", lambda: retime(ARM, PATH, blend=-0.1)),
    (ValueError, r"path has shape \(2,\), expected \(K, 2\)", lambda: retime(ARM, PATH[0])),
    (ValueError, "joint 'elbow' of point 0 is nan",
     lambda: retime(ARM, [[0.0, np.nan], [1.0, 1.0]])),
    (ValueError, "base is floating, expected a fixed one",
     lambda: retime(fr.Model.from_urdf(URDF, base="floating"), PATH)),
    (fr.UnknownNameError, "valid names", lambda: retime(ARM, PATH, link_speed={"hand": 1.0})),
)  # fmt: skip


@pytest.mark.study  # to import it takes 1.4 s
def test_it_is_no_slower_than_toppra():
    """Within limits of velocity and acceleration, which both have, on the same curve."""
    with warnings.catch_warnings():  # Python's, of its source, the first time
        warnings.simplefilter("ignore")
        import toppra
        from toppra import algorithm, constraint

    (stretch,) = of_corners(PATH, 0.05)
    grid = np.linspace(0.0, stretch.length, 2001)
    curve = toppra.SplineInterpolator(grid, stretch.at(grid)[0])
    velocity, most = TIGHT.velocity, 12.0
    solver = algorithm.TOPPRA(
        [
            constraint.JointVelocityConstraint(np.stack([-velocity, velocity], axis=1)),
            constraint.JointAccelerationConstraint(np.tile([-most, most], (2, 1))),
        ],
        curve,
        gridpoints=grid,
    )
    _, speed, _ = solver.compute_parameterization(0.0, 0.0)
    least = durations(grid, speed**2).sum()
    strong = replace(TIGHT, effort=np.full(2, np.inf))
    ours = fr.control.retime(ARM, PATH, limits=strong, acceleration=most, blend=0.05)
    assert 0.999 * least < ours.duration < 1.03 * least


def test_progress_comes_to_an_end():
    seen = []
    fr.control.retime(ARM, PATH, drives=DRIVES, report=lambda *at: seen.append(at))
    done, total = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert len(set(total)) == 1 and done[-1] == total[-1]


def walk(seed, count, spread):
    """Postures (K, 2) that follow each other at random, and stay within the arm's range."""
    rng = np.random.default_rng(seed)
    path = [np.zeros(2)]
    for step in spread * rng.standard_normal((count - 1, 2)):
        path.append(np.clip(path[-1] + step, -1.5, 1.5))
    return np.array(path)


@pytest.mark.parametrize("seed", few_or_all([0], range(4)))
def test_jerk_and_torque_rate_hold_at_every_instant(seed):
    """On a grid twenty times finer than the output's, within 1 %."""
    limits = replace(TIGHT, jerk=60.0 * TIGHT.velocity)
    rate = 4.0 * TIGHT.effort
    timed = retimed(walk(seed, 12, 0.6), limits=limits, acceleration=20.0, torque_rate=rate)
    time, q, qd, qdd = sampled(timed, 4e-4)
    jerk = np.diff(qdd, axis=0) / np.diff(time)[:, None]
    smooth = replace(DRIVES, coulomb=np.zeros(2))
    torque = smooth.torque(fr.Dynamics(ARM), q, qd, qdd, 0.0)
    assert (np.abs(jerk) < 1.01 * limits.jerk).all()
    assert (np.abs(np.diff(torque, axis=0) / np.diff(time)[:, None]) < 1.01 * rate).all()
    assert (np.abs(qd) < 1.01 * limits.velocity).all()
    assert (np.abs(qdd) < 1.01 * 20.0).all()


# The command: what it writes passes preflight; what it says.


JOINTS = ("elbow_joint", "wrist_1_joint")
CORNERS = (0.0, 0.0), (0.8, 0.4), (0.3, 0.9)


@pytest.fixture
def plan(tmp_path):
    points = [Point(1.0 + 5.0 * k, corner) for k, corner in enumerate(CORNERS)]
    path = tmp_path / "plan.yaml"
    path.write_text(as_yaml(UncheckedTrajectory(JOINTS, tuple(points))))
    return path


def written(path):
    (trajectory,) = parse(path.read_text(), str(path))
    return trajectory


def test_what_it_writes_passes_preflight(plan, tmp_path, tool):
    fast = tmp_path / "fast.yaml"
    command = ["retime", str(plan), "ur5e", "--output", str(fast), "--acceleration", "12"]
    said = tool(*command)
    assert "10.000 s before" in said and "acceleration 100.0%" in said
    tool("preflight", fast, "ur5e")
    trajectory = written(fast)
    assert trajectory.names == JOINTS
    first, last = trajectory.points[0], trajectory.points[-1]
    assert first.time == 1.0 and 1.5 < last.time < 2.5
    assert first.positions == pytest.approx(CORNERS[0], abs=1e-9)
    assert last.positions == pytest.approx(CORNERS[-1], abs=1e-9)
    assert last.velocities == (0.0, 0.0)


def test_a_link_can_be_slow(plan, tmp_path, tool):
    slow = tmp_path / "slow.yaml"
    tool("retime", plan, "ur5e", "--output", slow, "--link-speed", "tool0=0.2")
    assert written(slow).points[-1].time > 2.5


WAYPOINTS = "joint_names: [elbow_joint, wrist_1_joint]\npoints:\n" + "".join(
    f"- positions: [{a}, {b}]\n" for a, b in CORNERS
)


def test_waypoints_need_no_times(tmp_path, tool):
    path, fast = tmp_path / "path.yaml", tmp_path / "fast.yaml"
    path.write_text(WAYPOINTS)
    said = tool("retime", path, "ur5e", "--output", fast)
    assert written(fast).points[-1].positions == pytest.approx(CORNERS[-1], abs=1e-9)
    assert "s, without times before; " in said
    assert "Without times" in tool("preflight", path, "ur5e")
    with pytest.raises(FeatherstoneError, match="no time_from_start: featherstone-ros retime"):
        read_timed(str(path))


test_what_cannot_be_done_is_refused_in_one_line = refused_commands(
    {"plan.yaml": WAYPOINTS, "degrees.yaml": WAYPOINTS.replace("0.8", "90")},
    ("retime plan.yaml ur5e --output f.yaml --effort 0.1", 1, "gravity and friction alone take"),
    ("retime plan.yaml ur5e --output f --link-speed hand=1", 2, "no link 'hand'; valid names"),
    ("retime plan.yaml ur5e --output f.yaml --number 2", 2, "--number 2"),
    ("retime plan.yaml ur5e --output f.yaml --joint-limits none.yaml", 2, "none.yaml"),
    ("retime degrees.yaml ur5e --output f.yaml", 1, "are these degrees.*90 degrees are 1.571 rad"),
    ("preflight degrees.yaml ur5e", 1, "are these degrees.*90 degrees are 1.571 rad"),
)

"""Limits of acceleration, deceleration and jerk: what exceeds them, and how much slower fits."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refusals
from urdf_text import chain

import featherstone_ros as fr
from featherstone_ros import Model, ModelError
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.feasibility import check_set_point
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import Interpolation
from featherstone_ros.control.trajectory import MotionState, Point, Trajectory
from featherstone_ros.tools.multi_sine import plan
from featherstone_ros.tools.taught_motion import way_to
from featherstone_ros.tools.trajectory_check import check_file
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory
from featherstone_ros.tools.trial_drive import MOVE_TIME, first_motion

FREE = fr.Model.from_urdf(
    chain("a", axis="0 1 0", inside='<limit lower="-3" upper="3" velocity="9" effort="99"/>')
)
FREE_ARM = ControlledArm.of(FREE)
WAY, TIME = 1.2, 2.0  # [rad], [s] of the motions
REST = (0.0,)


def limited(**limits):
    return replace(FREE, **{f"{name}_limit": np.array([value]) for name, value in limits.items()})


def checked(model, *points):
    return check_file(UncheckedTrajectory(("a",), points), ControlledArm.of(model))


def quintic(model, time=TIME):
    return checked(model, Point(0.0, REST, REST, REST), Point(time, (WAY,), REST, REST))


# Of a quintic from rest to rest.
PEAKS = {"acceleration": 10 / 3**0.5 * WAY / TIME**2, "jerk": 60 * WAY / TIME**3}
PEAKS["deceleration"] = PEAKS["acceleration"]


@pytest.mark.parametrize(
    ("quantity", "power"), [("acceleration", 2), ("deceleration", 2), ("jerk", 3)]
)
def test_a_quintic_touches_each_limit_at_its_known_peak(quantity, power):
    limits = {"acceleration": np.inf, "deceleration": np.inf, "jerk": np.inf}
    peak = PEAKS[quantity]
    assert quintic(limited(**limits | {quantity: 1.001 * peak})).fits
    tight = quintic(limited(**limits | {quantity: peak / 1.5}))
    (excess,) = tight.verdict.excesses
    assert (excess.quantity, excess.joint) == (quantity, "a")
    assert quantity == "jerk" or (excess.time > TIME / 2) == (quantity == "deceleration")
    assert excess.value == pytest.approx(np.sign(excess.value) * peak, rel=2e-3)
    assert tight.verdict.slow_down == pytest.approx(1.5 ** (1 / power), rel=2e-3)
    assert quintic(
        limited(**limits | {quantity: peak / 1.5}), TIME * 1.5 ** (1 / power) * 1.002
    ).fits


def test_a_jump_of_the_acceleration_counts_over_a_hundredth_of_a_second():
    """Where one cubic ends and the next begins, it goes from -6 to 6 times way / time^2."""
    step_by_step = [Point(k * TIME, (k * WAY,), REST) for k in range(3)]
    jump = 12 * WAY / TIME**2
    assert checked(limited(jerk=100 * jump * 1.01), *step_by_step).fits
    tight = checked(limited(jerk=100 * jump / 4), *step_by_step).verdict
    (excess,) = tight.excesses
    assert (excess.quantity, excess.time) == ("jerk", TIME)
    assert excess.value == pytest.approx(100 * jump)
    assert tight.slow_down == pytest.approx(2.0)  # the jump falls with the square of the time


def test_a_set_point_beyond_the_acceleration_is_refused():
    model = limited(acceleration=4.0, deceleration=6.0)
    settings = ControlledArm.of(model).settings
    for velocity, acceleration, said in [
        (1.0, 3.9, ""),
        (1.0, 4.1, "acceleration 4.1"),
        (0.0, -4.1, "acceleration 4.1"),
        (-1.0, 5.9, ""),
        (-1.0, 6.1, "deceleration 6.1"),
    ]:
        state = MotionState(*np.array([[0.1], [velocity], [acceleration], [0.0]]))
        why = check_set_point(fr.Dynamics(model), model, settings, state)
        assert said in why and bool(said) == bool(why), (velocity, acceleration, why)


def test_a_limit_of_zero_is_none():
    space = JointSpace.of(limited(acceleration=0.0, deceleration=0.0, jerk=0.0))
    assert np.isinf([space.acceleration, space.deceleration, space.jerk]).all()


def test_the_first_motion_of_setup_keeps_half_of_each():
    for limits in ({"acceleration": 0.1, "deceleration": 0.06}, {"jerk": 5.0}):
        model = limited(**limits)
        way = first_motion(model, np.zeros(1)).positions[0]
        peak = 6 * way / MOVE_TIME**2
        bound = min(limits.get("deceleration", np.inf), 0.01 * limits.get("jerk", np.inf))
        assert peak == pytest.approx(bound / 2)
    assert first_motion(FREE, np.zeros(1)).positions[0] == 0.2


def test_the_demos_motion_keeps_them():
    model = limited(acceleration=2.0, deceleration=1.5)
    dynamics = fr.Dynamics(model)
    _, _, _, qdd = plan(model, dynamics.rnea, np.zeros(1)).samples(0.01)
    assert np.abs(qdd).max() <= 0.8 * 1.5


@pytest.mark.parametrize("is_spline", [False, True], ids=["lead-in", "takeover by a stream"])
def test_what_leads_into_a_moving_trajectory_keeps_to_the_limits(is_spline):
    """From another place, speed and acceleration: without limits up to twenty times as much."""
    limits = {"acceleration": [2.0, 5.0], "deceleration": [3.0, 4.0], "jerk": [20.0, 100.0]}
    wide, speed, names = np.full(2, np.inf), np.full(2, 2.0), ("a", "b")
    space = JointSpace(names, ("revolute",) * 2, -wide, wide, speed, wide)
    limited_space = replace(space, **{name: np.array(limit) for name, limit in limits.items()})
    rng, times = np.random.default_rng(0), np.linspace(0.0, 4.0, 41)
    rates = np.array([[f(t), 0.5 * f(t)] for f in (np.cos, lambda t: -np.sin(t)) for t in times])
    fields = [] if is_spline else [0.4 * rates[:41], 0.4 * rates[41:]]
    rows = [0.4 * np.outer(np.sin(times), [1.0, 0.5]), *fields]
    points = [Point(t, *(row[k] for row in rows)) for k, t in enumerate(times)]
    kind = Interpolation.SPLINE if is_spline else Interpolation.LINEAR
    worst = dict.fromkeys((space, limited_space), 0.0)
    for _ in range(10):
        before = rng.uniform(-1.0, 1.0, (4, 2)) * np.array([[0.15], [0.5], [1.0], [0.0]])
        for limit in worst:
            trajectory = Trajectory(names, points, limit, True, kind)
            motion = trajectory.motion(0.5, MotionState(*before), 0.25)
            time = np.linspace(0.5, min(motion.blended_until, 3.8), 1001)  # then the points stop
            _, v, a, _ = motion.sample(time)
            jerk = np.abs(np.diff(a, axis=0)) / (time[1] - time[0])
            which = np.where(v * a > 0.0, limits["acceleration"], limits["deceleration"])
            share = (np.abs(a) / which).max(), (jerk / limits["jerk"]).max()
            worst[limit] = max(worst[limit], *share)
            np.testing.assert_allclose(motion.sample(time[:1])[:3, 0], before[:3], atol=1e-9)
    assert worst[space] > 3.0 and worst[limited_space] <= 1.0 + 1e-6


def test_the_way_to_the_start_of_a_replay_keeps_to_the_limits():
    for limits in ({"acceleration": 0.3, "deceleration": 0.1}, {"jerk": 0.2}):
        arm = ControlledArm.of(limited(**limits))
        assert check_file(way_to(0.1 * np.ones(1), np.zeros(1), arm), arm).fits
        assert not check_file(way_to(0.1 * np.ones(1), np.zeros(1), FREE_ARM), arm).fits


# Limits in the form of MoveIt's joint_limits.yaml.


PANDA = Model.from_robot("panda")
TEXT = """
default_velocity_scaling_factor: 0.1
joint_limits:
  panda_joint1:
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
  panda_joint2:
    has_velocity_limits: false
    max_velocity: 0
    max_jerk: 5e2
    min_position: -1.0
    max_position: 1.0
  panda_joint4:
    max_acceleration: 4
    max_deceleration: -2.5
    max_effort: 60
"""


def changes(model):
    """Return the limits that are not the Panda's, by field and joint's number."""
    fields = ("lower", "upper", "velocity_limit", "effort_limit")
    fields += ("acceleration_limit", "deceleration_limit", "jerk_limit")
    return {
        (field, index + 1): after
        for field in fields
        for index, (before, after) in enumerate(
            zip(getattr(PANDA, field), getattr(model, field), strict=True)
        )
        if before != after
    }


EXPECTED = {
    ("velocity_limit", 1): 1.5,
    ("acceleration_limit", 1): 3.75,
    ("deceleration_limit", 1): 3.75,
    ("lower", 2): -1.0,
    ("upper", 2): 1.0,
    ("jerk_limit", 2): 500.0,
    ("effort_limit", 4): 60.0,
    ("acceleration_limit", 4): 4.0,
    ("deceleration_limit", 4): 2.5,
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "joint_limits.yaml"
    path.write_text(TEXT)
    return path


def test_a_file_of_moveit_takes_the_place_of_the_urdfs_limits(file):
    limited = PANDA.with_joint_limits(file)
    assert changes(limited) == EXPECTED and not changes(PANDA)
    assert limited.joint_names == PANDA.joint_names


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_so_does_a_mapping_also_below_a_node_s_parameters(depth):
    given = {"joint_limits": {"panda_joint1": {"max_velocity": 1.5}}}
    for _ in range(depth):
        given = {"ros__parameters": given}
    assert changes(PANDA.with_joint_limits(given)) == {("velocity_limit", 1): 1.5}


def test_other_joints_are_left_out_and_told(caplog):
    arm = Model.from_robot("panda", joints=["panda_joint1"])
    given = {name: {"max_velocity": 1.0} for name in ("panda_joint2", "finger", "panda_joint1")}
    with caplog.at_level(logging.WARNING):
        limited = arm.with_joint_limits({"joint_limits": given})
    assert limited.velocity_limit.tolist() == [1.0]
    assert "'finger'" in caplog.text and "panda_joint2" not in caplog.text


def limited_to(*limits, **one):
    (limits,) = limits or [one]
    return PANDA.with_joint_limits({"joint_limits": {"panda_joint1": limits}})


test_what_is_no_limit_is_refused_by_name = refusals(
    ("panda_joint1': max_velocity is 'fast', expected a finite number", {"max_velocity": "fast"}),
    ("panda_joint1': max_velocity is nan", {"max_velocity": float("nan")}),
    ("panda_joint1': max_velocity is True", {"max_velocity": True}),
    ("panda_joint1': max_velocity is -1, expected >= 0", {"max_velocity": -1}),
    ("panda_joint1': max_jerk is -1", {"max_jerk": -1}),
    ("panda_joint1': min_position is 5, expected at most max_position", {"min_position": 5.0}),
    (r"panda_joint1': limits are \[1\], expected names and numbers", [1]),
    (r"none\.yaml: no 'joint_limits'", lambda: PANDA.with_joint_limits(Path("none.yaml"))),
    (r"open\.yaml: ", lambda: PANDA.with_joint_limits("open.yaml")),
    (r"^limits: no 'joint_limits'", lambda: PANDA.with_joint_limits({})),
    error=ModelError, of=limited_to,
    files={"none.yaml": "joints: {}", "open.yaml": "joint_limits: {"},
)  # fmt: skip


PLAN = """
joint_names: [panda_joint1]
points:
- {positions: [0.0], velocities: [0.0], accelerations: [0.0], time_from_start: {sec: 0, nanosec: 0}}
- {positions: [0.5], velocities: [0.0], accelerations: [0.0], time_from_start: {sec: 1, nanosec: 0}}
"""


def test_preflight_judges_by_them(tmp_path, file, tool):
    """Half a radian in 1 s, quintic: at most 0.94 rad/s and 2.89 rad/s^2."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    command = ["preflight", str(plan), "--urdf", "panda", "--joint-limits", str(file)]
    tool(*command[:4])
    tool(*command)
    file.write_text(TEXT.replace("3.75", "2.8"))
    assert "acceleration" in tool(*command, status=1)
    file.unlink()
    assert "joint_limits.yaml cannot be read" in tool(*command, status=2)

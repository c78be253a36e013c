import json
import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
import urdf_text
from rich.console import Console

import featherstone_ros as fr
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.trajectory import Motion as FollowedMotion
from featherstone_ros.control.trajectory import Point, Trajectory
from featherstone_ros.tools.demo.report import (
    LAWS,
    DemoRecording,
    DemoReport,
    MeasurementError,
    improvement,
    measure,
)
from featherstone_ros.tools.multi_sine import POINT_SPACING, load_share, plan
from featherstone_ros.tools.panels import segments
from featherstone_ros.tools.result import json_text
from featherstone_ros.tools.robot_setup import load
from featherstone_ros.tools.style import short_names

PERIOD, LATENCY = 1e-3, 0.4e-3
ERRORS = {"none": 0.05, "gravity": 0.01, "full": 0.001}  # [rad] constant offset of the arm


@pytest.fixture(scope="module")
def robot():
    return load("panda")


@pytest.fixture(scope="module")
def motion(robot):
    return plan(robot.model, robot.inverse_dynamics, robot.start, duration=4.0)


@pytest.fixture(scope="module")
def recording(motion):
    """An arm that is where it is asked to be, its states from before to after the motion."""
    rng = np.random.default_rng(0)
    stamp = np.sort(np.arange(-0.1, 4.1, PERIOD) + rng.uniform(0, 0.3e-3, 4200))
    position, velocity, _ = motion.at(stamp)
    return DemoRecording(
        stamp=stamp,
        position=position,
        effort=velocity,
        state_sent=stamp,
        command_sent=stamp + LATENCY / 2,
        command_received=stamp + LATENCY,
        desired_stamp=stamp[::20],
        desired=position[::20],
    )


@pytest.fixture(scope="module")
def report(robot, motion, recording):
    runs = [
        measure(law, replace(recording, position=recording.position - offset), motion)
        for law, offset in ERRORS.items()
    ]
    return DemoReport(
        robot=robot,
        motion=motion,
        runs=runs,
        rate=1000.0,
        conditions=("made up",),
    )


def described(robot, text):
    """Return a robot by another text of as many joints, the first of the description."""
    names = fr.Model.from_urdf(text).joint_names[: robot.model.n]
    return replace(robot, text=text, model=fr.Model.from_urdf(text, joints=names))


def unlimited(robot):
    """Return a robot without limits of velocity and effort."""
    return described(robot, re.sub(r'velocity="[\d.]+" effort="[\d.]+"', "", robot.text))


def shown(report, width=80):
    console = Console(width=width, record=True, file=StringIO())
    console.print(report.table())
    return console.export_text()


def test_error_of_a_late_arm_is_its_speed_times_the_delay(motion, recording):
    delay = 2e-3
    late = replace(recording, position=motion.at(recording.stamp - delay)[0])
    run = measure("full", late, motion)
    _, velocity, _ = motion.at(run.time)
    np.testing.assert_allclose(run.error, velocity * delay, atol=1e-4)


def test_rates_latency_and_peaks_are_those_of_the_messages(motion, recording):
    run = measure("none", replace(recording, position=recording.position + 0.02), motion)
    assert run.traffic.state_rate == pytest.approx(1000, rel=1e-3)
    assert run.traffic.command_rate == pytest.approx(1000, rel=1e-3)
    np.testing.assert_allclose(run.traffic.latency, LATENCY, atol=1e-12)
    assert run.traffic.silence == pytest.approx(PERIOD, rel=0.4)
    np.testing.assert_allclose(run.rms, 0.02)
    np.testing.assert_allclose(run.peak, 0.02)
    _, velocity, _ = motion.at(run.time)
    np.testing.assert_allclose(run.effort_peak, np.abs(velocity).max(axis=0))


def test_only_the_motion_itself_is_measured(motion, recording):
    moved = recording.position.copy()
    moved[(recording.stamp < 0) | (recording.stamp > motion.duration)] += 1.0
    run = measure("full", replace(recording, position=moved), motion)
    np.testing.assert_allclose(run.error, 0.0, atol=1e-12)


@pytest.mark.parametrize("what", ["joint states", "commands"])
def test_measure_raises_if_messages_stop(motion, recording, what):
    early = recording.stamp < 2.0
    cut = {
        "joint states": ("stamp", "position", "effort"),
        "commands": ("command_sent", "command_received"),
    }
    partial = replace(recording, **{key: getattr(recording, key)[early] for key in cut[what]})
    with pytest.raises(MeasurementError, match=f"no {what} for 2.00 s of a motion of 4 s"):
        measure("full", partial, motion)
    with pytest.raises(MeasurementError, match="0 received"):
        measure("full", DemoRecording(*[np.empty(0)] * 8), motion)


def test_a_run_is_spoilt_if_commands_are_missing_or_the_motion_was_given_up(motion, recording):
    run = measure("full", recording, motion)
    np.testing.assert_allclose(run.error, 0.0, atol=1e-12)  # whatever the sampling
    assert run.spoilt == ""
    heard = (recording.command_sent < 1.0) | (recording.command_sent > 1.2)
    cut = {k: getattr(recording, k)[heard] for k in ("command_sent", "command_received")}
    assert measure("full", replace(recording, **cut), motion).spoilt.startswith("no command for 20")
    held = recording.desired.copy()
    held[len(held) // 2 :] = held[len(held) // 2]
    run = measure("full", replace(recording, desired=held), motion)
    assert run.spoilt == "the controller abandoned the motion"


def test_in_simulated_time_each_state_counts_and_messages_take_none(robot, motion, recording):
    stamp = np.arange(-100, 4100) * PERIOD + PERIOD / 2
    position, velocity, _ = motion.at(stamp)
    whole = replace(recording, stamp=stamp, position=position + 1e-3, effort=velocity)
    run = measure("full", whole, motion, PERIOD)
    assert run.traffic is None and len(run.time) == 4000
    heard = np.delete(np.arange(len(stamp)), 2000)
    lost = replace(whole, **{k: getattr(whole, k)[heard] for k in ("stamp", "position", "effort")})
    with pytest.raises(MeasurementError, match="3999 joint states were heard of 4000"):
        measure("full", lost, motion, PERIOD)
    report = DemoReport(robot, motion, [run] * 3, 1000.0, repeated=["PD alone: lost"])
    assert not report.in_real_time and not report.disturbances
    assert report.as_dict()["repeated"] == ["PD alone: lost"]
    text = shown(report)
    assert "states/s" not in text and "Driven again: PD alone: lost" in text


def test_the_table_compares_laws_joint_by_joint(report):
    text = shown(report)
    assert all(f"joint {i} " in text for i in range(1, 8))
    assert all(word in text for label in LAWS.values() for word in label.split())
    assert "50.0 / 50.0" in text and "10.0 / 10.0" in text and "1.00 / 1.00" in text, text
    assert "[mrad]" in text and "50 times more accurate" in text and "…" not in text
    spoilt = replace(report, runs=[replace(report.runs[0], departure=0.5), *report.runs[1:]])
    text = shown(spoilt)
    assert "cannot be compared" in text and "PD alone: the controller" in text
    assert "more accurate" not in text and "×" not in text
    assert spoilt.as_dict()["improvement"] is None
    assumed = replace(report, robot=replace(report.robot, has_assumed_drives=True))
    after = " ".join(shown(assumed, 100).partition("times more accurate")[2].split())
    assert "rotor inertia is assumed" in after and "rotor inertia is assumed" in assumed.knowledge
    assert "assumed" not in report.knowledge
    wide = re.sub(r'effort="[\d.]+"', 'effort="150"', report.robot.text)
    wide = wide.replace('"panda_joint1"', '"shoulder_pan_joint"')
    wide = wide.replace('"panda_joint2"', '"shoulder_lift_joint"')
    large = [replace(run, error=30 * run.error) for run in report.runs]
    lines = shown(replace(report, robot=described(report.robot, wide), runs=large)).splitlines()
    (line,) = [line for line in lines if line.startswith(" shoulder lift")]
    assert line.split()[2:] == "1500 / 1500 300 / 300 30.0 / 30.0 50× 1.7 of 150".split()


def test_json_holds_the_figures_and_null_for_what_is_not_finite(report):
    content = json.loads(json_text(report.as_dict()))
    assert content["joints"] == list(report.robot.model.joint_names)
    assert content["runs"]["none"]["rms"] == pytest.approx([ERRORS["none"]] * 7)
    assert content["runs"]["full"]["latency_median"] == pytest.approx(LATENCY)
    assert min(content["velocity_share"]) >= 0.5
    content = json.loads(json_text(replace(report, robot=unlimited(report.robot)).as_dict()))
    assert content["effort_limit"] == [None] * 7


def test_improvement_is_the_ratio_of_the_errors_and_shortfalls_name_what_was_missed(report):
    assert improvement(report.runs[0], report.runs[1]) == pytest.approx(5.0)
    assert report.improvement == pytest.approx(50.0)
    assert report.shortfalls == []
    poor = replace(report, runs=[report.runs[1], report.runs[1], report.runs[1]])
    assert len(poor.shortfalls) == 8  # seven joints and the ratio
    assert poor.shortfalls[0] == "full feedforward is 1.0 times better than PD alone, expected 20"
    assert "panda_joint1: RMS error 10.00 mrad" in poor.shortfalls[1]


def test_a_machine_too_slow_is_told_apart_from_poor_control(report):
    assert report.disturbances == []
    slow = replace(report, rate=2000.0)
    assert slow.shortfalls == []
    assert len(slow.disturbances) == 3
    assert slow.disturbances[0].startswith("PD alone: 1000 messages per second of 2000")


def test_segments_join_base_joints_and_tool(robot):
    lines = segments(robot.model, [np.zeros(7)])[0]
    ends = lines.reshape(-1, 3)
    np.testing.assert_allclose(lines[0], [[0, 0, 0], [0, 0, 0.333]], atol=1e-12)
    tool = [0.088, 0, 0.333 + 0.316 + 0.384 - 0.107 - 0.1034]
    assert np.isclose(ends, tool, atol=1e-9).all(axis=1).any()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["panda_joint1", "panda_joint2"], ["joint 1", "joint 2"]),
        (["joint_a4", "shoulder_pan_joint"], ["joint a4", "shoulder pan"]),
        (["arm_joint1", "finger_joint1"], ["arm joint1", "finger joint1"]),
        (["panda_joint1", "panda_finger_joint1"], ["joint1", "finger joint1"]),
    ],
)
def test_short_names_tell_joints_apart(names, expected):
    assert short_names(names) == expected


# The motion.


LIMIT = '<limit lower="-0.02" upper="0.02" velocity="0.5" effort="100"/>'


def slider(mass):
    carriage = urdf_text.link("carriage", mass, "0 0 0", (1, 1, 1))
    slide = urdf_text.joint("slide", "base", "carriage", "prismatic", LIMIT)
    return fr.Model.from_urdf(urdf_text.robot(urdf_text.link("base"), carriage, slide))


@pytest.fixture(scope="module", params=["panda", "ur5e"])
def each_robot(request):
    return load(request.param)


@pytest.fixture(scope="module")
def each_motion(each_robot):
    return plan(each_robot.model, each_robot.inverse_dynamics, each_robot.start)


def test_motion_moves_every_joint_at_half_its_speed_limit_or_more(each_robot, each_motion):
    _, _, velocity, _ = each_motion.samples(0.001)
    share = np.abs(velocity).max(axis=0) / each_robot.model.velocity_limit
    assert share.min() >= 0.5 and share.max() <= 0.9


def test_motion_stays_within_position_and_effort_limits(each_robot, each_motion):
    _, position, _, _ = each_motion.samples(0.001)
    assert np.all(position > each_robot.model.lower) and np.all(position < each_robot.model.upper)
    assert load_share(each_motion, each_robot.model, each_robot.inverse_dynamics) <= 0.8


def test_motion_keeps_the_arm_above_the_floor(each_robot, each_motion):
    dynamics = fr.Dynamics(each_robot.model)
    moving = [
        link
        for link, body in zip(
            each_robot.model.link_names, each_robot.model.tree.link_body, strict=True
        )
        if body >= 1
    ]
    for q in each_motion.samples(0.05)[1]:
        assert min(dynamics.link_pose(q, link)[2, 3] for link in moving) > 0.05


def test_motion_is_at_rest_at_both_ends_and_outside(each_motion):
    outside = [-1.0, 0.0, each_motion.duration, each_motion.duration + 1.0]
    position, velocity, acceleration = each_motion.at(outside)
    np.testing.assert_allclose(position, np.tile(each_motion.centre, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(acceleration, 0.0, atol=1e-12)


def test_velocity_and_acceleration_are_the_derivatives(each_motion):
    t, h = np.linspace(0.05, each_motion.duration - 0.05, 500), 1e-5
    before, here, after = each_motion.at(t - h), each_motion.at(t), each_motion.at(t + h)
    for order in (0, 1):
        slope = (after[order] - before[order]) / (2 * h)
        np.testing.assert_allclose(here[order + 1], slope, atol=1e-6)


def test_trajectory_points_lose_nothing_of_the_motion(each_robot, each_motion):
    """What the controller interpolates between the points sent is what the demo compares with."""
    model = each_robot.model
    space = JointSpace.of(model)
    points = [Point(*row) for row in zip(*each_motion.samples(POINT_SPACING), strict=True)]
    trajectory = Trajectory(model.joint_names, points, space)
    followed = trajectory.motion(0.0, trajectory.state(0), 0.1)
    assert isinstance(followed, FollowedMotion)
    time, *expected = each_motion.samples(0.0037)
    found = followed.sample(time)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-4)


def test_motion_swings_faster_where_there_is_little_room():
    model = slider(0.1)
    each_motion = plan(model, fr.Dynamics(model).rnea, [0.0])
    _, position, velocity, _ = each_motion.samples(0.001)
    assert np.abs(position).max() <= 0.02
    assert np.abs(velocity).max() == pytest.approx(0.8 * 0.5, rel=1e-2)


def test_motion_gets_smaller_where_torque_does_not_suffice():
    model = slider(6.0)
    dynamics = fr.Dynamics(model)
    each_motion = plan(model, dynamics.rnea, [0.0])
    assert load_share(each_motion, model, dynamics.rnea) <= 0.8
    _, _, velocity, _ = each_motion.samples(0.001)
    assert 0.01 < np.abs(velocity).max() < 0.8 * 0.5

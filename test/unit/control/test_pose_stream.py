"""A stream of poses leads the end effector with little lag, within its acceleration."""

import numpy as np
import pytest
from studies import few_or_all, study

from featherstone_ros import Model
from featherstone_ros.control.cartesian_impedance import OUTLASTS, CartesianImpedance, PoseStream
from featherstone_ros.control.diagnostics import StreamWatch, Takeover

MODEL = Model.from_robot("panda")
MIDDLE = 0.5 * (MODEL.lower + MODEL.upper)
STEP = 2e-3
SPEED, RADIUS = 0.15, 0.08  # [m/s, m]


def circle(times):
    angle = np.asarray(times)[:, None] * SPEED / RADIUS
    return RADIUS * np.hstack([0.0 * angle, np.cos(angle) - 1.0, np.sin(angle)])


def desired_positions(period, jitter, derived=True, duration=2.0, end=np.inf):
    """Of the law at times (T,), led along the circle by stamped poses that come up to late."""
    rng = np.random.default_rng(0)
    law, stream, rest = CartesianImpedance(MODEL, "panda_hand"), PoseStream(), np.zeros(MODEL.n)
    law.start(MIDDLE)
    law.torque(MIDDLE, rest, STEP)
    start = law.report["desired"].copy()
    times, positions, count, due, ends = np.arange(0.0, duration, STEP), [], 0, 0.0, np.inf
    for now in times:
        if now >= due and now < end:
            pose = start.copy()
            pose[:3, 3] += circle([count * period])[0]
            twist, lasting = stream.velocity(5.0 + count * period, pose)
            law.set_target(pose, twist if derived else np.zeros(6))
            ends, count = now + lasting, count + 1
            due = count * period + rng.uniform(0.0, jitter * period)
        if now >= ends:  # as the controller does (cartesian_mode.pxd)
            law.set_target(pose)
        law.torque(MIDDLE, rest, STEP)
        positions.append(law.report["desired"][:3, 3] - start[:3, 3])
    return times, np.array(positions)


def lag(times, positions):
    """Delay of the circle that comes closest, once the arm has come up to it [s]."""
    late = times > 1.0
    delays = np.arange(0.0, 0.3, 1e-3)
    errors = [np.linalg.norm(positions[late] - circle(times[late] - d)) for d in delays]
    return delays[np.argmin(errors)]


@pytest.mark.parametrize("jitter", few_or_all([0.5], [0.0, 0.5]))
@pytest.mark.parametrize("period", few_or_all([0.02], [0.02, 0.05, 0.1]))
def test_desired_pose_lags_by_a_period_at_most_within_its_acceleration(period, jitter):
    times, positions = desired_positions(period, jitter)
    assert lag(times, positions) <= period
    velocity = np.diff(positions, axis=0) / STEP
    assert np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() < 2.001 * STEP
    assert lag(*desired_positions(period, jitter, derived=False)) > period


@pytest.mark.parametrize("period", [0.02, study(0.05), 0.1])
def test_a_stream_that_breaks_off_is_not_continued(period):
    _, positions = desired_positions(period, 0.0, end=1.0)
    last = circle([np.ceil(1.0 / period - 1e-9) * period - period])[0]
    overshoot = np.linalg.norm(positions - last, axis=1)[round(1.0 / STEP) :]
    assert overshoot.max() < SPEED * OUTLASTS * period + 0.012  # what braking takes
    assert overshoot[-1] < 1e-4


@pytest.mark.parametrize("since", [0.0, -1.0, 1e-9, 0.2])
def test_poses_that_are_no_stream_have_no_velocity(since):
    stream, pose = PoseStream(), np.eye(4)
    stream.velocity(5.0, pose)
    pose[:3, 3] = 0.1
    twist, lasting = stream.velocity(5.0 + since, pose)
    assert lasting == 0.0 and not twist.any()


# Trajectories that follow each other: how the diagnostics tell how they fit together.


def figures(watch):
    return [text.split()[0] for text in watch.report().values()]


def test_the_worst_since_the_last_report_is_told():
    watch = StreamWatch(["shoulder", "elbow"])
    assert watch.report() == {}
    watch.note(Takeover(1.0, 2.0, 0.1, np.array([0.0, 0.02])))
    watch.note(Takeover(1.5, 2.5, 0.3, np.array([0.01, 0.0])))  # overlaps
    assert figures(watch) == ["0.300", "0.0200", "0.000"]
    assert "(elbow)" in watch.report()["jump between trajectories [rad or m]"]
    watch.note(Takeover(2.7, 3.0, 0.2, np.array([0.003, 0.0])))
    watch.note(Takeover(3.1, 4.0, 0.2, np.array([0.0, 0.0])))
    assert figures(watch) == ["0.200", "0.0030", "0.300"]  # 0.2 s and 0.1 s between them
    assert figures(watch) == ["0.200", "0.0030", "0.300"]  # until the next one

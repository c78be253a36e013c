"""Streams: nothing whips the arm, and how far the arm is behind each of them.

``python -m pytest -m "" test/scenes/test_streams.py -s`` prints the lags of docs/streams.md.
"""

import numpy as np
import pytest
from arm_scene import Scene, chunk, gains_for, load, moved, play, set_point, trajectory
from drawn_scenes import bounds, stall
from studies import each_once, few_or_all, study

from featherstone_ros.control.trajectory import Point

BEGIN, PULSE, SIZE = 0.2, 1.8, 0.25  # [s], [rad/s], [rad]
START = load("panda").start


def way(time):
    """Where an operator would have the arm: to and fro; (n,) or (K, n)."""
    phase = PULSE * np.maximum(np.asarray(time) - BEGIN, 0.0)
    return START + SIZE * (1.0 - np.cos(phase))[..., None] * np.ones(7)


def speed(time):
    return SIZE * PULSE * np.sin(PULSE * max(time - BEGIN, 0.0)) * np.ones(7)


def set_points(at, ahead):
    return set_point(way(at))


def with_velocities(at, ahead):
    return set_point(way(at), speed(at))


def single_points(at, ahead):
    """As rqt, MoveIt Servo and bridges of teleoperation send them."""
    return trajectory([Point(ahead, way(at + ahead))])


def chunks(at, ahead):
    return chunk(way, at)


def followed(send, rate, jitter=0.0, until=4.0, rest=0.5, parameters=None):
    """Play a stream, whose messages come early or late by at most ``jitter`` [s]."""
    rng = np.random.default_rng(3)
    sent = np.arange(BEGIN, until, 1.0 / rate)
    asks = {t + rng.uniform(0.0, jitter): send(t, 1.0 / rate) for t in sent}
    return play(Scene("panda", asks, until + rest, start=START, parameters=parameters or {}))


def lag(played):
    """Return how late the arm is [s], and the largest error once it is under way [rad]."""
    time = played.record.time
    there = (time > 1.2) & (time < 3.9)
    late = np.linspace(-0.05, 0.4, 226)
    off = [np.abs(played.q[there, 0] - way(time[there] - t)[:, 0]).mean() for t in late]
    return late[int(np.argmin(off))], np.abs(played.q[there] - way(time[there])).max()


SPLINE = {"interpolation": "spline"}


STREAMS = [  # how long it may lag [s], how far it may be off [rad]
    (set_points, 30.0, {}, 0.01, 0.025),
    (with_velocities, 30.0, {}, 0.01, 0.015),
    (single_points, 30.0, {}, 0.02, 0.025),
    (single_points, 50.0, {}, 0.02, 0.02),
    (chunks, 5.0, SPLINE, 0.01, 0.01),
]
FEW = ((0, 0.01), (1, 0.0), (3, 0.01), (4, 0.0))  # of these, and jitter [s]


@pytest.mark.parametrize(
    ("send", "rate", "parameters", "latest", "off", "jitter"),
    few_or_all(
        [(*STREAMS[k], jitter) for k, jitter in FEW],
        [(*stream, jitter) for stream in STREAMS for jitter in (0.0, 0.01)],
    ),
)
def test_a_stream_is_followed_without_lag(send, rate, parameters, latest, off, jitter):
    played = followed(send, rate, jitter, parameters=parameters)
    late, error = lag(played)
    print(f"\n{send.__name__:16} {rate:3g} Hz, jitter {jitter:g}: {late:.3f} s, {error:.4f} rad")
    assert late <= latest + jitter and error <= off + 0.45 * jitter
    desired, rates = played.desired, bounds("panda")
    assert (np.abs(desired[:, 2]) < 1.2 * rates[:2].max(axis=0)).all()
    steps = np.abs(np.diff(desired[:, 1], axis=0)) / 0.002
    assert (steps < 2.4 * rates[:2].max(axis=0)).all()


@pytest.mark.parametrize("robot", ["panda", study("xarm7")])
def test_set_points_that_come_early_or_late_ask_for_no_more_acceleration(robot):
    """100 Hz, 5 ms early or late. Where it is no remedy to remove a velocity more slowly, so is the
    distance removed: both added up to 1.38 of the bound.
    """
    start = load(robot).start
    size = np.minimum(0.1 * load(robot).arm.model.velocity_limit, 0.1)

    def send(time):
        return set_point(start + size * (1.0 - np.cos(2.0 * time)))

    rng = np.random.default_rng(3)
    asks = {BEGIN + t + rng.uniform(0.0, 0.01): send(t) for t in np.arange(0.0, 3.0, 0.01)}
    played = play(Scene(robot, asks, 3.2, start=start))
    assert (np.abs(played.desired[:, 2]) < 1.05 * bounds(robot)[:2].max(axis=0)).all()


@pytest.mark.parametrize("send", [set_points, single_points])
def test_a_stream_of_positions_that_falls_silent_ends_where_it_was(send):
    """It has been followed a little further: by what comes meanwhile, and the braking."""
    until = BEGIN + 0.8 / PULSE
    played = followed(send, 30.0, until=until, rest=1.5)
    last = max(t for t in np.arange(BEGIN, until, 1 / 30))
    goal = way(last + (1 / 30 if send is single_points else 0.0))
    fastest = speed(last)[0]
    beyond = (played.desired[:, 0] - goal).max()
    print(f"\n{send.__name__}: {beyond:.4f} rad beyond, at {fastest:.2f} rad/s")
    assert beyond < 0.07 * fastest + 0.9 * fastest**2 / bounds("panda")[1].min()
    np.testing.assert_allclose(played.desired[-1, 0], goal, atol=1e-6)
    assert np.abs(played.qd[-1]).max() < 0.01


@pytest.mark.parametrize(("robot", "off"), [("panda", 0.015), ("ur5e", 0.016)])
def test_a_slow_loop_feeds_forward_what_its_commands_are_to_do_while_they_act(robot, off):
    """The acceleration of the instant at which a command of 33 ms begins leaves .022 to .027 rad.

    Gains are chosen for 30 Hz.
    """
    start = load(robot).start
    ask = {0.3: moved(start + 0.4, 0.5)}
    played = play(Scene(robot, ask, 1.8, parameters=gains_for(robot, 1.0 / 30.0)))
    assert np.abs(played.desired[:, 0] - played.q).max() < off


@pytest.mark.parametrize("blend_time", [0.01, 1.0])
def test_a_stream_that_begins_at_rest_leads_a_slow_arm_forward(blend_time):
    """Its first acceleration is no difference of torques to fade: it drove joints back .1 rad."""
    most = 0.1 * load("panda").arm.limits.velocity
    own = gains_for("panda", 0.02, **{"gains.delay": 0.0}, blend_time=blend_time)

    def send(time):
        return set_point(START + most * np.sin(2.0 * time), 2.0 * most * np.cos(2.0 * time))

    asks = {BEGIN + t: send(t) for t in np.arange(0.0, 1.0, 0.02)}
    played = play(Scene("panda", asks, 1.2, start=START, parameters=own))
    assert np.abs(played.desired[:, 0] - played.q).max() < 0.01


def test_a_jump_within_a_stream_is_led_in_and_one_at_its_beginning_is_not():
    def jump(at, ahead):
        return set_point(START + (0.4 if at > 1.0 else 0.0), np.zeros(7))

    played = followed(jump, 30.0, until=5.0)
    np.testing.assert_allclose(played.desired[-1, 0], START + 0.4, atol=0.02)
    assert played.speed.max() < 0.2
    with pytest.raises(ValueError, match="too far"):
        followed(lambda at, ahead: jump(2.0, ahead), 30.0)


def test_a_difference_of_velocities_is_not_kept_while_the_stream_turns_round():
    """The stream goes one way, the arm comes back the other; the stream leaves little acceleration.

    To keep to that would take longer than the stream takes to turn, which would add both.
    """
    drawn = stall("xarm7", 9)
    played = play(drawn.scene)
    assert played.speed[played.since(drawn.event)].max() < drawn.speed + 0.1


@pytest.mark.parametrize("robot", ["panda", study("ur5e"), study("xarm7")])
def test_an_arm_that_begins_behind_catches_up_with_chunk_after_chunk(robot):
    """Each chunk begins without acceleration: what that leaves does not turn the catch-up round."""
    home = load(robot).start

    def there(time):
        return home + 0.125 + 0.3 * np.sin((np.asarray(time) - BEGIN) / 0.375)[..., None]

    asks = {at: chunk(there, at) for at in np.arange(BEGIN, 3.0, 0.062)}
    parameters = SPLINE | {"start_tolerance": 0.3}
    played = play(Scene(robot, asks, 3.0, start=home, parameters=parameters))
    behind = np.abs(played.desired[:, 0] - there(played.record.time)).max(axis=1)
    assert behind[played.since(2.8)].max() < 0.01
    asked = 0.8 / load(robot).arm.model.velocity_limit.min()
    assert played.speed.max() < asked + 0.1


@pytest.mark.parametrize(
    ("robot", "rate", "interpolation", "seed"),
    each_once(("panda", "ur5e"), (5.0, 30.0), ("linear", "spline"), (1, 2)),
)
def test_an_arm_that_waited_is_led_to_a_single_point_as_a_moving_one_is(
    robot, rate, interpolation, seed
):
    """6 of 10 are lost: it stands, and the next one is due within ``stop_time``."""
    arm, rng = load(robot).arm, np.random.default_rng(seed)
    home, size = load(robot).start, 0.075 * arm.model.velocity_limit

    def point(time):
        return [Point(1.0 / rate, home + size * (1.0 - np.cos(2.0 * (time + 1.0 / rate - 0.1))))]

    sent = [time for time in np.arange(0.1, 2.0, 1.0 / rate) if rng.random() >= 0.6]
    asks = {time: trajectory(point(time)) for time in sent}
    parameters = {"interpolation": interpolation, "start_tolerance": 0.5}
    played = play(Scene(robot, asks, 2.5, start=home, parameters=parameters))
    assert played.speed.max() < 0.15 + 0.15
    assert played.text == ""
    bound = 1.2 * bounds(robot)[:2].max(axis=0)
    assert (np.abs(played.desired[:, 2]) < bound).all()
    assert (np.abs(np.diff(played.desired[:, 1], axis=0)) / 0.002 < bound).all()  # nor a jump

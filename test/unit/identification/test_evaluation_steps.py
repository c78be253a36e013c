"""The steps of an evaluation one by one, on signals whose truth is known."""

import re
import sys
from dataclasses import replace

import bag_writer
import known_arm
import numpy as np
import pytest
import urdf_text
from refusals import refusals

import featherstone_ros as fr
from featherstone_ros.errors import FeatherstoneError, IdentificationError
from featherstone_ros.identification import filtering
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bags import read_joint_states
from featherstone_ros.identification.explanation import FITTED, determination, explain, rms
from featherstone_ros.identification.filtering import SmoothMotion, clean, smooth, smooth_all
from featherstone_ros.identification.recording import FIELDS, JointStates, Recording, choose
from featherstone_ros.identification.recording_checks import (
    clipped_efforts,
    motion_suspicions,
    require_enough,
    usage,
)
from featherstone_ros.identification.regression import fit
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.tools.evaluate.evaluation import Evaluation, parameter_file

FREQUENCY = 0.4  # [Hz] of the signals
OMEGA = 2 * np.pi * FREQUENCY


def signals(time):
    """Return position, velocity and acceleration (N, 2)."""
    phase = OMEGA * np.asarray(time)[:, None] + [0.0, 1.0]
    return np.sin(phase), OMEGA * np.cos(phase), -(OMEGA**2) * np.sin(phase)


def recording(time, velocity=True):
    q, qd, _ = signals(time)
    time = np.asarray(time, dtype=float)
    return Recording("/joint_states", ("a", "b"), time, q, qd if velocity else None, 3 * q)


def group(names=("a", "b"), count=4, effort=True, topic="/joint_states", stamped=True):
    values = np.arange(1.0, count * len(names) + 1).reshape(count, len(names))
    received = 10**9 + 10**7 * np.arange(count)
    stamp = received - 5 * 10**6 if stamped else 0 * received
    efforts = values.copy() if effort else np.nan * values
    return JointStates(topic, tuple(names), stamp, received, values, values, efforts)


# Which joint states.


def test_joints_come_in_the_order_of_the_description():
    chosen = choose([group(("b", "x", "a"))], ["a", "b"])
    assert chosen.joint_names == ("a", "b")
    np.testing.assert_array_equal(chosen.position[0], [3.0, 1.0])
    np.testing.assert_allclose(chosen.time, [0.0, 0.01, 0.02, 0.03])


def test_most_joints_win_then_effort():
    groups = [group(["a"], 99), group(effort=False, topic="/bare"), group(topic="/full")]
    assert choose(groups, ["a", "b", "c"]).topic == "/full"


def test_without_stamps_reception_tells_time():
    np.testing.assert_allclose(choose([group(stamped=False)], ["a"]).time, [0, 0.01, 0.02, 0.03])


def test_effort_is_needed_only_of_joints_that_are_compared():
    joint_states = group(("a", "finger"))
    joint_states.effort[:, 1] = np.nan
    with pytest.raises(IdentificationError, match=r"no effort of finger; .*--joints"):
        choose([joint_states], ["a", "finger"])
    chosen = choose([joint_states], ["a", "finger"], ["a"])
    assert chosen.joint_names == ("a", "finger") and len(chosen.time) == 4


def in_parts(shift=0.004, count=100, topics=("/joint_states", "/joint_states")):
    """Return the joint states of an arm that sends a and b each in a message of its own."""
    parts = []
    for k, (name, topic, late) in enumerate(zip("ab", topics, (0.0, shift), strict=True)):
        time = 0.01 * np.arange(count) + late
        q, qd, _ = signals(time)
        stamp = 10**9 + np.round(time * 1e9).astype(np.int64)
        columns = (q[:, [k]], qd[:, [k]], 3 * q[:, [k]])
        parts.append(JointStates(topic, (name,), stamp, stamp + 10**6, *columns))
    return parts


@pytest.mark.parametrize("topics", [("/joint_states", "/joint_states"), ("/left", "/right")])
def test_an_arm_in_several_messages_is_joined(topics):
    chosen = choose(in_parts(topics=topics), ["a", "b"])
    assert chosen.joint_names == ("a", "b") and chosen.topic == " + ".join(dict.fromkeys(topics))
    assert len(chosen.time) == 99  # the second part begins after the first sample of the other
    expected = signals(chosen.time + 0.01)[0]
    np.testing.assert_allclose(chosen.position, expected, atol=(0.01 * OMEGA) ** 2 / 8)
    np.testing.assert_allclose(chosen.effort, 3 * chosen.position)


def test_where_one_part_pauses_nothing_is_made_up():
    first, second = in_parts()
    kept = np.r_[0:40, 70:100]
    second = replace(
        second,
        **{f: getattr(second, f)[kept] for f in ("stamp", "received", *FIELDS)},
    )
    time = choose([first, second], ["a", "b"]).time
    assert len(time) == 68 and np.diff(time).max() == pytest.approx(0.32)


def test_joints_without_effort_are_not_joined():
    first, second = in_parts()
    second.effort[:] = 0.0
    assert choose([first, second], ["a", "b"]).joint_names == ("a",)


test_what_cannot_be_evaluated_is_refused = refusals(
    ("bag and description have no joint in common; bag: a, b; desc.*: c, d",
     {"described": ["c", "d"]}),
    ("there is no joint c in the bag; bag: a, b; description: a, c",
     {"described": ["a", "c"], "judged": ["c"]}),
    ("there is no joint b in the description; bag: a, b; description: a", {"judged": ["b"]}),
    ("too short: 2 joint states", lambda: clean(recording([0.0, 0.01]))),
    ("20 Hz needs more than 40 samples .* has 25", lambda: smooth(even_samples(period=0.04), 20.0)),
    error=IdentificationError,
    of=lambda described=["a"], judged=None: choose([group()], described, judged),
)  # fmt: skip


# Even samples.


def assert_true_to_signal(stretch, within):
    np.testing.assert_allclose(np.diff(stretch.time), stretch.period)
    np.testing.assert_allclose(stretch.position, signals(stretch.time)[0], atol=within)
    np.testing.assert_allclose(stretch.effort, 3 * signals(stretch.time)[0], atol=3 * within)


def test_uneven_stamps_are_believed():
    jitter = np.random.default_rng(1).uniform(-0.004, 0.004, 500)
    cleaned = clean(recording(np.arange(500) * 0.01 + jitter))
    (stretch,) = cleaned.stretches
    assert stretch.period == pytest.approx(0.01, rel=0.01)
    assert_true_to_signal(stretch, 0.1 * 0.004 * OMEGA)
    assert "interpolated" in cleaned.notes[0]


@pytest.mark.parametrize(("late", "is_told"), [(0.005, False), (0.05, True)])
def test_stamps_are_uneven_from_a_hundredth_of_a_period_on(late, is_told):
    """Whenever the recording begins."""
    time = 100.0 + 0.01 * np.arange(100)
    time[50] += 0.01 * late
    notes = clean(recording(time)).notes
    assert notes == ["uneven stamps: interpolated at even ones"] * is_told


def test_repeats_of_a_faster_recorder_give_way_to_the_robots_clock():
    """A robot that answers each 34 ms, asked each 33 ms: the stamps are up to 34 ms late."""
    asked = np.arange(600) * 0.033
    answered = np.floor(asked / 0.034) * 0.034
    q, qd, _ = signals(answered)
    cleaned = clean(Recording("", ("a", "b"), asked, q, qd, 3 * q))
    (stretch,) = cleaned.stretches
    repeats = int((np.diff(answered) == 0).sum())
    assert f"{repeats} samples repeat" in cleaned.notes[0]
    assert len(stretch.time) == 600 - repeats
    assert stretch.period == pytest.approx(0.034, rel=2e-3)
    np.testing.assert_array_equal(stretch.position, q[np.append(True, np.diff(answered) > 0)])


def test_an_arm_that_rests_for_a_while_is_not_taken_for_a_recorder_that_repeats():
    time = np.arange(900) * 0.01
    q, qd, _ = signals(np.clip(time, 3.0, 6.0))
    qd[(time < 3.0) | (time > 6.0)] = 0.0
    (stretch,) = clean(Recording("", ("a", "b"), time, q, qd, q)).stretches
    np.testing.assert_allclose(stretch.time, time, atol=1e-12)
    np.testing.assert_allclose(stretch.position, q, atol=1e-12)


def test_samples_whose_time_does_not_advance_are_left_out():
    time = np.arange(100) * 0.01
    time[50], time[70] = time[49], time[20]
    cleaned = clean(recording(time))
    assert cleaned.notes[0].startswith("2 samples not later than one before")
    assert_true_to_signal(cleaned.stretches[0], (0.01 * OMEGA) ** 2)


def test_a_pause_separates_stretches():
    time = np.append(np.arange(300) * 0.01, 5.0 + np.arange(200) * 0.01)
    cleaned = clean(recording(time))
    assert [len(stretch.time) for stretch in cleaned.stretches] == [300, 200]
    assert cleaned.notes[0].startswith("1 pause, 2.01 s at most")
    for stretch in cleaned.stretches:
        assert_true_to_signal(stretch, 1e-12)


def test_a_lost_message_is_no_pause():
    (stretch,) = clean(recording(np.delete(np.arange(100) * 0.03, [20, 40, 41]))).stretches
    assert stretch.duration == pytest.approx(99 * 0.03)


# A smooth motion.


def even_samples(duration=20.0, period=0.005, velocity=True):
    return recording(np.arange(round(duration / period)) * period, velocity)


@pytest.mark.parametrize("velocity", [True, False])
def test_the_filter_delays_nothing_and_acceleration_is_right(velocity):
    motion = smooth(even_samples(velocity=velocity), 4.0)
    q, qd, qdd = signals(motion.time)
    truth = {"position": q, "velocity": qd, "acceleration": qdd, "effort": 3 * q}
    for name, true in truth.items():
        error = np.abs(getattr(motion, name) - true) / np.abs(true).max()
        # Differentiation shows most of how the filter begins and ends.
        assert error.max() < (0.1 if name == "acceleration" else 0.02), name
        assert error[200:-200].max() < 1e-4, name


def test_the_filter_leaves_a_line_as_it_is():
    line = np.linspace([1.0, 5.0], [3.0, -2.0], 331)
    np.testing.assert_allclose(filtering.ZeroPhase(2.0, 0.01)(line), line, atol=1e-12)


def test_only_long_stretches_are_used():
    short, long = even_samples(1.5), even_samples(4.0)
    assert len(smooth_all([short, long], 2.0)) == 1
    with pytest.raises(IdentificationError, match=r"too short: 1.5 s .* needs 3 s"):
        smooth_all([short], 2.0)


def test_scipy_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(FeatherstoneError, match=r"pip install scipy"):
        smooth(even_samples(), 2.0)


# Friction.


def motion_of(velocity, acceleration=None):
    velocity = np.asarray(velocity, dtype=float).reshape(len(velocity), -1)
    acceleration = np.zeros_like(velocity) if acceleration is None else acceleration
    sliding = np.tanh(velocity / 0.02)
    time = np.arange(len(velocity)) * 0.01
    moves = velocity, acceleration, sliding, 0 * velocity, sliding, sliding
    return SmoothMotion(time, 0 * velocity, *moves)


def test_a_joint_that_sticks_half_the_time_weighs_little():
    bound = np.full((1, 1), 0.5)
    assert replace(motion_of([1.0]), low=-bound, high=bound).trust == 0.5**4


@pytest.mark.parametrize("armature", [False, True])
def test_what_was_put_in_is_found(armature):
    random = np.random.default_rng(3)
    motion = motion_of(random.normal(size=(500, 2)), random.normal(size=(500, 2)))
    inertia = np.array([0.7, 0.1]) * armature
    residual = motion.velocity * [0.4, 0.2] + motion.sliding * [1.0, 3.0] + [0.5, -0.5]
    residual += inertia * motion.acceleration
    for physical in (False, True):
        found = fit(motion, residual, armature, physical)
        friction = found.drives
        np.testing.assert_allclose(friction.viscous, [0.4, 0.2])
        np.testing.assert_allclose(friction.coulomb, [1.0, 3.0])
        np.testing.assert_allclose(friction.offset, [0.5, -0.5])
        np.testing.assert_allclose(friction.armature, inertia, atol=1e-12)
        np.testing.assert_allclose(found.torque(motion), residual)
        assert not found.negative.any() and not found.doubtful


def test_negative_terms_are_found_but_not_kept_where_they_must_be_physical():
    random = np.random.default_rng(4)
    motion = motion_of(random.normal(size=(500, 1)))
    residual = -0.4 * motion.velocity + motion.sliding
    assert fit(motion, residual).drives.viscous == pytest.approx(-0.4)
    assert fit(motion, residual).negative.all()
    found = fit(motion, residual, physical=True)
    assert found.drives.viscous == 0 and not found.negative.any()
    assert rms(residual - found.torque(motion)) < rms(residual)


def test_a_joint_at_rest_says_nothing_of_its_friction():
    motion = motion_of(np.column_stack([np.full(100, 1e-3), np.sin(np.arange(100))]))
    found = fit(motion, np.full((100, 2), 0.3))
    friction = found.drives
    assert (friction.viscous[0], friction.coulomb[0]) == (0, 0)
    assert friction.offset[0] == pytest.approx(0.3)
    assert list(found.doubtful) == [0] and "at rest" in found.doubtful[0]


def test_a_joint_that_moves_one_way_only_is_doubtful():
    motion = motion_of(np.linspace(0.5, 1.0, 100))
    found = fit(motion, motion.velocity + 1.0)
    assert "both directions" in found.doubtful[0]
    np.testing.assert_allclose(found.torque(motion), motion.velocity + 1.0)


def test_what_was_fitted_is_what_both_nodes_read(tmp_path):
    """The first joint has a light drive. Of the last one, at rest, only an offset is seen."""
    model = fr.Model.from_robot("panda")
    velocity, acceleration = np.random.default_rng(7).normal(size=(2, 200, model.n))
    velocity[:, -1] = 0.0
    motion = motion_of(velocity, acceleration)
    torque = 0.3 * velocity + np.linspace(0.5, 2, model.n) * motion.sliding + 0.1
    torque += np.linspace(1e-7, 1, model.n) * acceleration
    fitted = fit(motion, torque, armature=True, physical=True)
    explained = (explain(FITTED, torque, fitted.torque(motion)),)
    arm, judged = Arm(model, fitted.drives), tuple(range(model.n))
    file = tmp_path / "friction.yaml"
    evaluation = Evaluation("bag", arm, judged, motion, CUT_OFF, explained, fitted=fitted)
    file.write_text(parameter_file(evaluation))
    drives, last = fitted.drives, model.joint_names[-1]
    for node in ("digital_twin", "feedforward_controller"):
        values = read_parameters(file)[node]
        assert [name for name in values if last in name] == [f"friction.{last}.offset"]
        for j, joint in enumerate(model.joint_names):
            terms = ("viscous", "coulomb", "offset")
            expected = {f"friction.{joint}.{term}": getattr(drives, term)[j] for term in terms}
            expected[f"armature.{joint}"] = drives.armature[j]
            for name in expected if joint != last else [f"friction.{last}.offset"]:
                assert values[name] == pytest.approx(expected[name], rel=1e-5)


# What was used of a recording and what was dropped is said; what is no effort is none.


NAMES = ("a", "b")
CUT_OFF = 2.0  # [Hz] whose filter needs stretches of 3 s


def states(effort, time=None):
    time = 0.01 * np.arange(len(effort)) if time is None else time
    stamp = 10**9 + np.round(time * 1e9).astype(np.int64)
    q, qd, _ = signals(time)
    return JointStates("/joint_states", NAMES, stamp, stamp, q, qd, effort)


KEPT = np.random.default_rng(0).random(2000) < 0.4
PAUSES = 0.01 * np.arange(1250) + np.repeat(np.arange(1, 6) * 2.5, 250)
TIMES = {  # of states, and what is said of them
    "a busy machine": (0.01 * np.arange(2000)[KEPT], ".*states are not there, as their stamps say"),
    "whole": (0.01 * np.arange(1000),
              "9.99 of 9.99 s used, 1000 of 1000 joint states of /joint_states. Nothing dropped$"),
    "only the last is long enough": (
        np.append(PAUSES, 26.0 + 0.01 * np.arange(320)),
        "Only 3.19 of 26.7 s used, 320 of 1570 joint states.*"
        "5 stretches between pauses, together 12.5 s, dropped: shorter than the 3 s"),
}  # fmt: skip


@pytest.mark.parametrize(("time", "told"), TIMES.values(), ids=TIMES)
def test_states_that_are_lost_or_dropped_are_counted(time, told):
    assert re.match(told, usage(recording(time), CUT_OFF))


@pytest.mark.parametrize(("rows", "told"), [([5], "1 state"), ([5, 7], "2 states")])
def test_states_without_effort_are_counted_with_their_joint(rows, told):
    effort = np.random.default_rng(1).normal(size=(400, 2))
    effort[rows, 1] = np.nan
    chosen = choose([states(effort)], NAMES)
    assert f"{told} without effort of b, dropped" in usage(chosen, CUT_OFF)
    assert f"{400 - len(rows)} of 400 joint states" in usage(chosen, CUT_OFF)


def test_an_effort_that_never_changes_does_not_count():
    effort = np.random.default_rng(1).normal(size=(400, 2))
    effort[:, 1] = 0.5
    chosen = choose([states(effort)], NAMES)
    assert chosen.constant == {"b": 0.5}
    assert "does not count: b (0.5)" in usage(chosen, CUT_OFF)
    with pytest.raises(IdentificationError, match=r"effort never changes \(b 0.5\)"):
        choose([states(effort)], NAMES, ["a", "b"])
    with pytest.raises(IdentificationError, match=r"effort never changes \(a 0.5, b 0.5\)"):
        choose([states(0 * effort + 0.5)], NAMES)


def test_a_constant_torque_has_no_r2():
    constant = np.full((50, 1), 0.1) + 1e-17 * np.arange(50)[:, None]
    assert np.isnan(determination(constant, constant)).all()


@pytest.mark.parametrize("side", [100.0, -1.0])
def test_an_effort_that_is_cut_off_on_one_side_is_named(side):
    motion = recording(np.arange(1000) * 0.01)
    wave = side * (np.sin(3 * motion.time) - 0.3)
    effort = np.column_stack([wave, wave])
    most = 0.65 * abs(side) * (1.0 - 5e-7 * np.random.default_rng(1).random(1000))
    effort[:, 1] = np.sign(side) * np.minimum(np.sign(side) * effort[:, 1], most)
    (text,) = clipped_efforts(NAMES, [replace(motion, effort=effort)])
    assert text.startswith("b: its effort is clipped in 0.1") and f"{0.65 * side:g}" in text


def test_the_steps_of_a_sensor_are_no_clipping():
    motion = recording(np.arange(1000) * 0.01)
    coarse = np.round(2.2 * np.sin(3 * motion.time)) * 0.5
    assert not clipped_efforts(NAMES, [replace(motion, effort=np.column_stack([coarse, coarse]))])


def test_smooth_extremes_are_not_clipped():
    """At 1 kHz, many samples about a maximum are the same within a millionth."""
    t = np.arange(20_000) / 1000
    q = np.sin(0.6 * t)[:, None]
    qd = 0.6 * np.cos(0.6 * t + 0.3)[:, None]
    effort = 7.0 * np.sin(0.25 * t + 0.2)[:, None]
    assert clipped_efforts(["a"], [Recording("", ("a",), t, q, qd, effort)]) == []
    limited = Recording("", ("a",), t, q, qd, np.clip(effort, -6.0, 6.0))
    (text,) = clipped_efforts(["a"], [limited])
    assert "at -6, 6" in text


@pytest.mark.parametrize("value", [0.5, 99.0, 1e4])  # within its limit, at it, beyond it
def test_an_effort_that_never_changes_is_not_judged(value):
    motion = recording(np.arange(1500) * 0.01)
    motion.effort[:] = np.column_stack([np.sin(3 * motion.time), np.full(1500, value)])
    assert not clipped_efforts(NAMES, [motion])
    limit = '<limit lower="-9" upper="9" velocity="9" effort="99"/>'
    model = fr.Model.from_urdf(urdf_text.chain(*NAMES, inside=limit))
    require_enough(model, [motion], smooth_all(clean(motion).stretches, CUT_OFF))


def test_speeds_in_another_unit_are_named_and_a_joint_at_rest_is_not():
    model = fr.Model.from_urdf(urdf_text.LIFT.replace('velocity="3"', 'velocity="0"'))
    fast = np.array([[2.0, 0.0], [-1.0, 0.0]])
    told = motion_suspicions(model, np.zeros((2, 2)), fast)
    assert told == ["lift: speeds up to 2, the limit is 0.5: another unit?"]


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_where_a_clock_was_set_back_the_order_stays(tmp_path, storage):
    time = 0.01 * np.arange(400)
    clock = np.where(time < 2.5, time, time - 1.995)
    effort = np.random.default_rng(1).normal(size=(400, 2))
    sent = states(effort, time)
    fields = clock, sent.position, sent.velocity, sent.effort
    bag = known_arm.write(tmp_path / "bag", fields, storage, NAMES)
    chosen = choose(read_joint_states(bag), NAMES)
    np.testing.assert_array_equal(chosen.position, sent.position)
    assert (np.diff(chosen.time) > 0).all() and np.diff(chosen.time).max() > 0.5
    line = usage(chosen, 20.0)
    assert "A clock was set back by 1.99 s" in line and "1 pause" in line


def test_of_a_killed_recorder_all_whole_chunks_are_read(tmp_path):
    long = [f"{name}{'_' * 30_000}" for name in NAMES]  # a chunk has a megabyte
    sent = [(10**9 + k, bag_writer.joint_state(10**9 + k, long, [k, k])) for k in range(60)]
    file = bag_writer.write(tmp_path / "bag", {"/joint_states": sent}, "mcap")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    (read,) = read_joint_states(file)
    assert 15 < len(read.stamp) < 31
    np.testing.assert_array_equal(read.position[:, 0], np.arange(len(read.stamp)))
    assert "recorder that was killed" in read.notes[0]

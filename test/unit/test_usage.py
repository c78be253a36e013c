"""What was used of a recording and what was dropped is said; what is no effort is none."""

from dataclasses import replace

import bag_writer
import numpy as np
import pytest
import urdf_text

import featherstone_ros as fr
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.bags import JointStates, read_joint_states
from featherstone_ros.identification.explanation import determination
from featherstone_ros.identification.filtering import clean, smooth_all
from featherstone_ros.identification.recording import Recording, choose
from featherstone_ros.identification.recording_checks import clipped_efforts, require_enough, usage

NAMES = ("a", "b")
CUT_OFF = 2.0  # [Hz] whose filter needs stretches of 3 s


def moving(time):
    """Return a recording of two joints that swing."""
    phase = 2.5 * np.asarray(time)[:, None] + [0.0, 1.0]
    return Recording("/joint_states", NAMES, time, np.sin(phase), 2.5 * np.cos(phase), 3 * phase)


def states(effort, time=None):
    time = 0.01 * np.arange(len(effort)) if time is None else time
    stamp = 10**9 + np.round(time * 1e9).astype(np.int64)
    motion = moving(time)
    return JointStates(
        "/joint_states", NAMES, stamp, stamp, motion.position, motion.velocity, effort
    )


def test_states_that_were_lost_are_counted_by_their_stamps():
    """Of 100 a second more than half are not there, as of a recorder on a busy machine."""
    kept = np.random.default_rng(0).random(2000) < 0.4
    line = usage(moving(np.arange(2000)[kept] * 0.01), CUT_OFF)
    assert "joint states are not there, as their stamps say" in line
    assert "not there" not in usage(moving(np.arange(1000) * 0.01), CUT_OFF)


def test_a_whole_recording_drops_nothing():
    line = usage(moving(np.arange(1000) * 0.01), CUT_OFF)
    assert (
        line == "9.99 of 9.99 s used, 1000 of 1000 joint states of /joint_states. Nothing dropped"
    )


def test_stretches_that_are_too_short_are_told():
    """Five gaps, and only the last stretch is as long as the filter needs."""
    ends = np.repeat(np.arange(1, 6) * 2.5, 250)
    time = np.append(np.arange(1250) * 0.01 + ends, 26.0 + np.arange(320) * 0.01)
    line = usage(moving(time), CUT_OFF)
    assert line.startswith("Only 3.19 of 26.7 s used, 320 of 1570 joint states")
    assert "5 stretches between pauses, together 12.5 s, dropped: shorter than the 3 s" in line


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


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_effort_that_is_cut_off_on_one_side_is_named(side):
    motion = moving(np.arange(1000) * 0.01)
    wave = side * (np.sin(3 * motion.time) - 0.3)
    effort = np.column_stack([wave, wave])
    effort[:, 1] = side * np.minimum(side * effort[:, 1], 0.65)
    (text,) = clipped_efforts(NAMES, [replace(motion, effort=effort)])
    assert text.startswith("b: its effort is clipped in 0.1") and f"{0.65 * side:g}" in text


def test_the_steps_of_a_sensor_are_no_clipping():
    motion = moving(np.arange(1000) * 0.01)
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


@pytest.mark.parametrize("value", [0.5, 99.0])  # within its limit, and at it
def test_an_effort_that_never_changes_is_not_said_to_be_clipped(value):
    motion = moving(np.arange(1500) * 0.01)
    motion.effort[:] = np.column_stack([np.sin(3 * motion.time), np.full(1500, value)])
    assert not clipped_efforts(NAMES, [motion])
    limit = '<limit lower="-9" upper="9" velocity="9" effort="99"/>'
    model = fr.Model.from_urdf(urdf_text.chain(*NAMES, inside=limit))
    require_enough(model, [motion], smooth_all(clean(motion).stretches, CUT_OFF))


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_where_a_clock_was_set_back_the_order_stays(tmp_path, storage):
    time = 0.01 * np.arange(400)
    clock = np.where(time < 2.5, time, time - 1.995)
    effort = np.random.default_rng(1).normal(size=(400, 2))
    sent = states(effort, time)
    messages = [
        (10**9 + round(t * 1e9), bag_writer.joint_state(10**9 + round(t * 1e9), NAMES, *fields))
        for t, *fields in zip(clock, sent.position, sent.velocity, sent.effort, strict=True)
    ]
    bag_writer.write(tmp_path / "bag", {"/joint_states": messages}, storage)
    chosen = choose(read_joint_states(tmp_path / "bag"), NAMES)
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

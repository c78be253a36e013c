"""Messages as bytes to a shadow, and what it publishes: what ``update`` says of the same states."""

import struct
from itertools import pairwise

import numpy as np
import pytest
from cdr_messages import float64_multi_array, joint_state
from compiled import codec
from numpy.testing import assert_array_equal

import featherstone_ros as fr
from featherstone_ros._shadow import INPUTS, OUTPUTS, RECORDS, REQUESTS, StateBuffer
from featherstone_ros.message_faults import refusal
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.tools.robot_setup import load

MODEL = load("panda").model
NAMES = list(MODEL.joint_names)
DRIVES = Drives.of_model(MODEL, armature=0.1)
SETTINGS = ShadowSettings(drives=DRIVES, contact_threshold=1.0, prediction_horizon=0.02)
SECOND = 1_000_000_000


@pytest.fixture
def shadow():
    return Shadow(MODEL, SETTINGS)


@pytest.fixture(scope="module")
def states():
    """Return (N, 3, n) of a motion, as measured every 10 ms."""
    random = np.random.default_rng(8)
    time = 0.01 * np.arange(60)[:, None]
    amplitude, omega = random.uniform(0.1, 0.4, 7), random.uniform(1.0, 4.0, 7)
    q, qd = amplitude * np.sin(omega * time), amplitude * omega * np.cos(omega * time)
    return np.stack([q, qd, fr.Dynamics(MODEL).gravity(q) + random.normal(0, 3, (60, 7))], axis=1)


def message_of(state, k, names=NAMES):
    """Return the k-th state as a message with names in any order."""
    order = [NAMES.index(name) for name in names]
    stamp = divmod(SECOND + k * 10_000_000, SECOND)
    return joint_state(names, *(list(field[order]) for field in state), stamp)


def send(shadow, data, topic="joint_states", ros_time=0):
    """Return what is published, by topic, and the records."""
    published, records = shadow.message(INPUTS[topic], data, 5 * SECOND, ros_time)
    return {topic: dict(published).get(number) for topic, number in OUTPUTS.items()}, records


def reasons(records):
    """Return why messages were refused, as the node would say it."""
    assert all(kind == RECORDS["refused"] for kind, *_ in records)
    return [refusal(index, value, NAMES)[1] for _, index, _, value, _ in records]


def fields(data):
    decoder = codec.JointStateDecoder(NAMES)
    decoder.decode(data)
    return decoder.sec * SECOND + decoder.nanosec, np.array(
        [decoder.position, decoder.velocity, decoder.effort]
    )


def test_published_is_what_update_says(shadow, states):
    plain = Shadow(MODEL, SETTINGS)
    random = np.random.default_rng(2)
    contacts = set()
    for k, state in enumerate(states):
        names = list(random.permutation(NAMES))
        said, records = send(shadow, message_of(state, k, names))
        time = SECOND + k * 10_000_000
        update = plain.update(time, *state)
        ahead, residual = update.prediction, update.residual
        stamp, figures = fields(said["predicted_joint_states"])
        assert stamp == time + 20_000_000
        assert_array_equal(figures, [ahead.position, ahead.velocity, ahead.torque])
        assert not records
        if residual is None:
            assert said["residual"] is None is said["contact"]
            continue
        stamp, figures = fields(said["residual"])
        assert stamp == time
        assert_array_equal(figures, [residual.position, residual.velocity, residual.torque])
        wrench = said["external_wrench_estimate"]
        assert struct.unpack_from("<ii", wrench, 4) == divmod(time, SECOND)
        assert shadow.wrench_link.encode() in wrench
        assert_array_equal(np.frombuffer(wrench[-48:]), residual.wrench)
        assert said["contact"] == bytes([0, 1, 0, 0, residual.contact])
        contacts.add(residual.contact)
    assert contacts == {False, True}
    assert (shadow.states, shadow.received, shadow.refused) == (60, 5.0, 0)


def test_a_state_in_parts_is_one_state(shadow, states):
    plain = Shadow(MODEL, SETTINGS)
    for k, state in enumerate(states[:10]):
        for part in (NAMES[4:], [NAMES[0], "another"], NAMES[1:4]):
            named = [name for name in part if name in NAMES]
            said, records = send(shadow, message_of(state, k, named))
            assert not records
            if "another" not in part and part != NAMES[1:4]:
                assert shadow.missing == [0, 1, 2, 3]
                assert not any(said.values())
        plain.update(SECOND + k * 10_000_000, *state)
    assert shadow.missing == []
    expected = plain.update(3 * SECOND // 2, *states[10]).prediction
    said, _ = send(shadow, message_of(states[10], 50))
    assert_array_equal(fields(said["predicted_joint_states"])[1][0], expected.position)


def test_states_of_another_arm_are_nobodys_business(shadow):
    said, records = send(shadow, joint_state(["gripper"], [0.1], [0.0], [0.0], (1, 0)))
    assert not any(said.values())
    assert not records
    assert shadow.refused == 0


def first(value):
    """Return seven figures, the third of them this one."""
    return [0.0, 0.0, value, *[0.0] * 4]


ZERO = [0.0] * 7
REFUSED = [
    (joint_state(NAMES, ZERO, ZERO), "effort is empty, expected 7 values and more"),
    (joint_state(NAMES, ZERO, (), ZERO), "velocity is empty, expected 7 values and more"),
    (joint_state(NAMES, first(np.nan), ZERO, ZERO), f"position of {NAMES[2]} is nan, expected a"),
    (joint_state(NAMES, ZERO, first(-2e6), ZERO), f"velocity of {NAMES[2]} is -2e+06, expected at"),
    (joint_state(NAMES, ZERO, ZERO, first(np.inf)), f"effort of {NAMES[2]} is inf, expected a"),
    (joint_state(NAMES, ZERO, ZERO, ZERO)[:-9], "effort claims a length of 7, but 51 bytes follow"),
    (joint_state(NAMES, [], ZERO, ZERO), "position has 0 values, expected 7"),
    (joint_state(NAMES[:5], []), f"joints missing: {NAMES[5]}, {NAMES[6]}"),
    (joint_state([*NAMES, NAMES[2]], [*ZERO, 0.0]), f"joints named twice: {NAMES[2]}"),
    (b"", "message of 0 bytes ends within the encapsulation header"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED)
def test_a_message_that_is_refused_changes_nothing(shadow, states, data, reason):
    plain = Shadow(MODEL, SETTINGS)
    for k in (0, 1):
        expected = send(plain, message_of(states[k], k))[0]
    send(shadow, message_of(states[0], 0))
    said, records = send(shadow, data)
    assert not any(said.values())
    (why,) = reasons(records)
    assert reason in why
    assert send(shadow, message_of(states[1], 1))[0] == expected
    assert shadow.refused == 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0, 2.0], "command has 2 values, expected 7"),
        (first(np.nan), f"command of {NAMES[2]} is nan, expected a finite number"),
    ],
)
def test_a_command_that_is_none_is_refused(shadow, values, reason):
    (why,) = reasons(send(shadow, float64_multi_array(values), "commands")[1])
    assert why == reason


def test_prediction_takes_commands_if_asked_for(states):
    settings = ShadowSettings(prediction_effort="commanded", drives=DRIVES)
    shadow = Shadow(MODEL, settings)
    send(shadow, message_of(states[0], 0))
    send(shadow, float64_multi_array([2.0] * 7), "commands")
    said, _ = send(shadow, message_of(states[1], 1))
    assert_array_equal(fields(said["predicted_joint_states"])[1][2], [2.0] * 7)


def test_states_without_stamps_are_taken_when_they_arrive(shadow, states):
    stamps = []
    for k in range(6):
        data = joint_state(NAMES, *map(list, states[k]), (0, 0))
        said, _ = send(shadow, data, ros_time=SECOND + k * 10_000_000)
        stamps.append(fields(said["residual"])[0] if said["residual"] else None)
    # The first may be the beginning of a simulation; at the second it is none.
    assert stamps[:2] == [None, None]
    assert {after - before for before, after in pairwise(stamps[2:])} == {10_000_000}


def test_a_lost_thread_is_told(shadow, states):
    send(shadow, message_of(states[0], 0))
    _, records = send(shadow, message_of(states[1], 100))
    (record,) = records
    assert record[0] == RECORDS["restarted"]
    assert shadow.finding(record) == "no new joint state for 1 s"


def test_a_standstill_is_told_joint_by_joint_and_judged(shadow):
    q = np.full(7, 0.5)
    still = np.array([q, np.zeros(7), fr.Dynamics(MODEL).gravity(q)])
    records = [r for k in range(60) for r in send(shadow, message_of(still, k))[1]]
    assert [kind for kind, *_ in records] == [RECORDS["rested"]] * 7
    verdicts = list(map(shadow.finding, records))
    assert verdicts[:-1] == [None] * 6
    assert "fits at rest" in verdicts[-1].text
    shadow.use(shadow.prepare(SETTINGS))
    assert not any(map(shadow.finding, records))
    assert "waits for a rest" in shadow.verdict.text  # those were of other settings


def test_states_are_put_aside_as_long_as_there_is_room(shadow, states):
    room = StateBuffer(7, 4)
    assert shadow.request(REQUESTS["collect"], 0, room)[0] == 0
    for k in range(6):
        send(shadow, message_of(states[k], k))
    for k in range(4):
        row = room.take()
        assert row[0] == pytest.approx(1.0 + 0.01 * k, abs=1e-12)
        assert_array_equal(row[1:].reshape(3, 7), states[k])
    assert room.take() is None
    send(shadow, message_of(states[6], 6))
    assert_array_equal(room.take()[1:8], states[6][0])
    shadow.request(REQUESTS["collect"], 0)
    send(shadow, message_of(states[7], 7))
    assert room.take() is None

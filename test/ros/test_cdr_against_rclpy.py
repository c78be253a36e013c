"""The codec writes and reads what rclpy reads and writes, whatever the lengths and alignments."""

import string
from itertools import product

import numpy as np
import pytest
from studies import study
from support import Ros  # noqa: F401  (skips this module where ROS is missing)

# isort: split
from compiled import codec
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from featherstone_ros import message_templates as templates
from featherstone_ros.errors import MessageError

FIELDS = ("position", "velocity", "effort")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
seconds = st.integers(-(2**31), 2**31 - 1)
nanoseconds = st.integers(0, 2**32 - 1)


def values(count):
    """As many doubles as there are joints, of any bits."""
    size = 8 * count
    return st.binary(min_size=size, max_size=size).map(lambda raw: np.frombuffer(raw).tolist())


def message_of(names, arrays, frame_id="", sec=0, nanosec=0):
    """Return a JointState; ``arrays`` are position, velocity and effort."""
    message = JointState(name=names, **dict(zip(FIELDS, arrays, strict=True)))
    message.header.frame_id = frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    return message


def bits(numbers):
    """Return numbers as bytes: nan is equal to itself, and 0 is not -0."""
    return np.array(numbers, float).tobytes()


def assert_read_as_rclpy_reads(decoder, names, message):
    """The decoder holds what the message says, for all of its joints."""
    stamp = message.header.stamp
    assert (decoder.sec, decoder.nanosec) == (stamp.sec, stamp.nanosec)
    assert decoder.has_velocity == (len(message.velocity) > 0)
    assert decoder.has_effort == (len(message.effort) > 0)
    order = [message.name.index(name) for name in names]
    for field in FIELDS:
        theirs = np.array(getattr(message, field))
        ours = getattr(decoder, field)
        assert bits(ours) == bits(theirs[order] if len(theirs) else np.full(len(names), np.nan))


def assert_agree(names, message):
    """What rclpy writes the decoder reads; what the encoder writes rclpy reads."""
    data = serialize_message(message)
    decoder = codec.JointStateDecoder(names)
    for _ in range(2):  # the second time with the names known
        decoder.decode(data)
        assert_read_as_rclpy_reads(decoder, names, message)
    stamp = message.header.stamp
    encoder = codec.JointStateEncoder(message.name, message.header.frame_id)
    for field in FIELDS:
        if len(getattr(message, field)):
            getattr(encoder, field)[:] = getattr(message, field)
    read = deserialize_message(encoder.encode(stamp.sec, stamp.nanosec), JointState)
    assert (read.header, read.name) == (message.header, message.name)
    for field in FIELDS:
        assert bits(getattr(read, field)) == getattr(encoder, field).tobytes()


@pytest.mark.parametrize("with_effort", [False, True])
@pytest.mark.parametrize("with_velocity", [False, True])
def test_joint_states_of_every_length_agree(with_velocity, with_effort):
    for count in range(41):
        names = [f"joint_{k}" for k in range(count)]
        arrays = np.random.default_rng(count).normal(size=(3, count)).tolist()
        for k, there in ((1, with_velocity), (2, with_effort)):
            arrays[k] = arrays[k] if there else []
        assert_agree(names[::-1], message_of(names, arrays, "base_link", 5, 6))


def test_joint_states_of_every_alignment_agree():
    for length, frame_length, first in product(range(17), range(9), range(9)):
        names = [string.ascii_letters[:first], string.ascii_uppercase[:length] + "!"]
        arrays = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        assert_agree(names, message_of(names, arrays, "f" * frame_length))


@given(st.lists(texts, max_size=9, unique=True), texts, seconds, nanoseconds, st.data())
def test_joint_states_agree(names, frame_id, sec, nanosec, data):
    arrays = [data.draw(values(len(names))) for _ in FIELDS]
    for k in (1, 2):
        arrays[k] = arrays[k] if data.draw(st.booleans()) else []
    ours = data.draw(st.permutations(names))[: data.draw(st.integers(0, len(names)))]
    assert_agree(ours, message_of(names, arrays, frame_id, sec, nanosec))


def test_multi_arrays_of_every_length_agree():
    for count in range(41):
        numbers = np.random.default_rng(count).normal(size=count).tolist()
        assert_multi_arrays_agree(Float64MultiArray(data=numbers))


dimensions = st.lists(st.tuples(texts, nanoseconds, nanoseconds), max_size=4)


@given(st.integers(0, 40).flatmap(values), dimensions, nanoseconds)
def test_multi_arrays_agree(numbers, dimensions, offset):
    message = Float64MultiArray(data=numbers)
    message.layout.data_offset = offset
    message.layout.dim = [
        MultiArrayDimension(label=label, size=size, stride=stride)
        for label, size, stride in dimensions
    ]
    assert_multi_arrays_agree(message)


def assert_multi_arrays_agree(message):
    """What rclpy writes the decoder reads; what the encoder writes rclpy reads."""
    for count in (len(message.data), None):
        decoder = codec.Float64MultiArrayDecoder(count)
        decoder.decode(serialize_message(message))
        assert decoder.values.tobytes() == bits(message.data)
    encoder = codec.Float64MultiArrayEncoder(len(message.data))
    encoder.values[:] = message.data
    read = deserialize_message(encoder.encode(), Float64MultiArray)
    assert bits(read.data) == bits(message.data)
    assert read.layout == Float64MultiArray().layout


# Corruption --------------------------------------------------------------------------------------


# Kilted's Fast CDR takes them as a number of bytes behind the message, Jazzy's passes over them.
OPTIONS = (2, 3)
EVERY = range(256)
EDGES = (0, 1, 127, 128, 254, 255)


def corruptions(data, values=EVERY):
    """Yield the message with one byte changed, for every byte but OPTIONS.

    To each of some values, to each neighbour, and by each bit.
    """
    for at in set(range(len(data))).difference(OPTIONS):
        byte = data[at]
        near = {(byte + 1) % 256, (byte - 1) % 256, *(byte ^ 1 << bit for bit in range(8))}
        for value in near.union(values) - {byte}:
            yield data[:at] + bytes([value]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("frame_id", "values"), [("", EDGES), ("abc", EDGES), study("", EVERY), study("abc", EVERY)]
)
def test_a_corrupted_joint_state_is_refused_or_read_as_rclpy_reads_it(frame_id, values):
    names = ["ab", "c"]
    encoder = codec.JointStateEncoder(names, frame_id)
    encoder.position[:], encoder.effort[:] = (1.0, 2.0), (3.0, -4.0)
    data, accepted = encoder.encode(1, 2), 0
    fresh, learnt = codec.JointStateDecoder(names), codec.JointStateDecoder(names)
    for corrupted in corruptions(data, values):
        learnt.decode(data)
        refused = [refusal(fresh, corrupted), refusal(learnt, corrupted)]
        assert refused[0] == refused[1]
        if refused[0] is None:
            accepted += 1
            message = deserialize_message(corrupted, JointState)
            for decoder in (fresh, learnt):
                assert_read_as_rclpy_reads(decoder, names, message)
    assert accepted > len(values) * 6 * 8  # every change of a number is


def refusal(decoder, data):
    """Return why the message is refused, or None."""
    try:
        decoder.decode(data)
    except MessageError as error:
        return str(error)
    return None


def test_a_corrupted_multi_array_is_refused_or_read_as_rclpy_reads_it():
    message = Float64MultiArray(data=[1.0, 2.0])
    message.layout.dim = [MultiArrayDimension(label="ab", size=1, stride=2)]
    decoder, accepted = codec.Float64MultiArrayDecoder(None), 0
    for corrupted in corruptions(serialize_message(message)):
        if refusal(decoder, corrupted) is None:
            accepted += 1
            read = deserialize_message(corrupted, Float64MultiArray)
            assert decoder.values.tobytes() == bits(read.data)
    assert accepted > 255 * 2 * 8


@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_are_refused_or_read_as_rclpy_reads_them(data, big_endian):
    data = (b"\0\0\0\0" if big_endian else b"\0\1\0\0") + data
    state, commands = codec.JointStateDecoder([]), codec.Float64MultiArrayDecoder(None)
    if refusal(state, data) is None:
        assert_read_as_rclpy_reads(state, [], deserialize_message(data, JointState))
    if refusal(commands, data) is None:
        read = deserialize_message(data, Float64MultiArray)
        assert commands.values.tobytes() == bits(read.data)


# How a floating base moves.


def filled(message, stamp, pose, twist):
    """Return such a message with figures in it."""
    data, at, pose_at, twist_at = message
    data = bytearray(data)
    data[at : at + 8] = np.array(stamp, np.int32).tobytes()
    data[pose_at : pose_at + 56] = np.array(pose).tobytes()
    data[twist_at : twist_at + 48] = np.array(twist).tobytes()
    return bytes(data)


def fields(*parts):
    return [getattr(part, name) for part in parts for name in "xyzw" if hasattr(part, name)]


def assert_header(header, frame_id, stamp):
    assert header.frame_id == frame_id
    assert [header.stamp.sec, header.stamp.nanosec] == stamp


STAMP, POSE, TWIST = [-3, 17], [1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.4], [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


@given(texts, texts)
def test_rclpy_reads_the_odometry(frame_id, child):
    Odometry = pytest.importorskip("nav_msgs.msg", reason="nav_msgs is not installed").Odometry
    message = deserialize_message(
        filled(templates.odometry(frame_id, child), STAMP, POSE, TWIST), Odometry
    )
    assert_header(message.header, frame_id, STAMP)
    assert message.child_frame_id == child
    assert fields(message.pose.pose.position, message.pose.pose.orientation) == POSE
    assert fields(message.twist.twist.linear, message.twist.twist.angular) == TWIST
    assert not np.any([message.pose.covariance, message.twist.covariance])


@given(texts, texts)
def test_rclpy_reads_the_transform(frame_id, child):
    TFMessage = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed").TFMessage
    data = filled(templates.tf_message(frame_id, child), STAMP, POSE, TWIST)
    (transform,) = deserialize_message(data, TFMessage).transforms
    assert_header(transform.header, frame_id, STAMP)
    assert transform.child_frame_id == child
    turned = transform.transform
    assert fields(turned.translation, turned.rotation) == POSE

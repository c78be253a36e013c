"""The codec of the control loop's messages: what it reads, writes and refuses."""

import math
import struct

import numpy as np
import pytest
from cdr_messages import float64_multi_array, joint_state
from compiled import codec
from each import each
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusals

from featherstone_ros.errors import MalformedMessageError, MessageError

NAMES = ["a", "b", "c"]
MIXED = ["b", "x", "c", "a"]
POSITION = [2.0, 9.0, 3.0, 1.0]
GOOD = joint_state(MIXED, POSITION, stamp=(7, 8), frame_id="base")

names_of_joints = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=12
)
doubles = st.floats(width=64)


def decoded(decoder):
    """Return a copy of all that a message has set."""
    arrays = [decoder.position, decoder.velocity, decoder.effort]
    flags = decoder.has_velocity, decoder.has_effort, decoder.sec, decoder.nanosec
    return [array.tobytes() for array in arrays], flags


# Reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("big_endian", [False, True])
def test_state_is_in_joint_order_whatever_the_messages(big_endian):
    decoder = codec.JointStateDecoder(NAMES)
    effort = [20.0, 90.0, 30.0, 10.0]
    message = joint_state(MIXED, POSITION, (), effort, (-5, 7), big_endian=big_endian)
    for _ in range(2):
        decoder.decode(message)
        np.testing.assert_array_equal(decoder.position, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(decoder.effort, [10.0, 20.0, 30.0])
        np.testing.assert_array_equal(decoder.velocity, np.full(3, np.nan))
        assert (decoder.has_velocity, decoder.has_effort) == (False, True)
        assert (decoder.sec, decoder.nanosec, decoder.stamp) == (-5, 7, -5 + 7e-9)


def test_velocity_that_was_there_before_does_not_stay():
    decoder = codec.JointStateDecoder(["a"])
    decoder.decode(joint_state(["a"], [1.0], [2.0], [3.0]))
    assert decoder.has_velocity and decoder.has_effort
    decoder.decode(joint_state(["a"], [4.0]))
    assert not decoder.has_velocity and not decoder.has_effort
    assert math.isnan(decoder.velocity[0]) and math.isnan(decoder.effort[0])


def test_order_frame_and_padding_may_change_between_messages():
    decoder = codec.JointStateDecoder(NAMES)
    for names in (["a", "b", "c"], ["c", "b", "a"], ["abc", "a", "b", "c"]):
        for frame_id in ("", "x", "yz"):
            for options in ({}, {"padding": 255}, {"padding": 97}, {"big_endian": True}):
                position = [float(ord(name[-1])) for name in names]
                decoder.decode(joint_state(names, position, frame_id=frame_id, **options))
                np.testing.assert_array_equal(decoder.position, [97.0, 98.0, 99.0])


def test_nan_and_infinity_pass():
    decoder = codec.JointStateDecoder(NAMES)
    decoder.decode(joint_state(NAMES, [math.nan, math.inf, -math.inf]))
    np.testing.assert_array_equal(decoder.position, [math.nan, math.inf, -math.inf])


def test_bytes_behind_the_message_are_passed_over():
    decoder = codec.JointStateDecoder(NAMES)
    decoder.decode(GOOD + b"\xff\xff\xff")
    np.testing.assert_array_equal(decoder.position, [1.0, 2.0, 3.0])


def test_multi_array_of_any_length():
    decoder = codec.Float64MultiArrayDecoder(None)
    for values in ([1.0], [], [1.0, math.nan, 3.0]):
        decoder.decode(float64_multi_array(values))
        np.testing.assert_array_equal(decoder.values, values)


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("dimensions", [(), [("joint", 7, 7)], [("a", 9, 9), ("", 0, 0)]])
def test_layout_of_a_multi_array_is_passed_over(dimensions, big_endian):
    decoder = codec.Float64MultiArrayDecoder(2)
    decoder.decode(float64_multi_array([1.0, 2.0], dimensions, 5, big_endian=big_endian))
    np.testing.assert_array_equal(decoder.values, [1.0, 2.0])


# Refusals ----------------------------------------------------------------------------------------

REFUSALS = [
    (joint_state(["b", "x", "c", "y"], POSITION), "joints missing: a"),
    (joint_state(["b", "a\0", "c", b"a\xff\0"], POSITION), "joints missing: a"),
    (joint_state(["b", "a", "c", "a"], POSITION), "joints named twice: a"),
    (joint_state([], []), "joints missing: a, b, c"),
    (joint_state(MIXED, [1.0]), "position has 1 values, expected 4"),
    (joint_state(MIXED, POSITION, [1.0, 2.0]), "velocity has 2 values, expected 4"),
    (joint_state(MIXED, POSITION, (), [1.0]), "effort has 1 values, expected 4"),
]
MALFORMED = [
    (b"", "message of 0 bytes ends within the encapsulation header"),
    (b"\0\1\0", "message of 3 bytes ends within the encapsulation header"),
    (b"\0\7" + GOOD[2:], "encapsulation header is 0x0007, expected 0x0000 or 0x0001"),
    (GOOD[:11], "message of 11 bytes ends within header.stamp"),
    (GOOD[:-1], f"message of {len(GOOD) - 1} bytes ends within effort"),
    (joint_state([b"a"], [1.0]), "name does not end with a zero byte"),
    (joint_state(NAMES, [1.0] * 3)[:-16], "position claims a length of 3, but 16 bytes follow"),
    (joint_state(["a"] * 1001, []), "name has 1001 items, expected at most 1000"),
]


@pytest.mark.parametrize(("bad", "reason"), REFUSALS + MALFORMED)
def test_a_refused_message_changes_no_value_and_not_the_next_message(bad, reason):
    decoder = codec.JointStateDecoder(NAMES)
    decoder.decode(GOOD)
    before = decoded(decoder)
    with pytest.raises(MessageError, match=reason) as caught:
        decoder.decode(bad)
    is_malformed = (bad, reason) in MALFORMED
    assert isinstance(caught.value, MalformedMessageError) == is_malformed
    assert is_malformed or str(caught.value) == reason
    assert decoded(decoder) == before
    decoder.decode(GOOD)
    assert decoded(decoder) == before


@each("length", [2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1])
@each("big_endian", [False, True])
@pytest.mark.parametrize("place", ["frame_id", "name count", "name", "position", "effort"])
def test_a_length_that_overflows_raises(length, place, big_endian):
    message = joint_state(["abc"], [1.0], [], [2.0], big_endian=big_endian)
    at = {"frame_id": 12, "name count": 20, "name": 24, "position": 32, "effort": 48}[place]
    order = ">" if big_endian else "<"
    bad = message[:at] + struct.pack(order + "I", length) + message[at + 4 :]
    with pytest.raises(MalformedMessageError, match="claims a length of"):
        codec.JointStateDecoder(["abc"]).decode(bad)


@pytest.mark.parametrize("learnt", [False, True])
@pytest.mark.parametrize("big_endian", [False, True])
def test_every_truncation_raises(big_endian, learnt):
    message = joint_state(
        NAMES, [1.0] * 3, [2.0] * 3, [3.0] * 3, frame_id="base", big_endian=big_endian
    )
    decoder = codec.JointStateDecoder(NAMES)
    if learnt:
        decoder.decode(message)
    commands = float64_multi_array([1.0, 2.0], [("label", 2, 2)])
    of_commands = codec.Float64MultiArrayDecoder(2)
    of_commands.decode(commands)
    for reader, whole in ((decoder, message), (of_commands, commands)):
        for size in range(len(whole)):
            ends = rf"^message of {size} bytes ends within |^\S+ claims a length of \d+, but \d+ "
            with pytest.raises(MalformedMessageError, match=ends):
                reader.decode(whole[:size])
    np.testing.assert_array_equal(of_commands.values, [1.0, 2.0])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (float64_multi_array([1.0] * 3), "data has 3 values, expected 2"),
        (float64_multi_array([]), "data has 0 values, expected 2"),
        (float64_multi_array([1.0], [(b"x", 1, 1)]), "layout does not end"),
        (float64_multi_array([1.0], [("", 1, 1)] * 1001), "layout has 1001 items"),
        (float64_multi_array([1.0] * 9)[:-40], "data claims a length of 9, but 36 bytes follow"),
    ],
)
def test_a_bad_multi_array_raises_and_changes_nothing(bad, reason):
    decoder = codec.Float64MultiArrayDecoder(2)
    decoder.decode(float64_multi_array([4.0, 5.0]))
    with pytest.raises(MessageError, match=reason):
        decoder.decode(bad)
    np.testing.assert_array_equal(decoder.values, [4.0, 5.0])


@pytest.mark.parametrize("message", [None, "text", bytearray(GOOD), memoryview(GOOD)])
def test_what_is_not_bytes_raises(message):
    for decoder in (codec.JointStateDecoder(NAMES), codec.Float64MultiArrayDecoder(None)):
        with pytest.raises(TypeError, match=r"^Argument 'message' .* \(expected bytes, got .*\)$"):
            decoder.decode(message)


# Writing -----------------------------------------------------------------------------------------


@given(names_of_joints, st.text(st.characters(codec="ascii", exclude_characters="\0")), st.data())
def test_a_state_is_written_as_cdr_has_it(names, frame_id, data):
    encoder = codec.JointStateEncoder(names, frame_id)
    vectors = st.lists(doubles, min_size=len(names), max_size=len(names))
    arrays = [data.draw(vectors) for _ in range(3)]
    encoder.position[:], encoder.velocity[:], encoder.effort[:] = arrays
    stamp = data.draw(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)))
    assert encoder.encode(*stamp) == joint_state(names, *arrays, stamp, frame_id)


@given(st.lists(doubles, max_size=40))
def test_a_multi_array_is_written_as_cdr_has_it(values):
    encoder = codec.Float64MultiArrayEncoder(len(values))
    earlier, zeros = encoder.encode(), float64_multi_array([0.0] * len(values))
    encoder.values[:] = values
    assert encoder.encode() == float64_multi_array(values)
    assert earlier == zeros  # what was written earlier stays as it was


test_what_cdr_cannot_hold_is_refused = refusals(
    (
        ValueError,
        r"joint name is 'a\\x00b', expected no zero byte",
        lambda: codec.JointStateEncoder(["a\0b"], ""),
    ),
    (
        ValueError,
        r"frame_id is 'b\\x00', expected no zero byte",
        lambda: codec.JointStateEncoder(["a"], "b\0"),
    ),
    (ValueError, "surrogates not allowed", lambda: codec.JointStateEncoder(["\ud800"], "")),
    *(
        (OverflowError, text, lambda stamp=stamp: codec.JointStateEncoder(NAMES).encode(*stamp))
        for text, stamp in (
            ("value too large to convert to int32_t", (2**31, 0)),
            ("value too large to convert to uint32_t", (0, 2**32)),
            ("can't convert negative value to uint32_t", (0, -1)),
        )
    ),
)

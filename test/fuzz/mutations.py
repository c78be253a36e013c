"""Changes bytes at random: what a faulty publisher, or a hostile one, might send."""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

import numpy as np

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 8, 2**32 - 1)
NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"1e308", b"-1e308", b"1e-320", b"1e150", b"1e999", b"nan", b"inf",
    b"-inf", b"1_0", b"0x10", b"1,5", "١".encode(), b"9" * 400, b"", b" ", b"1 2 3", b"0 0 0",
    b"1e99 1e99 1e99",
)  # fmt: skip
XML = (
    b'<link name="a"/>', b"<link/>", b'<joint name="j" type="revolute">', b"</joint>", b"<robot>",
    b"</robot>", b"</link>", b"<inertial>", b"</inertial>", b'<mass value="1"/>', b'<mass/>',
    b'<inertia ixx="1" iyy="1" izz="1"/>', b'<origin xyz="1 2 3" rpy="1 2 3"/>', b"<axis/>",
    b'<axis xyz="1 0 0"/>', b'<limit lower="-1" upper="1" velocity="1" effort="1"/>',
    b'<mimic joint="j"/>', b'<mimic joint="j" multiplier="2" offset="1"/>', b"<dynamics/>",
    b'<parent link="a"/>', b'<child link="a"/>', b'<collision><geometry><sphere radius="1"/>',
    b'<mesh filename="package://a/b.stl" scale="1 1 1"/>', b'<box size="1 1 1"/>', b"<!-- -->",
    b'<cylinder radius="1" length="1"/>', b"<![CDATA[x]]>", b"<?xml version='1.0'?>", b"&amp;",
    b"<!DOCTYPE r [<!ENTITY x 'y'>]>", b"&x;", b"&#0;", b"&#55296;", b'xmlns="u"', b'xmlns:p="u"',
    b"p:", b"encoding='utf-16'", b"encoding='utf-7'", b"encoding='\xff'", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xc3\x28", b"\0", b"<a>" * 300, b"continuous", b"prismatic", b"fixed", b"type",
)  # fmt: skip

VALUE = re.compile(rb'"[^"]*"')

Change = Callable[[Random, bytearray, Sequence[bytes]], None]
T = TypeVar("T")


def below(random: Random, limit: int) -> int:
    """Return 0 to ``limit`` - 1, or 0; several times as fast as ``randrange``."""
    return int(random.random() * limit)


def pick(random: Random, choices: Sequence[T]) -> T:
    """Return one of the choices."""
    return choices[below(random, len(choices))]


def flip_bit(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Change one bit."""
    if data:
        data[below(random, len(data))] ^= 1 << below(random, 8)


def set_byte(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Set one byte to any value."""
    if data:
        data[below(random, len(data))] = below(random, 256)


def set_length(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Set an aligned word, perhaps a length, to a value at a limit."""
    if len(data) >= 4:
        at = 4 * below(random, len(data) // 4)
        order = "little" if random.random() < 0.8 else "big"
        data[at : at + 4] = pick(random, LENGTHS).to_bytes(4, order)


def remove(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Remove a piece."""
    start = below(random, len(data))
    del data[start : start + 1 + below(random, 16)]


def cut(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Remove the rest."""
    del data[below(random, len(data) + 1) :]


def repeat(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Insert a copy of a piece somewhere else."""
    start, at = below(random, len(data) + 1), below(random, len(data) + 1)
    data[at:at] = data[start : start + 1 + below(random, 200)]


def splice(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """Go on with the end of another input."""
    other = pick(random, others)
    data[below(random, len(data) + 1) :] = other[below(random, len(other) + 1) :]


def insert_xml(random: Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Insert a piece of XML, often before an element."""
    at = below(random, len(data) + 1)
    if random.random() < 0.7:
        at = max(data.find(b"<", at), 0)
    data[at:at] = pick(random, XML)


def replace_value(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """Put a number, or a value from elsewhere, between two quotation marks."""
    value = pick(random, NUMBERS)
    if random.random() < 0.3:
        value = pick(random, pick(random, others).split(b'"')[1::2] or [b""])
    values = list(VALUE.finditer(data))
    if values:
        place = pick(random, values)
        data[place.start() + 1 : place.end() - 1] = value


ANY: tuple[Change, ...] = (flip_bit, set_byte, remove, cut, repeat, splice)
OF_CDR = (*ANY, flip_bit, set_byte, set_length, set_length)
OF_XML = (*ANY, insert_xml, insert_xml, *[replace_value] * 6)


def mutants(
    random: Random,
    seeds: Sequence[bytes],
    found: Sequence[bytes],
    changes: Sequence[Change],
    longest: int,
) -> Iterator[bytes]:
    """Yield inputs with one change, two, and a few more.

    Args:
        random: Where the changes come from.
        seeds: Inputs to start from, and
        found: others, as often once there are some; may grow meanwhile.
        changes: To choose from.
        longest: What is longer is cut [byte].
    """
    while True:
        data = bytearray(pick(random, found if found and random.random() < 0.5 else seeds))
        for _ in range(4):
            pick(random, changes)(random, data, seeds)
            del data[longest:]
            yield bytes(data)


def variants(random: Random, data: bytes, count: int = 256) -> Iterator[bytes]:
    """Yield copies of a message with up to four bytes or lengths changed, some cut off, cheaply."""
    generator = np.random.default_rng(random.getrandbits(64))
    size = max(len(data), 4)
    copies = np.frombuffer(data.ljust(4, b"\0") * count, np.uint8).reshape(count, size).copy()
    rows = np.arange(count)
    for divisor in (1, 2):
        some = rows[::divisor]
        copies[some, generator.integers(size, size=len(some))] = generator.integers(
            256, size=len(some)
        )
    for order in ("<u4", ">u4"):
        some = rows[:: 4 if order == "<u4" else 16]
        at = 4 * generator.integers(size // 4, size=len(some))
        lengths = generator.choice(np.array(LENGTHS, order), len(some)).astype(order)
        copies[some[:, None], at[:, None] + np.arange(4)] = lengths.view(np.uint8).reshape(-1, 4)
    ends = np.full(count, size)
    ends[::32] = generator.integers(size, size=len(ends[::32]))
    joined = copies.tobytes()
    for start, end in zip(range(0, count * size, size), ends.tolist(), strict=True):
        yield joined[start : start + end]

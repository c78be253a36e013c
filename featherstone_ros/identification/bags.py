"""Reads joint states and trajectories from rosbag2 recordings, as arrays; needs no ROS.

A recording is a bag's folder or one of its storage files, sqlite3 (.db3) or MCAP (.mcap), also
compressed (.zstd). Messages come in the order in which they were written, even where a clock was
set back; files of several recorders are merged by the times of reception. Of an MCAP file whose
recorder was killed, all that is whole is read (https://mcap.dev/spec), one chunk at a time. Joint
states may also be a table with named columns (``tables``).
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from heapq import merge
from importlib import import_module
from itertools import chain
from pathlib import Path
from struct import unpack_from
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import BagError, FeatherstoneError, NothingRecordedError, needed
from featherstone_ros.identification import tables
from featherstone_ros.identification.recording import FIELDS, JointStates
from featherstone_ros.model.robots import RECORDING, STORAGE, mistaken
from featherstone_ros.progress import Progress

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
COMPRESSED = (".zstd", ".zst")
ZSTD = b"\x28\xb5\x2f\xfd"  # with which compressed messages begin; others with 0
CUT_OFF = "file {} has no end, as of a recorder that was killed: all that is whole in it was read"
REMEDY = (
    "; the file of a recorder that was killed is repaired by `mcap recover FILE -o NEW.mcap` (from "
    "mcap.dev), then `ros2 bag reindex FOLDER`"
)
MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 2, 3, 4, 5, 6, 15  # kinds of MCAP's records
RECORD_HEAD = 9  # [byte] kind and length
MESSAGE_HEAD = 22  # [byte] channel, sequence, times of logging and of publication
LARGEST = 2**30  # [byte] of a record that is read: more is damage


def read_joint_states(
    path: str | Path,
    topic: str | None = None,
    progress: Progress | None = None,
    joints: Sequence[Sequence[str]] = (),
) -> list[JointStates]:
    """Return the joint states of a recording, or of a table (.csv, .npz) with named columns.

    One entry per topic and joints named, at least one; those with most messages first. ``topic``:
    read it alone. ``joints``: names for the columns of a table that names no joints: the first list
    that has as many is taken, and a note says so.
    """
    if Path(path).suffix.lower() in tables.SUFFIXES:
        return [tables.read_table(Path(path), joints)]
    found: dict[tuple[str, tuple[str, ...]], _Columns] = {}
    notes: list[str] = []
    for name, received, message in _messages(path, JOINT_STATE, topic, progress, notes):
        names = tuple(message.name)
        rows = [_row(message, field, len(names), name) for field in FIELDS]
        columns = found.setdefault((name, tuple(sorted(names))), _Columns(names))
        if names != columns.names:  # the same joints in another order
            order = [names.index(joint) for joint in columns.names]
            rows = [row[order] for row in rows]
        stamp = message.header.stamp
        columns.append(stamp.sec * 1_000_000_000 + stamp.nanosec, received, rows)
    states = [columns.joint_states(name, tuple(notes)) for (name, _), columns in found.items()]
    return sorted(states, key=lambda group: -len(group.stamp))


class _Columns:
    """Joint states as they come, in memory for their figures alone: recordings have gigabytes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._times, self._fields = array("q"), tuple(array("d") for _ in FIELDS)

    def append(self, stamp: int, received: int, rows: Iterable[Floats]) -> None:
        self._times.extend((stamp, received))
        for field, row in zip(self._fields, rows, strict=True):
            field.frombytes(row.tobytes())

    def joint_states(self, topic: str, notes: tuple[str, ...]) -> JointStates:
        stamp, received = np.frombuffer(self._times, np.int64).reshape(-1, 2).T
        shape = len(stamp), len(self.names)
        q, qd, effort = (np.frombuffer(f).reshape(shape) for f in self._fields)
        return JointStates(topic, self.names, stamp, received, q, qd, effort, notes)


def read_trajectories(path: str | Path, topic: str | None = None) -> list[Any]:
    """Return all messages JointTrajectory of a recording, at least one, in order of reception."""
    return [message for *_, message in _messages(path, JOINT_TRAJECTORY, topic, None, [])]


def _row(message: Any, field: str, n: int, topic: str) -> Floats:
    """Return a field of a message, NaN if it is empty."""
    values = np.asarray(getattr(message, field), dtype=float)
    if values.size == 0:
        return np.full(n, np.nan)
    if values.size != n:
        raise BagError(f"{topic}: a message has {n} joint names, but {values.size} in {field}")
    return values


def _messages(
    path: str | Path, kind: str, topic: str | None, progress: Progress | None, notes: list[str]
) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of reception [ns] and content of all messages of a type, at least one."""
    files = storage(path)  # before the library: a wrong path is the more likely mistake
    needed("rosbags.rosbag2")
    from rosbags.typesys import Stores, get_typestore

    # These messages are the same in all distributions: a bag's own definitions are not needed.
    deserialize = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr
    try:
        with ExitStack() as stack:
            parts = {file: _opened(file, stack) for file in files}
            is_empty, total = True, 100 * len(parts)
            for name, received, data in _in_order(parts, kind):
                if topic in (None, name):
                    is_empty = False
                    yield name, received, deserialize(_plain(data), kind)
                    if progress:
                        progress(round(100 * sum(part.share for part in parts.values())), total)
            if progress:
                progress(total, total)
            if is_empty:
                raise _nothing(path, list(parts.values()), kind, topic)
            notes += [CUT_OFF.format(file.name) for file, p in parts.items() if not p.is_whole]
    except FeatherstoneError:
        raise
    except Exception as error:  # damaged files make the libraries below raise anything
        why = str(error)[:500] or type(error).__name__
        remedy = REMEDY if any(".mcap" in file.suffixes for file in files) else ""
        raise BagError(f"{path} cannot be read: {why}{remedy}") from error


def _nothing(
    path: str | Path, parts: Sequence[Sqlite | Mcap], kind: str, topic: str | None
) -> NothingRecordedError:
    there = ", ".join(
        f"{name} ({type_}, {n} messages)"
        for name, type_, n in sorted({topic for part in parts for topic in part.topics()})
    )
    where = f" on {topic}" if topic else ""
    remedy = "" if all(part.is_whole for part in parts) else REMEDY
    return NothingRecordedError(
        f"{path} holds no {kind}{where}; it holds {there or 'no topics'}{remedy}"
    )


class Stored(NamedTuple):
    """A message as it is stored."""

    topic: str
    received: int  # [ns]
    data: Any


def _in_order(parts: dict[Path, Sqlite | Mcap], kind: str) -> Iterator[Stored]:
    """Yield the messages: files of one recorder follow each other, others are merged by time."""
    recorders: dict[str, list[Sqlite | Mcap]] = defaultdict(list)
    for file, part in parts.items():
        recorders[re.sub(r"\d+$", "", file.name.split(".")[0])].append(part)
    whole = [chain.from_iterable(p.messages(kind) for p in those) for those in recorders.values()]
    yield from merge(*whole, key=lambda message: message.received)


class Sqlite:
    """A file of storage sqlite3."""

    is_whole = True
    share = 0.0  # of it that was read

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._uri = f"{path.absolute().as_uri()}?mode=ro"

    def topics(self) -> list[tuple[str, str, int]]:
        """Return each topic's name, type and number of messages."""
        query = "(SELECT count(*) FROM messages WHERE topic_id = topics.id)"
        return list(self._rows(f"SELECT name, type, {query} FROM topics"))  # noqa: S608

    def messages(self, kind: str) -> Iterator[Stored]:
        """Yield the messages of a type."""
        query = (
            "SELECT 1.0 * messages.id / (SELECT max(id) FROM messages), name, timestamp, data "
            "FROM messages JOIN topics ON topic_id = topics.id WHERE type = ? ORDER BY messages.id"
        )
        for share, *message in self._rows(query, (kind,)):
            self.share = share
            yield Stored(*message)

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> Iterator[Any]:
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            yield from connection.execute(query, values)


class Mcap:
    """A file of storage mcap."""

    is_whole = False  # told by its end
    share = 0.0  # of it that was read

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path
        self._channels: dict[int, tuple[str, str]] = {}  # topic, type

    def topics(self) -> list[tuple[str, str, int]]:
        """Return each topic's name, type and number of messages."""
        counts = Counter(channel for channel, _ in self._all())
        return [(*names, counts[names]) for names in dict.fromkeys(self._channels.values())]

    def messages(self, kind: str) -> Iterator[Stored]:
        """Yield the messages of a type."""
        for (topic, type_), message in self._all():
            if type_ == kind:
                (received,) = unpack_from("<Q", message, 6)
                yield Stored(topic, received, message[MESSAGE_HEAD:])

    def _all(self) -> Iterator[tuple[tuple[str, str], memoryview]]:
        """Yield each whole message, with topic and type."""
        schemas: dict[int, str] = {}
        for kind, content in chain.from_iterable(map(_inside, self._records())):
            if kind == MESSAGE:
                yield self._channels[unpack_from("<H", content)[0]], content
            elif kind == SCHEMA:
                schemas[unpack_from("<H", content)[0]] = _text(content, 2)
            elif kind == CHANNEL:
                channel, schema = unpack_from("<HH", content)
                self._channels[channel] = _text(content, 4), schemas.get(schema, "")

    def _records(self) -> Iterator[tuple[int, memoryview]]:
        """Yield kind and content of the records that matter, as far as the file is whole."""
        size, offset = self._path.stat().st_size, len(MAGIC)
        with self._path.open("rb") as file:
            while offset + RECORD_HEAD <= size:
                file.seek(offset)
                kind, length = unpack_from("<BQ", file.read(RECORD_HEAD))
                offset += RECORD_HEAD + length
                if kind in (FOOTER, DATA_END):
                    self.is_whole = True
                    return
                if offset <= size and kind in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                    if length > LARGEST:
                        raise ValueError(f"a record of {length} bytes, expected at most {LARGEST}")
                    self.share = offset / size
                    yield kind, memoryview(file.read(length))


def _text(content: memoryview, at: int) -> str:
    """Return a string, which is preceded by its length."""
    (length,) = unpack_from("<I", content, at)
    return bytes(content[at + 4 : at + 4 + length]).decode()


def _inside(record: tuple[int, memoryview]) -> Iterator[tuple[int, memoryview]]:
    """Yield kind and content of a chunk's records; any other record as it is."""
    kind, chunk = record
    if kind != CHUNK:
        yield record
        return
    (size,) = unpack_from("<Q", chunk, 16)
    compression = _text(chunk, 28)
    if size > LARGEST:
        raise ValueError(f"a chunk of {size} bytes, expected at most {LARGEST}")
    packed = chunk[40 + len(compression.encode()) :]
    data, offset = memoryview(_unpacked(packed, compression, size)), 0
    while offset < len(data):
        kind, length = unpack_from("<BQ", data, offset)
        offset += RECORD_HEAD + length
        yield kind, data[offset - length : offset]


def _unpacked(packed: memoryview, compression: str, size: int) -> memoryview | bytes:
    if compression == "":
        return packed
    if compression == "zstd":
        return bytes(_zstd().ZstdDecompressor().decompress(packed, size))
    if compression == "lz4":
        frame = import_module("lz4.frame")
        return bytes(frame.LZ4FrameDecompressor().decompress(packed, size))
    raise ValueError(f"chunks are compressed by {compression!r:.40}, expected zstd, lz4 or none")


def _zstd() -> Any:
    """Return the library that rosbags has for it."""
    try:
        return import_module("compression.zstd")  # of Python 3.14
    except ImportError:
        return import_module("backports.zstd")


def _opened(file: Path, stack: ExitStack) -> Sqlite | Mcap:
    """Open a storage file, which is unpacked into a temporary file if it is compressed."""
    if file.suffix in COMPRESSED:
        folder = stack.enter_context(TemporaryDirectory())
        unpacked = Path(folder, file.stem)
        with _zstd().open(file, "rb") as packed, unpacked.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        file = unpacked
    if file.suffix not in STORAGE:
        raise BagError(
            mistaken(file, RECORDING)
            or f"{file} cannot be read: expected {' or '.join(STORAGE)}, not {file.suffix}"
        )
    with file.open("rb") as content:
        return (Mcap if content.read(len(MAGIC)) == MAGIC else Sqlite)(file)


def _plain(data: Any) -> Any:
    """Return a message's bytes, unpacked if it was compressed by itself."""
    return _zstd().decompress(data) if bytes(data[:4]) == ZSTD else data


def storage(recording: str | Path) -> list[Path]:
    """Return the storage files of a recording, in the order of the numbers in their names."""
    path = Path(recording)
    if path.name == "metadata.yaml":
        path = path.parent
    try:
        if path.is_file():
            return [path]
        files = [
            file
            for file in path.iterdir()
            if (file.with_suffix("") if file.suffix in COMPRESSED else file).suffix in STORAGE
        ]
    except FileNotFoundError:
        raise BagError(f"there is no {recording}") from None
    except OSError as error:
        raise BagError(f"{recording} cannot be read: {error}") from error
    if not files:
        raise BagError(f"{path} holds no metadata.yaml and no file *{', *'.join(STORAGE)}")
    parts = {file: re.split(r"(\d+)", file.name) for file in files}
    return sorted(files, key=lambda f: [int(x) if x.isdigit() else x for x in parts[f]])

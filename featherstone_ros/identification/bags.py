"""Reads joint states and trajectories from rosbag2 recordings, as arrays; needs no ROS.

A recording is a bag's folder or one of its storage files, sqlite3 (.db3) or MCAP (.mcap), also
compressed (.zstd). Messages come in the order in which they were written, even where a clock was
set back; files of several recorders are merged by the times of reception. Of an MCAP file whose
recorder was killed, all that is whole is read (https://mcap.dev/spec), one chunk at a time.

Joint states may also be a table, CSV or NumPy's npz. A column is named by a quantity and a joint,
in either order: ``position_elbow``, ``elbow.effort``, ``/joint_states/elbow/velocity``,
``tau[elbow]``. One is the time [s], or, if its name ends so, in ms, us or ns. An npz has such
columns, or arrays (N, n) and ``joint_names`` (n,). Where joints are only numbered, or are not named
at all, the reader's names are taken in order, and a note says so.
"""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
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
# Of tables.
SUFFIXES = (".csv", ".npz")
MAX_COLUMNS = 10_000
QUANTITIES = {
    "position": ("position", "positions", "pos", "q", "angle"),
    "velocity": ("velocity", "velocities", "vel", "qd", "dq", "speed"),
    "effort": ("effort", "efforts", "eff", "torque", "torques", "tau", "current"),
}
QUANTITY_OF = {word: quantity for quantity, words in QUANTITIES.items() for word in words}
NAMES = ("joint_names", "names", "joints")
TIME = re.compile(r"_*(time|times|timestamp|stamp|t|secs?|seconds)(?:_?\W*(s|ms|us|ns)\W*)?")
UNITS = {None: 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
FIRST = 10**9  # [ns] of the first row: a stamp of 0 means none


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
    if Path(path).suffix.lower() in SUFFIXES:
        return [_read_table(Path(path), joints)]
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


def _read_table(path: Path, joints: Sequence[Sequence[str]]) -> JointStates:
    """Return the joint states of a table."""
    try:
        columns = _csv(path) if path.suffix.lower() == ".csv" else _npz(path)
    except FileNotFoundError:
        raise BagError(f"there is no {path}") from None
    except (OSError, ValueError, KeyError, EOFError, csv.Error) as error:
        raise BagError(f"{path} cannot be read: {str(error)[:300]}") from None
    found = _joint_states(columns, path)
    if not all(joint.isdigit() for joint in found.joint_names):
        return found
    return _named(found, joints, path)


def _named(states: JointStates, joints: Sequence[Sequence[str]], path: Path) -> JointStates:
    """Return joint states with names instead of numbers, in the order of these."""
    n = len(states.joint_names)
    names = next((tuple(those) for those in joints if len(those) == n), None)
    if names is None:
        lists = " or ".join(f"{len(those)} ({', '.join(those)})" for those in joints if those)
        raise BagError(
            f"{path} cannot be read: it has {n} columns, and there is no array joint_names with as "
            f"many names{f', nor are there {n} of the {lists}' if lists else ''}; name them in "
            "their order by --joints, or in the file: np.savez(path, **np.load(path), "
            "joint_names=[...])"
        )
    order = sorted(range(n), key=lambda k: int(states.joint_names[k]))
    fields = {f: getattr(states, f)[:, order] for f in FIELDS}
    note = f"the file names no joints: its columns are taken for {', '.join(names)}, in this order"
    return replace(states, joint_names=names, notes=(note,), **fields)


def _csv(path: Path) -> dict[str, Floats]:
    """Return the columns of a file whose first line names them; an empty field is NaN."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        head = file.readline()
        delimiter = max(",;\t", key=head.count)
        names = next(csv.reader([head], delimiter=delimiter), [])
        if len(names) > MAX_COLUMNS:
            raise ValueError(f"{len(names)} columns, expected at most {MAX_COLUMNS}")
        values = array("d")
        for number, row in enumerate(csv.reader(file, delimiter=delimiter), 2):
            if len(row) != len(names):
                if not any(map(str.strip, row)):
                    continue
                raise ValueError(f"line {number} has {len(row)} fields, its head {len(names)}")
            values.extend(float(field) if field.strip() else np.nan for field in row)
    if not names:
        raise ValueError("it is empty")
    rows = np.frombuffer(values).reshape(-1, len(names))
    return {name.strip(): column for name, column in zip(names, rows.T, strict=True)}


def _npz(path: Path) -> dict[str, Floats]:
    """Return the columns of an archive, those of (N, n) arrays by the joints' names."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files[:MAX_COLUMNS]}
    names = next((arrays.pop(name) for name in NAMES if name in arrays), None)
    columns: dict[str, Floats] = {}
    for key, values in arrays.items():
        if values.dtype.kind not in "fiu":
            continue
        is_one = values.ndim == 2 and values.shape[1] == 1 and names is None
        if values.ndim == 1 or (is_one and key.lower() not in QUANTITY_OF):
            columns[key] = values.ravel().astype(float)
        elif values.ndim == 2 and key.lower() in QUANTITY_OF:
            those = range(values.shape[1]) if names is None else names
            if len(those) != values.shape[1]:
                raise ValueError(f"{key} has {values.shape[1]} columns, joint_names {len(those)}")
            columns |= {f"{key}/{n}": c for n, c in zip(those, values.T.astype(float), strict=True)}
    return columns


def _joint_states(columns: Mapping[str, Floats], path: Path) -> JointStates:
    time: Floats | None = None
    found: dict[str, dict[str, Floats]] = {}
    for name, values in columns.items():
        if match := TIME.fullmatch(name.lower()):
            time = values * UNITS[match[2]] if time is None else time
        elif (meant := _meaning(name)) is not None:
            quantity, joint = meant
            if quantity in found.setdefault(joint, {}):
                raise BagError(f"{path}: two columns are the {quantity} of joint {joint!r:.100}")
            found[joint][quantity] = values
    joints = [joint for joint, those in found.items() if "position" in those]
    if time is None or not joints:
        missing = "time" if time is None else "position of a joint"
        raise BagError(
            f"{path} has no column for the {missing}, expected e.g. time, position_JOINT, "
            f"velocity_JOINT, effort_JOINT; it has {_listed(list(columns))}"
        )
    if not np.isfinite(time).all():
        raise BagError(f"{path}: a time is no finite number")
    if any(len(values) != len(time) for joint in joints for values in found[joint].values()):
        raise BagError(f"{path}: columns have different lengths")
    order = np.argsort(time, kind="stable")
    if not np.array_equal(order, np.arange(len(time))):
        back = int(np.flatnonzero(np.diff(time) < 0)[0])
        raise BagError(f"{path}: the time goes back after row {back + 1}, expected rows in order")
    stamp = np.rint((time - time[:1]) * 1e9).astype(np.int64) + FIRST
    nothing = np.full(len(time), np.nan)
    q, qd, effort = (
        np.column_stack([found[joint].get(quantity, nothing) for joint in joints])
        for quantity in QUANTITIES
    )
    return JointStates(path.name, tuple(joints), stamp, stamp, q, qd, effort)


def _meaning(name: str) -> tuple[str, str] | None:
    """Return quantity and joint of a column, None if it is something else."""
    parts = [part for part in re.split(r"[/.\[\]():\s]+", name) if part]
    for k, part in enumerate(parts):
        quantity = QUANTITY_OF.get(part.lower())
        if quantity and len(parts) > 1:
            return quantity, parts[k + 1] if k + 1 < len(parts) else parts[k - 1]
    last = parts[-1] if parts else ""
    first, _, rest = last.partition("_")
    if first.lower() in QUANTITY_OF and rest:
        return QUANTITY_OF[first.lower()], rest
    rest, _, end = last.rpartition("_")
    return (QUANTITY_OF[end.lower()], rest) if end.lower() in QUANTITY_OF and rest else None


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")

"""Reads joint states and trajectories from rosbag2 recordings, as arrays; needs no ROS.

A recording is a bag's folder or one of its storage files, sqlite3 (.db3) or MCAP (.mcap), also
compressed (.zstd). The numbered files of a recorder follow each other, as their messages do, even
where a clock was set back; files of several recorders are merged by the times of reception. Joint
states may also be a table with named columns (``tables``).
"""

from __future__ import annotations

import re
import shutil
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import BagError, FeatherstoneError, NothingRecordedError, needed
from featherstone_ros.identification import tables
from featherstone_ros.identification.recording import FIELDS, JointStates
from featherstone_ros.identification.storage_files import MAGIC, Mcap, Sqlite, Stored, Topic
from featherstone_ros.identification.storage_files import zstd as _zstd
from featherstone_ros.model.file_kind import RECORDING, STORAGE, mistaken
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


def read_joint_states(
    path: str | Path,
    topic: str | None = None,
    progress: Progress | None = None,
    joints: Sequence[Sequence[str]] = (),
) -> list[JointStates]:
    """Return the joint states of a recording, or of a table (.csv, .npz) with named columns.

    One entry per topic and list of joint names, at least one; those with most messages first.
    ``topic``: read it alone. ``joints``: names for the columns of a table that names no joints: the
    first list that has as many is taken, and a note says so.
    """
    if Path(path).suffix.lower() in tables.SUFFIXES:
        return [tables.read_table(Path(path), joints)]
    found: dict[tuple[str, tuple[str, ...]], _Columns] = defaultdict(_Columns)
    notes: list[str] = []
    for name, received, message in _messages(path, JOINT_STATE, topic, progress, notes):
        names = tuple(message.name)
        rows = [_row(message, field, len(names), name) for field in FIELDS]
        found[name, names].append(_nanoseconds(message.header.stamp), received, rows)
    states = [columns.joint_states(*key, tuple(notes)) for key, columns in found.items()]
    return sorted(states, key=lambda group: -len(group.stamp))


class _Columns:
    """Joint states as they come, in memory for their figures alone: recordings have gigabytes."""

    def __init__(self) -> None:
        self._times, self._fields = array("q"), tuple(array("d") for _ in FIELDS)

    def append(self, stamp: int, received: int, rows: Iterable[Floats]) -> None:
        self._times.extend((stamp, received))
        for field, row in zip(self._fields, rows, strict=True):
            field.frombytes(row.tobytes())

    def joint_states(
        self, topic: str, joints: tuple[str, ...], notes: tuple[str, ...]
    ) -> JointStates:
        stamp, received = np.frombuffer(self._times, np.int64).reshape(-1, 2).T
        shape = len(stamp), len(joints)
        q, qd, effort = (np.frombuffer(f).reshape(shape) for f in self._fields)
        return JointStates(topic, joints, stamp, received, q, qd, effort, notes)


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


def _nanoseconds(time: Any) -> int:
    return time.sec * 1_000_000_000 + time.nanosec


def _messages(
    path: str | Path, kind: str, topic: str | None, progress: Progress | None, notes: list[str]
) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of reception [ns] and content of all messages of a type.

    What was amiss is added to the notes.
    """
    files = storage(path)  # before the library: a wrong path is the more likely mistake
    needed("rosbags.rosbag2")
    from rosbags.typesys import Stores, get_typestore

    # These messages are the same in all distributions: a bag's own definitions are not needed.
    deserialize = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr
    try:
        with ExitStack() as stack:
            parts = [_opened(file, stack) for file in files]
            wanted = _wanted(path, parts, kind, topic)
            notes += [
                CUT_OFF.format(f.name) for f, p in zip(files, parts, strict=True) if not p.is_whole
            ]
            total = sum(topic.messages for topic in wanted)
            names, done = {topic.name for topic in wanted}, 0
            for name, received, data in _in_order(files, parts, kind):
                if name in names:
                    done += 1
                    yield name, received, deserialize(_plain(data), kind)
                    if progress:
                        progress(done, total)
    except FeatherstoneError:
        raise
    except Exception as error:  # damaged files make the libraries below raise anything
        why = str(error)[:500] or type(error).__name__
        remedy = REMEDY if any(".mcap" in file.suffixes for file in files) else ""
        raise BagError(f"{path} cannot be read: {why}{remedy}") from error


def _in_order(files: list[Path], parts: list[Sqlite | Mcap], kind: str) -> Iterator[Stored]:
    """Yield the messages: files of one recorder follow each other, others are merged by time."""
    recorders: dict[str, list[Sqlite | Mcap]] = defaultdict(list)
    for file, part in zip(files, parts, strict=True):
        recorders[re.sub(r"\d+$", "", file.name.split(".")[0])].append(part)
    whole = [chain.from_iterable(p.messages(kind) for p in those) for those in recorders.values()]
    yield from merge(*whole, key=lambda message: message.received)


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
    """Return the storage files of a recording."""
    try:
        return _storage(Path(recording))
    except FileNotFoundError:
        raise BagError(f"there is no {recording}") from None
    except OSError as error:
        raise BagError(f"{recording} cannot be read: {error}") from error


def _storage(path: Path) -> list[Path]:
    if path.name == "metadata.yaml":
        path = path.parent
    if path.is_file():
        return [path]
    files = _storage_files(path)
    if not files:
        raise BagError(f"{path} holds no metadata.yaml and no file *{', *'.join(STORAGE)}")
    return files


def _storage_files(path: Path) -> list[Path]:
    """Return the storage files of a folder, in the order of the numbers in their names."""
    files = [
        file
        for file in path.iterdir()
        if (file.with_suffix("") if file.suffix in COMPRESSED else file).suffix in STORAGE
    ]
    return sorted(files, key=lambda f: [int(x) if x.isdigit() else x for x in _parts(f.name)])


def _parts(name: str) -> list[str]:
    """Return a name's parts, text and digits in turn."""
    return re.split(r"(\d+)", name)


def _wanted(
    path: str | Path, parts: list[Sqlite | Mcap], kind: str, topic: str | None
) -> list[Topic]:
    """Return each file's topics of that type and name, some of which have messages."""
    every = [found for part in parts for found in part.topics]
    wanted = [found for found in every if found.type == kind and topic in (None, found.name)]
    if not any(found.messages for found in wanted):
        there = ", ".join(
            f"{name} ({type_}, {n} messages)" for name, type_, n in sorted(set(every))
        )
        where = f" on {topic}" if topic else ""
        remedy = "" if all(part.is_whole for part in parts) else REMEDY
        there = there or "no topics"
        raise NothingRecordedError(f"{path} holds no {kind}{where}; it holds {there}{remedy}")
    return wanted

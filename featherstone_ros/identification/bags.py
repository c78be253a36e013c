"""Reads joint states and trajectories from rosbag2 recordings, as arrays; needs no ROS.

A recording is a bag's folder or one of its storage files, sqlite3 (.db3) or MCAP (.mcap), also
compressed (.zstd). Without a metadata.yaml that names them all, the storage files of a folder are
merged by the times of reception. Joint states may also be a table with named columns (``tables``).
"""

from __future__ import annotations

import re
import shutil
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from heapq import merge
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.identification import tables
from featherstone_ros.identification.joint_states import BagError, JointStates, Nanoseconds
from featherstone_ros.model.bounded_yaml import YamlError, read_yaml

__all__ = ["BagError", "JointStates", "Nanoseconds"]  # from where they are known

Progress = Callable[[int, int], None]  # called with the messages read so far and their total

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
STORAGE = (".db3", ".mcap")
COMPRESSED = (".zstd", ".zst")
ZSTD = b"\x28\xb5\x2f\xfd"  # with which compressed messages begin; others with 0
REMEDY = (
    "; the file of a recorder that was killed is repaired by `mcap recover FILE -o NEW.mcap` (from "
    "mcap.dev), then `ros2 bag reindex FOLDER`"
)
JOINT_STATE_FIELDS = ("position", "velocity", "effort")
POINT_FIELDS = ("positions", "velocities", "accelerations", "effort")


@dataclass(frozen=True, eq=False)
class RecordedTrajectory:
    """One recorded message trajectory_msgs/JointTrajectory of P points.

    Attributes:
        topic: The topic's name.
        joint_names: n names, in the order of the message.
        received: Time of reception [ns].
        time_from_start: (P,) [s].
        positions: (P, n) [rad or m], NaN where a point leaves the field empty.
        velocities: (P, n) [rad/s or m/s], likewise.
        accelerations: (P, n) [rad/s^2 or m/s^2], likewise.
        effort: (P, n) [N m or N], likewise.
    """

    topic: str
    joint_names: tuple[str, ...]
    received: int
    time_from_start: Floats
    positions: Floats
    velocities: Floats
    accelerations: Floats
    effort: Floats


def read_joint_states(
    path: str | Path, topic: str | None = None, progress: Progress | None = None
) -> list[JointStates]:
    """Read all joint states of a recording.

    Args:
        path: The recording, or a table (.csv, .npz) with named columns.
        topic: Read this topic alone.
        progress: Told now and then how far reading is.

    Returns:
        One entry per topic and list of joint names, at least one; those with most messages first.

    Raises:
        BagError: The recording cannot be read, or has no joint states (on that topic).
    """
    if Path(path).suffix.lower() in tables.SUFFIXES:
        return [tables.read_table(Path(path))]
    found: dict[tuple[str, tuple[str, ...]], _Columns] = defaultdict(_Columns)
    for name, received, message in _messages(path, JOINT_STATE, topic, progress):
        joints = tuple(message.name)
        rows = [_row(message, field, len(joints), name) for field in JOINT_STATE_FIELDS]
        found[name, joints].append(_nanoseconds(message.header.stamp), received, rows)
    states = [columns.joint_states(*key) for key, columns in found.items()]
    return sorted(states, key=lambda group: -len(group.stamp))


class _Columns:
    """Joint states as they come, in memory for their figures alone: recordings have gigabytes."""

    def __init__(self) -> None:
        self._times, self._fields = array("q"), tuple(array("d") for _ in JOINT_STATE_FIELDS)

    def append(self, stamp: int, received: int, rows: Iterable[Floats]) -> None:
        self._times.extend((stamp, received))
        for field, row in zip(self._fields, rows, strict=True):
            field.frombytes(row.tobytes())

    def joint_states(self, topic: str, joints: tuple[str, ...]) -> JointStates:
        stamp, received = np.frombuffer(self._times, np.int64).reshape(-1, 2).T
        values = (np.frombuffer(f).reshape(-1, len(joints)) for f in self._fields if joints)
        empty = (np.zeros((len(stamp), 0)) for _ in self._fields)
        return JointStates(topic, joints, stamp, received, *(values if joints else empty))


def read_trajectories(
    path: str | Path, topic: str | None = None, progress: Progress | None = None
) -> list[RecordedTrajectory]:
    """Read all joint trajectories of a recording.

    Args:
        path: The recording.
        topic: Read this topic alone.
        progress: Told now and then how far reading is.

    Returns:
        At least one, in order of reception.

    Raises:
        BagError: The recording cannot be read, or has no joint trajectory (on that topic).
    """
    return [
        _trajectory(name, received, message)
        for name, received, message in _messages(path, JOINT_TRAJECTORY, topic, progress)
    ]


def _trajectory(topic: str, received: int, message: Any) -> RecordedTrajectory:
    joints = tuple(message.joint_names)
    times = [_nanoseconds(point.time_from_start) * 1e-9 for point in message.points]
    rows = [
        [_row(point, field, len(joints), topic) for point in message.points]
        for field in POINT_FIELDS
    ]
    arrays = np.array(rows, dtype=float).reshape(len(rows), len(times), len(joints))
    return RecordedTrajectory(topic, joints, received, np.array(times, dtype=float), *arrays)


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
    path: str | Path, kind: str, topic: str | None, progress: Progress | None
) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of reception [ns] and content of all messages of a type."""
    try:
        files = storage(path)  # before the library: a wrong path is the more likely mistake
        import rosbags.rosbag2  # noqa: F401
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise BagError(f"rosbags cannot be imported ({error}): pip install rosbags") from None
    # These messages are the same in all distributions: a bag's own definitions are not needed.
    deserialize = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr
    try:
        with ExitStack() as stack:
            readers = [_reader(file, stack) for file in files]
            wanted = _connections(path, readers, kind, topic)
            total = sum(c.msgcount for _, connections in wanted for c in connections)
            parts = (reader.messages(connections) for reader, connections in wanted)
            read = merge(*parts, key=lambda message: message[1])  # files may overlap
            for done, (connection, received, data) in enumerate(read, 1):
                yield connection.topic, received, deserialize(_plain(data), kind)
                if progress:
                    progress(done, total)
    except FeatherstoneError:
        raise
    except Exception as error:  # damaged files make the libraries below raise anything
        remedy = REMEDY if any(_is_mcap(file) for file in files) else ""
        why = str(error)[:500] or type(error).__name__
        raise BagError(f"{path} cannot be read: {why}{remedy}") from error


def _is_mcap(path: Path) -> bool:
    files = _storage_files(path) if path.is_dir() else [path]
    return any(".mcap" in file.suffixes for file in files)


def _reader(file: Path, stack: ExitStack) -> Any:
    """Open a bag or a storage file, which is unpacked into a temporary file if it is compressed."""
    from rosbags.rosbag2 import Reader

    if file.suffix in COMPRESSED:
        folder = stack.enter_context(TemporaryDirectory())
        unpacked = Path(folder, file.stem)
        with _zstd().open(file, "rb") as packed, unpacked.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        file = unpacked
    return stack.enter_context(Reader(file))


def _plain(data: Any) -> Any:
    """Return a message's bytes, unpacked if it was compressed by itself."""
    return _zstd().decompress(data) if bytes(data[:4]) == ZSTD else data


def _zstd() -> Any:
    """Return the library that rosbags has for it."""
    try:
        return import_module("compression.zstd")  # of Python 3.14
    except ImportError:
        return import_module("backports.zstd")


def storage(recording: str | Path) -> list[Path]:
    """Return the paths for a reader: a folder with metadata.yaml, or storage files.

    Raises:
        BagError: There are none, or the folder cannot be read.
    """
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
    if (path / "metadata.yaml").is_file() and (not files or _names_all(path, files)):
        return [path]
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


def _names_all(folder: Path, files: list[Path]) -> bool:
    """Tell whether metadata.yaml can be used: a killed recorder leaves it empty or behind."""
    try:
        (content,) = read_yaml(folder / "metadata.yaml")
        bag = content["rosbag2_bagfile_information"]  # type: ignore[index]
        named = {Path(name).name for name in bag["relative_file_paths"]}
        return bool(bag["storage_identifier"]) and {file.name for file in files} <= named
    except (YamlError, ValueError, KeyError, TypeError):
        return False


def _connections(
    path: str | Path, readers: list[Any], kind: str, topic: str | None
) -> list[tuple[Any, list[Any]]]:
    """Return each reader's connections of that type and topic that have messages."""
    wanted = [
        [c for c in reader.connections if c.msgtype == kind and topic in (None, c.topic)]
        for reader in readers
    ]
    if not any(c.msgcount for connections in wanted for c in connections):
        every = {(c.topic, c.msgtype, c.msgcount) for r in readers for c in r.connections}
        there = ", ".join(f"{name} ({type_}, {n} messages)" for name, type_, n in sorted(every))
        where = f" on {topic}" if topic else ""
        raise BagError(f"{path} holds no {kind}{where}; it holds {there or 'no topics'}")
    return [(r, cs) for r, cs in zip(readers, wanted, strict=True) if cs]

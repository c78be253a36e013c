"""Reads joint states and trajectories from rosbag2 recordings, as arrays; needs no ROS.

A recording is a bag's folder or one of its storage files, sqlite3 (.db3) or MCAP (.mcap). Without
metadata.yaml, the storage files of a folder are read in the order of their names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError

Nanoseconds = NDArray[np.int64]
Progress = Callable[[int, int], None]  # called with the messages read so far and their total

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
STORAGE = (".db3", ".mcap")
JOINT_STATE_FIELDS = ("position", "velocity", "effort")
POINT_FIELDS = ("positions", "velocities", "accelerations", "effort")


class BagError(FeatherstoneError):
    """A recording that cannot be used; the message names it and says what is missing."""


@dataclass(frozen=True, eq=False)
class JointStates:
    """The joint states on one topic that name the same joints in the same order.

    Attributes:
        topic: The topic's name.
        joint_names: n names, in the order of the messages.
        stamp: (N,) header stamps, in order of reception; 0 where not set [ns].
        received: (N,) times of reception [ns].
        position: (N, n) [rad or m], NaN where a message leaves the field empty.
        velocity: (N, n) [rad/s or m/s], likewise.
        effort: (N, n) [N m or N], likewise.
    """

    topic: str
    joint_names: tuple[str, ...]
    stamp: Nanoseconds
    received: Nanoseconds
    position: Floats
    velocity: Floats
    effort: Floats


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
        path: The recording.
        topic: Read this topic alone.
        progress: Told now and then how far reading is.

    Returns:
        One entry per topic and list of joint names, at least one; those with most messages first.

    Raises:
        BagError: The recording cannot be read, or has no joint states (on that topic).
    """
    found: dict[tuple[str, tuple[str, ...]], list[Any]] = defaultdict(list)
    for name, received, message in _messages(path, JOINT_STATE, topic, progress):
        joints = tuple(message.name)
        rows = [_row(message, field, len(joints), name) for field in JOINT_STATE_FIELDS]
        found[name, joints].append((_nanoseconds(message.header.stamp), received, *rows))
    states = [
        JointStates(*key, *map(np.array, zip(*rows, strict=True))) for key, rows in found.items()
    ]
    return sorted(states, key=lambda group: -len(group.stamp))


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
        from rosbags.rosbag2 import Reader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise BagError(f"rosbags cannot be imported ({error}): pip install rosbags") from None
    # These messages are the same in all distributions: a bag's own definitions are not needed.
    deserialize = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr
    try:
        with ExitStack() as stack:
            readers = [stack.enter_context(Reader(file)) for file in files]
            wanted = _connections(path, readers, kind, topic)
            total, done = sum(c.msgcount for _, cs in wanted for c in cs), 0
            for reader, connections in wanted:
                for connection, received, data in reader.messages(connections):
                    yield connection.topic, received, deserialize(data, kind)
                    done += 1
                    if progress:
                        progress(done, total)
    except FeatherstoneError:
        raise
    except Exception as error:  # damaged files make the libraries below raise anything
        raise BagError(f"{path} cannot be read: {error or type(error).__name__}") from error


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
    if path.is_file() or (path / "metadata.yaml").is_file():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in STORAGE)
    if not files:
        raise BagError(f"{path} holds no metadata.yaml and no file *{', *'.join(STORAGE)}")
    return files


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

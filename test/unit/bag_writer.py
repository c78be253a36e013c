"""Writes recordings for tests, by the library that reads them."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
STRING = "std_msgs/msg/String"


@cache
def store():
    """Return ROS 2's types: not on import, since every process collects the files that use this."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def message(kind: str, *values):
    return store().types[kind](*values)


def joint_state(stamp: int, names: Iterable[str], position=(), velocity=(), effort=()):
    """Make a JointState; ``stamp`` in ns."""
    time = message("builtin_interfaces/msg/Time", *divmod(stamp, 10**9))
    header = message("std_msgs/msg/Header", time, "")
    arrays = (np.asarray(x, dtype=float) for x in (position, velocity, effort))
    return message(JOINT_STATE, header, list(names), *arrays)


def joint_trajectory(names: Iterable[str], points: Iterable[Mapping]):
    """Make a JointTrajectory of points with ``time`` in ns and fields of JointTrajectoryPoint."""
    header = message("std_msgs/msg/Header", message("builtin_interfaces/msg/Time", 0, 0), "")
    fields = ("positions", "velocities", "accelerations", "effort")
    made = [
        message(
            "trajectory_msgs/msg/JointTrajectoryPoint",
            *(np.asarray(point.get(field, ()), dtype=float) for field in fields),
            message("builtin_interfaces/msg/Duration", *divmod(point["time"], 10**9)),
        )
        for point in points
    ]
    return message(JOINT_TRAJECTORY, header, list(names), made)


def write(path: Path, topics: Mapping[str, Iterable[tuple[int, object]]], storage="sqlite3"):
    """Write topic -> (time of reception [ns], message) into a new bag folder; return its file."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    plugin = StoragePlugin[storage.upper()]
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        for topic, messages in topics.items():
            connection = None
            for received, content in messages:
                kind = content.__msgtype__
                if connection is None:
                    connection = writer.add_connection(topic, kind, typestore=store())
                writer.write(connection, received, store().serialize_cdr(content, kind))
    (file,) = (file for file in path.iterdir() if file.suffix in (".db3", ".mcap"))
    return file

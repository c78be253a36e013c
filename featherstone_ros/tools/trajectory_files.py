"""Reads trajectories: from a file as ``ros2 topic echo`` prints them, a recording or a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from featherstone_ros.arrays import Floats
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError, NothingRecordedError
from featherstone_ros.identification.bags import read_joint_states, read_trajectories
from featherstone_ros.identification.recording import JointStates
from featherstone_ros.model.bounded_yaml import YamlError, parse_yaml, read_yaml
from featherstone_ros.model.robots import RECORDING, TRAJECTORY, mistaken
from featherstone_ros.text import plain
from featherstone_ros.tools.options import require_ros

FIELDS = ("positions", "velocities", "accelerations", "effort")
LATEST = 2.0**31  # [s] beyond which a message cannot hold a time_from_start
# libyaml's is five times faster, where PyYAML was built with it.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WRAPPERS = ("goal", "trajectory", "joint_trajectory")  # of actions and of MoveIt's messages


@dataclass(frozen=True)
class UncheckedTrajectory:
    """A trajectory as it was read, before any check."""

    names: tuple[str, ...]  # joint names
    points: tuple[Point, ...]  # fields in the order of ``names``
    is_timed: bool = True  # whether its points have times; where none has, they are a second apart
    is_measured: bool = False  # whether its points are joint states, of this and maybe other arms

    @property
    def has_effort(self) -> bool:
        """Tell whether any point has an effort."""
        return any(len(point.effort) for point in self.points)


def read_timed(source: str) -> list[UncheckedTrajectory]:
    """Read all trajectories of a source as ``read`` does, to be followed."""
    found = read(source)
    if not all(trajectory.is_timed for trajectory in found):
        raise FeatherstoneError(
            f"{source} has no time_from_start: featherstone-ros retime finds times"
        )
    return found


def read(source: str, topic: str | None = None) -> list[UncheckedTrajectory]:
    """Read all trajectories of a file or recording, or the next one on a topic.

    ``source``: a YAML file, a rosbag2 recording, or the name of a topic, which begins with ``/``. A
    recording without trajectories gives its joint states: the motion as it was measured. ``topic``:
    the topic of a recording; None: all.
    """
    path = Path(source).expanduser()
    if path.exists() and (wrong := mistaken(path, TRAJECTORY, RECORDING)):
        raise FeatherstoneError(wrong)
    if path.is_file() and path.suffix in (".yaml", ".yml") and path.name != "metadata.yaml":
        return _trajectories(partial(read_yaml, path), source)
    if path.exists():
        return _recorded(path, topic)
    if source.startswith("/"):
        require_ros()
        from featherstone_ros.tools.rclpy_calls import receive

        return [from_message(receive(source))]
    raise FeatherstoneError(f"no file {source!r}; the name of a topic begins with /")


def _recorded(path: Path, topic: str | None) -> list[UncheckedTrajectory]:
    try:
        return list(map(from_message, read_trajectories(path, topic)))
    except NothingRecordedError as error:
        try:
            return list(map(_measured, read_joint_states(path, topic)))
        except NothingRecordedError:
            raise error from None


def _measured(states: JointStates) -> UncheckedTrajectory:
    """Return joint states as points, in the order of their times."""
    stamps = states.stamp if states.stamp.all() else states.received
    known = np.isfinite(states.position).all(axis=1)
    times, position = 1e-9 * (stamps - stamps.min())[known], states.position[known]
    points = [
        Point(time, tuple(row))
        for time, row in sorted(zip(times.tolist(), position.tolist(), strict=True))
    ]
    return UncheckedTrajectory(states.joint_names, tuple(points), is_measured=True)


def chosen(found: Sequence[UncheckedTrajectory], number: int, source: str) -> UncheckedTrajectory:
    """Return one of the trajectories of a source, from 1."""
    if not 1 <= number <= len(found):
        raise FeatherstoneError(f"--number {number}: {source} has {len(found)}")
    return found[number - 1]


def from_arrays(
    names: Sequence[str], times: Iterable[float], *fields: Floats
) -> UncheckedTrajectory:
    """Return a trajectory from arrays; where all values of a field are NaN, the point lacks it."""
    points = [
        Point(float(time), *(() if np.isnan(row).all() else tuple(row.tolist()) for row in rows))
        for time, *rows in zip(times, *fields, strict=True)
    ]
    return UncheckedTrajectory(tuple(names), tuple(points))


def from_message(message: Any) -> UncheckedTrajectory:
    """Return a trajectory from a trajectory_msgs/JointTrajectory."""
    points = [
        Point(
            point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
            *(tuple(map(float, getattr(point, field))) for field in FIELDS),
        )
        for point in message.points
    ]
    return UncheckedTrajectory(tuple(message.joint_names), tuple(points))


def to_message(trajectory: UncheckedTrajectory) -> Any:
    """Return a trajectory as a trajectory_msgs/JointTrajectory that starts now; needs rclpy."""
    from rclpy.duration import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    points = [
        JointTrajectoryPoint(
            **{field: getattr(point, field) for field in FIELDS},
            time_from_start=Duration(nanoseconds=round(1e9 * point.time)).to_msg(),
        )
        for point in trajectory.points
    ]
    return JointTrajectory(joint_names=trajectory.names, points=points)


def parse(text: str, where: str) -> list[UncheckedTrajectory]:
    """Return the trajectories in a YAML text of one or more documents.

    They are JointTrajectory messages as ``ros2 topic echo`` prints them, or messages that hold one
    (action goals, MoveIt's RobotTrajectory). ``where``: name of the source, for errors.
    """
    return _trajectories(partial(parse_yaml, text), where)


def _trajectories(load: Callable[[], list[object]], where: str) -> list[UncheckedTrajectory]:
    try:
        documents = load()
    except (YamlError, OSError) as error:
        raise FeatherstoneError(f"{where} is not YAML: {error}") from None
    if not documents:
        raise FeatherstoneError(f"{where} is empty")
    return [_trajectory(document, where) for document in documents]


def _trajectory(document: object, where: str) -> UncheckedTrajectory:
    inner = document
    while isinstance(inner, Mapping) and "joint_names" not in inner:
        wrapper = next((key for key in WRAPPERS if key in inner), None)
        inner = inner[wrapper] if wrapper else None
    if not isinstance(inner, Mapping):
        raise FeatherstoneError(
            f"{where}: no joint_names; expected a trajectory_msgs/JointTrajectory"
        )
    try:
        names = tuple(map(str, inner["joint_names"]))
        points = inner.get("points") or ()
        is_timed = len(points) < 2 or any("time_from_start" in point for point in points)
        if not is_timed:
            points = [{**point, "time_from_start": k} for k, point in enumerate(points)]
        return UncheckedTrajectory(names, tuple(map(_point, points)), is_timed)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        hint = "; ros2 topic echo --full-length prints all of it" if "..." in str(inner) else ""
        what = f"{error} is missing" if isinstance(error, KeyError) else plain(str(error))
        raise FeatherstoneError(f"{where}: {what}{hint}") from None


def _point(point: Mapping[str, Any]) -> Point:
    return Point(
        _seconds(point["time_from_start"]),
        *(tuple(map(float, point.get(field) or ())) for field in FIELDS),
    )


def _seconds(time: object) -> float:
    """Return a time [s] given as a number or as sec and nanosec, either of which may be missing."""
    seconds = inf
    if isinstance(time, int | float) and not isinstance(time, bool):
        seconds = float(time)
    elif isinstance(time, Mapping) and time and not set(time) - {"sec", "nanosec"}:
        seconds = float(time.get("sec", 0)) + 1e-9 * float(time.get("nanosec", 0))
    if abs(seconds) < LATEST:
        return seconds
    raise ValueError(
        f"time_from_start is {time!r:.100}, expected seconds, fewer than 2^31, or "
        "{sec: 1, nanosec: 0}"
    )


def as_yaml(trajectory: UncheckedTrajectory) -> str:
    """Return a trajectory as ``ros2 topic echo`` prints it and ``ros2 topic pub`` takes it."""
    points = []
    for point in trajectory.points:
        seconds, nanoseconds = divmod(round(point.time * 1e9), 1_000_000_000)
        points.append(
            {
                **{field: [float(x) for x in getattr(point, field)] for field in FIELDS},
                "time_from_start": {"sec": seconds, "nanosec": nanoseconds},
            }
        )
    message = {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
        "joint_names": list(trajectory.names),
        "points": points,
    }
    return yaml.dump(message, Dumper=DUMPER, sort_keys=False, default_flow_style=None, width=1000)

"""Writes messages as bytes into a bag: MCAP with the definitions of its messages; needs no ROS.

rosbags, which reads bags for other commands, writes this one in chunks of a megabyte, as
``ros2 bag record`` does.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featherstone_ros.errors import FeatherstoneError, needed

if TYPE_CHECKING:
    from collections.abc import Iterator

RESERVE = 50_000_000  # [byte] that stay free, so that a file can be ended as a whole
FOREVER = (9223372036, 854775807)  # [s, ns] as ROS writes a duration without end


@dataclass
class RecordedTopic:
    """A topic, with what is recorded of it."""

    name: str  # with its namespace
    kind: str  # of its messages, e.g. ``sensor_msgs/msg/JointState``
    is_reliable: bool = False  # whether all its publishers repeat what is lost
    is_latched: bool = False  # whether they keep the last message for those who come later
    count: int = 0  # number of messages
    size: int = 0  # of their contents [byte]
    lost: int = 0  # number of messages that are known not to have come
    first: int = 0  # when the first one came [ns]
    last: int = 0  # when the last one came [ns]

    @property
    def rate(self) -> float:
        """Messages a second."""
        return (self.count - 1) / max(1e-9 * (self.last - self.first), 1e-9)


class Bag:
    """A bag's folder, made with the first message; ``close`` ends it as a whole."""

    def __init__(self, folder: Path) -> None:
        """Prepare."""
        if folder.exists():
            raise FeatherstoneError(f"{folder} is there already: --output FOLDER writes elsewhere")
        needed("rosbags.rosbag2")
        from rosbags.typesys import Stores, get_typestore

        self.folder = folder
        self._types = get_typestore(Stores.ROS2_JAZZY)
        self._writer: Any = None
        self._connections: dict[str, Any] = {}

    def knows(self, kind: str) -> bool:
        """Tell whether the definition of messages of that kind is known."""
        return kind in self._types.types

    def write(self, messages: Iterable[tuple[int, RecordedTopic, bytes]]) -> None:
        """Write messages, each with the time when it came [ns]."""
        with self._file_errors():
            for time, topic, content in messages:
                connection = self._connections.get(topic.name) or self._connect(topic)
                self._writer.write(connection, time, content)
                topic.first = topic.first or time
                topic.last = max(time, topic.last)
                topic.count += 1
                topic.size += len(content)

    def close(self) -> None:
        """End the file with its index, and describe it in metadata.yaml."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with self._file_errors():
                writer.close()

    def is_full(self) -> bool:
        """Tell whether so little space is left that the file should be ended."""
        there = next(path for path in self.folder.absolute().parents if path.exists())
        return shutil.disk_usage(there).free < RESERVE

    def _connect(self, topic: RecordedTopic) -> Any:
        from rosbags.rosbag2 import StoragePlugin, Writer

        if self._writer is None:
            self._writer = Writer(self.folder, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        connection = self._writer.add_connection(
            topic.name,
            topic.kind,
            typestore=self._types,
            offered_qos_profiles=[_offered(topic)],
        )
        self._connections[topic.name] = connection
        return connection

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FeatherstoneError(
                f"{self.folder} cannot be written: {error.strerror}; `mcap recover` (from "
                "mcap.dev) reads what is there"
            ) from None


def _offered(topic: RecordedTopic) -> Any:
    """Return how `ros2 bag play` is to publish a topic."""
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    forever = QosTime(*FOREVER)
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=1 if topic.is_latched else 10,
        reliability=QosReliability.RELIABLE if topic.is_reliable else QosReliability.BEST_EFFORT,
        durability=QosDurability.TRANSIENT_LOCAL if topic.is_latched else QosDurability.VOLATILE,
        deadline=forever,
        lifespan=forever,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=forever,
        avoid_ros_namespace_conventions=False,
    )

"""Record what an arm does to a bag: joint states, commands, wrenches; until Ctrl-C.

Without TOPIC, all topics of the domain are recorded that say what arms do and are asked to do, in
any namespace, whoever publishes them: joint states, commands, trajectories, set-points, measured
wrenches, poses and twists, inertial sensors, odometry, tf, /clock, /diagnostics, and
robot_description. Topics that come up later are recorded from then on.

The bag is a folder with a file of MCAP, with the definitions of its messages. identify, evaluate,
payload, preflight and replay read it, as do `ros2 bag play`, PlotJuggler and Foxglove. Messages go
there as the bytes they came in; memory does not grow with their number. Ctrl-C, SIGTERM, the end of
--duration, and a disk that is almost full end the file as a whole.

Exit status: 0; 1 if no message came, then there is no bag, or if it cannot be written.

Examples:
  featherstone-ros record                       until Ctrl-C
  featherstone-ros record --output swing --duration 30
  featherstone-ros record /joint_states /ft_sensor/wrench
  featherstone-ros identify swing --urdf arm.urdf         then
  featherstone-ros evaluate swing --urdf arm.urdf
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featherstone_ros.errors import FeatherstoneError, needed
from featherstone_ros.tools.options import add_number, positive_up_to, require_writable
from featherstone_ros.tools.result import Console, RenderableType, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table
    from rich.text import Text

    from featherstone_ros.tools.record.listen import TopicListener

LOOK = 0.05  # [s] between two looks at what has come
ROUND = 0.1  # [s] between two looks at what topics there are: somebody may soon send once
LOST = 0.01  # share of a topic's messages of which it is said that they were lost
REPORT, NEW = 5.0, 1.0  # [s] between two lines without a terminal; if topics have come up


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.set_defaults(needs_ros=True)
    parser.add_argument(
        "topics", nargs="*", type=_topic, metavar="TOPIC", help="record these alone"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="the bag's folder, new (default: recording_ and the time)",
    )
    text = "end by itself after this time [s]"
    add_number(parser, "--duration", "S", positive_up_to(1e6), None, text)


def _topic(text: str) -> str:
    """Return the name of a topic."""
    if text.startswith("/"):
        return text
    raise argparse.ArgumentTypeError(
        f"{text} is no topic, whose name begins with /; the bag's folder: --output {text}"
    )


def run(args: argparse.Namespace, console: Console) -> Result:
    """Record until Ctrl-C."""
    from featherstone_ros.tools.interruption import held
    from featherstone_ros.tools.processes import ros_domain
    from featherstone_ros.tools.record.listen import TopicListener

    folder = args.output or Path(time.strftime("recording_%Y-%m-%d_%H-%M-%S"))
    require_writable(folder)
    bag = Bag(folder)
    console.print(
        f"[bold]{folder}[/bold]; ROS_DOMAIN_ID={ros_domain()}; [dim]Ctrl-C ends it as a whole"
    )
    why = ""
    with TopicListener(args.topics, bag.knows) as listener:
        try:
            why = _record(listener, bag, console, args.duration)
        except KeyboardInterrupt:
            pass
        finally:
            with held():
                bag.close()
    return concluded(listener, bag, args.topics, why)


def _record(listener: TopicListener, bag: Bag, console: Console, duration: float | None) -> str:
    """Record; return why it has ended."""
    from rich.live import Live

    from featherstone_ros.tools.interruption import held

    began = now = time.monotonic()
    looked, reported, shown = 0.0, 0.0, 0
    live = Live(console=console, auto_refresh=False, transient=True)
    with live if console.is_interactive else nullcontext():
        while duration is None or now - began < duration:
            if now - looked > ROUND:
                looked = now
                listener.look_round()
                text, count = _line(listener, now - began), len(listener.heard)
                if live.is_started:
                    live.update(text, refresh=True)
                elif now - reported > (NEW if count > shown else REPORT):
                    console.print(text, soft_wrap=True)
                    reported, shown = now, count
                if bag.is_full():
                    return "the disk is almost full"
            listener.spin(LOOK)
            with held():  # no message is cut in half
                bag.write(listener.take())
            now = time.monotonic()
    return ""


def _line(listener: TopicListener, elapsed: float) -> Text:
    from rich.text import Text

    text = Text(f"{elapsed:6.0f} s  ", style="dim")
    heard, topics = listener.heard, listener.topics
    if not heard:
        found = f"{len(topics)} topics, but no message yet" if topics else "no topic of an arm yet"
        return text.append(found, style="yellow")
    count, size = sum(t.count for t in heard), sum(t.size for t in heard)
    fastest = max(heard, key=lambda topic: topic.rate if topic.count > 1 else 0.0)
    text.append("● ", style="red")
    text.append(f"{len(heard)} topics   {count} messages   {1e-6 * size:.1f} MB   ")
    return text.append(f"{fastest.name} {fastest.rate:.0f} a second", style="dim")


def concluded(listener: TopicListener, bag: Bag, names: Iterable[str], why: str) -> Result:
    """Say what was recorded, and what was not."""
    from rich.text import Text

    heard = sorted(listener.heard, key=lambda topic: topic.name)
    shown: list[RenderableType] = [_table(heard)] if heard else []
    silent = sorted({*names, *listener.published} - {topic.name for topic in heard})
    for what, which in (
        ("no message came on", silent),
        ("messages of unknown kinds, not recorded:", [*listener.left_out]),
    ):
        if which:
            shown.append(Text(f"{what} {', '.join(which)}", "dim"))
    lost = [
        f"{topic.lost} of {topic.lost + topic.count} of {topic.name}"
        for topic in heard
        if topic.lost > LOST * (topic.lost + topic.count)
    ]
    if lost:
        text = (
            f"messages were lost on the way: {', '.join(lost)}. What is identified from the rest "
            "is worth less; record on the arm's machine, or fewer topics"
        )
        shown.append(Text(text, "bold yellow"))
    if why:
        shown.append(Text(why, "yellow"))
    if not heard:
        shown.append(
            "nothing was recorded, there is no bag; what is wrong: featherstone-ros doctor"
        )
        return Result(shown, status=1)
    return Result([*shown, f"[dim]{bag.folder}"])


def _table(topics: Iterable[RecordedTopic]) -> Table:
    from featherstone_ros.tools.style import new_table

    table = new_table("Recorded", "topic", "kind", figures=("messages", "a second", "lost"))
    for topic in topics:
        rate = f"{topic.rate:.1f}" if topic.count > 1 else "–"
        lost = f"[bold yellow]{topic.lost}" if topic.lost else "0"
        table.add_row(topic.name, topic.kind.replace("/msg/", "/"), str(topic.count), rate, lost)
    return table


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

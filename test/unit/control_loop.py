"""The loop around the compiled controller, without ROS: hands it messages and tells it the time.

Time, and what else a loop knows, is what the test says: nothing waits, nothing is measured.
"""

from __future__ import annotations

from typing import Any

import cdr_messages
import numpy as np
from compiled import cycle_calls
from control_arm import NAMES, PERIOD, Bench

from featherstone_ros import _control

ROS_TIME = 1_700_000_000_000_000_000  # [ns] whenever a message is taken
COMMANDS, DESIRED, ERROR = range(3)
STATES, WRENCHES = range(2)


class LoopBench(Bench):
    """The bench, whose controller gets bytes and is called when it wants to be.

    Attributes:
        heartbeat: When Python last gave a sign of life [s]; 0: it need not.
        published: What went out: output, time [s], bytes.
        ticks: When the time was told [s].
        ros_time: When it is, by the clock of stamps [ns]; None: always the same.
    """

    ros_time: int | None = None

    def __init__(self, **changes: Any) -> None:
        super().__init__(**changes)
        self.connect()
        self.heartbeat = 0.0
        self.watched: set[int] = set()
        self.published: list[tuple[int, float, bytes]] = []
        self.ticks: list[float] = []
        self.records: list[tuple[int, int, list[float]]] = []

    def connect(self) -> None:
        """Take the compiled controller's cycle."""
        self.cycle = cycle_calls.Calls(self.compiled.capsule, self)

    def snapshot(self) -> _control.SnapshotRequest:
        """What the controller knows now."""
        taken = _control.SnapshotRequest(len(NAMES))
        self.compiled.apply(taken, self.now)
        return taken

    @property
    def silence(self) -> int:
        return round((self.now - self.heartbeat) * 1e9) if self.heartbeat else 0

    def publish(self, output: int, data: bytes) -> None:
        self.published.append((output, self.now, data))
        if output == COMMANDS:
            self.commands.append((self.now, np.frombuffer(data[-16:])))

    @property
    def nanoseconds(self) -> int:
        return round(self.now * 1e9)

    def message(
        self,
        data: bytes,
        sequence: int = -1,
        received: int = 0,
        sent: int = 0,
        to: int = STATES,
        written: int = 0,
    ) -> None:
        """Hand a serialised JointState over, or a WrenchStamped."""
        ros_time = ROS_TIME if self.ros_time is None else self.ros_time
        times = (self.nanoseconds, ros_time, received, sent, written)
        self.cycle.message(to, data, *times, sequence)

    def encoded(self, names: tuple[str, ...] = NAMES) -> bytes:
        """The arm's state as bytes, joints in any order."""
        order = [NAMES.index(name) for name in names]
        rows = [[row[i] for i in order] for row in (self.measured.tolist(), self.arm.qd.tolist())]
        stamp = divmod(round(self.stamp * 1e9), 1_000_000_000)
        return cdr_messages.joint_state(names, *rows, stamp=stamp)

    def state(self) -> None:
        self.message(self.encoded())

    def stop(self) -> None:
        """Ask for what a loop asks for before it ends."""
        self.cycle.stop(self.nanoseconds)

    @property
    def is_safe_to_end(self) -> bool:
        return bool(self.cycle.is_safe_to_end(self.nanoseconds))

    def run(self, duration: float, states: bool = True, timer: bool = True) -> LoopBench:
        """Let time pass by periods; the controller is told of it when it is due."""
        for _ in range(round(duration / PERIOD)):
            self.pass_time()
            self.arm.step(self.applied())
            if states:
                self.state()
            if timer and self.cycle.due <= self.nanoseconds:
                self.ticks.append(self.now)
                self.cycle.tick(self.nanoseconds)
        return self

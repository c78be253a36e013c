"""The loop around the compiled controller, without ROS: hands it messages and tells it the time.

Time, and what else a loop knows, is what the test says: nothing waits, nothing is measured.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint64,
    c_void_p,
)
from typing import Any

import cdr_messages
import numpy as np
from control_arm import NAMES, PERIOD, Bench

STOP_REQUESTED = -1
ROS_TIME = 1_700_000_000_000_000_000  # [ns] whenever a message is taken
COMMANDS, DESIRED, ERROR = range(3)
STATES, WRENCHES = range(2)
Bytes = POINTER(c_uint8)


class IncomingMessage(Structure):
    """As in cython_core/cycle.pxd, and so all below."""

    _fields_ = [
        ("data", ctypes.c_char_p),
        ("size", c_size_t),
        ("received", c_int64),
        ("sent", c_int64),
        ("written", c_int64),
        ("ros_time", c_int64),
        ("sequence", c_int64),
    ]


class Request(Structure):
    _fields_ = [("kind", c_int32), ("answer", c_int32), ("payload", c_void_p)]


class Record(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("index", c_int32),
        ("time", c_int64),
        ("value", c_double * 4),
        ("object", c_uint64),
    ]


class Output(Structure):
    _fields_ = [
        ("loop", c_void_p),
        ("publish", CFUNCTYPE(c_int, c_void_p, c_int, Bytes, c_size_t)),
        ("is_watched", CFUNCTYPE(c_int, c_void_p, c_int)),
        ("is_fed", CFUNCTYPE(c_int, c_void_p, c_int)),
        ("record", CFUNCTYPE(c_int, c_void_p, POINTER(Record))),
        ("ros_time", CFUNCTYPE(c_int64, c_void_p)),
        ("silence", CFUNCTYPE(c_int64, c_void_p)),
    ]


class Cycle(Structure):
    _fields_ = [
        ("self", c_void_p),
        (
            "message",
            CFUNCTYPE(None, c_void_p, c_int, POINTER(IncomingMessage), c_int64, POINTER(Output)),
        ),
        ("request", CFUNCTYPE(None, c_void_p, POINTER(Request), c_int64, POINTER(Output))),
        ("due", CFUNCTYPE(c_int64, c_void_p)),
        ("tick", CFUNCTYPE(None, c_void_p, c_int64, POINTER(Output))),
        ("is_safe_to_end", CFUNCTYPE(c_int, c_void_p, c_int64)),
    ]


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
        kinds = dict(Output._fields_)
        self.output = Output(
            None,
            kinds["publish"](self._publish),
            kinds["is_watched"](lambda loop, output: output in self.watched),
            kinds["is_fed"](lambda loop, topic: True),
            kinds["record"](self._keep),
            kinds["ros_time"](lambda loop: 0),
            kinds["silence"](lambda loop: self._silence()),
        )

    def connect(self) -> None:
        """Take the compiled controller's cycle."""
        api = ctypes.pythonapi.PyCapsule_GetPointer
        api.restype, api.argtypes = c_void_p, [ctypes.py_object, ctypes.c_char_p]
        pointer = api(self.compiled.capsule, b"featherstone_ros.Cycle")
        self.cycle = Cycle.from_address(pointer)

    def _silence(self) -> int:
        return round((self.now - self.heartbeat) * 1e9) if self.heartbeat else 0

    def _publish(self, loop: Any, output: int, data: Any, size: int) -> int:
        self.published.append((output, self.now, bytes(data[:size])))
        if output == COMMANDS:
            self.commands.append((self.now, np.frombuffer(self.published[-1][2][-16:]).copy()))
        return 0

    def _keep(self, loop: Any, record: Any) -> bool:
        it = record.contents
        self.records.append((it.kind, it.index, list(it.value)))
        return True

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
        incoming = IncomingMessage(data, len(data), received, sent, written, ros_time, sequence)
        self.cycle.message(self.cycle.self, to, incoming, self.nanoseconds, self.output)

    def encoded(self, names: tuple[str, ...] = NAMES) -> bytes:
        """The arm's state as bytes, joints in any order."""
        rows = np.array([self.arm.q, self.arm.qd])[:, [NAMES.index(name) for name in names]]
        nanoseconds = round(self.stamp * 1e9)
        stamp = nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000
        return cdr_messages.joint_state(names, *rows, stamp=stamp)

    def state(self) -> None:
        self.message(self.encoded())

    def stop(self) -> None:
        """Ask for what a loop asks for before it ends."""
        request = Request(STOP_REQUESTED, 0, None)
        self.cycle.request(self.cycle.self, request, self.nanoseconds, self.output)

    @property
    def is_safe_to_end(self) -> bool:
        return bool(self.cycle.is_safe_to_end(self.cycle.self, self.nanoseconds))

    def run(self, duration: float, states: bool = True, timer: bool = True) -> LoopBench:
        """Let time pass by periods; the controller is told of it when it is due."""
        for _ in range(round(duration / PERIOD)):
            self.pass_time()
            self.arm.step(self.applied())
            if states:
                self.state()
            if timer and self.cycle.due(self.cycle.self) <= self.nanoseconds:
                self.ticks.append(self.now)
                self.cycle.tick(self.cycle.self, self.nanoseconds, self.output)
        return self

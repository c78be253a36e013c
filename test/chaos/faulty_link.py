"""One direction of traffic with faults: messages come out changed, later or never."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any

import numpy as np
from episodes import Fault

COPIES = 3  # of a duplicated message, besides itself
COPY_DELAY = 0.02  # [s] within which they follow
MILD = ("drop", "delay", "duplicate", "corrupt")  # what "all at once" does to a message


@dataclass(frozen=True)
class Delivery:
    """A message that comes out.

    Attributes:
        payload: None is what nobody can read.
        spoiled: Whether its content is changed.
    """

    payload: Any
    spoiled: bool


@dataclass
class FaultyLink:
    """Hands messages on, as long as there is no fault.

    Attributes:
        random: Draws what happens.
        damage: Corrupts a message.
        shift: Moves its time stamp.
        fault: What happens to messages now; None: nothing.
        fault_end: When that is to end [s].
    """

    random: np.random.Generator
    damage: Callable[[Any, str], Any]
    shift: Callable[[Any, float], Any]
    damages: tuple[str, ...]
    fault: Fault | None = None
    fault_end: float = 0.0
    _waiting: list[tuple[float, int, Delivery]] = field(default_factory=list)
    _order: count = field(default_factory=count)
    _spiked: bool = False

    def begin(self, fault: Fault, end: float) -> None:
        """Let a fault act from now on; ``end`` is when it is expected to be over [s]."""
        self.fault, self.fault_end, self._spiked = fault, end, False

    def end(self) -> None:
        """Hand messages on again; what is held back comes when it is due."""
        self.fault = None

    def push(self, now: float, payload: Any) -> None:
        """Take a message in at time ``now`` [s]."""
        if self.fault is None:
            self._deliver(now, payload)
            return
        what = self.fault.kind.split()[0].rstrip(",")
        if what == "all":
            what = str(self.random.choice(MILD))
        if what == "kill":
            what = "corrupt"
        getattr(self, f"_{what.lower()}")(now, payload)

    def pop(self, now: float) -> list[Delivery]:
        """Return what comes out by ``now`` [s]."""
        out = []
        while self._waiting and self._waiting[0][0] <= now:
            out.append(heapq.heappop(self._waiting)[2])
        return out

    @property
    def next_due(self) -> float:
        """When the next message comes out [s], inf if none is held back."""
        return self._waiting[0][0] if self._waiting else inf

    def _deliver(self, due: float, payload: Any, spoiled: bool = False) -> None:
        heapq.heappush(self._waiting, (due, next(self._order), Delivery(payload, spoiled)))

    def _hit(self) -> bool:
        return self.random.random() < self.fault.probability

    def _drop(self, now: float, payload: Any) -> None:
        if not self._hit():
            self._deliver(now, payload)

    def _freeze(self, now: float, payload: Any) -> None:
        pass

    def _burst(self, now: float, payload: Any) -> None:
        self._deliver(self.fault_end, payload)

    def _delay(self, now: float, payload: Any) -> None:
        self._deliver(now + self.fault.delay, payload)

    def _reorder(self, now: float, payload: Any) -> None:
        self._deliver(now + self.random.uniform(0.0, self.fault.delay), payload)

    def _duplicate(self, now: float, payload: Any) -> None:
        self._deliver(now, payload)
        if self._hit():
            for _ in range(COPIES):
                self._deliver(now + self.random.uniform(0.0, COPY_DELAY), payload)

    def _corrupt(self, now: float, payload: Any) -> None:
        if not self._hit():
            self._deliver(now, payload)
            return
        kind = self.fault.damage or str(self.random.choice(self.damages))
        self._deliver(now, self.damage(payload, kind), spoiled=True)

    _garbage = _corrupt

    def _spike(self, now: float, payload: Any) -> None:
        """Corrupt the first message and lose all that follow."""
        if not self._spiked:
            self._spiked = True
            self._deliver(now, self.damage(payload, self.fault.damage), spoiled=True)

    def _ros(self, now: float, payload: Any) -> None:
        self._deliver(now, self.shift(payload, self.fault.offset))

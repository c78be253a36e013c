"""Messages of one publisher as the middleware numbers and times them, and how two streams match.

The middleware numbers what a node publishes, so that every loss is noticed.
"""

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats

Integers = NDArray[np.int64]


@dataclass
class Stream:
    """The messages of one publisher: when each was published [ns], and its number."""

    _sent: "array[int]" = field(default_factory=lambda: array("q"))
    _number: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, sent: int, number: int) -> None:
        """Note a message."""
        self._sent.append(sent)
        self._number.append(number)

    @property
    def sent(self) -> Integers:
        """(N,) when the messages were published [ns]."""
        return np.array(self._sent, np.int64)

    @property
    def number(self) -> Integers:
        """(N,) their numbers, which rise by one with every message published."""
        return np.array(self._number, np.int64)


def published(stream: Stream) -> int:
    """Return how many messages were published from the first to the last that were seen."""
    number = stream.number
    return int(number[-1] - number[0]) + 1 if len(number) else 0


def silence(stream: Stream) -> float:
    """Return the longest time from one message to the next [s], 0 where no two were seen."""
    together = np.diff(stream.number) == 1
    return 1e-9 * float(np.max(np.diff(stream.sent)[together], initial=0))


def unanswered(states: Stream, commands: Stream) -> int:
    """Return how many more states than commands came from beginning to end.

    If the loop keeps up, every state so far has a command just before the next is published. A
    delay is soon made up, so the least backlog of many states counts.
    """
    backlog = _backlog(states, commands)
    if not len(backlog):
        return published(states)
    edge = _edge(states)
    return int(backlog[-edge:].min() - backlog[:edge].min())


def reactions(states: Stream, commands: Stream) -> Floats:
    """Return the time from a state's publication to that of its command [s], of (N,) states.

    If no state went unanswered, states and commands belong together by their numbers. Else nobody
    can tell, and what is returned is the time from the newest state to each command: too little if
    that answers an older one. Where the newest one was not seen, there is no time.
    """
    if not (len(states.sent) and len(commands.sent)):
        return np.empty(0)
    if unanswered(states, commands):
        newest = np.searchsorted(states.sent, commands.sent) - 1
        followed = np.diff(states.number, append=states.number[-1:] + 1) == 1
        known = (newest >= 0) & followed[newest]
        return _seconds(commands.sent[known] - states.sent[newest[known]])
    answer = states.number + 1 - _backlog(states, commands)[: _edge(states)].min()
    _, mine, its = np.intersect1d(answer, commands.number, return_indices=True)
    return _seconds(commands.sent[its] - states.sent[mine])


def _seconds(times: Integers) -> Floats:
    return 1e-9 * times.astype(np.float64)


def _backlog(states: Stream, commands: Stream) -> Integers:
    """Number of each state minus that of the last command before: constant if the loop keeps up.

    States before the first command are left out.
    """
    newest = np.searchsorted(commands.sent, states.sent) - 1
    after = newest >= 0
    return states.number[after] - commands.number[newest[after]]


def _edge(states: Stream) -> int:
    """How many states at the beginning and at the end are looked at together."""
    return max(1, min(500, len(states.number) // 4))

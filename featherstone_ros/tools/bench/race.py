"""Races between calls from Python: blocks of calls alternate, neighbouring blocks are compared.

On a machine that does other things too, and changes its frequency, only the ratio of two times
taken one right after the other means something, and only as a median over many such pairs. The
clock is the thread's processor time, which stops while another process has the processor; races
between threads go by wall-clock time.
"""

import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from featherstone_ros.arrays import Floats

Arrays = Floats | tuple[Floats, ...]
_KEPT = 100  # results


@dataclass(frozen=True)
class TimedCall:
    """A call from Python, written as a user writes it.

    Attributes:
        statement: Python source of the call.
        names: What the names in ``statement`` and ``setup`` mean.
        units: How many states, steps or links one call treats.
        setup: Python source that is run before every block, untimed.
        clock: Returns the time [ns].
        read: Turns what the call returns into what can be compared with the other calls.
    """

    statement: str
    names: Mapping[str, Any]
    units: int = 1
    setup: str = "pass"
    clock: Callable[[], int] = time.thread_time_ns
    read: Callable[[Any], Arrays] = lambda result: result

    @cached_property
    def timer(self) -> timeit.Timer:
        """Runs blocks of calls with the garbage collector switched off."""
        return timeit.Timer(self.statement, self.setup, self.clock, globals=dict(self.names))

    def outcome(self) -> tuple[Floats, ...]:
        """Call once and return the result as arrays of its own."""
        names = dict(self.names)
        exec(self.setup, names)
        arrays = self.read(eval(self.statement, names))
        return tuple(np.array(a) for a in (arrays if isinstance(arrays, tuple) else (arrays,)))


def keeping(timed_call: TimedCall) -> TimedCall:
    """Return a hundred such calls by a caller who keeps the results, so that each allocates."""
    return replace(
        timed_call,
        statement=f"[{timed_call.statement} for _ in many]",
        names={**timed_call.names, "many": range(_KEPT)},
        units=_KEPT,
        read=lambda results: timed_call.read(results[-1]),
    )


@dataclass(frozen=True)
class RacePlan:
    """How long a race takes.

    Attributes:
        block: About how long one call runs before the next one's turn [s].
        duration: How long the rounds of all calls go on [s].
        rounds: The least number of rounds.
    """

    block: float
    duration: float
    rounds: int


def race(timed_calls: Sequence[TimedCall], plan: RacePlan) -> Floats:
    """Let the calls take turns, in reverse order in every second round.

    Returns:
        (rounds, calls) time of one call, averaged over a block [s].
    """
    calls = [_calls_per_block(timed_call.timer, plan.block) for timed_call in timed_calls]
    turns = list(zip(range(len(timed_calls)), timed_calls, calls, strict=True))
    rounds: list[Floats] = []
    end = time.perf_counter() + plan.duration
    while len(rounds) < plan.rounds or time.perf_counter() < end:
        seconds = np.empty(len(timed_calls))
        for k, timed_call, count in turns:
            seconds[k] = timed_call.timer.timeit(count) * 1e-9 / count
        rounds.append(seconds)
        turns.reverse()
    return np.array(rounds)


def disagreement(ours: TimedCall, theirs: TimedCall) -> float:
    """Return the largest difference between two results, relative to the peer's largest entry."""
    pairs = zip(ours.outcome(), theirs.outcome(), strict=True)
    return max(_relative_difference(a, b) for a, b in pairs)


def _relative_difference(actual: Floats, expected: Floats) -> float:
    if actual.shape != expected.shape:
        return float("inf")
    scale = np.max(np.abs(expected), initial=0.0) or 1.0
    difference = np.max(np.abs(actual - expected), initial=0.0) / scale
    return float(difference) if np.isfinite(difference) else float("inf")


def _calls_per_block(timer: timeit.Timer, block: float) -> int:
    """Double the number of calls until it can be extrapolated to a block."""
    count = 1
    timer.timeit(1)  # the first call fills caches
    while (seconds := timer.timeit(count) * 1e-9) < block / 4:
        count *= 2
    return max(1, round(count * block / seconds))

"""What is done to states and commands of a scene: silence, delay, and what is wrong for good.

Random faults, as of broken drivers, memory and networks, are those of ../chaos/episodes.py.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.simulation.closed_loop import Command, JointState

Lie = Callable[[JointState], JointState | None]
SERVO, COARSE = 2.0 * np.pi / 4096, 0.005  # [rad] of a servo; class 2 of docs/faults.md
CUT_OFF = 20.0  # [Hz] of velocities that are derived from positions
Change = tuple[float, float]  # before an instant, and after it
NEVER: Change = (0.0, 0.0)


def since(begin: float, lie: Lie, end: float = np.inf) -> Lie:
    """Return a lie that is told from a time on [s]."""
    return lambda state: lie(state) if begin <= state.stamp < end else state


def lost_after(begin: float, end: float = np.inf) -> Lie:
    """Lose the states from a time on [s]."""
    return since(begin, lambda state: None, end)


def unreadable_after(begin: float) -> Lie:
    """Lose the positions from a time on [s]; states go on to come."""
    return since(begin, lambda state: state._replace(q=np.nan * state.q))


def shifted_after(begin: float, by: float = 0.3) -> Lie:
    """Shift positions from a time on [s]."""
    return since(begin, lambda state: state._replace(q=state.q + by))


def late(delay: Change, clock: Change, later: float) -> Lie:
    """Let states come late, by a clock that is ahead [s]; both change ``later``."""
    on_their_way: deque[JointState] = deque()

    def measured(state: JointState) -> JointState | None:
        now, came = state.stamp, None
        then = now >= later
        on_their_way.append(state._replace(stamp=now + clock[then]))
        while on_their_way and on_their_way[0].stamp - clock[then] + delay[then] <= now + 1e-9:
            came = on_their_way.popleft()
        return came

    return measured


def in_steps(step: float, velocities: str = "missing", period: float = 0.005) -> Lie:
    """Let positions come in steps; velocities: true, derived from them, or missing."""
    last: list[Floats] = []
    weight = 1.0 - np.exp(-2.0 * np.pi * CUT_OFF * period)

    def lie(state: JointState) -> JointState:
        q = step * np.round(state.q / step)
        before, filtered = last or (q, 0.0 * q)
        filtered = filtered + weight * ((q - before) / period - filtered)
        last[:] = q, filtered
        qd = {"true": state.qd, "derived": filtered, "missing": np.nan * q}[velocities]
        return state._replace(q=q, qd=qd)

    return lie


def frozen(
    begin: float,
    velocity: float | None = 0.0,
    joints: Sequence[int] | slice = slice(None),
    end: float = np.inf,
    seen: Lie = lambda state: state,
) -> Lie:
    """Let joints say the position of a time [s]; velocity: None: they go on to say their own."""
    places: list[Floats] = []

    def lie(state: JointState) -> JointState:
        places.append(state.q)
        q, qd = state.q.copy(), state.qd.copy()
        q[joints] = places[0][joints]
        if velocity is not None:
            qd[joints] = velocity
        return state._replace(q=q, qd=qd)

    told = since(begin, lie, end)
    return lambda state: told(seen(state))


def mirrored(joint: int) -> Lie:
    """Let an encoder have the wrong sign."""

    def lie(state: JointState) -> JointState:
        sign = np.where(np.arange(len(state.q)) == joint, -1.0, 1.0)
        return state._replace(q=sign * state.q, qd=sign * state.qd)

    return lie


def swapped(a: int, b: int) -> Lie:
    """Let two joints have each other's encoders."""

    def lie(state: JointState) -> JointState:
        order = np.arange(len(state.q))
        order[[a, b]] = b, a
        return state._replace(q=state.q[order], qd=state.qd[order])

    return lie


def in_turns(other: Callable) -> Callable:
    """Return what lets every second one of what it is given be another's."""
    count = itertools.count()
    return lambda *heard: other(*heard) if next(count) % 2 else heard[-1]


def late_by(delay: float) -> Callable[[float, Command], Command]:
    """Hold commands back for a time [s], of the last one."""
    sent: deque[tuple[float, Command]] = deque()

    def held_back(at: float, command: Command) -> Command:
        sent.append((at, command))
        while len(sent) > 1 and sent[1][0] <= at - delay:
            sent.popleft()
        return sent[0][1]

    return held_back

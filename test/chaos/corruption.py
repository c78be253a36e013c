"""Corrupted states, commands and wrenches: of broken drivers, memory and networks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featherstone_ros.arrays import Floats

STATE_FRAME, COMMAND_FRAME = 220, 32  # bytes of a message besides its numbers: names, lengths
UNREADABLE = ("wrong length", "joint missing", "joint twice", "empty", "noise", "truncated")
TOO_MUCH = 10.0  # [N] by which a sensor is off


class State(NamedTuple):
    """A joint state."""

    stamp: float
    q: Floats
    qd: Floats
    effort: Floats
    number: int  # of the arm's states; not for the controller


class Corruption:
    """Corrupts at random; None is what no node can read."""

    def __init__(self, random: np.random.Generator) -> None:
        """Draw from ``random``."""
        self._random = random

    def state(self, state: State, damage: str) -> State | None:
        """Return a state with one sort of damage, see ``episodes.STATE_DAMAGE``."""
        if damage in UNREADABLE:
            return None
        random = self._random
        if damage == "stamp zero":
            return state._replace(stamp=0.0)
        if damage == "stamp backward":
            return shifted(state, -(10.0 ** random.uniform(-3.0, 3.0)))
        if damage == "bits flipped":
            flipped = self._flipped(np.concatenate(state[1:4]), STATE_FRAME)
            return None if flipped is None else State(state.stamp, *np.split(flipped, 3), state[4])
        spikes = {"position": (-2.0, 2.0), "velocity": (-1.0, 6.0), "effort": (2.5, 6.0)}
        what, _, spike = damage.partition(" ")
        if not spike:
            what = str(random.choice(["position", "velocity"]))
        field = {"position": "q", "velocity": "qd", "effort": "effort"}[what]
        values = getattr(state, field).copy()
        joint = random.integers(len(values))
        if spike:
            values[joint] += self._sign() * 10.0 ** random.uniform(*spikes[what])
        else:
            values[joint] = self._value(damage)
        return state._replace(**{field: values})

    def command(self, command: Floats, damage: str) -> Floats | None:
        """Return a command with one sort of damage, see ``episodes.COMMAND_DAMAGE``."""
        if damage in UNREADABLE:
            return None
        if damage == "bits flipped":
            return self._flipped(command, COMMAND_FRAME)
        spoiled = command.copy()
        spoiled[self._random.integers(len(command))] = self._value(damage)
        return spoiled

    def wrench(self, wrench: Floats, damage: str) -> Floats:
        """Return a wrench with one sort of damage, see ``episodes.WRENCH_DAMAGE``."""
        if damage in ("zero", "reversed", "scaled"):
            return {"zero": 0.0, "reversed": -1.0, "scaled": 10.0}[damage] * wrench
        spoiled = wrench.copy()
        axis = self._random.integers(6)
        if damage == "spike":
            spoiled[axis] += self._sign() * 10.0 ** self._random.uniform(0.0, 4.0)
        elif damage == "offset":
            spoiled[:3] += TOO_MUCH
        else:
            spoiled[axis] = self._value(damage)
        return spoiled

    def _flipped(self, values: Floats, frame: int) -> Floats | None:
        """Return numbers with bits flipped, None if one hit what else the message holds."""
        body = bytearray(values.tobytes())
        for place in self._random.integers(len(body) + frame, size=self._random.integers(1, 9)):
            if place >= len(body):
                return None
            body[place] ^= 1 << int(self._random.integers(8))
        return np.frombuffer(bytes(body)).copy()

    def _sign(self) -> float:
        return float(self._random.choice([-1.0, 1.0]))

    def _value(self, damage: str) -> float:
        huge = 10.0 ** self._random.choice([3.0, 30.0, 300.0])
        return self._sign() * {"nan": np.nan, "inf": np.inf, "huge": huge}[damage]


def shifted(state: State, offset: float) -> State:
    """Return a state with its stamp moved by ``offset`` [s]."""
    return state._replace(stamp=max(state.stamp + offset, 0.0))

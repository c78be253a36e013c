"""The level and the line of the controller's diagnostics, and what is watched for them.

OK only while the arm follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np

from featherstone_ros._control import CompiledPath, SnapshotRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import RUNNING, SILENT, TEXTS, TRACKING, Phase
from featherstone_ros.model import Model


class DiagnosticLevel(IntEnum):
    """The levels of diagnostic_msgs/DiagnosticStatus; STALE is never a node's own."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Problem(NamedTuple):
    """What the diagnostics say of something that was found."""

    text: str  # with ``what`` was found, and the ``reason`` why the arm is, or was last, held
    level: DiagnosticLevel = DiagnosticLevel.WARN
    phases: frozenset[Phase] = RUNNING  # in which it matters


NO_STATES = frozenset({Phase.WAITING})
UNHEARD = "nobody listens to "  # what reads the diagnostics looks for it
PROBLEMS = {
    "unusable": Problem("refused joint_states: {what}", phases=NO_STATES),
    "duplicates": Problem("{what}"),
    "is_silent": Problem(
        "the control loop does not answer: commands may have stopped", DiagnosticLevel.ERROR
    ),
    "publish_failure": Problem("{what}", DiagnosticLevel.ERROR),
    "standing": Problem("{what}", phases=RUNNING | NO_STATES),
    "unheard": Problem(f"{UNHEARD}{{what}}", phases=frozenset(Phase) - {Phase.INACTIVE}),
    "off_path": Problem("{what}"),
    "lost": Problem("{what}", DiagnosticLevel.ERROR),
    "not_arrived": Problem("{what}"),
    "is_abandoned": Problem("the last motion was abandoned: {reason}", phases=TRACKING),
    "is_late": Problem("commands come too late, see deadline.cycle_time"),
    "is_saturated": Problem("effort limits reached"),
    "drives": Problem("{what}"),
    "is_strained": Problem(
        "the end effector is so far from its desired pose that its spring pulls with max_force or "
        "max_torque"
    ),
    "missing": Problem("{what}"),
    "preflight": Problem(
        "the arm cannot follow the trajectory: {what}", phases=frozenset({Phase.TRAJECTORY})
    ),
    "refusal": Problem("refused {what}"),
}


def summary(phase: Phase, reason: str, found: Mapping[str, object]) -> tuple[DiagnosticLevel, str]:
    """Return the level and the line of the diagnostics."""
    if phase is Phase.WAITING and reason:
        return DiagnosticLevel.ERROR, reason
    told = [(PROBLEMS[name], what) for name, what in found.items() if what]
    told = [(problem, what) for problem, what in told if phase in problem.phases]
    why = reason or "see the log"
    texts = [problem.text.format(what=what, reason=why) for problem, what in told]
    if phase is Phase.WAITING:
        return DiagnosticLevel.WARN, "; ".join(["waiting for joint states", *texts])
    if phase not in RUNNING:
        silent = "no commands, waiting for joint states"
        held = silent if phase is Phase.SILENT else phase_text(phase)
        return DiagnosticLevel.ERROR, "; ".join([f"{reason}: {held}", *texts])
    if texts:
        return max(problem.level for problem, _ in told), "; ".join(texts)
    return DiagnosticLevel.OK, f"running: {following(phase)}"


def phase_text(phase: Phase) -> str:
    """Return the phase in the stable words of the diagnostics, which users match."""
    if phase in RUNNING:
        return "running"
    if phase in (Phase.WAITING, Phase.SILENT):
        return TEXTS[Phase.WAITING]
    return TEXTS[phase if phase in SILENT else Phase.DAMPED]


def following(phase: Phase) -> str:
    """Return what is followed, in the same stable words."""
    return TEXTS[phase if phase in TRACKING else Phase.HOLDING]


WINDOW = 1.0  # [s] over which joint states are counted
SLOWER = 1.5  # times longer than expected


class StatePeriod:
    """The mean time between joint states, by the controller's time: that of their stamps."""

    def __init__(self) -> None:
        """Have counted none."""
        self._begin, self._before = -inf, 0
        self._was_slow, self.text = False, ""

    def update(self, now: float, count: int, expected: float, silence: float) -> str:
        """Count states; two windows in a row have to be slow: a gap is nothing of the kind."""
        elapsed = now - self._begin
        if 0.0 <= elapsed < WINDOW:  # it begins anew where the clock does
            return self.text
        measured = elapsed / max(count - self._before, 1)
        is_slow = self._before > 0 and SLOWER * expected < measured < silence
        self.text = (
            f"joint states come every {1e3 * measured:.2g} ms, gains are chosen and checked for "
            f"gains.period {1e3 * expected:.4g} ms"
        ) * (is_slow and self._was_slow)
        self._begin, self._before, self._was_slow = now, count, is_slow
        return self.text


NOTABLE = 0.25  # share of the path tolerance that causes a warning
USUAL_TOLERANCE = 0.3  # [rad or m] path tolerance used if none is set
STAYS = 5.0  # [s] after which a lasting error is serious
GROWN = 2.0  # growth since the first warning that is serious, too


@dataclass(frozen=True)
class TrackingWarning:
    """A warning about the tracking error; without text there is none."""

    text: str = ""
    is_serious: bool = False


class TrackingWatch:
    """Distinguishes passing errors, as in a fast motion, from lasting or growing ones."""

    def __init__(self, names: Sequence[str], reach: Floats | None = None) -> None:
        """Begin.

        ``reach``: (n,) the joints' range: the error of a joint with a shorter range than the
        tolerance, as a gripper's finger, is compared with that; None: none is shorter.
        """
        self._names = names
        some = np.zeros(len(names)) if reach is None else reach
        self._reach = np.where(some > 0.0, some, np.inf)
        self._since = 0.0
        self._first = 0.0  # error at the first warning; 0: none

    def update(self, now: float, error: Floats | None, tolerance: float) -> TrackingWarning:
        """Return the warning of an error (n,) of the position; None: none is desired."""
        bounds = np.minimum(tolerance or USUAL_TOLERANCE, self._reach)
        worst = 0 if error is None else int(np.argmax(np.abs(error) / bounds))
        size = 0.0 if error is None else float(np.abs(error[worst]))
        tolerance = float(bounds[worst])
        if size <= NOTABLE * tolerance:
            self._first = 0.0
            return TrackingWarning()
        if not self._first:
            self._since, self._first = now, size
        lasting = now - self._since
        text = f"joint {self._names[worst]!r} is {size:.3g} away from where it should be"
        if lasting > 0.0:
            text += f", for {lasting:.0f} s"
        return TrackingWarning(text, lasting > STAYS or size > min(tolerance, GROWN * self._first))


class Takeover(NamedTuple):
    """A trajectory replaces what was asked for before. Times are the controller's [s]."""

    time: float
    end: float  # when the trajectory reaches its last point
    age: float  # time since its stamp [s]; 0 where it has none or starts later
    jump: Floats  # (n,) that the motion blends in [rad or m]; 0 before its first point

    @classmethod
    def of(cls, path: CompiledPath, snapshot: Any, delay: float) -> Takeover:
        """Return that of a path, a delay after a snapshot [s]; negative: it is under way."""
        elapsed = max(-delay, 0.0)
        jump = np.abs(path.sample(elapsed)[0] - snapshot.desired[0]) * (elapsed >= path.times[0])
        return cls(snapshot.time, snapshot.time + delay + path.duration, elapsed, jump)


class StreamWatch:
    """The largest age and jump of takeovers, and the time between one's end and the next."""

    def __init__(self, names: Sequence[str]) -> None:
        """Have seen none; ``names`` are the joints."""
        self._names = names
        self._age, self._gap, self._end = 0.0, 0.0, np.inf
        self._jump: Floats | None = None
        self._is_reported = False

    def note(self, takeover: Takeover) -> None:
        """Take one into account."""
        if self._jump is None or self._is_reported:
            self._age, self._gap, self._jump = 0.0, 0.0, takeover.jump
        self._age = max(self._age, takeover.age)
        self._gap += max(takeover.time - self._end, 0.0)
        self._jump = np.maximum(self._jump, takeover.jump)
        self._end, self._is_reported = takeover.end, False

    def report(self) -> dict[str, str]:
        """Return what the diagnostics tell."""
        if self._jump is None:
            return {}
        self._is_reported = True
        joint = int(np.argmax(self._jump))
        return {
            "age of trajectories on arrival [s]": f"{self._age:.3f}",
            "jump between trajectories [rad or m]": (
                f"{self._jump[joint]:.4f} ({self._names[joint]})"
            ),
            "time without a trajectory [s]": f"{self._gap:.3f}",
        }


class LastMotion(NamedTuple):
    """The motion in the last joint state."""

    text: str  # the joints that moved with their speeds, fastest first; empty: all stood
    age: float  # of the state [s]


def last_motion(snapshot: SnapshotRequest, model: Model, now: float) -> LastMotion:
    """Return the motion in the last complete joint state, also if it was refused."""
    speed = np.abs(snapshot.qd)
    if snapshot.rejection[0]:
        seen = np.abs(snapshot.heard_qd)
        speed = np.where(np.isnan(seen), speed, seen)
    moving = np.flatnonzero(speed > snapshot.standing_speed)
    text = ", ".join(
        f"{model.joint_names[i]} at {speed[i]:.3g} "
        + ("m/s" if model.joint_types[i] == "prismatic" else "rad/s")
        for i in moving[np.argsort(-speed[moving])]
    )
    return LastMotion(text, now - snapshot.heard)

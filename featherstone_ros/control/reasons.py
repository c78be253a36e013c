"""Why the arm is held, a request refused, a message not used: in words, and records for a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featherstone_ros._enumerations import Cause, Event, NoteKind, Phase, Refusal, Rejection
from featherstone_ros.arrays import Floats
from featherstone_ros.control.causes import CAUSES, EVENTS
from featherstone_ros.model import Model
from featherstone_ros.text import plain

Record = tuple[int, int, int, tuple[float, float, float, float], int]

MAX_NAMED = 3  # names in a line
LATE = 10.0  # [s] delay of a trajectory's start that causes a warning
SLACK = 0.5  # [rad] by which a real position may exceed a limit

REJECTIONS = {
    Rejection.ACCEPTED: "",
    Rejection.NOT_FINITE: "not finite",
    Rejection.NOT_NEWER: "stamp not newer than the last",
    Rejection.JUMPED: "position out of reach",
    Rejection.TOO_FAST: "velocity out of reach",
    Rejection.REPEATED: "position stays the same to the bit while the joint moves",
    Rejection.INCONSISTENT: "velocities are inconsistent with the positions",
    Rejection.LATE: "on the way for too long",
}

# For the joint, what was found and its bound.
REFUSALS = {
    Refusal.GRANTED: "",
    Refusal.NOT_RUNNING: "the controller is not running: {phase}",
    Refusal.FOLLOWS_NOTHING: "mode gravity_compensation follows nothing",
    Refusal.ENDED: "ends {found:.3f} s in the past",
    Refusal.STARTS_TOO_FAR: "starts too far from the arm: joint {joint!r} is {found:.4g} away, at "
    "most {bound:.4g} can be reached in time",
    Refusal.SET_POINT_TOO_FAR: "set-point too far away: joint {joint!r} is {found:.4g} from the "
    "desired position, at most {bound:.4g} (start_tolerance)",
    Refusal.IN_FAULT: "the arm is held after a fault ({reason}): ask it to hold first (~/hold)",
    Refusal.GRAVITY_IN_USE: "hardware_adds_gravity cannot change while commands are published: "
    "gravity would act twice or not at all for a moment; deactivate first",
    Refusal.FOLLOWS_POSES: "the mode follows poses of the end effector (~/target_pose), not "
    "motions of the joints",
    Refusal.FOLLOWS_NO_POSES: "targets of the end effector are followed in modes "
    "cartesian_impedance and admittance only",
    Refusal.NO_TIP: "modes cartesian_impedance and admittance need a tip",
    Refusal.TOO_LITTLE_EFFORT: "joint {joint!r} would need {found:.4g} to be held and braked where "
    "the arm is now, or for what the law asks, expected less than its effort limit of {bound:.4g} "
    "(the least of description, effort_limit and drive, times effort_scale)",
    Refusal.TIMEOUT_TOO_SHORT: "state_timeout is {found:.4g} s, expected more than the "
    "{bound:.4g} s that passed from one joint state to the next",
    Refusal.NO_WRENCH: "mode admittance follows nothing while no wrench comes on ~/wrench",
    Refusal.NOT_STILL: "the sensor is zeroed only while the arm is held still and is asked for "
    "nothing, not while it moves or presses: {phase}",
    Refusal.NO_READINGS: "the sensor is zeroed by its readings of the last {bound:g} s, but none, "
    "or fewer, have come on ~/wrench",
    Refusal.FORCE_SCATTERS: "the force on ~/wrench scatters by {found:.3g} N, expected at most "
    "{bound:.3g} N: the sensor is zeroed while nothing touches the arm",
    Refusal.MOMENT_SCATTERS: "the moment on ~/wrench scatters by {found:.3g} N m, expected at most "
    "{bound:.3g} N m: the sensor is zeroed while nothing touches the arm",
}


class Reason(NamedTuple):
    """Why the arm is held, a request is refused, or a state is not used."""

    code: Cause | Refusal | Rejection
    joint: int = -1  # index of the joint, -1 for none
    found: float = 0.0
    bound: float = 0.0  # what it was compared with

    @classmethod
    def of(cls, kind: type[Cause | Rejection], record: Record) -> Reason:
        """Return that of a record of a cause or a rejection."""
        _, joint, _, (code, found, bound, _), _ = record
        return cls(kind(int(code)), joint, found, bound)

    def text(self, names: Sequence[str], phase: str = "", reason: str = "") -> str:
        """Return it in words; ``phase``, ``reason``: in which, and why, the arm is held."""
        joint = names[self.joint] if 0 <= self.joint < len(names) else "?"
        if isinstance(self.code, Rejection):
            text = REJECTIONS[self.code]
            bound = ", bound {bound:.4g}" if self.code is not Rejection.NOT_FINITE else ""
            text += f": joint {{joint!r}}, {{found:.4g}}{bound}" if text and self.joint >= 0 else ""
        else:
            text = CAUSES[self.code].text if isinstance(self.code, Cause) else REFUSALS[self.code]
        return text.format(
            joint=joint, found=self.found, bound=self.bound, phase=phase, reason=reason
        )


def change_text(event: Event, before: Phase, after: Phase, reason: str) -> str | None:
    """Return the text about a change of phase, None for an ordinary one."""
    if event is Event.STATES_STOPPED:
        is_open_loop = after in (Phase.OPEN_LOOP, Phase.LEAVING_OPEN_LOOP)
        held = "braking on predicted states" if is_open_loop else "holding"
        return f"{reason}: {held}; the motion is abandoned"
    if event is Event.ABANDON:
        return f"{reason}: the motion is abandoned, holding where the arm is now"
    if event in (Event.FALL_BACK, Event.FAIL):
        return f"{reason}: gravity hold; the motion is abandoned"
    if before in (Phase.OPEN_LOOP, Phase.DAMPED) and after is Phase.HOLDING:
        return "the gravity hold is over: holding where the arm is now"
    if event is Event.GIVE_UP and after is Phase.SILENT:
        return "no commands until the next usable joint state"
    return None


# Events whose cause follows in another record, perhaps a little later.
EXPLAINED = frozenset(EVENTS.values())


class RecordFormatter:
    """Turns the records of one controller into lines for a log."""

    def __init__(self, names: Sequence[str]) -> None:
        """Begin; ``names`` are the joints."""
        self._names = names
        self._change: tuple[Event, Phase, Phase] | None = None

    def lines(self, records: Sequence[Record]) -> list[str]:
        """Return the lines to log; the record of a cause follows that of its change."""
        said: list[str] = []
        for record in records:
            kind, index, _, values, _ = record
            if kind == NoteKind.PHASE:
                said += self._finish("")
                self._change = Event(index), Phase(int(values[0])), Phase(int(values[1]))
            elif kind == NoteKind.CAUSE:
                reason = Reason.of(Cause, record).text(self._names)
                is_of_change = self._change is not None and self._change[0] in EXPLAINED
                said += self._finish(reason) if is_of_change else [*self._finish(""), reason]
            elif kind == NoteKind.OUTSIDE:
                said.append(outside_text(self._names[index], *values[:3]))
        if self._change and self._change[0] not in EXPLAINED:
            said += self._finish("")
        return said

    def _finish(self, reason: str) -> list[str]:
        change, self._change = self._change, None
        text = change_text(*change, reason) if change else None
        return [text] if text else []


def outside_text(joint: str, position: float, lower: float, upper: float) -> str:
    """Return the text for a joint outside its limits."""
    return (
        f"joint {joint!r} stands at {position:.4g}, outside its limits [{lower:g}, {upper:g}]: "
        "is the joint state real?"
    )


def unusable_state(names: Sequence[str], position: Sequence[float], model: Model) -> str:
    """Say in one line why joint states are refused, with one message as an example."""
    wrong = wrong_names(names, model.joint_names)
    if wrong or len(position) != len(names):
        return wrong
    order = [list(names).index(name) for name in model.joint_names]
    return out_of_range(np.asarray(position, float)[order], model)


def wrong_names(names: Sequence[str], expected: Sequence[str]) -> str:
    """Say what is wrong with the names of a message, empty for nothing."""
    missing = [name for name in expected if name not in names]
    if not missing:
        return ""
    if not len(names):
        return f"no joint is named, expected {name_few(expected)}"
    seen = f"the joints are {name_few(names)}, expected {name_few(expected)}"
    if prefix := prefix_of(names, expected):
        return f"{seen}: the prefix {plain(prefix, 40)!r} is too much"
    if prefix := prefix_of(expected, names):
        return f"{seen}: the prefix {plain(prefix, 40)!r} is missing"
    if len(missing) == len(expected):
        return f"{seen}: none of them"
    return f"{name_few(missing)} missing; {seen}"


def prefix_of(names: Sequence[str], bare: Sequence[str]) -> str:
    """Return the prefix that all bare names have in the other list, empty for none."""
    prefixes = {next((n.removesuffix(b) for n in names if b and n.endswith(b)), "") for b in bare}
    return prefixes.pop() if len(prefixes) == 1 else ""


def out_of_range(q: Floats, model: Model) -> str:
    """Name a position outside the joint's range, and say whether it looks like degrees."""
    outside = (q < model.lower - SLACK) | (q > model.upper + SLACK)
    turning = np.array([kind in ("revolute", "continuous") for kind in model.joint_types])
    if not outside.any():
        return ""
    index = int(np.argmax(outside))
    text = (
        f"position of {model.joint_names[index]} is {q[index]:g}, expected "
        f"{model.lower[index]:g} to {model.upper[index]:g}"
    )
    radians = np.where(turning, np.radians(q), q)
    fits = (radians >= model.lower - SLACK) & (radians <= model.upper + SLACK)
    return f"{text}: degrees?" if fits.all() and turning[index] else text


def late_start(delay: float, clock: float) -> str:
    """Return a warning if a trajectory begins much later than the clock says, or empty."""
    if not delay > LATE:
        return ""
    return (
        f"the trajectory begins in {delay:.0f} s: its stamp is {clock + delay:.3f} and the time is "
        f"{clock:.3f}; stamp 0 begins at once"
    )


def name_few(names: Sequence[str]) -> str:
    """Return the first few names for a message."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(plain(name, 40) for name in names[:MAX_NAMED]) + more

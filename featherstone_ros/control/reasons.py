"""Records of the compiled controller (cython_core/control) as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from featherstone_ros._enumerations import Cause, Event, NoteKind, Phase, Refusal
from featherstone_ros.control.causes import CAUSES, EVENTS
from featherstone_ros.message_faults import message_fault

Record = tuple[int, int, int, tuple[float, float, float, float], int]

# In the order of Rejection.
REJECTIONS = (
    "",
    "not finite",
    "stamp not newer than the last",
    "position out of reach",
    "velocity out of reach",
    "position stays the same to the bit while the joint moves",
    "velocities are inconsistent with the positions",
    "on the way for too long",
)

NOT_FINITE = 1  # of REJECTIONS

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
    """Why the arm is held, or a state or message is refused, with its figures.

    Attributes:
        code: Number of the cause, rejection or refusal.
        joint: Index of the joint, -1 for none.
        found: What was found.
        bound: What it was compared with.
    """

    code: int
    joint: int
    found: float
    bound: float


def joint_name(names: Sequence[str], index: int) -> str:
    """Return the name of a joint, a question mark for none."""
    return names[index] if 0 <= index < len(names) else "?"


def cause_text(cause: Reason, names: Sequence[str]) -> str:
    """Return why the arm is held, or its motion abandoned."""
    joint = joint_name(names, cause.joint)
    text = CAUSES[Cause(cause.code)].text
    return text.format(joint=joint, found=cause.found, bound=cause.bound)


def rejection_text(rejection: Reason, names: Sequence[str]) -> str:
    """Return why a state is refused."""
    text = REJECTIONS[rejection.code]
    if rejection.joint < 0:
        return text
    joint = joint_name(names, rejection.joint)
    bound = "" if rejection.code == NOT_FINITE else f", bound {rejection.bound:.4g}"
    return f"{text}: joint {joint!r}, {rejection.found:.4g}{bound}"


def refusal_text(refusal: Reason, names: Sequence[str], phase: str, reason: str) -> str:
    """Return why a request is refused in a phase; ``reason`` says why the arm is held."""
    joint = joint_name(names, refusal.joint)
    return REFUSALS[Refusal(refusal.code)].format(
        joint=joint, found=refusal.found, bound=refusal.bound, phase=phase, reason=reason
    )


def message_text(index: int, values: Sequence[float], names: Sequence[str]) -> str:
    """Return why a message is refused: fault, field, what it claims and what was expected."""
    fault, field, claimed, expected = map(int, values)
    return message_fault(fault, field, claimed, expected, joint_name(names, index))


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
        """Begin.

        Args:
            names: Its joints.
        """
        self._names = names
        self._change: tuple[Event, Phase, Phase] | None = None

    def lines(self, records: Sequence[Record]) -> list[str]:
        """Return the lines to log; the record of a cause follows that of its change."""
        said: list[str] = []
        for kind, index, _, values, _ in records:
            if kind == NoteKind.PHASE:
                said += self._finish("")
                self._change = Event(index), Phase(int(values[0])), Phase(int(values[1]))
            elif kind == NoteKind.CAUSE:
                reason = cause_text(Reason(int(values[0]), index, *values[1:3]), self._names)
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

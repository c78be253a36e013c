"""Records of the compiled controller (cython_core/control) as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from featherstone_ros._enumerations import Event, NoteKind, Phase
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
    "velocities contradict the positions",
    "on the way for too long",
)

NOT_FINITE = 1  # of REJECTIONS

# In the order of Cause, for the joint, what was found and its bound.
CAUSES = (
    "",
    "deactivated",
    "no usable joint state for {found:.3f} s (state_timeout {bound:g} s)",
    "no joint state for {found:.3f} s (state_timeout {bound:g} s)",
    "joint {joint!r} is {found:.3g} away from where it should be (path_tolerance {bound:g})",
    "the commanded effort is not finite",
    "more than {found:g} commands within a second took longer than deadline.cycle_time {bound:g} s",
    "joint {joint!r} moves at {found:.3g}, faster than {bound:.3g}",
    "joint {joint!r} oscillates: {found:.3g} to and fro, bound {bound:.3g}",
    "{found:g} motions within {bound:g} s were off their path, the last at joint {joint!r}",
    "no sign of life from the executor for {found:.1f} s (executor_timeout {bound:g} s)",
    "joint {joint!r} needs {found:.3g} to be held, its effort limit is {bound:.3g}",
    "unexpected exception",
    "joint {joint!r} is {found:.3g} faster or slower than it should be (path tolerance {bound:g})",
    "{found:g} trajectories in a row were off their path, the last at joint {joint!r} by more than "
    "{bound:g}: the arm does not obey",
    "joint {joint!r} stands at {found:.4g}, outside its limits (the nearest is {bound:.4g}): the "
    "arm is not taken over there; is the joint state real?",
    "joint {joint!r} does not move at all although its commands must have moved it by {found:.3g} "
    "(bound {bound:g}): its brakes may be on, or something holds it",
    "no usable joint state: the position of joint {joint!r} stays the same to the bit although "
    "its commands must have moved it by {found:.3g} (bound {bound:g}): its brakes may be on, or "
    "its encoder is frozen",
    "no usable joint state: the position of joint {joint!r} stays the same to the bit although the "
    "joint moves",
    "no usable joint state: joint {joint!r} had no usable position for {found:.3f} s "
    "(state_timeout {bound:g} s)",
    "the measured effort of joint {joint!r} is {found:.3g} where gravity asks for {bound:.3g}: one "
    "of them is wrong, or something else holds the arm; not taken over (parameter "
    "start_from_measured_effort false ignores efforts)",
    "the joint states jumped and stay elsewhere",
    "velocities contradict the positions: joint {joint!r}; their sign, unit or scale may be wrong, "
    "positions alone are used",
    "no wrench on ~/wrench for {found:.3f} s (wrench_timeout {bound:g} s)",
    "the hand loses its contact and meets it again, the last time with {found:.3g} N (max_force "
    "{bound:g}): it is stiffer than contact_stiffness, or wrench and drives come later than "
    "contact_delay says",
)

# In the order of Refusal, for the joint, what was found and its bound.
REFUSALS = (
    "",
    "the controller is not running: {phase}",
    "mode gravity_compensation follows nothing",
    "ends {found:.3f} s in the past",
    "starts too far from the arm: joint {joint!r} is {found:.4g} away, at most {bound:.4g} can be "
    "reached in time",
    "set-point too far away: joint {joint!r} is {found:.4g} from the desired position, at most "
    "{bound:.4g} (start_tolerance)",
    "the arm is held after a fault ({reason}): ask it to hold first (~/hold)",
    "hardware_adds_gravity cannot change while commands are published: gravity would act twice or "
    "not at all for a moment; deactivate first",
    "the mode follows poses of the hand (~/target_pose), not motions of the joints",
    "targets of the hand are followed in modes cartesian_impedance and admittance only",
    "modes cartesian_impedance and admittance need a tip",
    "joint {joint!r} would need {found:.4g} to be held and braked where the arm is now, or for "
    "what the law asks, expected less than its effort limit of {bound:.4g} (effort_limit times "
    "effort_scale)",
    "mode admittance follows nothing while no wrench comes on ~/wrench",
)


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
    return CAUSES[cause.code].format(joint=joint, found=cause.found, bound=cause.bound)


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
    return REFUSALS[refusal.code].format(
        joint=joint, found=refusal.found, bound=refusal.bound, phase=phase, reason=reason
    )


def message_text(index: int, values: Sequence[float], names: Sequence[str]) -> str:
    """Return why a message is refused: fault, field, what it claims and what was expected."""
    fault, field, claimed, expected = map(int, values)
    return message_fault(fault, field, claimed, expected, joint_name(names, index))


def change_text(event: Event, before: Phase, after: Phase, reason: str) -> str | None:
    """Return the text about a change of phase, None for an ordinary one."""
    if event is Event.STATES_STOPPED:
        is_blind = after in (Phase.BLIND, Phase.LEAVING_BLIND)
        held = "braking on predicted states" if is_blind else "holding"
        return f"{reason}: {held}; the motion is abandoned"
    if event is Event.ABANDON:
        return f"{reason}: the motion is abandoned, holding where the arm is now"
    if event in (Event.FALL_BACK, Event.FAIL):
        return f"{reason}: gravity hold; the motion is abandoned"
    if before in (Phase.BLIND, Phase.DAMPED) and after is Phase.HOLDING:
        return "the gravity hold is over: holding where the arm is now"
    if event is Event.GIVE_UP and after is Phase.SILENT:
        return "no commands until the next usable joint state"
    return None


# Events whose cause follows in another record, perhaps a little later.
EXPLAINED = (Event.STATES_STOPPED, Event.ABANDON, Event.FALL_BACK, Event.FAIL, Event.DEACTIVATE)


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

"""Why the arm is held, and what the controller does then: a row for each cause.

The compiled controller reads the actions here (``respond`` in
cython_core/control/phase_changes.pxd); of several causes at once the worst action is taken.
docs/diagnostics.md says what to do about each.
"""

from __future__ import annotations

from typing import NamedTuple

from featherstone_ros._enumerations import Action as Action
from featherstone_ros._enumerations import Cause as Cause
from featherstone_ros._enumerations import Event

C, A = Cause, Action

EVENTS = {  # of an action
    A.LEAVE: Event.DEACTIVATE,
    A.ABANDON_MOTION: Event.ABANDON,
    A.STOP_OPEN_LOOP: Event.STATES_STOPPED,
    A.HOLD_BY_GRAVITY: Event.FALL_BACK,
    A.DECLARE_FAULT: Event.FAIL,
}


class CauseRow(NamedTuple):
    """What is known of a cause."""

    # those of docs/faults.md, empty if it is no fault of joint states or commands
    fault_classes: tuple[int, ...]
    action: Action  # what the controller does; it may go on to a fault, see OFTEN and IN_A_ROW
    text: str  # for the joint, what was found, and the bound that it was compared with


CAUSES = {
    C.NO_CAUSE: CauseRow((), A.NO_ACTION, ""),
    C.DEACTIVATED: CauseRow((), A.LEAVE, "deactivated"),
    C.NO_STATES: CauseRow(
        (1,),
        A.STOP_OPEN_LOOP,
        "no usable joint state for {found:.3f} s (state_timeout {bound:g} s)",
    ),
    C.GAP: CauseRow(
        (1,), A.ABANDON_MOTION, "no joint state for {found:.3f} s (state_timeout {bound:g} s)"
    ),
    C.OFF_PATH: CauseRow(
        (1, 4),
        A.ABANDON_MOTION,
        "joint {joint!r} is {found:.3g} away from where it should be (path_tolerance {bound:g})",
    ),
    C.NOT_FINITE: CauseRow((), A.HOLD_BY_GRAVITY, "the commanded effort is not finite"),
    C.LATE_COMMANDS: CauseRow(
        (1,),
        A.HOLD_BY_GRAVITY,
        "more than {found:g} commands within a second took longer than deadline.cycle_time "
        "{bound:g} s",
    ),
    C.TOO_FAST: CauseRow(
        (4,), A.DECLARE_FAULT, "joint {joint!r} moves at {found:.3g}, faster than {bound:.3g}"
    ),
    C.OSCILLATION: CauseRow(
        (2, 4),
        A.DECLARE_FAULT,
        "joint {joint!r} oscillates: {found:.3g} to and fro, bound {bound:.3g}",
    ),
    C.OFTEN: CauseRow(
        (4,),
        A.DECLARE_FAULT,
        "{found:g} motions within {bound:g} s were off their path, the last at joint {joint!r}",
    ),
    C.EXECUTOR: CauseRow(
        (1,),
        A.ABANDON_MOTION,
        "no sign of life from the executor for {found:.1f} s (executor_timeout {bound:g} s)",
    ),
    C.CANNOT_HOLD: CauseRow(
        (),
        A.NO_ACTION,
        "joint {joint!r} needs {found:.3g} to be held, its effort limit is {bound:.3g}",
    ),
    C.FAILURE: CauseRow((), A.HOLD_BY_GRAVITY, "unexpected exception"),
    C.OFF_SPEED: CauseRow(
        (1, 4),
        A.ABANDON_MOTION,
        "joint {joint!r} is {found:.3g} faster or slower than it should be (path tolerance "
        "{bound:g})",
    ),
    C.IN_A_ROW: CauseRow(
        (4,),
        A.DECLARE_FAULT,
        "{found:g} trajectories in a row were off their path, the last at joint {joint!r} by more "
        "than {bound:g}: the arm does not obey",
    ),
    C.OUTSIDE: CauseRow(
        (4,),
        A.NO_ACTION,
        "joint {joint!r} stands at {found:.4g}, outside its limits (the nearest is {bound:.4g}): "
        "the arm is not taken over there; is the joint state real?",
    ),
    C.HELD: CauseRow(
        (),
        A.ABANDON_MOTION,
        "joint {joint!r} does not move at all although its commands must have moved it by "
        "{found:.3g} (bound {bound:g}): its brakes may be on, or something holds it",
    ),
    C.STUCK: CauseRow(
        (4,),
        A.STOP_OPEN_LOOP,
        "no usable joint state: the position of joint {joint!r} stays the same to the bit although "
        "its commands must have moved it by {found:.3g} (bound {bound:g}): its brakes may be on, "
        "or its encoder is frozen",
    ),
    C.FROZEN: CauseRow(
        (4,),
        A.STOP_OPEN_LOOP,
        "no usable joint state: the position of joint {joint!r} stays the same to the bit although "
        "the joint moves",
    ),
    C.NO_POSITION: CauseRow(
        (1, 3, 4),
        A.STOP_OPEN_LOOP,
        "no usable joint state: joint {joint!r} had no usable position for {found:.3f} s "
        "(state_timeout {bound:g} s)",
    ),
    C.DISPUTED: CauseRow(
        (4,),
        A.NO_ACTION,
        "the measured effort of joint {joint!r} is {found:.3g} where gravity asks for {bound:.3g}: "
        "one of them is wrong, or something else holds the arm; not taken over (parameter "
        "start_from_measured_effort false ignores efforts)",
    ),
    C.POSITION_JUMP: CauseRow(
        (1, 4), A.ABANDON_MOTION, "the joint states jumped to other positions and stay there"
    ),
    C.INCONSISTENT_VELOCITY: CauseRow(
        (4,),
        A.ABANDON_MOTION,
        "velocities are inconsistent with the positions: joint {joint!r}; their sign, unit or "
        "scale may be wrong, positions alone are used",
    ),
    C.NO_WRENCH: CauseRow(
        (1,),
        A.ABANDON_MOTION,
        "no wrench on ~/wrench for {found:.3f} s (wrench_timeout {bound:g} s)",
    ),
    C.CONTACT_INSTABILITY: CauseRow(
        (2, 4),
        A.DECLARE_FAULT,
        "the end effector loses its contact and meets it again, the last time with {found:.3g} N "
        "(max_force {bound:g}): it is stiffer than contact_stiffness, or wrench and drives come "
        "later than contact_delay says",
    ),
}

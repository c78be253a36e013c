"""The level and the line of the controller's diagnostics: OK only while the arm follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from featherstone_ros.control.phases import RUNNING, SILENT, TEXTS, TRACKING, Phase
from featherstone_ros.control.tracking_error import TrackingWarning

NOTHING = TrackingWarning()


class DiagnosticLevel(IntEnum):
    """The levels of diagnostic_msgs/DiagnosticStatus; STALE is never a node's own."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Findings:
    """What the node knows about an active controller.

    Attributes:
        duplicates: Which topics have too many publishers.
        unheard: Topic of the commands, if nobody listens to it.
        answers: Whether the loop answers.
        publish_failure: On which topic it cannot publish, in words.
        off_path: TrackingWarning about the tracking error.
        not_arrived: Which joints are not where they were asked to go, and how far away they are.
        is_abandoned: Whether the last motion was abandoned and the arm is not where it was to end.
        is_late: Whether commands come too late.
        is_saturated: Whether a joint would need more than its effort limit.
        drives: What limits of the drives' own bind.
        is_strained: Whether the end effector's spring pulls with its largest force or torque.
        standing: What is wrong with simulated time.
        missing: What the mode needs and does not get.
        preflight: What is wrong with the last accepted trajectory, if it exceeds limits.
        refusal: Why a trajectory, set-point or target was refused, if that is not long ago.
        unusable: Why no joint states can be read from the messages that come; matters while the
            controller waits for them.
    """

    duplicates: Sequence[str] = ()
    unheard: str = ""
    answers: bool = True
    publish_failure: str = ""
    off_path: TrackingWarning = NOTHING
    not_arrived: str = ""
    is_abandoned: bool = False
    is_late: bool = False
    is_saturated: bool = False
    drives: str = ""
    is_strained: bool = False
    standing: str = ""
    missing: str = ""
    preflight: str = ""
    refusal: str = ""
    unusable: str = ""


def summary(phase: Phase, reason: str, found: Findings) -> tuple[DiagnosticLevel, str]:
    """Return the level and the line of the diagnostics.

    Args:
        phase: The controller's phase.
        reason: Why the arm is held, or is not taken over; empty if there is no reason.
        found: What else is known; it matters while the selected law commands the arm.
    """
    if phase is Phase.SILENT:
        return DiagnosticLevel.ERROR, f"{reason}: no commands, waiting for joint states"
    if phase is Phase.WAITING:
        if reason:
            return DiagnosticLevel.ERROR, reason
        refused = f"; refused joint_states: {found.unusable}" if found.unusable else ""
        standing = f"; {found.standing}" if found.standing else ""
        unheard = f"; nobody listens to {found.unheard}" if found.unheard else ""
        return DiagnosticLevel.WARN, f"waiting for joint states{refused}{standing}{unheard}"
    if phase not in RUNNING:
        return DiagnosticLevel.ERROR, f"{reason}: {phase_text(phase)}"
    problems = [*found.duplicates]
    if not found.answers:
        problems.append("the control loop does not answer: commands may have stopped")
    if found.publish_failure:
        problems.append(found.publish_failure)
    if found.standing:
        problems.append(found.standing)
    if found.unheard:
        problems.append(f"nobody listens to {found.unheard}")
    if found.off_path.text:
        problems.append(found.off_path.text)
    if found.not_arrived:
        problems.append(found.not_arrived)
    if found.is_abandoned and phase in TRACKING:
        problems.append(f"the last motion was abandoned: {reason}")
    if found.is_late:
        problems.append("commands come too late, see deadline.cycle_time")
    if found.is_saturated:
        problems.append("effort limits reached")
    if found.drives:
        problems.append(found.drives)
    if found.is_strained:
        problems.append(
            "the end effector is so far from its desired pose that its spring pulls with "
            "max_force or max_torque"
        )
    if found.missing:
        problems.append(found.missing)
    if found.preflight and phase is Phase.TRAJECTORY:
        problems.append(f"the arm cannot follow the trajectory: {found.preflight}")
    if found.refusal:
        problems.append(f"refused {found.refusal}")
    if problems:
        is_serious = found.off_path.is_serious or not found.answers or bool(found.publish_failure)
        return DiagnosticLevel.ERROR if is_serious else DiagnosticLevel.WARN, "; ".join(problems)
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

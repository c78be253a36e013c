"""The level and the line of the controller's diagnostics: OK only while the arm follows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from featherstone_ros.control.phases import RUNNING, SILENT, TEXTS, TRACKING, Phase


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
PROBLEMS = {
    "unusable": Problem("refused joint_states: {what}", phases=NO_STATES),
    "duplicates": Problem("{what}"),
    "is_silent": Problem(
        "the control loop does not answer: commands may have stopped", DiagnosticLevel.ERROR
    ),
    "publish_failure": Problem("{what}", DiagnosticLevel.ERROR),
    "standing": Problem("{what}", phases=RUNNING | NO_STATES),
    "unheard": Problem("nobody listens to {what}", phases=RUNNING | NO_STATES),
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
    """Return the level and the line of the diagnostics.

    ``reason``: why the arm is held or not taken over, or empty; ``found``: what was found, by the
    name of its row in ``PROBLEMS``.
    """
    if phase is Phase.SILENT:
        return DiagnosticLevel.ERROR, f"{reason}: no commands, waiting for joint states"
    if phase is Phase.WAITING and reason:
        return DiagnosticLevel.ERROR, reason
    if phase not in RUNNING | NO_STATES:
        return DiagnosticLevel.ERROR, f"{reason}: {phase_text(phase)}"
    told = [(PROBLEMS[name], what) for name, what in found.items() if what]
    told = [(problem, what) for problem, what in told if phase in problem.phases]
    texts = [problem.text.format(what=what, reason=reason) for problem, what in told]
    if phase is Phase.WAITING:
        return DiagnosticLevel.WARN, "; ".join(["waiting for joint states", *texts])
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

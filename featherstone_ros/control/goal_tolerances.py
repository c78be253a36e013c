"""A goal of FollowJointTrajectory: its tolerances and its outcome.

The loop follows the trajectory and watches its path tolerances by itself, in every cycle. The rest
is decided here at intervals, from snapshots of the loop: whether the motion is still the goal's,
whether it has arrived within the goal tolerances, and what to answer.
docs/compared.md compares all this with that controller of ros2_controllers.
``arrival_tolerance`` is where the diagnostics count an arm as arrived; a goal tolerance that is set
comes first there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros._control import SnapshotRequest
from featherstone_ros._enumerations import Cause, Feedback
from featherstone_ros.arrays import Floats
from featherstone_ros.control.gains import UNCERTAIN
from featherstone_ros.control.phases import TEXTS, Phase
from featherstone_ros.control.settings import Choice, ControllerSettings
from featherstone_ros.control.trajectory import (
    JointsError,
    Point,
    TrajectoryError,
    TrajectoryOverError,
)

ERASED = -1.0  # a tolerance that removes a default, as in control_msgs/JointTolerance
ERASED_SLACK = float(np.finfo(np.float32).eps)
# Beyond this, which encoders and the model leave anyhow, comes what feedback leaves where friction
# is wrong by ``UNCERTAIN``; never more than what can be seen.
MIN_ERROR = {False: 0.003, True: 0.001}  # [rad] of joints that turn, [m] of those that slide
MAX_ERROR = {False: 0.010, True: 0.003}
NOT_FOLLOWED = (Cause.OFF_PATH, Cause.OFTEN, Cause.OFF_SPEED, Cause.IN_A_ROW)
# joint_trajectory_controller would go on and compare with the last state: off its path.
UNSEEN = (Cause.NO_STATES, Cause.GAP, Cause.FROZEN, Cause.NO_POSITION, Cause.POSITION_JUMP)


class ErrorCode(IntEnum):
    """Of a result, as control_msgs/action/FollowJointTrajectory numbers them."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalStatus(Choice):
    """State of a goal."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


@dataclass(frozen=True)
class GoalVerdict:
    """State of a goal, with the message for its client."""

    status: GoalStatus
    code: ErrorCode = ErrorCode.SUCCESSFUL
    text: str = ""


RUNNING = GoalVerdict(GoalStatus.RUNNING)


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of a goal; 0 is no bound."""

    path: Floats  # (2, n) position [rad or m] and velocity [rad/s or m/s] on the way
    goal: Floats  # (2, n) the same at the end
    goal_time: float = 0.0  # time allowed after the end of the motion to reach the goal [s]


def goal_tolerances(
    defaults: Tolerances,
    names: Sequence[str],
    path: Iterable[Any],
    goal: Iterable[Any],
    goal_time: float,
) -> Tolerances:
    """Return a goal's own tolerances, and the defaults where those (JointTolerance) are 0."""
    return Tolerances(
        _overridden(defaults.path, names, path, "path_tolerance"),
        _overridden(defaults.goal, names, goal, "goal_tolerance"),
        _chosen(goal_time, defaults.goal_time, "goal_time_tolerance"),
    )


def _overridden(defaults: Floats, names: Sequence[str], given: Iterable[Any], field: str) -> Floats:
    values = defaults.copy()
    for tolerance in given:
        if tolerance.name not in names:
            raise JointsError(
                f"{field}: unknown joint {tolerance.name!r}; the joints are {', '.join(names)}"
            )
        j = list(names).index(tolerance.name)
        where = f"{field} of joint {tolerance.name!r}"
        for row, what in enumerate(("position", "velocity")):
            chosen = _chosen(getattr(tolerance, what), defaults[row, j], f"{where}: {what}")
            values[row, j] = chosen
        if _chosen(tolerance.acceleration, 0.0, f"{where}: acceleration"):
            raise TrajectoryError(
                f"{where}: acceleration is {tolerance.acceleration:g}, expected 0 or -1 (none): "
                "accelerations are not measured"
            )
    return values


def _chosen(value: float, default: float, where: str) -> float:
    if abs(value - ERASED) < ERASED_SLACK:
        return 0.0
    if not (np.isfinite(value) and value >= 0.0):
        raise TrajectoryError(f"{where} is {value:g}, expected 0 (default), -1 (none) or more")
    return float(value) if value > 0.0 else float(default)


def arrival_tolerance(
    goal: Floats,
    settings: ControllerSettings,
    dynamics: Dynamics,
    q: Floats,
    slides: NDArray[np.bool_],
) -> Floats:
    """Return how far the joints (n,) may be from where they are to stand [rad or m]."""
    stiffness = settings.p
    if settings.mode.feedback is Feedback.ACCELERATIONS:
        stiffness = stiffness * (np.diag(dynamics.crba(q)) + settings.drives.armature)
    unknown = UNCERTAIN * settings.drives.coulomb
    lower, upper = (np.where(slides, by[True], by[False]) for by in (MIN_ERROR, MAX_ERROR))
    left = np.divide(unknown, stiffness, out=np.full(len(q), np.inf), where=stiffness > 0.0)
    return np.where(goal > 0.0, goal, np.minimum(lower + left, upper))


def with_others(
    names: Sequence[str], points: Sequence[Point], joints: Sequence[str], position: Floats
) -> tuple[list[str], list[Point]]:
    """Return a trajectory of all joints; those that it does not name stay at a position (n,)."""
    if not names:
        raise JointsError(f"no joint is named; the joints are {', '.join(joints)}")
    others = [i for i, joint in enumerate(joints) if joint not in names]
    stay, still = [float(position[i]) for i in others], [0.0] * len(others)
    more = {"positions": stay} | dict.fromkeys(("velocities", "accelerations", "effort"), still)

    def of_all(point: Point) -> Point:
        given = {field: getattr(point, field) for field in more}
        whole: dict[str, Any] = {f: [*given[f], *more[f]] for f in more if len(given[f])}
        return replace(point, **whole)

    return [*names, *(joints[i] for i in others)], list(map(of_all, points))


def code_of(error: TrajectoryError) -> ErrorCode:
    """Return the error code for a refused goal."""
    if isinstance(error, JointsError):
        return ErrorCode.INVALID_JOINTS
    if isinstance(error, TrajectoryOverError):
        return ErrorCode.OLD_HEADER_TIMESTAMP
    return ErrorCode.INVALID_GOAL


class GoalTracker:
    """Tracks one goal through snapshots; once final, its state no longer changes."""

    def __init__(
        self, path: int, tolerances: Tolerances, names: Sequence[str], causes: int
    ) -> None:
        """Start once a path is in force, with the number of causes just before."""
        self._path = path
        self._tolerances = tolerances
        self._names = names
        self._causes = causes
        self._is_cancelled = False
        self.verdict = RUNNING

    def cancel(self) -> None:
        """Note that the arm has been asked to stop because the goal was cancelled."""
        self._is_cancelled = True

    def update(self, snapshot: SnapshotRequest) -> GoalVerdict:
        """Return the goal's present state."""
        if self.verdict is RUNNING:
            self.verdict = self._judge(snapshot)
        return self.verdict

    def _judge(self, snapshot: SnapshotRequest) -> GoalVerdict:
        phase = Phase(snapshot.phase)
        if self._is_cancelled:
            stops = phase is Phase.HOLDING and snapshot.since_end < 0.0 and not snapshot.path
            is_asked = snapshot.path == self._path and phase is Phase.TRAJECTORY
            return RUNNING if stops or is_asked else GoalVerdict(GoalStatus.CANCELED)
        if snapshot.path != self._path or phase not in (Phase.TRAJECTORY, Phase.HOLDING):
            return self._lost(snapshot, phase)
        if phase is Phase.TRAJECTORY or snapshot.since_end < 0.0:
            return RUNNING
        missed = self._missed(snapshot)
        if not missed:
            return GoalVerdict(GoalStatus.SUCCEEDED, text="goal reached")
        if 0.0 < self._tolerances.goal_time < snapshot.since_end:
            text = f"{missed}, {snapshot.since_end:.2f} s after the end of the trajectory"
            return GoalVerdict(GoalStatus.ABORTED, ErrorCode.GOAL_TOLERANCE_VIOLATED, text)
        return RUNNING

    def _lost(self, snapshot: SnapshotRequest, phase: Phase) -> GoalVerdict:
        """Return why the motion is no longer the goal's."""
        if snapshot.causes == self._causes:
            return GoalVerdict(
                GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, LOST.get(phase, TEXTS[phase])
            )
        is_off = snapshot.hold.code in NOT_FOLLOWED + UNSEEN
        code = ErrorCode.PATH_TOLERANCE_VIOLATED if is_off else ErrorCode.INVALID_GOAL
        return GoalVerdict(GoalStatus.ABORTED, code, snapshot.hold.text(self._names))

    def _missed(self, snapshot: SnapshotRequest) -> str:
        """Return which joint is not at its goal yet, empty if all are."""
        error = np.abs(snapshot.desired[:2] - np.stack([snapshot.q, snapshot.qd]))
        bound = self._tolerances.goal
        missed = np.argwhere((bound > 0.0) & ~(error <= bound))
        if not len(missed):
            return ""
        row, j = missed[0]
        what = ("{:.3g} from its goal", "still moving at {:.3g}")[row].format(error[row, j])
        return f"joint {self._names[j]!r} is {what} (goal tolerance {bound[row, j]:g})"


LOST = {
    Phase.TRAJECTORY: "replaced by another trajectory",
    Phase.REFERENCE: "replaced by set-points",
    Phase.HOLDING: "the arm was asked to hold",
    Phase.FLOATING: "mode gravity_compensation follows nothing",
}

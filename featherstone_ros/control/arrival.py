"""Whether the arm is where it was asked to go: looked at now and then, for the diagnostics.

The loop gives up a motion where it must, and then holds the arm where it has stopped: its error is
small again. What counts here is what was asked for, until something else is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros._control import SnapshotRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.end_effector import MOVES, EndEffectorArrival
from featherstone_ros.control.goal_tolerances import arrival_tolerance
from featherstone_ros.control.phases import TRACKING, Phase
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.model import Model

SETTLING = 0.5  # [s] in which an arm may creep in, or be pushed
MAX_NAMED = 3  # joints in one message
STANDS = 0.1  # share of the tolerance by which a desired position that stands may move


class ArrivalWatch:
    """Compares the arm with where it was asked to be, once it is to stand there."""

    def __init__(self, model: Model, end_effector: EndEffectorArrival | None = None) -> None:
        """Begin with an arm that nothing was asked of; ``end_effector``: None without a tip."""
        self._names = model.joint_names
        self._slides = np.array([kind == "prismatic" for kind in model.joint_types])
        self._turns = np.array([kind == "continuous" for kind in model.joint_types])
        self._tip = end_effector
        self._since = np.full(model.n + 1, np.inf)  # of each joint and the end effector, away
        self._before: Floats | None = None  # where the arm was to stand at the last look
        self.is_abandoned = False
        self.forget()

    def forget(self) -> None:
        """Note that nothing is asked of the arm."""
        self._is_asked = self.is_abandoned = False
        self._goal: Floats | None = None
        self._own: Floats | float = 0.0

    def begin(self, goal: Floats | None = None, tolerance: Floats | float = 0.0) -> None:
        """Note that a motion was asked for, with its own goal tolerance (n,); 0: none.

        ``goal``: (n,) where it ends [rad or m]; None: that will show.
        """
        self.forget()
        self._is_asked, self._goal, self._own = True, goal, tolerance

    def abandon(self) -> None:
        """Note that the motion was given up: the arm now stands wherever it stopped.

        An arm that was to stay where it is has no motion to give up, but is to be there still.
        """
        self.is_abandoned = self._is_asked or self._goal is not None

    def update(
        self,
        now: float,
        moment: SnapshotRequest | None,
        settings: ControllerSettings,
        tolerance: Floats,
        dynamics: Dynamics,
    ) -> str:
        """Return what did not arrive, joints or end effector; empty if all did, or still move.

        ``moment``: None if the controller's state is unknown; ``tolerance``: (n,) the parameters'
        goal tolerance [rad or m], 0: none; ``dynamics``: of the arm with its payload.
        """
        if moment is None or Phase(moment.phase) not in TRACKING:
            self._since[:] = np.inf
            return ""
        chosen = np.where(self._own, self._own, tolerance)
        bound = arrival_tolerance(chosen, settings, dynamics, moment.q, self._slides)
        text, error = "", np.zeros(len(bound))
        if self._tip and settings.mode.leads_end_effector:
            text = self._look_at_tip(self._tip, moment, settings, dynamics)
            if settings.mode.has_virtual_arm:
                moves = bool((np.abs(moment.desired[1]) > MOVES).any())
                error = self._lag(moment, bound, moves)
        else:
            error = self._error(moment, bound)
        off = ~(np.abs(error) <= bound)
        away = np.append(off, text != "")
        lasts = self._lasts(now, away)
        if self.is_abandoned and self._goal is not None and not away.any():
            self.is_abandoned = False  # it is there all the same
        joints = joints_text(self._names, error, bound, lasts[:-1], self._slides)
        said = [part for part in (joints, text if lasts[-1] else "") if part]
        return f"did not arrive: {'; '.join(said)}" if said else ""

    def _lasts(self, now: float, away: NDArray[np.bool_]) -> NDArray[np.bool_]:
        self._since = np.where(away, np.minimum(self._since, now), np.inf)
        return now - self._since >= SETTLING

    def _error(self, moment: SnapshotRequest, bound: Floats) -> Floats:
        """Return how far the joints are from where they are to stand (n,); 0 while they move."""
        if self.is_abandoned:
            if self._goal is None:
                return np.zeros(len(bound))
            error = self._goal - moment.q
            whole = 2.0 * np.pi * np.round(error / (2.0 * np.pi))
            return np.where(self._turns, error - whole, error)
        moves = bool(moment.desired[1:3].any())
        error = self._lag(moment, bound, moves)
        if not moves and moment.phase != Phase.TRAJECTORY:
            self._goal = self._before  # a stop on the way is not where it ends
        return error

    def _lag(self, moment: SnapshotRequest, bound: Floats, moves: bool) -> Floats:
        """Return how far the joints are from the desired position (n,); 0 while that moves."""
        desired, before = moment.desired[0], self._before
        self._before = desired.copy()
        if moves:
            return np.zeros(len(bound))
        if before is None or (np.abs(desired - before) > STANDS * bound).any():
            self._since[:] = np.inf
        return np.asarray(desired - moment.q)

    def _look_at_tip(
        self,
        arrival: EndEffectorArrival,
        moment: SnapshotRequest,
        settings: ControllerSettings,
        dynamics: Dynamics,
    ) -> str:
        """Return how far it is from its target and why; empty if it is there or moves.

        Of a motion that was abandoned the target is forgotten: it was to stand where it last did.
        """
        if self.is_abandoned:
            return "" if self._goal is None else arrival.compare(self._goal, moment.q, dynamics)
        text = arrival.look(moment, settings, dynamics)
        if text == "":
            self._goal = moment.q.copy()
        return text or ""


def joints_text(
    names: Sequence[str],
    error: Floats,
    bound: Floats,
    which: NDArray[np.bool_],
    slides: NDArray[np.bool_],
) -> str:
    """Return some joints with their errors, the largest one first; empty for none."""
    order = sorted(np.flatnonzero(which).tolist(), key=lambda j: -abs(error[j]) / bound[j])
    said = [
        f"{names[j]} {1e3 * abs(error[j]):.1f} {'mm' if slides[j] else 'mrad'} "
        f"(expected {1e3 * bound[j]:.2g})"
        for j in order[:MAX_NAMED]
    ]
    more = len(order) - len(said)
    return ", ".join([*said, *([f"{more} more"] if more else [])])

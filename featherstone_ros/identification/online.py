"""Identifies a payload while the arm works, from its joint states.

Independent of ROS and threads. ``add`` is cheap (some microseconds, occasionally one evaluation of
the regressor); ``answer`` takes a tenth of a second and should not run in the loop that adds.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import UnknownNameError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.payload import LEVER, Payload, find_payload
from featherstone_ros.identification.recording import Recording

MIN_TIME = 8.0  # [s] of states before an answer
WINDOW = 120.0  # [s] of states kept
INFORMATION_PERIOD = 0.05  # [s] between poses that count towards the information
MIN_RATIO = 0.05  # least singular value of the regressor / the greatest, for an answer
MIN_POSES = 40  # of the information


class OnlinePayload:
    """Identifies the load on one link of a known arm, state by state."""

    def __init__(self, arm: Arm, link: str, cut_off: float = 2.0) -> None:
        """Start without states, for an arm without the load; ``cut_off`` of the filter [Hz]."""
        if link not in arm.model.link_names:
            raise UnknownNameError("link", link, arm.model.link_names)
        self.arm, self.link, self._cut_off = arm, link, cut_off
        self._dynamics = Dynamics(arm.model)
        self._at = 10 * arm.model.link_names.index(link)
        self.clear()

    def clear(self) -> None:
        """Forget all states."""
        self._states: deque[tuple[float, Floats]] = deque()
        self._information, self._poses = np.zeros((4, 4)), 0
        self._next_pose_time = -np.inf

    def add(self, time: float, q: ArrayLike, qd: ArrayLike, effort: ArrayLike) -> bool:
        """Add a state of a time [s], q, qd and effort (n,); return whether there are enough.

        States that are not later than the one before, or not finite, are ignored.
        """
        state = np.array([q, qd, effort], dtype=float)
        if not np.isfinite(state).all() or (self._states and time <= self._states[-1][0]):
            return self.enough
        self._states.append((time, state))
        while time - self._states[0][0] > WINDOW:
            self._states.popleft()
        if time >= self._next_pose_time:
            self._next_pose_time = time + INFORMATION_PERIOD
            self._add_to_information(state[0])
        return self.enough

    @property
    def latest(self) -> float:
        """Time of the last state [s], minus infinity before the first."""
        return self._states[-1][0] if self._states else -np.inf

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return self._states[-1][0] - self._states[0][0] if self._states else 0.0

    @property
    def progress(self) -> float:
        """Share of the data needed, 0 to 1."""
        weakest, *_, strongest = np.linalg.eigvalsh(self._information) + 1e-12
        separation = max(weakest / strongest / MIN_RATIO**2, 0.0)
        shares = self.duration / MIN_TIME, self._poses / MIN_POSES, separation
        return float(min(1.0, *shares))

    @property
    def enough(self) -> bool:
        """Whether the poses so far separate mass and centre of mass."""
        return self.progress >= 1.0

    def answer(self) -> Payload:
        """Return the load."""
        time = np.array([time for time, _ in self._states])
        states = np.array([state for _, state in self._states]).reshape(-1, 3, self.arm.model.n)
        q, qd, effort = np.moveaxis(states, 1, 0)
        names = self.arm.model.joint_names
        recording = Recording("online", names, time - time[:1].sum(), q, qd, effort)
        return find_payload(self.arm, [recording], self.link, self._cut_off)

    def _add_to_information(self, q: Floats) -> None:
        """Add a pose's Fisher information on mass and first moment, from gravity alone."""
        zero = np.zeros_like(q)
        Y = self._dynamics.regressor(q, zero, zero)[:, self._at : self._at + 4]
        Y = Y * [1.0, LEVER, LEVER, LEVER]
        self._information += Y.T @ Y
        self._poses += 1

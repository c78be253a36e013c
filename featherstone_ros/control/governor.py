"""The torque governor: what stands between the control law and the drives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import _control

Floats = NDArray[np.float64]

LONGEST_STEP = 0.005  # [s] of the torque rate that one command may use up, after any gap

DEFAULT_RATE = 50.0  # [1/s] effort limits per second, see default_torque_rate
UNLIMITED_RATE = 5000.0  # [N m/s] or [N/s] where there is no effort limit


def default_torque_rate(effort_limit: Floats) -> Floats:
    """Return torque rates (n,) that make steps soft without spoiling the feedback.

    A rate limit is a delay for large errors: feedback with a bandwidth of w rad/s that reaches the
    effort limits needs w limits per second. Where it gets much less, an arm that is pushed hard
    swings for ever between the limits (at 10 per second, a Panda whose wrist is hit at 2 rad/s).

    Args:
        effort_limit: (n,) [N m] or [N], inf or 0 where there is none.
    """
    limited = np.isfinite(effort_limit) & (effort_limit > 0.0)
    return np.where(limited, DEFAULT_RATE * np.where(limited, effort_limit, 0.0), UNLIMITED_RATE)


class TorqueGovernor:
    """Turns the effort a law asks for into one that the drives can be given.

    Per joint, in this order:

    1. fade: after a change of law, gains, model or state the difference to the last command is
       faded out; what is asked for afterwards never begins with a step;
    2. clamp to the effort limits;
    3. rate limit, which wins over the clamp: if a limit is lowered below the present command, the
       command goes there at the rate limit.

    Cutting feedback first, then feedforward, gravity last (``cut``) leaves, per joint, the same sum
    as clamping it; so the clamp is all that is needed, and ``cut`` tells what has been lost.

    Attributes:
        command: The last command (n,); the next call overwrites it.
        asked: What was last asked for (n,), before fade, clamp and rate limit.
        saturated: Number of commands that were clamped: with the faded difference, what was asked
            for of some joint lay beyond its effort limit.
        interventions: Number of commands that are not what was asked for with the faded
            difference: some joint's was clamped or rate-limited.
    """

    def __init__(self, effort_limit: Floats, torque_rate: Floats) -> None:
        """Set the limits.

        Args:
            effort_limit: (n,) [N m] or [N], inf where there is none.
            torque_rate: (n,) [N m/s] or [N/s].
        """
        n = len(effort_limit)
        self.command = np.zeros(n)
        self.asked = np.zeros(n)
        self.saturated = self.interventions = 0
        self._offset = np.zeros(n)
        self._fading = False
        self._begin_fade = False
        self._elapsed = 0.0
        self._duration = 0.0
        self.configure(effort_limit, torque_rate)

    def configure(self, effort_limit: Floats, torque_rate: Floats) -> None:
        """Take other limits; the command moves into them at the rate limit."""
        self._limit = effort_limit
        self._rate = torque_rate

    def start(self, effort: Floats) -> None:
        """Begin anew, as if this effort (n,), clamped to the limits, had been the last command."""
        np.clip(effort, -self._limit, self._limit, out=self.command)
        self._fading = self._begin_fade = False

    def fade(self, duration: float) -> None:
        """Fade the difference between the last command and what is asked for next out.

        Args:
            duration: [s]; 0 leaves it to the rate limit.
        """
        self._begin_fade = duration > 0.0
        self._fading = False
        self._duration = duration
        self._elapsed = 0.0

    @property
    def fade_left(self) -> float:
        """Weight of the faded difference, 1 at first, then falling to 0."""
        if self._begin_fade:
            return 1.0
        return fade_weight(self._elapsed / self._duration) if self._fading else 0.0

    def govern(self, asked: Floats, dt: float, carried: Floats | None = None) -> Floats | None:
        """Return the next command.

        Args:
            asked: Effort asked for (n,) [N m] or [N]; not modified.
            dt: Time since the last command [s].
            carried: Effort that the drives add to the command by themselves (n,); the limits hold
                for the sum.

        Returns:
            ``command``, or None (and nothing has changed) if ``asked`` is not finite.
        """
        if not _control.is_finite(asked):
            return None
        _control.copy(asked, self.asked)
        weight = 0.0
        if self._begin_fade:
            np.subtract(self.command, asked, out=self._offset)
            asked = self.command
            self._begin_fade, self._fading = False, True
        elif self._fading:
            self._elapsed += dt
            weight = self.fade_left
            self._fading = self._elapsed < self._duration
        saturated, limited = _control.limit(
            asked,
            weight,
            self._offset,
            carried,
            self._limit,
            self._rate,
            min(dt, LONGEST_STEP),
            self.command,
        )
        self.saturated += saturated
        self.interventions += limited
        return self.command


def fade_weight(progress: float) -> float:
    """Return 1 at progress 0 and 0 at 1, with zero slope at both ends."""
    progress = min(max(progress, 0.0), 1.0)
    return 1.0 - progress * progress * (3.0 - 2.0 * progress)


def cut(
    gravity: Floats, feedforward: Floats, feedback: Floats, limit: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what the limits leave of the three parts of an effort, each (n,).

    Feedback is cut first, as far as that helps; then feedforward; gravity last.
    """
    parts = [gravity, feedforward, feedback]
    for i in (2, 1, 0):
        total = parts[0] + parts[1] + parts[2]
        excess = total - np.clip(total, -limit, limit)
        smaller = np.clip(parts[i] - excess, np.minimum(parts[i], 0.0), np.maximum(parts[i], 0.0))
        # A part that points inwards already helps: cutting it would only add to the excess.
        parts[i] = np.where(excess * parts[i] > 0.0, smaller, parts[i])
    return parts[0], parts[1], parts[2]

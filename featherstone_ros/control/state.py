"""Which joint states are believed, and how much time passes between two of them."""

from __future__ import annotations

from collections import Counter
from math import exp, inf, pi

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import _control

Floats = NDArray[np.float64]

CLOCK_JUMP = 0.5  # [s] a stamp that differs by more from the last one belongs to another clock
FALLBACK_SPEED = 20.0  # [rad/s] or [m/s] believed where the robot description gives no limit
SPEED_TOLERANCE = 1.0  # [rad/s] or [m/s] of a measured velocity beyond what is plausible

NOT_FINITE = "not finite"
NOT_NEWER = "stamp not newer than the last"
JUMP = "position jumped"
ABSURD = "position far beyond the limits"
TOO_FAST = "velocity not plausible"
DOUBTFUL = "too many before were not plausible"

# A source of states that is often wrong is not believed even when it may be right: each state that
# cannot be true takes one that can to make up for it, of the last ones as many as this.
MOST_DOUBT = 10

# What a joint may gain at once and per second, in speed limits, and how long it may have gone on
# with that [s]: a state that says more, and is the last one, is rather wrong. In a hard stop it may
# be right, though, and is believed as long as others follow.
AT_ONCE, PER_SECOND, GONE_ON = 0.05, 5.0, 0.1

# What no arm reports, but noise on the line or a mischievous neighbour.
ABSURDLY_FAR = 2.0 * pi  # [rad] or [m] beyond a position limit: more than a wrong zero


def start_delay(start: float, stamp: float, now: float) -> float:
    """Return how long after the last joint state a trajectory starts [s], negative if before.

    Its start counts against the state's own stamp, so that the age of the state does not shift the
    motion; unless that stamp is of another clock or missing.

    Args:
        start: When it is to start, by its sender's clock [s].
        stamp: Stamp of the last joint state [s], 0 for none.
        now: Time of the node's clock [s].
    """
    same_clock = stamp > 0.0 and abs(start - stamp) < abs(start - now) + CLOCK_JUMP
    return start - (stamp if same_clock else now)


class StateGate:
    """Judges joint states one by one and keeps the last good one.

    Time between two states is the difference of their stamps where both have one, so that what the
    controller does depends neither on transport delays nor on how fast a simulation runs. Where
    stamps are missing (0) or jump to another time, it is the steady time between their arrivals.

    Attributes:
        q: Position of the last good state (n,).
        qd: Its velocity, or the estimate of it (n,).
        time: The controller's time: sum of all times between good states [s].
        dt: Time between the last two good states [s]; 0 after ``forget``.
        received: Steady time at which the last good state arrived [s], -inf before the first.
        accepted: Number of good states.
        refused: Number of refused states by reason.
        objection: Why the last state was refused, empty if it was good.
        plausible_speed: Believed at any rate (n,) [rad/s] or [m/s]: twice the limits.
    """

    def __init__(
        self, velocity_limit: Floats, lower: Floats | None = None, upper: Floats | None = None
    ) -> None:
        """Begin without a state.

        Args:
            velocity_limit: (n,) [rad/s] or [m/s], infinite where there is none.
            lower: Lower position limits (n,) [rad] or [m], -inf where there is none; None for none.
            upper: Upper position limits (n,), inf where there is none.
        """
        n = len(velocity_limit)
        self.q = np.zeros(n)
        self.qd = np.zeros(n)
        self.time = 0.0
        self.dt = 0.0
        self.received = -inf
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.objection = ""
        self._fresh = True  # the next state follows on nothing
        self._stamp = 0.0
        limited = np.isfinite(velocity_limit) & (velocity_limit > 0.0)
        self.plausible_speed = 2.0 * np.where(limited, velocity_limit, FALLBACK_SPEED)
        self._rest = np.zeros(n)
        self._last_q, self._last_qd = np.zeros(n), np.zeros(n)  # of the good state before
        self._seen, self._seen_at = np.zeros(n), -inf  # last position that was not believed
        self._doubt = 0  # states that were not plausible and have not been made up for
        self._jumped = inf  # time from the last good state to the first one that jumped
        self._middle, self._half_range = np.zeros(n), np.full(n, inf)
        if lower is not None and upper is not None:
            bounded = np.isfinite(upper - lower)
            self._middle[bounded] = (lower[bounded] + upper[bounded]) / 2.0
            self._half_range[bounded] = (upper - lower)[bounded] / 2.0

    def forget(self) -> None:
        """Take the next state wherever the arm is: too much time has passed since the last.

        After states that were not plausible it has to fit the ones before it all the same.
        """
        self._fresh = True
        self._jumped = inf

    def accept(
        self,
        now: float,
        stamp: float,
        q: Floats,
        qd: Floats | None,
        jump_tolerance: float,
        velocity_cutoff: float,
    ) -> bool:
        """Judge one state and take it over if it is good.

        Args:
            now: Steady time [s].
            stamp: Its stamp [s], 0 for none.
            q: Position (n,).
            qd: Velocity (n,); None to have it estimated by filtered differences of the position.
            jump_tolerance: Step in position that is believed at any rate [rad] or [m].
            velocity_cutoff: Corner frequency of that first-order filter [Hz].

        Returns:
            Whether it is good.
        """
        dt = self._elapsed(now, stamp)
        reason = self._fault(now, dt, q, qd, jump_tolerance)
        if reason in (JUMP, TOO_FAST):
            self._doubt = min(self._doubt + 1, MOST_DOUBT)
        elif reason is None and self._doubt:
            self._doubt -= 1
            reason = DOUBTFUL if self._doubt else None
        if reason is not None:
            self.refused[reason] += 1
            self.objection = reason
            if reason in (JUMP, TOO_FAST, DOUBTFUL):
                self._seen[:], self._seen_at = q, now
            return False
        self.objection = ""
        self.q, self._last_q = self._last_q, self.q
        self.qd, self._last_qd = self._last_qd, self.qd
        if qd is not None:
            _control.copy(qd, self.qd)
        elif self._fresh:
            self.qd[:] = 0.0
        else:
            weight = 1.0 - exp(-2.0 * pi * velocity_cutoff * dt)
            self.qd[:] = self._last_qd + weight * ((q - self._last_q) / dt - self._last_qd)
        _control.copy(q, self.q)
        self.dt = 0.0 if self._fresh else dt
        self.time += self.dt
        self.received = now
        self._stamp = stamp
        self._fresh = False
        self._jumped = inf
        self.accepted += 1
        return True

    def surest(self) -> tuple[Floats, Floats]:
        """Return position and velocity when the last good state came, as far as one may rely on it.

        If it contradicts the one before, nothing having confirmed it since, they are that one's,
        moved on evenly. The caller must not modify them.
        """
        if self.dt == 0.0:  # it follows on nothing
            return self.q, self.qd
        gain = AT_ONCE + PER_SECOND * self.dt
        way = 0.5 * self.dt * (self._last_qd + self.qd)
        limit = 0.5 * self.plausible_speed
        smooth = _control.is_within_reach(self.qd, self._last_qd, limit, gain, 0.0)
        if smooth and _control.is_within_reach(
            self.q, self._last_q + way, limit, gain * GONE_ON, 0.0
        ):
            return self.q, self.qd
        return self._last_q + self.dt * self._last_qd, self._last_qd

    def _elapsed(self, now: float, stamp: float) -> float:
        """Return the time since the last good state [s]; not positive if this one is older."""
        if stamp > 0.0:  # the last one may have been 0: a simulation's first state
            dt = stamp - self._stamp
            if -CLOCK_JUMP < dt < CLOCK_JUMP:
                return dt
        return max(now - self.received, 1e-6)

    def _fault(
        self, now: float, dt: float, q: Floats, qd: Floats | None, jump_tolerance: float
    ) -> str | None:
        """Return why a state is not believed, or None."""
        if not (_control.is_finite(q) and (qd is None or _control.is_finite(qd))):
            return NOT_FINITE
        if not _control.is_within_reach(q, self._middle, self._half_range, 1.0, ABSURDLY_FAR):
            return ABSURD
        if qd is not None and not self._is_plausible(now, q, qd):
            return TOO_FAST
        if self._fresh:
            fits = not self._doubt or self._follows(now, q, jump_tolerance)
            return None if fits else JUMP
        if dt <= 0.0:
            return NOT_NEWER
        # What jumped and stays there is not reached by waiting: only ``forget`` believes it.
        duration = min(max(dt, now - self.received), self._jumped)
        if _control.is_within_reach(q, self.q, self.plausible_speed, duration, jump_tolerance):
            return None
        self._jumped = duration
        return JUMP

    def _follows(self, now: float, q: Floats, jump_tolerance: float) -> bool:
        """Tell whether the arm can have come here from the last position that was not believed."""
        return _control.is_within_reach(
            q, self._seen, self.plausible_speed, now - self._seen_at, jump_tolerance
        )

    def _is_plausible(self, now: float, q: Floats, qd: Floats) -> bool:
        """Tell whether a velocity is one that the arm may have, or that its positions show."""
        speed = self.plausible_speed
        if _control.is_within_reach(qd, self._rest, speed, 1.0, SPEED_TOLERANCE):
            return True
        there, then = (self._seen, self._seen_at)
        if self.received > then:
            there, then = self.q, self.received
        mean = (q - there) / max(now - then, 1e-6)
        return _control.is_within_reach(qd, mean, speed, 1.0, SPEED_TOLERANCE)

"""When the twin advances: with real time, with commands (lockstep), by hand, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from numpy.typing import ArrayLike

from featherstone_ros.errors import FeatherstoneError

from .pacing import Pace
from .settings import TwinSettings
from .twin import Twin

LOCKSTEP_REPEAT = 0.08  # [s] after which a state that nobody answered is published again
FIRST_REPEAT = 0.5  # [s] the same for the state at time 0


class Run:
    """Runs a twin. ``tick``, ``command`` and ``step`` say when its state is to be published.

    In lockstep the state is repeated while no command comes: to get the loop going, and so that a
    lost message or a restarted controller does not end it. Whoever takes longer to answer knows a
    repeated state by its stamp; but not the first one (stamp 0 is none in ROS): that comes slower.

    Attributes:
        twin: The arm.
        pace: Real-time pacing; idle in lockstep.
        paused: Whether time stands still.
    """

    def __init__(self, twin: Twin, now: float) -> None:
        """Start.

        Args:
            twin: The arm.
            now: Real time [s].
        """
        self.twin = twin
        self.paused = False
        self.adopt(twin.settings, now)

    def adopt(self, settings: TwinSettings, now: float) -> None:
        """Pace by these settings from now on."""
        self._lockstep = settings.lockstep
        overruns = self.pace.overruns if hasattr(self, "pace") else 0
        self.pace = Pace(settings.period, settings.real_time_factor, now)
        self.pace.overruns = overruns
        self._idle_interval = settings.period
        if settings.lockstep:
            self._idle_interval = LOCKSTEP_REPEAT if self.twin.time else FIRST_REPEAT
        self._idle_since = -self._idle_interval

    @property
    def timer_period(self) -> float:
        """How often ``tick`` is to be called [s]; 0 is as often as possible."""
        if self._lockstep or self.paused:
            return max(0.001, min(self._idle_interval, 0.02))
        return self.pace.tick

    @property
    def interval(self) -> float:
        """Real time from one ``tick`` to the next [s]; 0 if that is not regular."""
        return 0.0 if self._lockstep or self.paused else self.pace.tick

    @property
    def due(self) -> float:
        """When ``tick`` is to be called next [s]."""
        if self.twin.fault:
            return inf
        if self.paused or self._lockstep:
            return self._idle_since + self._idle_interval
        return self.pace.next

    def tick(self, now: float) -> Iterator[float]:
        """Do what is due; yields each time that the state is to be published.

        What is yielded is how long ago the state was due [s]. After a stall several states come at
        once; stamped with the times when they were due, they still make a smooth motion.
        """
        if self.twin.fault:
            return
        if not (self.paused or self._lockstep):
            for lag in self.pace.due(now):
                self.twin.advance(now)
                if self.twin.fault:
                    return
                yield lag
        elif now - self._idle_since >= self._idle_interval - 0.5 * self.timer_period:
            self._idle_since = now
            yield 0.0

    def command(self, effort: ArrayLike, now: float, joints: ArrayLike | None = None) -> bool:
        """Give the twin a command; return whether its state is to be published.

        Raises:
            ValueError: The command is refused, nothing happens.
        """
        self.twin.command(effort, now, joints)
        if not self._lockstep or self.paused:
            return False
        self.twin.advance(now)
        self._idle_since, self._idle_interval = now, LOCKSTEP_REPEAT
        return not self.twin.fault

    def pause(self, paused: bool, now: float) -> None:
        """Stop time, or let it go on from where it stopped."""
        if self.paused and not paused:
            self.pace.restart(now)
            self.twin.restart_timeout(now)
        self.paused = paused

    def reset(self, now: float) -> None:
        """Reset the twin and publish its state soon."""
        self.twin.reset()
        self.adopt(self.twin.settings, now)

    def step(self, steps: int, now: float) -> None:
        """Advance by integration steps; the state is to be published.

        Raises:
            FeatherstoneError: Time does not stand still, or the simulation has stopped.
        """
        if not self.paused:
            raise FeatherstoneError("pause the simulation first")
        self.twin.restart_timeout(now)
        self.twin.advance(now, steps)
        if self.twin.fault:
            raise FeatherstoneError(self.twin.fault)

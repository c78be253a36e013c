"""An arm in simulation as the plant of a closed loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.simulation.closed_loop import Command, JointState
from featherstone_ros.simulation.simulator_settings import SimulatorSettings


class SimulatedArm:
    """A simulated arm, which stands until its first command acts and then keeps the last one.

    Attributes:
        simulator: Its state, which may be changed.
        gains: P and D (2, n) of drives with position loops.
        units: What its drives are told; None: torques, and positions to which ``gains`` lead. Their
            law goes by the state at each time step's begin, as ``gains`` do.
        blocked: It stands at once, whatever it is commanded.
        push: Effort (n,) on the joints in addition to that of the drives [N m or N].
        stiffness: (n,) or for all joints, of their cables, see ``model.drives.Drives``.
        wrenches: Gives the wrench (6,) on each link, as ``f_ext`` of the simulator, at a position
            and velocity (n,); None: there is none.
        measure: Makes what is measured from the true joint state; nothing is where it returns None.
    """

    units: DriveUnits | None = None
    wrenches: Callable[[Floats, Floats], Mapping[str, ArrayLike]] | None = None

    def __init__(
        self,
        simulator: Simulator,
        effort_limit: ArrayLike = np.inf,
        gains: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
    ) -> None:
        """Take a simulator with its state.

        Args:
            simulator: Of one arm, or of a batch; its time step divides the loop's period.
            effort_limit: (n,) of the drives [N m or N].
            gains: P and D, (n,) each, of drives with position loops, which go by the state at
                each time step's begin: stable where D times that step is less than the joint's
                inertia.
        """
        self.simulator, self.gains = simulator, np.asarray(gains)
        self.blocked = False
        self.push: Floats | float = 0.0
        self.stiffness: Floats = np.zeros(())
        self.measure: Callable[[JointState], JointState | None] = lambda state: state
        self._upper = np.asarray(effort_limit)
        self._lower = -self._upper
        self._coming: deque[tuple[float, Command]] = deque()
        self._command: Command | None = None
        self._time: float | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        drives: Drives,
        start: ArrayLike,
        period: float = SimulatorSettings.time_step,
    ) -> SimulatedArm:
        """Return an arm at rest.

        Args:
            model: Its links; its effort limits hold.
            drives: Their friction, offset and rotors.
            start: (n,) where it stands, or (B, n) of a batch [rad or m].
            period: Of the loop [s], which is divided into steps of 1 ms at most.
        """
        simulator = Simulator(
            model,
            SimulatorSettings(rate=1.0 / period).effective_time_step,
            SimulatorSettings.integrator,
            **drives.of_simulator,
        )
        simulator.reset(start)
        arm = cls(simulator, model.effort_limit)
        arm.push, arm.stiffness = -drives.offset, np.asarray(drives.stiffness)
        return arm

    def __repr__(self) -> str:
        """Return the simulator."""
        return f"<SimulatedArm with {self.simulator!r}>"

    @property
    def q(self) -> Floats:
        """(n,) true position [rad or m]."""
        return self.simulator.q

    @property
    def qd(self) -> Floats:
        """(n,) true velocity [rad/s or m/s]."""
        return self.simulator.qd

    def read(self, now: float) -> JointState | None:
        """Let time pass until then; return what is measured."""
        self.advance(now)
        return self.measure(JointState(self.q, self.qd, None, now))

    def write(self, at: float, command: Command) -> None:
        """Take a command that acts from a time on."""
        self._coming.append((at, command))

    def advance(self, now: float) -> None:
        """Let time pass until then: move under each command from when it acts, in whole steps."""
        step, coming = self.simulator.time_step, self._coming
        if self._time is None:
            self._time = now
        while True:
            while coming and round((coming[0][0] - self._time) / step) < 1:
                self._command = coming.popleft()[1]
            until = min(now, coming[0][0]) if coming else now
            steps = round((until - self._time) / step)  # as above: what is not due takes some
            if steps < 1:
                return
            if self.blocked:
                self.simulator.set_state(self.q, 0.0 * self.qd)
            elif self._command is not None:
                self._move(self._command, steps)
            self._time += steps * step

    def _move(self, command: Command, steps: int) -> None:
        simulator, wrenches = self.simulator, self.wrenches
        ideal = self.units is None and command.position is None
        if wrenches is None and ideal and not np.count_nonzero(self.stiffness):  # any() is slow
            simulator.step(self._limited(command.effort), steps)
            return
        for _ in range(steps):
            q, qd = simulator.q, simulator.qd
            effort = self._limited(self._effort(command, q, qd)) - self.stiffness * q
            simulator.step(effort, f_ext=wrenches and wrenches(q, qd))

    def _effort(self, command: Command, q: Floats, qd: Floats) -> Floats:
        """Return what the drives are to apply, position loops included."""
        if self.units is not None and command.told is not None:
            return self.units.torques(command.told, q, qd)
        if command.position is None or command.velocity is None:
            return command.effort
        p, d = self.gains
        return command.effort + p * (command.position - q) + d * (command.velocity - qd)

    def _limited(self, effort: Floats) -> Floats:
        """Return the drives' effort within their limits, and pushes."""
        return np.maximum(np.minimum(effort, self._upper), self._lower) + self.push

"""An arm with drives that are told currents, duty cycles or positions, and gears with play.

The twin's drives are ideal; these are those of hobby and other small arms. Between each motor and
its joint is a gear: a spring and a damper, with a play in which neither touches the other.

    rotor   (1 - share) armature theta'' = motor - damping theta' - dry friction - gear
    joint   M(q) q'' + ... + share armature q'' = gear
    gear    stiffness (theta - q beyond half the play) + damping (theta' - q') where they touch

The motor's torque is that of ``DriveUnits.torques`` in the state that the encoder at the joint
shows, and follows with the bandwidth of its current loop. Dry friction is that of the motor's side
and is exact: a rotor at rest sticks. The motor is stiff enough to turn 60 times a second against
its gear alone, if nothing else is said.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats, finite_array, finite_number
from featherstone_ros.model.arguments import not_negative_joint_array
from featherstone_ros.model.drive_units import POSITION, DriveUnits
from featherstone_ros.simulation.closed_loop import Command, JointState

GEAR_FREQUENCY = 60.0  # [Hz] of a rotor on its gear
GEAR_RATIO_OF_DAMPING = 0.1  # of the critical one
SHARE = 0.05  # of the armature that is on the joint's side of the play


class DrivenArm:
    """A simulated arm that takes commands and reports efforts in its drives' units.

    All arrays are (n,) in the order of ``model.joint_names``. The last command holds until the
    next.

    Attributes:
        units: Of its drives, as they really are.
        time: Since the start [s].
        torque: That the motors exert, seen from the joints [N m or N].
    """

    def __init__(
        self,
        model: Model,
        units: DriveUnits,
        armature: ArrayLike,
        *,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        backlash: ArrayLike = 0.0,
        bandwidth: ArrayLike = np.inf,
        resolution: ArrayLike = 0.0,
        gear_stiffness: ArrayLike | None = None,
        time_step: float = 2.5e-4,
        q: ArrayLike | None = None,
    ) -> None:
        """Put the arm at rest, its drives told to stay where they are, without torque.

        Args:
            model: Its links.
            units: Of its drives. ``stiffness`` and ``damping`` are those of the position loops.
            armature: Inertia of the drives on the joint's side [kg m^2 or kg], more than 0.
            damping: Viscous friction of the motors [N m s/rad or N s/m].
            friction: Dry friction of the motors [N m or N].
            backlash: Play of the gears, from end to end [rad or m].
            bandwidth: Of the current loops [rad/s]; position loops have none.
            resolution: Of the encoders [rad or m].
            gear_stiffness: [N m/rad or N/m]; None: see above.
            time_step: [s].
            q: Where it begins; None: zero.

        Raises:
            ValueError: One of them is out of range.
        """

        def each(name: str, value: ArrayLike) -> Floats:
            return not_negative_joint_array(value, model, name)

        self.units, self.time = units, 0.0
        armature = each("armature", armature)
        if not (armature > 0.0).all():
            raise ValueError(f"armature is {armature}, expected more than 0: gears have rotors")
        bandwidth = np.broadcast_to(np.asarray(bandwidth, float), model.n)
        if not (bandwidth > 0.0).all():
            raise ValueError(f"bandwidth is {bandwidth}, expected more than 0")
        self._rotor = (1.0 - SHARE) * armature
        self._simulator = Simulator(
            model, time_step, "implicit", damping=0.0, friction=0.0, armature=SHARE * armature
        )
        self._dynamics = Dynamics(model)
        stiffness = (2.0 * np.pi * GEAR_FREQUENCY) ** 2 * self._rotor
        self._gear = stiffness if gear_stiffness is None else each("gear_stiffness", gear_stiffness)
        self._gear_damping = 2.0 * GEAR_RATIO_OF_DAMPING * np.sqrt(self._gear * self._rotor)
        self._damping, self._friction = each("damping", damping), each("friction", friction)
        self._play, self._resolution = each("backlash", backlash), each("resolution", resolution)
        self._rounds = bool(self._resolution.any())
        self._unit = np.where(self._resolution, self._resolution, 1.0)
        self._limit = units.within_drives(model.effort_limit)
        self._most = units.max_command
        self._simulator.reset(np.zeros(model.n) if q is None else q)
        self._theta, self._omega = self._simulator.q.copy(), np.zeros(model.n)
        positions = units.commanded_by(POSITION)
        self._passing = np.where(positions, 1.0, -np.expm1(-bandwidth * time_step))
        self._slope = units.torque_per_speed
        self.command = np.where(positions, self._theta, 0.0)
        self.torque = np.zeros(model.n)
        self._coming: deque[tuple[float, Floats]] = deque()

    def __repr__(self) -> str:
        """Return the arm, how its drives are commanded, and the time."""
        arm, commands = self._simulator.model, ", ".join(dict.fromkeys(self.units.command))
        return f"<DrivenArm of {arm!r}: {commands}, at {self.time:g} s>"

    @property
    def q(self) -> Floats:
        """Position of the joints, as the encoders show it [rad or m]."""
        if not self._rounds:
            return self._simulator.q.copy()
        return np.where(
            self._resolution,
            self._unit * np.round(self._simulator.q / self._unit),
            self._simulator.q,
        )

    @property
    def true_q(self) -> Floats:
        """Position of the joints [rad or m]."""
        return self._simulator.q.copy()

    @property
    def qd(self) -> Floats:
        """Velocity of the joints [rad/s or m/s]."""
        return self._simulator.qd.copy()

    @property
    def effort(self) -> Floats:
        """What the drives report."""
        return self.units.measured_effort(self.torque, self._dynamics.gravity(self._simulator.q))

    def read(self, now: float) -> JointState:
        """Let time pass until then; return what is measured, efforts in the drives' units."""
        while self._coming and self._coming[0][0] <= now:
            at, command = self._coming.popleft()
            self.advance(at - self.time)
            self.command = command
        self.advance(now - self.time)
        return JointState(self.q, self.qd, self.effort, now)

    def write(self, at: float, command: Command) -> None:
        """Take what the drives are told from a time on."""
        if command.told is None:
            raise ValueError("told is None, expected the command of a ClosedLoop with units")
        self._coming.append((at, finite_array("told", command.told, self.command.shape)))

    def advance(self, duration: float) -> None:
        """Advance by a time, rounded to time steps [s]."""
        steps = round(finite_number("duration", duration) / self._simulator.time_step)
        for _ in range(steps):
            self._step(self._simulator.time_step)
        self.time += steps * self._simulator.time_step

    def _step(self, h: float) -> None:
        told = np.minimum(np.maximum(self.command, -self._most), self._most)
        asked = self.units.torques(told, self.q, self._omega)
        asked = np.minimum(np.maximum(asked, -self._limit), self._limit)
        self.torque = self.torque + self._passing * (asked - self.torque)
        gear = self._gear_torque()
        free = self.torque - self._damping * self._omega - gear
        # Damping is that of the end of the step, which is stable however large it is.
        slope = self._damping + self._passing * self._slope * (np.abs(asked) < self._limit)
        omega = self._omega + h * free / (self._rotor + h * slope)
        most = h * self._friction / (self._rotor + h * slope)  # that dry friction takes away
        self._omega = np.sign(omega) * np.maximum(np.abs(omega) - most, 0.0)
        self._theta = self._theta + h * self._omega
        self._simulator.step(gear)

    def _gear_torque(self) -> Floats:
        twist = self._theta - self._simulator.q
        wound = twist - np.minimum(np.maximum(twist, -0.5 * self._play), 0.5 * self._play)
        touching = (wound != 0.0) | (self._play == 0.0)
        damping = self._gear_damping * (self._omega - self._simulator.qd)
        torque: Floats = self._gear * wound + touching * damping
        return torque

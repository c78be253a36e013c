"""A two-joint arm under gravity, and a controller around it, for the tests of the control logic."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import urdf_text
from numpy.typing import ArrayLike

import featherstone_ros as fr
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import ControllerSettings, Mode, Terms
from featherstone_ros.control.trajectory import Point
from featherstone_ros.parameter import of_joints

NAMES = ("shoulder", "elbow")
LIMITS = '<limit lower="-2.9" upper="2.9" velocity="3" effort="20"/>'
URDF = urdf_text.chain(*NAMES, axis="0 1 0", inside=LIMITS)
TURNING = URDF.replace('type="revolute"', 'type="continuous"', 1)  # the shoulder, without end
Q = np.array([0.6, 0.5])  # both joints under load
STILL = np.zeros(2)
PERIOD = 0.001


@cache
def model(urdf: str = URDF) -> fr.Model:
    return fr.Model.from_urdf(urdf)


def space() -> JointSpace:
    return JointSpace.of(model())


def impedance(mode: Mode) -> dict[str, Any]:
    delay = 0.01 if mode is Mode.ADMITTANCE else None
    return prepared(CartesianSettings(), model(), contact_delay=delay)


ARM = ControlledArm.of(
    URDF,
    {
        **of_joints("gains.{}.p", NAMES, (100.0, 20.0)),
        **of_joints("gains.{}.d", NAMES, (10.0, 1.0)),
        **of_joints("damping.{}", NAMES, (0.5, 0.2)),
        **of_joints("torque_rate.{}", NAMES, (200.0, 200.0)),
        "gains.period": PERIOD,
        "gains.delay": 0.0,
    },
)


def settings(**changes: Any) -> ControllerSettings:
    law = {"impedance": impedance(changes.get("mode", ARM.mode)), "fault_damping": None}
    return with_changes(ARM.settings, **{**law, **changes})


def with_changes(settings: ControllerSettings, **changes: Any) -> ControllerSettings:
    """Return settings with others among them, or among what they say of the drives."""
    drives = {name: changes.pop(name) for name in vars(settings.drives) if name in changes}
    return replace(settings, drives=replace(settings.drives, **drives), **changes)


def law(it, dynamics, q, qd, desired, lasts=0.0):
    """Return what settings ask for (n,), in a motion that has come further than joints give way.

    lasts: How long it acts, if that is long [s]: errors go on by M edd = -(Kp e + Kd ed) meanwhile.
    """
    drives, (position, velocity, acceleration) = it.drives, desired[:3]
    if it.mode is Mode.GRAVITY_COMPENSATION:
        return dynamics.gravity(q) + drives.offset + drives.stiffness * q - it.damping * qd
    error, rate = position - q, velocity - qd
    feedback = it.p * (error + lasts * rate) + it.d * rate
    softer = lasts * (it.d + lasts * it.p)
    if it.mode is Mode.COMPUTED_TORQUE:
        sought = acceleration + feedback / (1.0 + softer)
        of_drives = drives.torque(dynamics, q, velocity, sought, np.sign(velocity))
        return of_drives + dynamics.rnea(q, qd, sought) - dynamics.rnea(q, velocity, sought)
    inertia = dynamics.crba(q) + np.diag(drives.armature)
    feedback = feedback - softer * np.linalg.solve(inertia + np.diag(softer), feedback)
    if it.feedforward_terms is Terms.NONE:
        return feedback
    if it.feedforward_terms is Terms.GRAVITY:
        return feedback + dynamics.gravity(position)
    return feedback + drives.torque(dynamics, *desired[:3], np.sign(velocity))


class Bench:
    """A controller with a simulated arm, a clock, and a record of every command."""

    def __init__(self, urdf: str = URDF, friction: ArrayLike | None = None, **changes: Any) -> None:
        self.model = model(urdf)
        self.arm = fr.Simulator(self.model, PERIOD, friction=friction)
        self.arm.reset(Q)
        kinds = enumerate(self.model.joint_types)
        self.turns = [i for i, kind in kinds if kind == "continuous"]
        self.settings = settings(**changes)
        self.notes: list[str] = []
        limits, tip = JointSpace.of(self.model), self.model.link_names[-1]
        self.controller = TorqueController(
            limits, self.model, self.settings, self.notes.append, tip=tip
        )
        self.now = 100.0
        self.stamp = 50.0
        self.commands: list[tuple[float, np.ndarray]] = []
        self.positions: list[np.ndarray] = []
        self.desired: list[np.ndarray] = []
        self.effort: np.ndarray | None = None

    def configure(self, **changes: Any) -> None:
        if "mode" in changes:
            changes = {"impedance": impedance(changes["mode"]), **changes}
        self.settings = with_changes(self.settings, **changes)
        self.controller.configure(self.now, self.settings)

    def set_point(self, point: Point) -> None:
        """Ask for a set-point, as the node does."""
        self.controller.set_point(self.now, point)

    @property
    def compiled(self) -> Any:
        """The compiled controller: what it believes of the arm."""
        return self.controller.compiled

    def gravity(self) -> np.ndarray:
        return fr.Dynamics(self.model).gravity(self.arm.q)

    def move(self, goal: ArrayLike, duration: float = 1.0) -> None:
        """Ask for a motion that ends at rest."""
        self.controller.set_trajectory(self.now, NAMES, [Point(duration, goal, np.zeros(2))])

    def pass_time(self, duration: float = PERIOD) -> None:
        """Let the clocks go on, nothing else."""
        self.now += duration
        self.stamp += duration

    def give(self, q: ArrayLike, qd: ArrayLike = STILL, period: float = PERIOD) -> Any:
        """Put the arm somewhere, and give that to the controller a period later."""
        self.pass_time(period)
        self.arm.set_state(q, qd)
        return self.state()

    def lie(self, q: ArrayLike, qd: ArrayLike | None, period: float = PERIOD) -> np.ndarray | None:
        """Give the controller a state that is not the arm's, a period later."""
        self.pass_time(period)
        command = self.controller.accept_state(self.now, q, qd, None, self.stamp)
        self._record(command)
        return command

    @property
    def measured(self) -> np.ndarray:
        """(n,) positions, within half a turn where a joint turns without end."""
        q = self.arm.q
        if self.turns:
            q[self.turns] = (q[self.turns] + np.pi) % (2.0 * np.pi) - np.pi
        return q

    def state(self) -> np.ndarray | None:
        """Give the controller the arm's state; record what it answers."""
        command = self.controller.accept_state(
            self.now, self.measured, self.arm.qd, self.effort, self.stamp
        )
        self._record(command)
        return command

    def update(self) -> np.ndarray | None:
        """Call the timer."""
        command = self.controller.update(self.now)
        self._record(command)
        return command

    def _record(self, command: np.ndarray | None) -> None:
        if command is not None:
            self.commands.append((self.now, command.copy()))

    def applied(self) -> np.ndarray:
        """Return what the drives apply: the last command, and gravity if they add it."""
        if not self.commands:
            return self.gravity()
        command = self.commands[-1][1]
        return command + self.gravity() if self.settings.hardware_adds_gravity else command

    def run(self, duration: float, states: bool = True, timer: bool = True) -> "Bench":
        """Let time pass: the arm moves under the last command, with or without states and timer."""
        for i in range(round(duration / PERIOD)):
            self.pass_time()
            self.arm.step(self.applied())
            if states:
                self.state()
            if timer and i % 10 == 9:
                self.update()
            self.positions.append(self.arm.q)
            self.desired.append(self.compiled.desired[0])
        return self

    def start(self) -> "Bench":
        """Activate and run until the first transfer is over."""
        self.controller.activate(self.now)
        return self.run(0.3)

    def fail(self) -> None:
        """Excite the arm beyond its speed limit until the controller calls it a fault."""
        for i in range(400):
            self.arm.set_state(self.arm.q, np.array([4.5, 0.0]) * (1.0 if i // 40 % 2 else -1.0))
            self.run(PERIOD)
            if self.controller.phase is Phase.FAULT:
                return
        raise AssertionError("no fault")

    def torques(self, begin: int = 0) -> np.ndarray:
        """All commands from one of them on."""
        return np.array([command for _, command in self.commands[begin:]])

    def largest_step(self, begin: int) -> float:
        """Largest change from a command to the next, from one of them on."""
        return float(np.abs(np.diff(self.torques(begin), axis=0)).max())

    def largest_rate(self) -> float:
        """Largest change of a command over what the rate limit allows for it, 1 at most."""
        times = np.array([time for time, _ in self.commands])
        allowed = np.clip(np.diff(times), PERIOD, 0.005)[:, None] * self.settings.torque_rate
        return float((np.abs(np.diff(self.torques(), axis=0)) / allowed).max())

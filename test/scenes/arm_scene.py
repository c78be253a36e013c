"""One scene: an arm, what it is asked to do, what is done to its states, and what came of it.

    played = play(Scene("panda", ask={0.5: trajectory(points)}, state=lost_after(0.7)))
    assert played.speed.max() < 1.2

All in simulated time. A test is a row: a scene, and a bound on what is played. What is asked, and
what is done to states and commands, are functions: of the loop; of a joint state, of a command
(lies.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from example_robots import example_robot
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.parameter_files import NODES, NodeParameters
from featherstone_ros.model.robots import robot_names
from featherstone_ros.simulation.closed_loop import ClosedLoop, Command, JointState, Record
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools import robot_setup
from featherstone_ros.tools.robot_setup import RobotSetup

Ask = Callable[[ClosedLoop], Any]
Moving = Callable[[float], tuple[float, float, float]]  # position, velocity, acceleration at a time
ARMS: dict[tuple[str, str], ControlledArm] = {}  # by robot and parameters, with all they chose
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}


@cache
def load(robot: str) -> RobotSetup:
    """Return a robot of ours, of example-robot-data by its file's name, or by its path.

    The text of a description is one with default parameters.
    """
    if robot.startswith("<"):
        unset = {node: NodeParameters({}, "") for node in NODES}
        return RobotSetup("", Path(), robot, Model.from_urdf(robot), [], unset)
    is_told = robot in robot_names() or "/" in robot
    return robot_setup.load(robot if is_told else str(example_robot(robot)))


def gains_for(robot: str, period: float, **more: float) -> dict[str, float]:
    """Return parameters that have the gains chosen for a period [s], not as the robot's file."""
    chosen = [f"gains.{name}.{gain}" for name in load(robot).model.joint_names for gain in "pd"]
    return {**dict.fromkeys(chosen, 0.0), "gains.period": period, **more}


@dataclass(frozen=True)
class Scene:
    """What is played.

    Attributes:
        robot: As ``load`` takes it; with the parameters that it has, or those that ``setup``
            proposes.
        ask: Time [s] to what is asked then; the arm is taken over at 0.
        duration: [s] at most.
        until: What ends it sooner.
        start: (n,) where the arm stands at first; None: as the robot's file says [rad or m].
        parameters: Of the controller, other than the robot's.
        state: What is done to a joint state; None, or returning None: it is lost.
        command: Likewise, to a command on its way to the drives.
        units: What its drives are told; None: torques.
        joints: Of the arm, with the default parameters then; None: as the robot's file says.
        others: Joints that the controller does not move, with the motion that they have whatever
            the arm does; those of the arm are all the rest.
        twin: Parameters of the simulated arm alone, a load of which the controller does not know.
        mujoco: The arm is simulated by MuJoCo, not by our own simulator.
        period, delay: Of the loop [s]; None: those for which its gains are made.
    """

    robot: str
    ask: Mapping[float, Ask]
    duration: float
    until: Callable[[ClosedLoop], bool] = field(default=lambda loop: False, kw_only=True)
    start: ArrayLike | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    state: Callable[[JointState], JointState | None] = lambda state: state
    command: Callable[[float, Command], Command | None] = lambda at, command: command
    units: DriveUnits | None = None
    joints: Sequence[str] | None = None
    others: Mapping[str, Moving] = field(default_factory=dict)
    twin: Mapping[str, Any] = field(default_factory=dict)
    mujoco: bool = False
    period: float | None = None
    delay: float | None = None


@dataclass(frozen=True)
class Played:
    """What came of a scene.

    Attributes:
        loop: As it ended.
        record: What the loop recorded, sample by sample.
        q, qd: (N, n) what is true of the arm.
        desired: (N, 3, n) what the controller asked for last, in all phases.
        notes: What the controller said: time [s], text.
        commands: When each command acts [s], and what it is.
    """

    loop: ClosedLoop
    record: Record
    q: Floats
    qd: Floats
    desired: Floats
    notes: list[tuple[float, str]]
    commands: list[tuple[float, Command]]

    @property
    def speed(self) -> Floats:
        """(N,) of the fastest joint, in units of its limit."""
        return np.abs(self.qd / self.loop.arm.model.velocity_limit).max(axis=1)

    @property
    def text(self) -> str:
        """All that the controller said."""
        return "\n".join(text for _, text in self.notes)

    @property
    def rate(self) -> float:
        """Largest change of a command, the first one's from gravity, in units of its limit."""
        arm, command = self.loop.arm, self.record.command
        command = command[~np.isnan(command).all(axis=1)]
        steps = np.diff(np.vstack([Dynamics(arm.model).gravity(self.q[0]), command]), axis=0)
        return float(np.abs(steps / (arm.settings.torque_rate * self.loop.period)).max())

    def hand(self, time: float = np.inf) -> Floats:
        """Return where the hand is at a time [s], (4, 4); at the end if that is sooner."""
        at = int(np.searchsorted(self.record.time, time - 1e-9))
        return Dynamics(self.loop.arm.model).link_pose(self.q[: at + 1][-1], self.loop.arm.tip)

    def since(self, time: float) -> slice:
        """Return the samples from a time on [s]."""
        return slice(int(np.searchsorted(self.record.time, time)), None)


class _WithOthers:
    """What ``SimulatedArm`` needs: of a robot some of whose joints move by themselves."""

    def __init__(self, text: str, arm: ControlledArm, start: Floats, others: Mapping[str, Moving]):
        whole = Model.from_urdf(text)
        self._robot = Simulator(whole, 0.001, "implicit", prescribed=dict(others))
        self._at = [whole.joint_names.index(name) for name in arm.model.joint_names]
        self.time_step = self._robot.time_step
        q = np.zeros(whole.n)
        q[self._at] = start
        self._robot.reset(q)

    @property
    def q(self) -> Floats:
        return self._robot.q[self._at]

    @property
    def qd(self) -> Floats:
        return self._robot.qd[self._at]

    def step(self, tau: Floats, steps: int = 1, f_ext: None = None) -> None:
        effort = np.zeros(self._robot.model.n)
        effort[self._at] = tau
        self._robot.step(effort, steps)


class MujocoArm(SimulatedArm):
    """The same arm with its drives, moved by MuJoCo."""

    def __init__(self, text: str, arm: ControlledArm, start: Floats, step: float) -> None:
        """Stand at a start; ``step`` [s] divides the loop's period."""
        from benchmarks.peers import mujoco_model

        model = mujoco_model(text, arm.model.tree, step)
        super().__init__(_Mujoco(model, arm, start), arm.model.effort_limit)


class _Mujoco:
    """What ``SimulatedArm`` needs of a simulator."""

    def __init__(self, model: Any, arm: ControlledArm, start: Floats) -> None:
        import mujoco

        self._mujoco, self._model, self.time_step = mujoco, model, model.opt.timestep
        self._at = np.array([model.joint(name).dofadr[0] for name in arm.model.joint_names])
        model.dof_armature[self._at] = arm.drives.armature
        model.dof_damping[self._at] = arm.drives.viscous
        model.dof_frictionloss[self._at] = arm.drives.coulomb
        model.dof_solref[self._at] = 2.0 * self.time_step, 1.0  # friction as stiff as it can be
        model.dof_solimp[self._at, :2] = 0.999
        self._data = mujoco.MjData(model)
        self.set_state(start, 0.0 * start)

    @property
    def q(self) -> Floats:
        return self._data.qpos[self._at].copy()

    @property
    def qd(self) -> Floats:
        return self._data.qvel[self._at].copy()

    def set_state(self, q: Floats, qd: Floats) -> None:
        self._data.qpos[self._at], self._data.qvel[self._at] = q, qd

    def step(self, tau: Floats, steps: int = 1, f_ext: None = None) -> None:
        self._data.qfrc_applied[self._at] = tau
        self._mujoco.mj_step(self._model, self._data, steps)


def trajectory(points: Sequence[Point]) -> Ask:
    """Ask for a trajectory that begins now."""
    return lambda loop: loop.controller.set_trajectory(loop.now, loop.arm.model.joint_names, points)


def moved(goal: ArrayLike, duration: float) -> Ask:
    """Ask for a motion to a goal that begins now, and ends without velocity and acceleration."""
    still = np.zeros(len(np.asarray(goal)))
    return trajectory([Point(duration, np.asarray(goal), still, still)])


def set_point(*point: ArrayLike) -> Ask:
    """Ask for a set-point: position, and velocity if there is one (n,)."""
    return lambda loop: loop.controller.set_point(loop.now, Point(0.0, *point))


def chunk(way: Callable[[float], Floats], seen: float, steps: Sequence[int] = range(16)) -> Ask:
    """Ask for what a policy sends that saw a time [s]: positions of its way, steps of 1/30 s on."""
    return trajectory([Point(k / 30.0, way(seen + k / 30.0)) for k in steps])


def hand(loop: ClosedLoop) -> Floats:
    """Return where the hand is (4, 4)."""
    return Dynamics(loop.arm.model).link_pose(loop.plant.q, loop.arm.tip)


def hand_target(*target: ArrayLike | None) -> Ask:
    """Ask for a target of the hand: pose, twist, wrench."""
    return lambda loop: loop.controller.set_target(loop.now, *target)


def lead(by: ArrayLike, *more: ArrayLike) -> Ask:
    """Ask for a target that is a way (3,) from where the hand is; more: twist, wrench."""

    def ask(loop: ClosedLoop) -> None:
        pose = hand(loop)
        pose[:3, 3] += by
        loop.controller.set_target(loop.now, pose, *more)

    return ask


def pushed(wrench: ArrayLike | None) -> Ask:
    """Push the hand from now on, by a wrench in its axes; None: no more."""

    def ask(loop: ClosedLoop) -> None:
        loop.plant.wrenches = None if wrench is None else lambda q, qd: {loop.arm.tip: wrench}

    return ask


def braked(on: bool) -> Ask:
    """Put the brakes on, or release them."""
    return lambda loop: setattr(loop.plant, "blocked", on)


def configured(**changes: Any) -> Ask:
    """Change the controller's parameters."""
    return lambda loop: loop.configure(changes)


def hold(loop: ClosedLoop) -> None:
    """Ask the arm to stop where it is."""
    loop.controller.hold(loop.now)


def fall_back(loop: ClosedLoop) -> None:
    """Let the controller fall back, as after an exception."""
    loop.controller.fall_back(loop.now)


def deactivate(loop: ClosedLoop) -> None:
    """Ask the controller to come to rest, and to end."""
    loop.controller.deactivate(loop.now)


def play(scene: Scene) -> Played:
    """Play a scene from its beginning to its end."""
    robot = (robot_setup.described if scene.others else load)(scene.robot)
    joints = scene.joints
    if scene.others:
        joints = [name for name in robot.model.joint_names if name not in scene.others]
    if joints:
        arm = ControlledArm.of(robot.text, scene.parameters, joints)
    else:
        key = scene.robot, repr(scene.parameters)
        if key not in ARMS:
            ARMS[key] = robot.arm.with_parameters(scene.parameters)
        arm = ARMS[key]
    start = robot.start if scene.start is None else np.asarray(scene.start, float)
    period = arm.timing.period if scene.period is None else scene.period
    real = arm.with_parameters(scene.twin)
    plant: SimulatedArm = SimulatedArm.of(real.model, real.drives, start, period)
    if scene.mujoco:
        plant = MujocoArm(robot.text, real, start, plant.simulator.time_step)
    elif scene.others:
        plant = SimulatedArm(_WithOthers(robot.text, arm, start, scene.others))

    def measured(state: JointState) -> JointState | None:
        places = {name: motion(state.stamp)[0] for name, motion in scene.others.items()}
        return scene.state(state._replace(locked=places))

    plant.measure = measured if scene.others else scene.state
    write, plant.units = plant.write, scene.units
    commands: list[tuple[float, Command]] = []

    def send(at: float, command: Command) -> None:
        commands.append((at, command))
        heard = scene.command(at, command)
        if heard is not None:
            write(at, heard)

    plant.write = send  # type: ignore[method-assign]
    notes: list[tuple[float, str]] = []
    loop = ClosedLoop(arm, plant, scene.delay, period, lambda line: notes.append((loop.now, line)))
    asked = sorted(scene.ask.items(), key=lambda item: item[0])
    samples, q, qd, desired = [], [], [], []
    for sample in loop.steps(scene.duration):
        samples.append(sample)
        q.append(plant.q)
        qd.append(plant.qd)
        desired.append(loop.controller.compiled.desired[:3])
        while asked and loop.now >= asked[0][0] - 1e-9:
            asked.pop(0)[1](loop)
        if scene.until(loop):
            break
    return Played(
        loop,
        Record.of(samples),
        np.array(q),
        np.array(qd),
        np.array(desired),
        notes,
        commands,
    )

"""An arm before a plane, led by its hand: in mode admittance with drives that take positions."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from drive_settings import parameters_of
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import ControllerSettings, Mode
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.simulation.twin import drive_gains

STEP = 2e-3  # [s] of the simulation, and between joint states
ARMATURE = 1.0  # [kg m^2, kg], of geared drives
DELAY = 0.01  # [s] from a wrench to the motion: the sensor's
FORCE = 20.0  # [N] on the plane
ALONG = {"x": 1, "y": 0, "z": 0}  # by the plane's normal: axis along which the hand slides on it
STILL = 1e-3  # [m/s] below which friction of the plane is viscous


@dataclass(frozen=True)
class Arm:
    """An arm, the link that is its hand, and where it begins."""

    model: Model
    tip: str
    home: Floats

    @property
    def n(self) -> int:
        return self.model.n


TIP = "panda_hand"
MODEL = Model.from_robot("panda")
HOME = np.array([0.2, -0.5, 0.1, -2.0, 0.1, 1.6, 0.8])
PANDA = Arm(MODEL, TIP, HOME)


def moved(pose: Floats, by: ArrayLike, about_z: float = 0.0) -> Floats:
    """Return a pose that is elsewhere (3,), and turned [rad]."""
    c, s = np.cos(about_z), np.sin(about_z)
    target = np.array(pose)
    target[:3, 3] += by
    target[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ target[:3, :3]
    return target


@cache
def geared(model: Model) -> ControllerSettings:
    """Return the settings of an arm whose drives follow positions, without friction."""
    each = parameters_of(model.joint_names, ARMATURE)
    return ControlledArm.of(model, each | {"output": "joint_state"}).settings


def settings(
    delay: float = DELAY, model: Model | None = None, arm: Arm = PANDA, **changes: Any
) -> ControllerSettings:
    """Return the controller's settings; changes are of the end effector or of ``Settings``."""
    model = model or arm.model
    own = {k: changes.pop(k) for k in list(changes) if hasattr(ControllerSettings, k)}
    is_virtual = own.get("mode") is not Mode.CARTESIAN_IMPEDANCE
    contact_delay = delay + 0.5 * STEP if is_virtual else None
    law = prepared(CartesianSettings(**changes), model, contact_delay=contact_delay)
    return replace(geared(model), **{"mode": Mode.ADMITTANCE, "impedance": law} | own)


class ContactBench:
    """The controller, the arm with its drives, a sensor that is late, and a plane.

    Attributes:
        normal: (3,) out of the plane, of length 1.
        height: Of the plane along its normal [m].
        stiffness: Of the plane [N/m].
        rubs: Its coefficient of friction.
        forces: Of the plane on the hand along the normal, for each period [N].
        heights: Of the hand along the normal [m].
        desired: Positions that the drives were to follow.
        target: A pose (4, 4) that a test may move, at first the hand's.
    """

    def __init__(
        self,
        chosen: ControllerSettings | None = None,
        delay: float = DELAY,
        model: Model | None = None,
        friction: ArrayLike = 0.0,
        sensor: bool = True,
        arm: Arm = PANDA,
        **changes: Any,
    ) -> None:
        self.kind = arm
        self.settings = chosen or settings(delay, arm=arm, **changes)
        model, known, armature = model or arm.model, arm.model, np.full(arm.n, ARMATURE)
        self.dynamics = Dynamics(model)
        self.arm = Simulator(model, STEP, damping=0, friction=friction, armature=armature)
        self.shadow = None if sensor else Shadow(model, self.known_friction(friction))
        self.arm.reset(arm.home)
        self.controller = TorqueController(JointSpace.of(known), known, self.settings, tip=arm.tip)
        self.p, self.d = drive_gains(known, armature)
        if self.settings.mode is Mode.CARTESIAN_IMPEDANCE:  # its drives take torques
            self.p, self.d = np.zeros(arm.n), np.zeros(arm.n)
        self.now = 100.0
        self.measured: deque[Floats] = deque([np.zeros(6)] * (round(delay / STEP) + 1))
        self.normal, self.height = np.array([0.0, 0.0, 1.0]), 0.0
        self.stiffness = self.rubs = 0.0
        self.forces: list[float] = []
        self.heights: list[float] = []
        self.desired: list[Floats] = []
        self.controller.activate(self.now)
        self.run(0.2)
        self.target = self.pose

    def known_friction(self, coulomb: ArrayLike) -> ShadowSettings:
        """Return the settings of a shadow that knows this Coulomb friction [N m]."""
        drives = Drives(np.full(self.kind.n, ARMATURE), 0.0, coulomb)
        return ShadowSettings(drives=drives, wrench_link=self.kind.tip)

    @property
    def pose(self) -> Floats:
        return self.dynamics.link_pose(self.arm.q, self.kind.tip)

    @property
    def led(self) -> Floats:
        """Where the drives are to bring the hand, (4, 4)."""
        return self.dynamics.link_pose(self.desired[-1], self.kind.tip)

    def push_of_plane(self, place: Floats) -> Floats:
        """Return the force of the plane on the hand at a place, (3,) each."""
        if not self.stiffness or not (depth := self.height - self.normal @ place) > 0.0:
            return np.zeros(3)
        force = self.stiffness * depth
        push = force * self.normal
        if self.rubs:
            velocity = self.dynamics.link_velocity(self.arm.q, self.arm.qd, self.kind.tip)[:3]
            sliding = velocity - (self.normal @ velocity) * self.normal
            push -= self.rubs * force / max(math.sqrt(sliding @ sliding), STILL) * sliding
        return push

    @property
    def phase(self) -> Phase:
        return self.controller.phase

    def configure(self, **changes: Any) -> None:
        self.settings = replace(self.settings, **changes)
        self.controller.configure(self.now, self.settings)

    def run(
        self, duration: float, push: Any = (0.0,) * 6, sensor: bool = True, felt: Any = None
    ) -> ContactBench:
        """Let time pass; push: (6,) on the hand, base axes; felt: measured instead of that."""
        arm, n, tip = self.arm, self.kind.n, self.kind.tip
        pushed = np.reshape(push, (2, 3)).astype(float)  # force, moment
        for _ in range(round(duration / STEP)):
            self.now += STEP
            if sensor:
                self.controller.take_wrench(self.now, self.measured[0], tip)
            q, qd = arm.q, arm.qd
            command = self.controller.accept_state(self.now, q, qd)
            assert command is not None, self.controller.rejection
            goal = self.controller.compiled.desired
            if self.controller.compiled.phase == Phase.FAULT:  # as ~/joint_commands: the arm
                goal = np.array([q, np.zeros(n)])
            pose = self.dynamics.link_pose(q, tip)
            force = self.push_of_plane(pose[:3, 3])
            acting = pushed.copy()
            acting[0] += force
            wrench = (acting @ pose[:3, :3]).ravel()
            effort = command + self.p * (goal[0] - q) + self.d * (goal[1] - qd)
            arm.step(effort, f_ext={tip: wrench})
            if self.shadow is not None:
                update = self.shadow.update(round(self.now * 1e9), arm.q, arm.qd, effort)
                felt = np.zeros(6)
                if update is not None and update.residual is not None:
                    felt = update.residual.wrench
            self.measured.append(wrench if felt is None else np.asarray(felt, float))
            self.measured.popleft()
            self.forces.append(float(self.normal @ force))
            self.heights.append(float(self.normal @ pose[:3, 3]))
            self.desired.append(goal[0].copy())
        return self


def wanted(bench: ContactBench, force: float = FORCE) -> Floats:
    """Return the wrench that presses on the plane with a force."""
    return np.concatenate([-force * bench.normal, np.zeros(3)])


def press(bench: ContactBench, duration: float, along: float = 0.0, force: float = FORCE) -> Floats:
    """Press, and lead the target along the plane with a speed [m/s]; return the force meanwhile."""
    begin, axis = len(bench.forces), ALONG["xyz"[np.abs(bench.normal).argmax()]]
    for _ in range(round(duration / 0.1)):
        bench.target[axis, 3] += 0.1 * along
        bench.controller.set_target(
            bench.now, pose=bench.target if along else None, wrench=wanted(bench, force)
        )
        bench.run(0.1)
    return np.array(bench.forces[begin:])

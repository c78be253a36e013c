"""A Panda before a plane, led by its hand: in mode admittance with drives that take positions."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.arrays import Floats
from featherstone_ros.control.admittance import virtual_settings
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode, Settings
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.simulation.drive_gains import drive_gains

CONFIG = Path(__file__).resolve().parents[2] / "config"
TIP = "panda_hand"
MODEL = Model.from_file(CONFIG / "panda.urdf", joints=[f"panda_joint{k}" for k in range(1, 8)])
HOME = np.array([0.2, -0.5, 0.1, -2.0, 0.1, 1.6, 0.8])
STEP = 5e-4  # [s] of the simulation
PERIOD = 4  # steps between joint states
ARMATURE = 1.0  # [kg m^2], of geared drives
DELAY = 0.01  # [s] from a wrench to the motion: the sensor's


def settings(delay: float = DELAY, model: Model = MODEL, **changes: Any) -> Settings:
    """Return the controller's settings; changes are of the end effector or of ``Settings``."""
    own = {k: changes.pop(k) for k in list(changes) if hasattr(Settings, k) or k == "coulomb"}
    law = CartesianSettings(**changes)
    if own.get("mode") is not Mode.CARTESIAN_IMPEDANCE:
        law = virtual_settings(law, delay + 0.5 * PERIOD * STEP)
    zero = np.zeros(7)
    rest = {"mode": Mode.ADMITTANCE, "impedance": prepared(law, model)} | own
    return Settings(
        p=zero,
        d=zero,
        damping=zero,
        coulomb=rest.pop("coulomb", zero),
        viscous=zero,
        armature=np.full(7, ARMATURE),
        effort_limit=model.effort_limit,
        torque_rate=np.full(7, 1000.0),
        **rest,
    )


class ContactBench:
    """The controller, the arm with its drives, a sensor that is late, and a plane z = height.

    Attributes:
        forces: Of the plane on the hand, for each period [N].
        heights: Of the hand [m].
        desired: Positions that the drives were to follow.
    """

    def __init__(
        self,
        chosen: Settings | None = None,
        delay: float = DELAY,
        model: Model = MODEL,
        friction: ArrayLike = 0.0,
        sensor: bool = True,
        **changes: Any,
    ) -> None:
        self.settings = chosen or settings(delay, **changes)
        self.dynamics = Dynamics(model)
        self.arm = Simulator(
            model, STEP, damping=0, friction=friction, armature=np.full(7, ARMATURE)
        )
        self.shadow = None if sensor else Shadow(model, self.known_friction(friction))
        self.arm.reset(HOME)
        self.controller = TorqueController(JointSpace.of(MODEL), MODEL, self.settings, tip=TIP)
        self.p, self.d = drive_gains(MODEL, np.full(7, ARMATURE))
        if self.settings.mode is Mode.CARTESIAN_IMPEDANCE:  # its drives take torques
            self.p, self.d = np.zeros(7), np.zeros(7)
        self.now = 100.0
        self.measured: deque[Floats] = deque([np.zeros(6)] * (round(delay / STEP / PERIOD) + 1))
        self.height, self.stiffness = 0.0, 0.0
        self.forces: list[float] = []
        self.heights: list[float] = []
        self.desired: list[Floats] = []
        self.controller.activate(self.now)
        self.run(0.2)

    @staticmethod
    def known_friction(coulomb: ArrayLike) -> ShadowSettings:
        """Return the settings of a shadow that knows this Coulomb friction [N m]."""
        return ShadowSettings(coulomb=coulomb, viscous=0.0, armature=ARMATURE, wrench_link=TIP)

    @property
    def pose(self) -> Floats:
        return self.dynamics.link_pose(self.arm.q, TIP)

    @property
    def led(self) -> Floats:
        """Where the drives are to bring the hand, (4, 4)."""
        return self.dynamics.link_pose(self.desired[-1], TIP)

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
        for _ in range(round(duration / STEP / PERIOD)):
            self.now += PERIOD * STEP
            wrench = np.array(push, float)
            if sensor:
                self.controller.take_wrench(self.now, self.measured[0], TIP)
            command = self.controller.accept_state(self.now, self.arm.q, self.arm.qd)
            assert command is not None, self.controller.rejection
            goal = self.controller.compiled.desired
            if self.phase is Phase.FAULT:  # as ~/joint_commands: where the arm is
                goal = np.array([self.arm.q, np.zeros(7)])
            effort = np.zeros(7)
            for _ in range(PERIOD):
                wrench = np.array(push, float)
                pose = self.pose
                force = max(self.stiffness * (self.height - pose[2, 3]), 0.0)
                wrench[2] += force
                wrench = np.concatenate([pose[:3, :3].T @ wrench[:3], pose[:3, :3].T @ wrench[3:]])
                torque = (
                    command + self.p * (goal[0] - self.arm.q) + self.d * (goal[1] - self.arm.qd)
                )
                effort += torque / PERIOD
                self.arm.step(torque, f_ext={TIP: wrench})
            if self.shadow is not None:
                update = self.shadow.update(round(self.now * 1e9), self.arm.q, self.arm.qd, effort)
                felt = np.zeros(6)
                if update is not None and update.residual is not None:
                    felt = update.residual.wrench
            self.measured.append(wrench if felt is None else np.asarray(felt, float))
            self.measured.popleft()
            self.forces.append(force)
            self.heights.append(pose[2, 3])
            self.desired.append(goal[0].copy())
        return self

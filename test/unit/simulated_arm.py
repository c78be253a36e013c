"""An arm simulated with its friction and rotors, under the node's controller.

Drives put their brakes on when no command has come for a while, as most do.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Interpolation, Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.parameter import of_joints
from featherstone_ros.tools import robot_setup

load = cache(robot_setup.load)
STEP = 0.001  # [s]
UPDATE = 10  # [STEP] between two updates of the controller
COMMAND_TIMEOUT = 0.2  # [s] after which the brakes are on
ROBOTS = ("panda", "ur5e")
TIPS = {"panda": "panda_hand", "ur5e": "tool0"}


class SimulatedArm:
    """An arm, its drives, and the controller; what it says of itself may be spoilt."""

    def __init__(
        self,
        name: str,
        rate: int = 200,
        stiction: float = 1.0,
        mode: Mode = Mode.FEEDFORWARD,
        known_friction: float = 1.0,
        path_tolerance: float | None = None,
        interpolation: Interpolation = Interpolation.LINEAR,
    ) -> None:
        robot = load(name)
        self.model, self.start = robot.model, robot.start.copy()
        self.lower, self.upper = self.model.lower, self.model.upper
        self.fastest = self.model.velocity_limit

        drives, limit = robot.drives, self.model.effort_limit
        stuck = replace(drives, coulomb=stiction * drives.coulomb)
        self.simulator = fr.Simulator(self.model, STEP, **stuck.of_simulator)
        self.simulator.reset(robot.start)
        known = known_friction * robot.arm.drives.coulomb
        changes = {} if path_tolerance is None else {"path_tolerance": path_tolerance}
        arm = robot.arm.with_parameters(
            of_joints("friction.{}.coulomb", self.model.joint_names, known),
            **of_joints("damping.{}", self.model.joint_names, 0.02 * limit / self.fastest),
            mode=mode, interpolation=interpolation, tip=TIPS[name], **changes,
        )  # fmt: skip
        self.tip = TIPS[name]
        self.notes: list[str] = []
        self.controller = arm.controller(self.notes.append)
        self.every = round(1.0 / (rate * STEP))
        self.now, self.steps, self.commanded = 100.0, 0, -np.inf
        self.braked = self.deaf = False  # deaf drives keep the last command, then brake
        self.command = np.zeros(self.model.n)
        self.speed = 0.0  # the highest over the limit
        self.delay, self.clock_offset = 0.0, 0.0  # of joint states, and of their clock's [s]
        self.on_their_way: deque[tuple[float, Floats, Floats]] = deque()
        self.spoil: Callable[[Floats, Floats], tuple[Floats, Floats]] = lambda q, qd: (q, qd)
        self.controller.activate(self.now)

    @property
    def phase(self) -> Phase:
        return self.controller.phase

    def run(self, duration: float) -> SimulatedArm:
        steps = math.gcd(self.every, UPDATE)
        for _ in range(round(duration / STEP / steps)):
            self.steps += steps
            for _ in range(steps):
                self.now += STEP
            self._move(steps)
            if self.steps % self.every == 0:
                q, qd = self.spoil(self.simulator.q, self.simulator.qd)
                self.on_their_way.append((self.now, q, qd))
            while self.on_their_way and self.on_their_way[0][0] + self.delay <= self.now + 1e-9:
                then, q, qd = self.on_their_way.popleft()
                stamp = then + self.clock_offset
                self._take(self.controller.accept_state(self.now, q, qd, None, stamp))
            if self.steps % UPDATE == 0:
                self._take(self.controller.update(self.now))
        return self

    def _move(self, steps: int) -> None:
        if self.braked or self.now - self.commanded > COMMAND_TIMEOUT:
            qd = 0.95**steps * self.simulator.qd
            stopped = np.abs(qd).max() <= 1e-3
            self.simulator.reset(self.simulator.q + steps * STEP * qd, 0.0 * qd if stopped else qd)
        else:
            self.simulator.step(self.command, steps)
        q, qd = self.simulator.q, self.simulator.qd
        if (q < self.lower).any() or (q > self.upper).any():
            inside = np.clip(q, self.lower, self.upper)
            qd = np.where(q == inside, qd, 0.0)
            self.simulator.reset(inside, qd)
        self.speed = max(self.speed, float((np.abs(qd) / self.fastest).max()))

    def _take(self, command: Floats | None) -> None:
        if command is not None and not self.deaf:
            self.command, self.commanded = command.copy(), self.now

    def follow(self, target: Floats, duration: float) -> None:
        point = Point(duration, target, *np.zeros((2, self.model.n)))
        self.controller.set_trajectory(self.now, self.model.joint_names, [point])

    def lead(self, way: tuple[float, float, float]) -> None:
        """Lead the hand away from where it is [m]."""
        pose = fr.Dynamics(self.model).link_pose(self.simulator.q, self.tip)
        pose[:3, 3] += way
        self.controller.set_target(self.now, pose)

    def freeze(self, joints: list[int], velocity: float = 0.0) -> None:
        """Let joints say the position of now from now on."""
        place = self.simulator.q[joints]

        def spoil(q: Floats, qd: Floats) -> tuple[Floats, Floats]:
            q, qd = q.copy(), qd.copy()
            q[joints], qd[joints] = place, velocity
            return q, qd

        self.spoil = spoil

    def round(self, step: float, velocities: str) -> None:
        """Let positions come in steps, and velocities be true, derived from them, or missing."""
        dt = self.every * STEP
        last, filtered = self.simulator.q, np.zeros(self.model.n)

        def spoil(q: Floats, qd: Floats) -> tuple[Floats, Floats]:
            q = step * np.round(q / step)
            filtered[:] += (1.0 - np.exp(-2.0 * np.pi * 20.0 * dt)) * ((q - last) / dt - filtered)
            last[:] = q
            return q, {"true": qd, "derived": filtered.copy(), "missing": np.nan * qd}[velocities]

        self.spoil = spoil

    def away(self, way: float, seed: int = 0) -> Floats:
        """Return a place about as far away in every joint."""
        random = np.random.default_rng(seed)
        signs = random.choice([-1.0, 1.0], self.model.n)
        return self.start + way * signs * random.uniform(0.5, 1.0, self.model.n)

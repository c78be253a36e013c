"""Random targets for the hand in mode cartesian_impedance, from any posture: is every limit kept?

    python test/chaos/hand.py [--robot ur5e] [--episodes 10000] [--seed 0] [--armature 0.02]
        [--leave] [--workers 2]

The rotors are those of config/, or have the inertia given.

Each episode begins at rest in a random posture (in every fifth joints are in line, in every fifth
at their stops) and leads the compiled controller, around the simulator and without ROS, through ten
targets of all kinds: near, out of reach, turned by half a turn, moving, pressing, with other
stiffnesses, with inertia shaping. With --leave the controller is deactivated on the way to one of
the first three; in every other episode somebody pushes the hand meanwhile.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import campaign
import numpy as np
from arm import TIPS
from scipy.spatial.transform import Rotation

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from drive_settings import parameters_of

from featherstone_ros import Dynamics
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.robot_setup import load

STEP = 1e-3
TARGETS = 10
TICKS = 150  # of each target
PRESS = np.array([30.0] * 3 + [3.0] * 3)  # [N, N m]
LEFT_AFTER = 3  # targets at most
LEAVING = 30_000  # ticks at most
PUSH = np.array([20.0] * 3 + [2.0] * 3)  # [N, N m] at most: the wrists can resist it
PUSHED = 300  # ticks, from before the deactivation to after it
KINDS = ("near", "far", "turned", "moving", "pressing", "stiffness", "shaped")


@dataclass
class Outcome:
    """What an episode has shown, in shares of the limits."""

    seed: int
    torque: float = 0.0
    rate: float = 0.0
    speed: float = 0.0
    finite: bool = True
    faults: int = 0
    left: bool = True

    @property
    def is_safe(self) -> bool:
        """Whether every limit was kept."""
        within = max(self.torque, self.rate, self.speed) <= 1.0 + 1e-9
        return self.finite and self.left and within


class Hand:
    """An arm without friction, and the parameters of its controller."""

    def __init__(
        self, robot: str = "panda", armature: float | None = None, leaves: bool = False
    ) -> None:
        """Take rotors of that inertia [kg m^2]; None: those of config/."""
        setup = load(robot)
        self.model, self.tip, self.leaves = setup.model, TIPS[robot], leaves
        rotors = setup.drives.armature if armature is None else armature
        self.dynamics = Dynamics(self.model)
        self.arm = setup.arm.with_parameters(
            parameters_of(self.model.joint_names, rotors), mode="cartesian_impedance", tip=self.tip
        )

    def posture(self, random: np.random.Generator) -> np.ndarray:
        """Return where an episode begins."""
        lower, upper = self.model.lower, self.model.upper
        q = random.uniform(lower, upper)
        kind = random.integers(5)
        some = random.random(self.model.n) < 0.5
        if kind == 0:  # axes in line
            q = np.where(some, np.clip(0.0, lower, upper), q)
        elif kind == 1:  # stops
            q = np.where(some, np.where(random.random(self.model.n) < 0.5, lower, upper), q)
        return q

    def run(self, seed: int) -> Outcome:
        """Run one episode."""
        random = np.random.default_rng(seed)
        episode = Episode(self, seed, self.posture(random))
        if self.leaves:
            self.leave(episode, random)
            return episode.outcome
        for target in range(1 + TARGETS):
            if target:
                self.ask(episode, random)
            episode.go_on(TICKS)
        return episode.outcome

    def leave(self, episode: Episode, random: np.random.Generator) -> None:
        """Deactivate the controller on the way to a target."""
        episode.go_on(TICKS)
        for _ in range(random.integers(1, LEFT_AFTER + 1)):
            self.ask(episode, random)
            episode.go_on(int(random.integers(TICKS)))
        before = int(random.integers(PUSHED)) if random.random() < 0.5 else 0
        wrench = random.uniform(-1.0, 1.0, 6) * PUSH
        episode.go_on(before, wrench)
        episode.controller.deactivate(episode.now)
        episode.go_on(PUSHED - before if before else 0, wrench)
        episode.go_on(LEAVING)
        episode.outcome.left = episode.controller.phase is Phase.INACTIVE

    def ask(self, episode: Episode, random: np.random.Generator) -> None:
        """Give the controller a target."""
        controller, now = episode.controller, episode.now
        kind = random.choice(KINDS)
        reach = {"near": 0.05, "far": 2.0}.get(kind, 0.3)
        angle = np.pi if kind == "turned" else random.uniform(0.0, 0.5)
        pose = self.dynamics.link_pose(episode.plant.q, self.tip)
        axis = random.normal(size=3)
        turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        pose[:3, 3] += random.uniform(-reach, reach, 3)
        pose[:3, :3] = turn @ pose[:3, :3]
        if kind in ("stiffness", "shaped"):
            episode.configure(
                stiffness=10 ** random.uniform([0.5] * 3 + [-0.5] * 3, [3.0] * 3 + [1.7] * 3),
                damping_ratio=random.uniform(0.3, 2.0, 6),
                stiffness_frame=str(random.choice(["base", "tip"])),
                inertia_shaping=bool(kind == "shaped"),
            )
        twist = random.normal(size=6) if kind == "moving" else None
        wrench = random.uniform(-1.0, 1.0, 6) * PRESS if kind == "pressing" else None
        with suppress(TrajectoryError):  # after a fault
            controller.set_target(now, pose, twist, wrench)


class Episode(ClosedLoop):
    """A controller around a simulated arm, on one clock."""

    plant: SimulatedArm

    def __init__(self, hand: Hand, seed: int, q: np.ndarray) -> None:
        """Begin at rest."""
        super().__init__(hand.arm, SimulatedArm.of(hand.model, hand.arm.drives, q), 0.0, STEP)
        self.hand, self.outcome = hand, Outcome(seed)
        self.last = hand.dynamics.gravity(q)
        self.phase = self.controller.phase

    def go_on(self, ticks: int, wrench: np.ndarray | None = None) -> None:
        """Let time pass; brakes hold the arm when commands have ended."""
        self.plant.wrenches = None if wrench is None else lambda q, qd: {self.hand.tip: wrench}
        for sample in self.steps(ticks * STEP):
            if self.controller.phase is Phase.INACTIVE or not self.outcome.finite:
                return
            if not np.isnan(sample.command).all():
                self.take(sample.command)
            self.look()

    def take(self, command: np.ndarray) -> None:
        """Note how near its limits a command is."""
        its, hand = self.outcome, self.hand
        its.finite &= bool(np.isfinite(command).all())
        torque = np.abs(command) / hand.model.effort_limit
        rate = np.abs(command - self.last) / (hand.arm.settings.torque_rate * STEP)
        its.torque = max(its.torque, float(torque.max()))
        its.rate = max(its.rate, float(rate.max()))
        self.last = command

    def look(self) -> None:
        """Note how fast the arm is, and faults."""
        speed = np.abs(self.plant.qd) / self.hand.model.velocity_limit
        self.outcome.speed = max(self.outcome.speed, float(speed.max()))
        if self.controller.phase is not self.phase:
            self.phase = self.controller.phase
            self.outcome.faults += self.phase is Phase.FAULT


hand_of = cache(Hand)


def outcome_of(options: tuple[Any, ...], seed: int) -> Outcome:
    """Run an episode; options are those of ``Hand``."""
    return hand_of(*options).run(seed)


def main() -> int:
    """Run the campaign; return 1 if a limit was broken."""
    parser = campaign.parser(__doc__, 10_000)
    parser.add_argument("--armature", type=float, help="of each joint [kg m^2]")
    parser.add_argument("--leave", action="store_true", help="deactivate on the way")
    its = parser.parse_args()
    seeds = range(its.seed, its.seed + its.episodes)
    options = its.robot, its.armature, its.leave
    outcomes = list(campaign.run(partial(outcome_of, options), seeds, its.workers))
    for outcome in outcomes:
        if not outcome.is_safe:
            print(outcome)
    unsafe = sum(not outcome.is_safe for outcome in outcomes)
    worst = (
        f"{name} {max(getattr(outcome, name) for outcome in outcomes):.3f}"
        for name in ("torque", "rate", "speed")
    )
    faults = sum(outcome.faults > 0 for outcome in outcomes)
    print(f"{len(outcomes)} episodes: {unsafe} beyond the limits; {faults} with a fault")
    print("worst shares:", *worst)
    return int(unsafe > 0)


if __name__ == "__main__":
    sys.exit(main())

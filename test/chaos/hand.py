"""Random targets for the hand in mode cartesian_impedance, from any posture: is every limit kept?

    python test/chaos/hand.py [--episodes 10000] [--seed 0] [--armature 0.02] [--workers 2]

The Panda's rotors are the manufacturer's, or as light as one likes. Effort and its rate are limited
outright. Speed follows: at a joint's limit the law asks for nothing that would drive it further.
But what torques tau act then end at their rates R only, and bring joint i sum_j |M^-1|_ij
tau_j^2 / (2 R_j) more: at most 1.1 limits with the manufacturer's rotors, several with none.

Each episode begins at rest in a random posture (in every fifth joints are in line, in every fifth
at their stops) and leads the compiled controller, around the simulator and without ROS, through ten
targets of all kinds: near, out of reach, turned by half a turn, moving, pressing, with other
stiffnesses, with inertia shaping.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
from rich.progress import track
from scipy.spatial.transform import Rotation

from featherstone_ros import Dynamics, Simulator
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.governor import default_torque_rate
from featherstone_ros.control.settings import Mode, Settings
from featherstone_ros.control.trajectory import JointSpace, TrajectoryError
from featherstone_ros.control.transitions import Phase
from featherstone_ros.tools.robot import load

TIP = "panda_hand"
STEP = 1e-3
TARGETS = 10
TICKS = 150  # of each target
PRESS = np.array([30.0] * 3 + [3.0] * 3)  # [N, N m]
POSTURES = 1000  # that the bound of the speed is looked for in
KINDS = ("near", "far", "turned", "moving", "pressing", "stiffness", "shaped")


@dataclass
class Outcome:
    """What an episode has shown: shares of the limits, and of the bound of the speed."""

    seed: int
    torque: float = 0.0
    rate: float = 0.0
    speed: float = 0.0
    bound: float = 0.0
    finite: bool = True
    faults: int = 0

    @property
    def is_safe(self) -> bool:
        """Whether every limit was kept."""
        return (
            self.finite
            and self.torque <= 1.0 + 1e-9
            and self.rate <= 1.0 + 1e-9
            and self.bound <= 1.0
        )


class Hand:
    """A Panda without friction on the simulator, and its controller.

    Attributes:
        armature: (n,) of its rotors [kg m^2].
        fastest: (n,) bound of the speeds, see above [rad/s].
    """

    def __init__(self, armature: float | None = None) -> None:
        """Take rotors of that inertia [kg m^2]; None: the manufacturer's."""
        robot = load("panda")
        self.model = robot.model
        given = robot.by_joint("digital_twin", "armature.{}")
        self.armature = given if armature is None else np.full_like(given, armature)
        self.dynamics = Dynamics(self.model)
        self.rate = default_torque_rate(self.model.effort_limit)
        zero = np.zeros(self.model.n)
        self.settings = Settings(
            p=zero,
            d=zero,
            damping=np.full(self.model.n, 1.0),
            coulomb=zero,
            viscous=zero,
            armature=self.armature,
            effort_limit=self.model.effort_limit,
            torque_rate=self.rate,
            mode=Mode.CARTESIAN_IMPEDANCE,
            impedance=prepared(CartesianSettings(), self.model),
        )
        inertia = self.dynamics.crba(
            np.random.default_rng(0).uniform(
                self.model.lower, self.model.upper, (POSTURES, self.model.n)
            )
        )
        surge = np.abs(np.linalg.inv(inertia + np.diag(self.armature))) @ (
            self.model.effort_limit**2 / (2.0 * self.rate)
        )
        self.fastest = self.model.velocity_limit + surge.max(axis=0)

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
        outcome = Outcome(seed)
        arm = Simulator(self.model, STEP, damping=0, friction=0, armature=self.armature)
        arm.reset(self.posture(random))
        controller = TorqueController(JointSpace.of(self.model), self.model, self.settings, tip=TIP)
        now, phase = 100.0, controller.phase
        last = self.dynamics.gravity(arm.q)
        controller.activate(now)
        for target in range(1 + TARGETS):
            if target:
                self.ask(controller, now, arm, random)
            for _ in range(TICKS):
                now += STEP
                command = controller.accept_state(now, arm.q, arm.qd)
                if command is not None:
                    outcome.finite &= bool(np.isfinite(command).all())
                    torque = np.abs(command) / self.model.effort_limit
                    rate = np.abs(command - last) / (self.rate * STEP)
                    outcome.torque = max(outcome.torque, float(torque.max()))
                    outcome.rate = max(outcome.rate, float(rate.max()))
                    last = command.copy()
                if not outcome.finite:
                    return outcome
                arm.step(last)
                speed = np.abs(arm.qd)
                outcome.speed = max(outcome.speed, float((speed / self.model.velocity_limit).max()))
                outcome.bound = max(outcome.bound, float((speed / self.fastest).max()))
                if controller.phase is not phase:
                    phase = controller.phase
                    outcome.faults += phase is Phase.FAULT
        return outcome

    def ask(
        self,
        controller: TorqueController,
        now: float,
        arm: Simulator,
        random: np.random.Generator,
    ) -> None:
        """Give the controller a target."""
        kind = random.choice(KINDS)
        reach = {"near": 0.05, "far": 2.0}.get(kind, 0.3)
        angle = np.pi if kind == "turned" else random.uniform(0.0, 0.5)
        pose = self.dynamics.link_pose(arm.q, TIP)
        axis = random.normal(size=3)
        turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        pose[:3, 3] += random.uniform(-reach, reach, 3)
        pose[:3, :3] = turn @ pose[:3, :3]
        if kind in ("stiffness", "shaped"):
            impedance = CartesianSettings(
                stiffness=10 ** random.uniform([0.5] * 3 + [-0.5] * 3, [3.0] * 3 + [1.7] * 3),
                damping_ratio=random.uniform(0.3, 2.0, 6),
                axes=random.choice(["base", "tip"]),
                inertia_shaping=kind == "shaped",
            )
            self_made = replace(self.settings, impedance=prepared(impedance, self.model))
            controller.configure(now, self_made)
        twist = random.normal(size=6) if kind == "moving" else None
        wrench = random.uniform(-1.0, 1.0, 6) * PRESS if kind == "pressing" else None
        with suppress(TrajectoryError):  # after a fault
            controller.set_target(now, pose, twist, wrench)


hand: Hand | None = None


def prepare(armature: float | None) -> None:
    """Make a worker's arm."""
    global hand
    hand = Hand(armature)


def outcome_of(seed: int) -> Outcome:
    """Run an episode in a worker."""
    assert hand is not None
    return hand.run(seed)


def main() -> int:
    """Run the campaign; return 1 if a limit was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=10_000, help="of ten targets each")
    parser.add_argument("--seed", type=int, default=0, help="of the first episode")
    parser.add_argument(
        "--armature", type=float, help="of each joint [kg m^2]; default: the manufacturer's"
    )
    parser.add_argument("--workers", type=int, default=2)
    its = parser.parse_args()
    seeds = range(its.seed, its.seed + its.episodes)
    with ProcessPoolExecutor(
        its.workers, get_context("spawn"), initializer=prepare, initargs=(its.armature,)
    ) as pool:
        outcomes = list(
            track(
                pool.map(outcome_of, seeds, chunksize=10),
                total=len(seeds),
                description="episodes",
            )
        )
    for outcome in outcomes:
        if not outcome.is_safe:
            print(outcome)
    names = ("torque", "rate", "speed", "bound")
    worst = {name: max(getattr(outcome, name) for outcome in outcomes) for name in names}
    unsafe = sum(not outcome.is_safe for outcome in outcomes)
    print(
        f"{len(outcomes)} episodes, {TARGETS * len(outcomes)} targets: {unsafe} beyond the bounds; "
        "worst shares: "
        + ", ".join(f"{name} {value:.3f}" for name, value in worst.items())
        + f"; {sum(outcome.faults > 0 for outcome in outcomes)} episodes with a fault"
    )
    return int(unsafe > 0)


if __name__ == "__main__":
    sys.exit(main())

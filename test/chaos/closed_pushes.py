"""Random closed pushes on the hand of a Panda: does it ever return more energy than it got?

    python test/chaos/closed_pushes.py [--pushes 10000] [--seed 0]

A hand pushes at random, twice, and lets go for a moment; then again. Posture, stiffness, damping
and axes change every 50 pushes. There is no friction: only the control law takes energy out.
"""

from __future__ import annotations

import argparse
import logging
import sys

import numpy as np
from arm import TIPS
from rich.progress import track

from featherstone_ros import Dynamics, Simulator
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.tools.robot_setup import load

TIP = TIPS["panda"]
STEP = 1e-3  # [s]
TOGETHER = 50  # pushes of one arm
PUSHED, LET_GO = 60, 120  # steps
FORCE, MOMENT = 15.0, 1.5  # [N, N m]
ROUNDING = 1e-6  # [J]


class PushedHand:
    """The law around a simulated arm, and the work that somebody has done on its hand.

    Attributes:
        work: [J], 0 at first.
        least: The least that it has been.
    """

    def __init__(self, axes: str, random: np.random.Generator) -> None:
        """Begin at rest, in a posture about the Panda's start."""
        robot = load("panda")
        self.random, self.work, self.least = random, 0.0, 0.0
        self.dynamics = Dynamics(robot.model)
        self.arm = Simulator(robot.model, STEP, damping=0, friction=0)
        q = robot.start + random.uniform(-0.4, 0.4, robot.model.n)
        self.arm.reset(np.clip(q, robot.model.lower + 0.15, robot.model.upper - 0.15))
        self.law = CartesianImpedance(
            robot.model,
            TIP,
            axes=axes,
            stiffness=10 ** random.uniform([1.5] * 3 + [0.5] * 3, [3.0] * 3 + [1.5] * 3),
            damping_ratio=random.uniform(0.2, 1.5),
            posture_stiffness=10.0,
            max_force=20.0,
        )
        self.law.start(self.arm.q)

    def push(self) -> None:
        """Push twice and let go."""
        for _ in range(2):
            self.go_on(PUSHED, self.random.normal(size=6) * ([FORCE] * 3 + [MOMENT] * 3))
        self.go_on(LET_GO, np.zeros(6))

    def go_on(self, steps: int, wrench: np.ndarray) -> None:
        """Let time pass; wrench (6,) on the hand, base axes."""
        for _ in range(steps):
            pushed = wrench @ self.dynamics.jacobian(self.arm.q, TIP)
            self.arm.step(self.law.torque(self.arm.q, self.arm.qd, STEP) + pushed)
            self.work += STEP * float(pushed @ self.arm.qd)
            self.least = min(self.least, self.work)


def least_work(axes: str, pushes: int, seed: int) -> float:
    """Return the least work done on a hand [J]; negative: it gave energy away."""
    random, least = np.random.default_rng(seed), 0.0
    for _ in track(range(0, pushes, TOGETHER), description=axes):
        hand = PushedHand(axes, random)
        for _ in range(TOGETHER):
            hand.push()
        least = min(least, hand.least)
    return least


def main() -> int:
    """Push; return 1 if energy was gained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pushes", type=int, default=10_000, help="in each frame")
    parser.add_argument("--seed", type=int, default=0)
    its = parser.parse_args()
    logging.disable(logging.WARNING)
    least = {axes: least_work(axes, its.pushes, its.seed) for axes in ("base", "tip")}
    for axes, joules in least.items():
        print(f"{its.pushes} pushes, axes of the {axes}: least work of the hand {joules:.3g} J")
    return int(min(least.values()) < -ROUNDING)


if __name__ == "__main__":
    sys.exit(main())

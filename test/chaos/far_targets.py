"""Targets 3 m away in mode cartesian_impedance: does the arm reach as far as it goes, and stand?

    python test/chaos/far_targets.py [--robots ur5e kinova] [--episodes 12] [--bare] [--workers 2]

Each episode begins at rest in a random posture that the drives can hold, and asks for a target in a
random direction, with 400 or 1500 N/m. Parameters are those of setup, without friction; --bare: no
rotors, with the gains that the controller chooses then. In simulated time, without ROS.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import campaign
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from drive_settings import parameters_of
from example_robots import ROBOTS

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.phases import Phase
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.robot_setup import load

AWAY = 3.0  # [m]
WATCHED = 25.0  # [s]
HELD = 0.7  # share of the effort limits that gravity takes at most where an episode begins
STIFFNESS = (400.0, 1500.0)  # [N/m], by turns
BESIDE = ("finger", "gripper", "head", "left_")  # parts of names of joints that stay where they are
TIPS = {
    "panda": "panda_hand",
    "ur5e": "tool0",
    "kinova": "j2s6s200_end_effector",
    "baxter": "right_gripper",
    "xarm7": "link7",
}


@dataclass(frozen=True)
class Outcome:
    """What an episode has shown: speeds as shares of their limits, and why the arm gave up."""

    seed: int
    fastest: float
    last: float
    reason: str


@cache
def controlled(name: str, bare: bool, stiffness: float) -> ControlledArm:
    """Return an arm as setup leaves it, without friction."""
    setup = load(next((str(path) for path in ROBOTS if path.stem == name), name))
    all_joints = setup.model.joint_names
    joints = [joint for joint in all_joints if not any(part in joint for part in BESIDE)]
    rotors = setup.drives.armature[[all_joints.index(joint) for joint in joints]]
    led = {"mode": "cartesian_impedance", "tip": TIPS[name]}
    given = parameters_of(joints, 0.0 if bare else rotors) | led
    given |= {"stiffness": [stiffness] * 3 + [30.0] * 3}
    return ControlledArm.of(Model.from_file(setup.path, joints=joints), given)


def posture(model: Model, random: np.random.Generator) -> Floats:
    """Return one that the drives can hold."""
    dynamics = Dynamics(model)
    lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    while True:
        q = np.asarray(random.uniform(lower, upper))
        if (np.abs(dynamics.gravity(q)) < HELD * model.effort_limit).all():
            return q


def run(name: str, bare: bool, seed: int) -> Outcome:
    """Run one episode."""
    arm = controlled(name, bare, STIFFNESS[seed % 2])
    model, random = arm.model, np.random.default_rng(seed)
    plant = SimulatedArm.of(model, arm.drives, posture(model, random))
    loop = ClosedLoop(arm, plant)
    loop.advance(0.3)
    way = random.normal(size=3)
    target = Dynamics(model).link_pose(plant.q, TIPS[name])
    target[:3, 3] += AWAY / np.linalg.norm(way) * way
    loop.controller.set_target(loop.now, target)
    fastest = last = 0.0
    for _ in loop.steps(WATCHED):
        last = float((np.abs(plant.qd) / model.velocity_limit).max())
        fastest = max(fastest, last)
        if loop.controller.phase is Phase.FAULT or loop.controller.hold_reason:
            return Outcome(seed, fastest, last, str(loop.controller.hold_reason))
    return Outcome(seed, fastest, last, "")


def main() -> int:
    """Run the episodes; return 1 if an arm did not reach as far as it goes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robots", nargs="*", default=list(TIPS), choices=TIPS)
    parser.add_argument("--episodes", type=int, default=12, help="of each robot; default: 12")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bare", action="store_true", help="no rotors")
    parser.add_argument("--workers", type=int, default=2)
    its = parser.parse_args()
    faults = 0
    for name in its.robots:
        seeds = range(its.seed, its.seed + its.episodes)
        found = list(campaign.run(partial(run, name, its.bare), seeds, its.workers))
        for one in found:
            if one.reason:
                print(f"{name}, seed {one.seed}: {one.reason}")
        given_up = sum(bool(one.reason) for one in found)
        fastest, last = (max(getattr(one, what) for one in found) for what in ("fastest", "last"))
        print(
            f"{name}: {given_up} of {len(found)} gave up; fastest {fastest:.2f} of the speed "
            f"limits, {last:.3f} after {WATCHED:g} s",
            flush=True,
        )
        faults += given_up
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

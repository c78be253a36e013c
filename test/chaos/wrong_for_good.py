"""What an arm does with what stays wrong: figures of docs/faults.md for class 4, and for pushes.

    python test/chaos/wrong_for_good.py [--only signs loads]

In simulated time, around the compiled controller. As over DDS, the drives keep the last torque when
commands end. The figures are the highest speeds of a joint over its limit, the worst cases first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("unit", "scenes")]
from arm_scene import Ask, Scene, load, play, trajectory
from drive_settings import parameters_of
from example_robots import ROBOTS
from lies import Lie, frozen, mirrored, swapped

from featherstone_ros import Model
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import DivergenceError
from featherstone_ros.simulation.closed_loop import ClosedLoop

BESIDE = 0.3  # [rad] where a robot's start has a joint at 0, which hides its sign
BEGIN = 0.3  # [s] in which an arm is taken over
WATCHED = 3.0  # [s] from when it is wrong
WAY, MOTION = 0.4, 1.0  # [rad], [s] of the motion in which an encoder dies, halfway
ABOUT = -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1  # [s] the turn of another
PUSH, PUSHED = 2.0, 0.2  # [N m], [s]
FLOATING = {"mode": "gravity_compensation"}
LOAD = {"payload.mass": 3.0, "payload.com": [0.0, 0.0, 0.1]}  # [kg], [m]; it is not there


@cache
def arm(name: str, rotor: float | None = 0.0, friction: float = 0.0) -> Scene:
    """Return a robot without its gripper, at rest, with drives that its controller knows.

    Args:
        name: Of the package's own, or of example-robot-data.
        rotor: Of each joint [kg m^2]; None: rotors and friction as setup says.
        friction: Coulomb, as a share of the effort limits.
    """
    path = next((str(path) for path in ROBOTS if path.stem == name), name)
    robot = load(path)
    at = [k for k, name in enumerate(robot.model.joint_names) if "finger" not in name]
    joints = [robot.model.joint_names[k] for k in at]
    terms = rotor, 0.0, friction * robot.model.effort_limit[at]
    if rotor is None:
        drives = robot.drives
        terms = drives.armature[at], drives.viscous[at], drives.coulomb[at]
    start = [robot.start[k] or BESIDE for k in at]
    return Scene(
        path, {}, WATCHED, start=start, parameters=parameters_of(joints, *terms), joints=joints
    )


def fastest(one: Scene, parameters: Mapping[str, object] | None = None, **changes: object) -> float:
    """Return the highest speed of an arm over its limit; inf where the simulation ends."""
    own = {**one.parameters, **(parameters or {})}
    try:
        return float(play(replace(one, parameters=own, **changes)).speed.max())
    except DivergenceError:
        return np.inf


def floating(one: Scene, lie: Lie = lambda state: state) -> float:
    """Return the highest speed of an arm that floats, and whose states are lies from the start."""
    return fastest(one, FLOATING, state=lie)


def died(one: Scene, joint: int, at: float = 0.5 * MOTION, back: bool = False) -> float:
    """Return the highest speed of an arm of which an encoder dies in motion, there or also back."""
    model = Model.from_file(load(one.robot).path, joints=one.joints)
    way = np.clip(np.array(one.start) + WAY, model.lower, model.upper)
    ends = [(MOTION, way), (2.0 * MOTION, one.start)][: 1 + back]
    points = [Point(t, tuple(end), *np.zeros((2, model.n))) for t, end in ends]
    at += BEGIN
    lie = frozen(at, joints=[joint])
    return fastest(one, ask={BEGIN: trajectory(points)}, state=lie, duration=at + WATCHED)


def pushed(one: Scene) -> float:
    """Return the highest speed of an arm that floats and is pushed at its last joint."""

    def push(effort: float) -> Ask:
        def ask(loop: ClosedLoop) -> None:
            loop.plant.push = effort * np.eye(loop.arm.model.n)[-1]

        return ask

    ask = {BEGIN: push(PUSH), BEGIN + PUSHED: push(0.0)}
    return fastest(one, FLOATING, ask=ask, duration=BEGIN + PUSHED + WATCHED)


def unloaded(one: Scene) -> float:
    """Return the highest speed of an arm that floats without the payload that it is told of."""
    tip = Model.from_file(load(one.robot).path, joints=one.joints).link_names[-1]
    told = {**FLOATING, **LOAD, "payload.link": tip}
    return fastest(one, told, twin={"payload.mass": 0.0}, duration=BEGIN + WATCHED)


Row = tuple[str, str, float]
DRIVES = {
    "no rotors": (0.0, 0.0),
    "0.2 kg m^2": (0.2, 0.0),
    "0.2 kg m^2, friction 3 %": (0.2, 0.03),
}
OWN = {**DRIVES, "as its file says": (None, 0.0)}


def of_each_joint(worst: Callable[[Scene, int], float]) -> Iterator[Row]:
    """Yield what comes of each joint of a UR10, by its drives."""
    for kind, drives in DRIVES.items():
        one = arm("ur10_robot", *drives)
        for joint, name in enumerate(one.joints):
            yield kind, name, worst(one, joint)


def signs() -> Iterator[Row]:
    """A joint's sign is wrong from the start, UR10."""
    return of_each_joint(lambda one, joint: fastest(one, state=mirrored(joint)))


def encoders() -> Iterator[Row]:
    """An encoder dies in motion, with velocity 0, UR10."""
    return of_each_joint(died)


def turns() -> Iterator[Row]:
    """An encoder dies where a motion turns, with velocity 0, UR10: the worst instant."""
    instants = MOTION + np.array(ABOUT)
    return of_each_joint(lambda one, joint: max(died(one, joint, at, True) for at in instants))


def pushes() -> Iterator[Row]:
    """2 N m for 0.2 s on the last joint of an arm that floats: no fault."""
    for name, rotor in (("ur5e", 0.0), ("panda", 0.0), ("ur5e", 0.1), ("panda", 0.2)):
        one = arm(name, rotor)
        yield f"{rotor:g} kg m^2", f"{name} {one.joints[-1]}", pushed(one)


def floats() -> Iterator[Row]:
    """Encoders swapped or mirrored while a Panda floats."""
    for kind, drives in OWN.items():
        one = arm("panda", *drives)
        for joint, name in enumerate(one.joints):
            yield kind, f"{name} mirrored", floating(one, mirrored(joint))
        for (a, first), (b, second) in combinations(enumerate(one.joints), 2):
            yield kind, f"{first}, {second} swapped", floating(one, swapped(a, b))


def loads() -> Iterator[Row]:
    """A payload of 3 kg that is not there, floating."""
    for name in ("panda", "ur5e"):
        for kind, drives in OWN.items():
            yield kind, name, unloaded(arm(name, *drives))


CASES = {case.__name__: case for case in (signs, encoders, turns, pushes, floats, loads)}


def main() -> None:
    """Print a line for each kind of drives: the worst, and all others."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=CASES)
    for name in parser.parse_args().only:
        print(CASES[name].__doc__)
        rows = list(CASES[name]())
        for kind in dict.fromkeys(kind for kind, *_ in rows):
            found = sorted(((speed, what) for other, what, speed in rows if other == kind))[::-1]
            print(f"  {kind}:", *(f"{what} {speed:.3g};" for speed, what in found[:8]))


if __name__ == "__main__":
    main()

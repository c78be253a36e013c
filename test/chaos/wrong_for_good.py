"""What an arm does with what stays wrong: figures of docs/faults.md for class 4, and for pushes.

    python test/chaos/wrong_for_good.py [--only signs loads]

In simulated time, around the compiled controller. As over DDS, the drives keep the last torque when
commands end. The figures are the highest speeds of a joint over its limit, the worst cases first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))
from drive_settings import parameters_of
from example_robots import ROBOTS

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import DivergenceError
from featherstone_ros.model.drives import Drives
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.tools.robot_setup import load

BESIDE = 0.3  # [rad] where a robot's start has a joint at 0, which hides its sign
WATCHED = 3.0  # [s] from when it is wrong
WAY, MOTION = 0.4, 1.0  # [rad], [s] of the motion in which an encoder dies, halfway
ABOUT = -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1  # [s] the turn of another
PUSH, PUSHED = 2.0, 0.2  # [N m], [s]
FLOATING = {"mode": "gravity_compensation"}
LOAD, LOAD_AT = 3.0, (0.0, 0.0, 0.1)  # [kg], [m] of a payload that is not there


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot and where it stands; its drives are those that its controller knows."""

    model: Model
    tip: str
    start: Floats
    drives: Drives
    parameters: Mapping[str, object]

    def loop(self, model: Model | None = None, **parameters: object) -> ClosedLoop:
        """Return the arm at rest, taken over. model: what the controller takes it for."""
        arm = ControlledArm.of(model or self.model, {**self.parameters, **parameters})
        loop = ClosedLoop(arm, SimulatedArm.of(self.model, self.drives, self.start))
        loop.advance(0.3)
        return loop


@cache
def urdf(name: str) -> str:
    """Return the path of a robot of example-robot-data, or a name of our own."""
    return next((str(path) for path in ROBOTS if path.stem == name), name)


@cache
def arm(name: str, rotor: float | None = 0.0, friction: float = 0.0) -> Arm:
    """Return a robot.

    Args:
        name: Of the package's own, or of example-robot-data.
        rotor: Of each joint [kg m^2]; None: rotors and friction as setup says.
        friction: Coulomb, as a share of the effort limits.
    """
    setup = load(urdf(name))
    joints = [joint for joint in setup.model.joint_names if "finger" not in joint]
    model = Model.from_file(setup.path, joints=joints)
    one = np.ones(model.n)
    if rotor is None:
        moved = [setup.model.joint_names.index(joint) for joint in joints]
        told = setup.drives
        drives = Drives(*(row[moved] for row in (told.armature, told.viscous, told.coulomb)))
    else:
        drives = Drives(rotor * one, 0.0 * one, friction * model.effort_limit)
    own = parameters_of(joints, drives.armature, drives.viscous, drives.coulomb)
    at = dict(zip(setup.model.joint_names, setup.start, strict=True))
    start = np.array([at[joint] or BESIDE for joint in joints])
    return Arm(model, model.link_names[-1], start, drives, own)


def fastest(loop: ClosedLoop, limit: Floats, duration: float = WATCHED) -> float:
    """Return the highest speed over its limit while time passes; inf where the simulation ends."""
    ratio = 0.0
    try:
        for _ in loop.steps(duration):
            ratio = max(ratio, float((np.abs(loop.plant.qd) / limit).max()))
    except DivergenceError:
        return np.inf
    return ratio


Lie = Callable[[JointState], JointState]


def changed(change: Callable[[Floats], Floats]) -> Lie:
    """Return encoders whose positions and velocities are changed alike."""
    return lambda it: it._replace(q=change(it.q), qd=None if it.qd is None else change(it.qd))


def mirrored(joint: int) -> Lie:
    """Return an encoder of the wrong sign."""
    return changed(lambda row: np.where(np.arange(len(row)) == joint, -row, row))


def swapped(a: int, b: int) -> Lie:
    """Return encoders of two joints with each other's names."""

    def swap(row: Floats) -> Floats:
        row = row.copy()
        row[[a, b]] = row[[b, a]]
        return row

    return changed(swap)


def dead(joint: int, since: JointState) -> Lie:
    """Return an encoder that has died, with velocity 0."""

    def lie(state: JointState) -> JointState:
        q, qd = state.q.copy(), np.zeros(len(state.q)) if state.qd is None else state.qd.copy()
        q[joint], qd[joint] = since.q[joint], 0.0
        return state._replace(q=q, qd=qd)

    return lie


def believed(one: Arm, lie: Lie, **parameters: object) -> float:
    """Return the highest speed of an arm whose states are lies from the start."""
    model = ControlledArm.of(one.model, {**one.parameters, **parameters})
    loop = ClosedLoop(model, SimulatedArm.of(one.model, one.drives, one.start))
    loop.plant.measure = lie
    return fastest(loop, one.model.velocity_limit)


def died(one: Arm, joint: int, at: float = 0.5 * MOTION, back: bool = False) -> float:
    """Return the highest speed of an arm of which an encoder dies in motion, there or also back."""
    loop = one.loop()
    way = np.clip(one.start + WAY, one.model.lower, one.model.upper)
    ends = [(MOTION, way), (2.0 * MOTION, one.start)][: 1 + back]
    points = [Point(t, tuple(end), *np.zeros((2, one.model.n))) for t, end in ends]
    loop.run(points, rest=at - ends[-1][0])
    loop.plant.measure = dead(joint, JointState(loop.plant.q.copy()))
    return fastest(loop, one.model.velocity_limit)


def pushed(one: Arm) -> float:
    """Return the highest speed of an arm that floats and is pushed at its last joint."""
    loop = one.loop(**FLOATING)
    loop.plant.push = PUSH * np.eye(one.model.n)[-1]
    first = fastest(loop, one.model.velocity_limit, PUSHED)
    loop.plant.push = 0.0
    return max(first, fastest(loop, one.model.velocity_limit))


def unloaded(one: Arm) -> float:
    """Return the highest speed of an arm that floats without the payload that it is told of."""
    loop = one.loop(one.model.with_payload(one.tip, LOAD, LOAD_AT), **FLOATING)
    return fastest(loop, one.model.velocity_limit)


Row = tuple[str, str, float]
DRIVES = {
    "no rotors": (0.0, 0.0),
    "0.2 kg m^2": (0.2, 0.0),
    "0.2 kg m^2, friction 3 %": (0.2, 0.03),
}
OWN = {**DRIVES, "as its file says": (None, 0.0)}


def of_each_joint(worst: Callable[[Arm, int], float]) -> Iterator[Row]:
    """Yield what comes of each joint of a UR10, by its drives."""
    for kind, drives in DRIVES.items():
        one = arm("ur10_robot", *drives)
        for joint, name in enumerate(one.model.joint_names):
            yield kind, name, worst(one, joint)


def signs() -> Iterator[Row]:
    """A joint's sign is wrong from the start, UR10."""
    return of_each_joint(lambda one, joint: believed(one, mirrored(joint)))


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
        yield f"{rotor:g} kg m^2", f"{name} {one.model.joint_names[-1]}", pushed(one)


def floats() -> Iterator[Row]:
    """Encoders swapped or mirrored while a Panda floats."""
    for kind, drives in OWN.items():
        one = arm("panda", *drives)
        names = one.model.joint_names
        for joint, name in enumerate(names):
            yield kind, f"{name} mirrored", believed(one, mirrored(joint), **FLOATING)
        for a, b in combinations(range(one.model.n), 2):
            yield kind, f"{names[a]}, {names[b]} swapped", believed(one, swapped(a, b), **FLOATING)


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

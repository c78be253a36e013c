"""The robots of the chapters in docs/dynamics/, and how their blocks compare numbers."""

from collections.abc import Callable

import numpy as np

import featherstone_ros as fr
from reference.robot import Robot
from reference.spatial import Floats


def same(x: Floats, y: Floats) -> bool:
    """Tell whether two arrays agree to ten digits of the largest number."""
    return bool(np.abs(x - y).max() <= 1e-10 * np.abs(y).max())


def slope(function: Callable[[Floats], Floats], x: Floats, h: float = 1e-4) -> Floats:
    """Return the derivative by each element of x, by central differences of fourth order."""
    weights = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
    return np.array(
        [sum(w * function(x + s * h * e) for s, w in weights.items()) / h for e in np.eye(len(x))]
    )


def panda() -> tuple[fr.Model, fr.Dynamics, Robot, Floats, Floats, Floats]:
    """Return an arm of seven joints: model, compiled core, book notation, q, qd, qdd."""
    model = fr.Model.from_robot("panda")
    motion = np.random.default_rng(1).uniform(-2, 2, (3, model.n))
    return model, fr.Dynamics(model), Robot.of(model), *motion


def rp_arm() -> tuple[fr.Model, fr.Dynamics, Robot, Floats, Floats]:
    """Return Khatib's arm that turns and reaches out: model, core, book notation, q, qd.

    Links of 2 and 1 kg in a vertical plane, 0.1 and 0.05 kg m^2, the first's centre 0.5 m from the
    axis; at 30 degrees and 0.8 m, at 2 rad/s and 0.5 m/s.
    """
    arm = fr.Tree("ground")
    heavy = fr.inertial(2, (0.5, 0, 0), np.diag([0.02, 0.1, 0.1]))
    light = fr.inertial(1, (0, 0, 0), np.diag([0.01, 0.05, 0.05]))
    arm.add("link1", parent="ground", joint=fr.Revolute("theta", (0, 0, 1)), inertial=heavy)
    arm.add("link2", parent="link1", joint=fr.Prismatic("d", (1, 0, 0)), inertial=light)
    model = arm.model(gravity=(0, -9.81, 0))
    return (
        model,
        fr.Dynamics(model),
        Robot.of(model),
        np.array([np.pi / 6, 0.8]),
        np.array([2.0, 0.5]),
    )


def spacecraft() -> fr.Tree:
    """Return a bus with two arms, one of which ends in a gripper's screw and slide.

    Its joints: j1 and j2 of the left arm, j3 of the screw, j4 of the slide, j5 of the right arm.
    """
    tree = fr.Tree("bus", inertial=fr.box((1, 1, 1), mass=40))
    arm = fr.cylinder(0.05, 0.6, mass=4, translation=(0, 0, 0.3))
    tool = fr.box((0.1, 0.1, 0.2), mass=1)
    for name, parent, joint, place, inertial in (
        ("left", "bus", fr.Revolute("j1", (0, 1, 0)), (0, 0.5, 0.5), arm),
        ("left2", "left", fr.Revolute("j2", (1, 0, 0)), (0, 0, 0.6), arm),
        ("screw", "left2", fr.Screw("j3", pitch=0.02), (0, 0, 0.6), tool),
        ("slide", "left2", fr.Prismatic("j4", (1, 0, 0)), (0, 0, 0.7), tool),
        ("right", "bus", fr.Revolute("j5", (1, 1, 0)), (0, -0.5, 0.5), arm),
    ):
        tree.add(name, parent=parent, joint=joint, translation=place, inertial=inertial)
    return tree


def craft() -> tuple[fr.Dynamics, Robot, Floats, Floats, Floats, Floats]:
    """Return the spacecraft, still on the ground: core, book notation, q, qd, qdd, tau."""
    model = spacecraft().model(gravity=(0, 0, -9.81))
    core = fr.Dynamics(model)
    q, qd, tau = np.random.default_rng(5).uniform(-1, 1, (3, model.n))
    return core, Robot.of(model), q, qd, core.aba(q, qd, tau), tau

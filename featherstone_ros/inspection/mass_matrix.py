"""Joints that move (nearly) no inertia, for which forward dynamics has no solution."""

import numpy as np

from featherstone_ros._core import Dynamics
from featherstone_ros.inspection.free_model import MAX_JOINTS, middle, random_postures
from featherstone_ros.model import Model
from featherstone_ros.model.finding import Finding, Rule, Severity
from featherstone_ros.model.joint_rules import weightless_joints

POSTURES = 5  # the middle of all ranges, and four random ones
BAD, HOPELESS = 1e8, 1e12  # condition numbers that leave 8 and 4 of 16 digits

NEARLY_SINGULAR = Rule(
    "singular-mass-matrix",
    "makes the mass matrix nearly singular",
    "almost no inertia resists the joint: forward dynamics loses digits and a simulation needs a "
    "tiny time step; give the links beyond it inertia, or the joint an armature",
)
INDEFINITE = Rule(
    "indefinite-mass-matrix",
    "makes the mass matrix indefinite",
    "in some posture the joint accelerates against its torque: the model is useless for simulation "
    "and control",
)
UNCHECKED = Rule(
    "mass-matrix-unchecked",
    "has too many joints for a check of its mass matrix",
    "whether inertia resists every motion is not known",
)


def degenerate_joints(model: Model, idle: list[str]) -> list[Finding]:
    """Check the joint-space inertia of a robot, given its ``free_model``."""
    if model.n > MAX_JOINTS:
        return [*weightless_joints(idle), Finding(Severity.NOTE, UNCHECKED, "robot", model.name)]
    return weightless_joints(idle) + (_nearly_singular(model) if model.n else [])


def _nearly_singular(model: Model) -> list[Finding]:
    """Name the joint that moves most in each motion that almost no inertia resists.

    Such a motion is an eigenvector of M whose eigenvalue is small relative to the greatest.
    """
    found: dict[
        str, tuple[float, float]
    ] = {}  # joint: least resistance, and relative to the greatest
    for M in Dynamics(model).crba(_postures(model)):
        if not np.isfinite(M).all():
            continue
        resistance, motions = np.linalg.eigh(M)
        ratios = resistance / np.abs(resistance).max()
        for k in np.flatnonzero(ratios < 1 / BAD):
            joint = model.joint_names[int(np.argmax(np.abs(motions[:, k])))]
            found[joint] = min(found.get(joint, (np.inf, 0.0)), (ratios[k], resistance[k]))
    return [_finding(joint, *values) for joint, values in found.items()]


def _finding(joint: str, ratio: float, resistance: float) -> Finding:
    text = f"an eigenvalue is {resistance:.2g}, {ratio:.2g} of the greatest"
    if ratio < -1 / HOPELESS:
        return Finding(Severity.ERROR, INDEFINITE, "joint", joint, text)
    severity = Severity.ERROR if ratio < 1 / HOPELESS else Severity.WARNING
    return Finding(severity, NEARLY_SINGULAR, "joint", joint, text)


def _postures(model: Model) -> np.ndarray:
    q = random_postures(model, POSTURES)
    q[0] = middle(model)
    return q

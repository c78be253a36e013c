"""The URDFs of the example-robot-data package, and what is known of them."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest


def example_robots():
    """Return the paths of all its URDFs, sorted; none where the package is not installed."""
    try:
        files = metadata.files("example-robot-data") or ()
    except metadata.PackageNotFoundError:
        return []
    return sorted(Path(file.locate()).resolve() for file in files if file.suffix == ".urdf")


ROBOTS = example_robots()


def example_robot(stem):
    """Return the path of one of them, or skip the test."""
    found = [path for path in ROBOTS if path.stem == stem]
    return found[0] if found else pytest.skip("example-robot-data is not installed")


# All load; for what is compared in every robot these six differ enough: an arm with a gripper that
# follows, a quadruped of one mass per leg, prismatic and continuous joints in a tree of 30, two
# joints, a humanoid whose fingers weigh nothing, and 40 joints with their followers.
SIX = ("a1", "double_pendulum_continuous", "panda", "pr2", "romeo", "talos_full_v2")
UNLIKE_ROBOTS = [path for path in ROBOTS if path.stem in SIX]

# Their fingers weigh nothing: inertia is singular unless these joints are locked.
MASSLESS_JOINTS = {
    "romeo.urdf": {"LHand": 0.3, "RHand": 0.2},
    "romeo_laas_small.urdf": {"l_gripper_joint": 0.3, "r_gripper_joint": 0.2},
}
EMPTY = "ur3.urdf"  # a <robot> without any link: an xacro that was never instantiated


def to_pinocchio(pinocchio_model, model, q):
    """Return Pinocchio's configuration for positions q (nq,), followers and locked joints included.

    Pinocchio's model is the one without mimic: every joint has its own position there.
    """
    import pinocchio

    base, joints = np.split(np.asarray(q), [model.nq - model.n])
    positions = dict(zip(model.joint_names, joints, strict=True)) | model.locked
    for name, (leader, multiplier, offset) in model.mimics.items():
        positions[name] = multiplier * positions[leader] + offset
    moved = np.zeros(pinocchio_model.nv)
    for name, position in positions.items():
        moved[pinocchio_model.joints[pinocchio_model.getJointId(name)].idx_v] = position
    full = pinocchio.integrate(pinocchio_model, pinocchio.neutral(pinocchio_model), moved)
    full[: len(base)] = base
    return full

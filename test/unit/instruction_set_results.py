"""Computes every method on several robots and saves the results: a child of the tests.

Usage: FEATHERSTONE_INSTRUCTION_SET=... python instruction_set_results.py FILE.npz
"""

import sys

import numpy as np
from example_robots import ROBOTS
from methods import CALLS
from random_trees import model_of

from featherstone_ros import Dynamics, Model
from featherstone_ros.model.robots import robot_file

HUMANOID = "g1_29dof_rev_1_0.urdf"
TREES = ("all at once", "mimic, with screws")
STATES = 11  # no multiple of any number of lanes


def models():
    """Return the robots to compute, by name."""
    humanoids = [path for path in ROBOTS if path.name == HUMANOID]
    return {
        "Panda": Model.from_file(robot_file("panda")),
        **{path.stem: Model.from_file(path) for path in humanoids},
        **{name: model_of(name) for name in TREES},
    }


def results():
    """Return the results (STATES, ...) by "robot/method/single" and "robot/method/batch"."""
    everything = {}
    for name, model in models().items():
        dynamics = Dynamics(model)
        for method, call in CALLS.items():
            if method.startswith("operational_space"):  # of a link that few joints may move
                continue
            given = call.states(dynamics, STATES)
            single = [call(dynamics, *state) for state in zip(*given, strict=True)]
            everything[f"{name}/{method}/single"] = np.array(single)
            everything[f"{name}/{method}/batch"] = call(dynamics, *given)
    return everything


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())

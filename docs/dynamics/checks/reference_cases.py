"""Robots for the tests of the reference: model, dynamics, robot in book notation, one state."""

from dataclasses import replace
from functools import cache

import numpy as np
from example_robots import ROBOTS
from random_trees import TREES
from studies import study

from featherstone_ros import Dynamics, Model
from featherstone_ros.model.robots import robot_file
from reference import Robot

ARMS = {"config/ur5e.urdf": robot_file("ur5e")}
# Both with mimic and prismatic joints: an arm, and a tree of 30 bodies.
CHOSEN = {"panda_description/panda.urdf", "pr2_description/pr2.urdf"}
CHOSEN_TREES = (
    "one revolute joint", "one prismatic joint", "chain", "massless between", "fixed between",
    "mimic", "all at once", "parallel within 1e-6", "prismatic along axes",
)  # fmt: skip
# The others are studies: robots of each kind of joint and coupling remain.
KEPT = (
    "panda_description/panda.urdf", "one revolute joint", "fixed between", "mimic", "screws",
    "all at once", "parallel within 1e-6",
)  # fmt: skip
EXAMPLES = {f"{path.parents[1].name}/{path.name}": path for path in ROBOTS}
EXAMPLES = {name: path for name, path in EXAMPLES.items() if name in CHOSEN}


class Case:
    """A model, what the core and the reference make of it, and one state of it.

    Positions of all N joints are q_J, qd_J, qdd_J; of the n coordinates q, qd, qdd.
    """

    def __init__(self, name, model):
        self.name = name
        self.model = model
        self.dynamics = Dynamics(model)
        self.robot = Robot.of(model)
        self.random = np.random.default_rng(len(model.link_names))
        self.q, self.qd, self.qdd = self.random.uniform(-2, 2, (3, model.n))
        self.q_J, self.qd_J, self.qdd_J = self.robot.expand(self.q, self.qd, self.qdd)
        self.coupled = self.robot.n < self.robot.N
        links = [str(link) for link in self.random.choice(model.link_names, 3)]
        self.f_ext = {link: self.random.uniform(-30, 30, 6) for link in {*links, model.base_link}}

    def __repr__(self):
        return self.name


def with_screws(model):
    """Return the model with every second joint a screw: a URDF cannot say so."""
    motion = model.tree.motion.copy()
    motion[::2] = [[1, pitch] for pitch in np.linspace(-0.5, 0.7, len(motion[::2]))]
    return replace(model, tree=replace(model.tree, motion=motion))


@cache
def cases(greatest):
    """Return cases with at most ``greatest`` bodies: real robots, and random trees."""
    files = {**ARMS, **EXAMPLES}
    models = {name: Model.from_file(path) for name, path in files.items()}
    models |= {name: Model.from_urdf(text) for name, text in TREES.items() if name in CHOSEN_TREES}
    models["screws"] = with_screws(models["mimic"])
    return [
        Case(name, model) for name, model in models.items() if len(model.tree.parent) <= greatest
    ]


def few_or_all_cases(greatest):
    """Return them for ``parametrize``: few in `make test`, all in `make test-all`."""
    return [case if case.name in KEPT else study(case) for case in cases(greatest)]

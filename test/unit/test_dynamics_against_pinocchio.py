"""The core agrees with Pinocchio on the robots of example-robot-data.

Run as a script it prints how well:
``PYTHONPATH=. python test/unit/test_dynamics_against_pinocchio.py``.
"""

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from comparison import TOLERANCE, relative_error, solving_tolerance
from example_robots import EMPTY, ROBOTS, to_pinocchio
from random_trees import TREES

from featherstone_ros import Dynamics, Model

pinocchio = pytest.importorskip("pinocchio")

SOURCE = Path(__file__).resolve().parents[2]
OWN_ARMS = sorted((SOURCE / "config").glob("*.urdf"))
WITHOUT_JOINTS = ("quadrotor_base.urdf", "iris_simple.urdf")  # Pinocchio 4.1 crashes on these
FILES = [path for path in ROBOTS if path.name not in (EMPTY, *WITHOUT_JOINTS)] + OWN_ARMS
STATES = 2
LINK_AXES = pinocchio.ReferenceFrame.LOCAL
BASE_AXES = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


@dataclass
class Case:
    """A model, Pinocchio's of the same robot, and one state of both.

    Pinocchio's knows neither followers nor locked joints: its velocity is G qd, which makes
    tau = G^T tau_full, H = G^T H_full G and J = J_full G.
    """

    model: Model
    reference: "pinocchio.Model"
    random: np.random.Generator

    def __post_init__(self):
        n = self.model.n
        self.dynamics = Dynamics(self.model)
        self.data = self.reference.createData()  # kinematics at q, qd
        self.scratch = self.reference.createData()
        self.q, self.qd, self.qdd = self.random.uniform(-2, 2, (3, n))
        self.tau = self.random.uniform(-20, 20, n)
        self.links = self.model.link_names
        chosen = self.random.choice(self.links, min(5, len(self.links)), replace=False)
        self.f_ext = {str(link): self.random.uniform(-30, 30, 6) for link in chosen}
        self.q_full = to_pinocchio(self.reference, self.model, self.q)
        pinocchio.forwardKinematics(self.reference, self.data, self.q_full, self.G @ self.qd)
        pinocchio.computeJointJacobians(self.reference, self.data, self.q_full)
        pinocchio.updateFramePlacements(self.reference, self.data)

    @cached_property
    def G(self):
        G = np.zeros((self.reference.nv, self.model.n))
        column = {name: k for k, name in enumerate(self.model.joint_names)}
        for name, k in column.items():
            G[self._row(name), k] = 1
        for name, (leader, multiplier, _) in self.model.mimics.items():
            G[self._row(name), column[leader]] = multiplier
        return G

    def _row(self, joint):
        return self.reference.joints[self.reference.getJointId(joint)].idx_v

    def frame(self, link):
        return self.reference.getFrameId(link, pinocchio.FrameType.BODY)

    def jacobian(self, frame, axes):
        full = pinocchio.getFrameJacobian(self.reference, self.data, frame, axes)
        return full.reshape(6, -1) @ self.G

    def full_torque(self, qd, qdd):
        """tau of all joints, locked ones and followers too: what the robot's torque is made of."""
        return pinocchio.rnea(self.reference, self.scratch, self.q_full, self.G @ qd, self.G @ qdd)

    @property
    def at_rest(self):
        return np.zeros(self.model.n)

    @cached_property
    def inertia(self):
        upper = np.triu(pinocchio.crba(self.reference, self.scratch, self.q_full))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    @cached_property
    def torque_of_wrenches(self):
        torques = [
            self.jacobian(self.frame(link), LINK_AXES).T @ wrench
            for link, wrench in self.f_ext.items()
        ]
        return np.sum(torques, axis=0)

    @cached_property
    def mass_and_first_moment(self):
        """Mass, and mass times position, of everything; ``data.com`` leaves the base link out."""
        masses = [inertia.mass for inertia in self.reference.inertias]
        centres = [
            placement.act(inertia.lever)
            for placement, inertia in zip(self.data.oMi, self.reference.inertias, strict=True)
        ]
        return sum(masses), np.array(masses) @ np.array(centres)


def rnea(case):
    ours = case.dynamics.rnea(case.q, case.qd, case.qdd)
    return torque_error(case, ours, case.full_torque(case.qd, case.qdd))


def rnea_with_wrenches(case):
    ours = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    without = case.G.T @ case.full_torque(case.qd, case.qdd)
    terms = np.concatenate([without, case.torque_of_wrenches])
    scale = np.abs(terms).max(initial=0)
    return relative_error(ours, without - case.torque_of_wrenches, scale)


def bias(case):
    ours = case.dynamics.bias(case.q, case.qd)
    return torque_error(case, ours, case.full_torque(case.qd, case.at_rest))


def gravity(case):
    ours = case.dynamics.gravity(case.q)
    return torque_error(case, ours, case.full_torque(case.at_rest, case.at_rest))


def torque_error(case, ours, full):
    return relative_error(ours, case.G.T @ full, np.abs(full).max(initial=0))


def crba(case):
    return relative_error(case.dynamics.crba(case.q), case.inertia)


def aba(case):
    ours = case.dynamics.aba(case.q, case.qd, case.tau)
    return solution_error(case, ours, case.tau)


def aba_with_wrenches(case):
    ours = case.dynamics.aba(case.q, case.qd, case.tau, f_ext=case.f_ext)
    return solution_error(case, ours, case.tau + case.torque_of_wrenches)


def solution_error(case, qdd, torque):
    """Return the error of qdd, in units that make TOLERANCE the limit for any condition of H."""
    bias = case.G.T @ case.full_torque(case.qd, case.at_rest)
    error = relative_error(qdd, np.linalg.solve(case.inertia, torque - bias))
    return error * TOLERANCE / solving_tolerance(case.inertia)


def link_pose(case):
    return worst_link(
        case,
        case.dynamics.link_pose,
        lambda frame: case.data.oMf[frame].homogeneous,
    )


def jacobian(case):
    return worst_link(case, case.dynamics.jacobian, lambda frame: case.jacobian(frame, BASE_AXES))


def link_velocity(case):
    def reference(frame):
        return pinocchio.getFrameVelocity(case.reference, case.data, frame, BASE_AXES).vector

    return worst_link(
        case, lambda q, link: case.dynamics.link_velocity(q, case.qd, link), reference
    )


def worst_link(case, ours, reference):
    return max(
        relative_error(ours(case.q, link), reference(case.frame(link))) for link in case.links
    )


def centre_of_mass(case):
    mass, moment = case.mass_and_first_moment
    return relative_error(case.dynamics.centre_of_mass(case.q), moment / mass)


def kinetic_energy(case):
    full = pinocchio.computeKineticEnergy(
        case.reference, case.scratch, case.q_full, case.G @ case.qd
    )
    return relative_error(case.dynamics.energy(case.q, case.qd)[0], full)


def potential_energy(case):
    _, moment = case.mass_and_first_moment
    ours = case.dynamics.energy(case.q, case.qd)[1]
    scale = np.linalg.norm(case.model.gravity) * np.linalg.norm(moment)
    return relative_error(ours, -case.model.gravity @ moment, scale)


QUANTITIES = [
    rnea, rnea_with_wrenches, bias, gravity, crba, aba, aba_with_wrenches, link_pose, jacobian,
    link_velocity, centre_of_mass, kinetic_energy, potential_energy,
]  # fmt: skip


def all_joints(path):
    return Model.from_file(path)


def every_second_joint_locked(path):
    names = Model.from_file(path).joint_names
    return Model.from_file(path, locked={name: 0.3 for name in names[1::2]})


VARIANTS = {"all joints": all_joints, "half locked": every_second_joint_locked}


def errors(model, reference):
    """Return the relative error of every quantity, the worst of some random states."""
    random = np.random.default_rng(67)
    cases = [Case(model, reference, random) for _ in range(STATES)]
    return {quantity.__name__: max(map(quantity, cases)) for quantity in QUANTITIES}


def above_tolerance(errors):
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
@pytest.mark.parametrize("load", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_robot_agrees_with_pinocchio(path, load):
    assert not above_tolerance(errors(load(path), pinocchio.buildModelFromUrdf(str(path))))


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_random_tree_agrees_with_pinocchio(tree):
    reference = pinocchio.buildModelFromXML(tree)
    assert not above_tolerance(errors(Model.from_urdf(tree), reference))


def print_agreement():
    """Print a table: robots by quantities, exponent of the worst relative error."""
    from rich.console import Console
    from rich.table import Table

    logging.disable(logging.WARNING)
    table = Table("robot", "n", *(quantity.__name__ for quantity in QUANTITIES))
    worst = {}
    for path in FILES:
        reference = pinocchio.buildModelFromUrdf(str(path))
        for variant, load in VARIANTS.items():
            model = load(path)
            row = errors(model, reference)
            table.add_row(
                f"{path.stem}, {variant}", str(model.n), *map("{:.0e}".format, row.values())
            )
            worst = {name: max(error, worst.get(name, 0)) for name, error in row.items()}
    table.add_section()
    table.add_row(f"worst of {len(FILES)}", "", *map("{:.0e}".format, worst.values()))
    Console(width=220).print(table)


if __name__ == "__main__":
    print_agreement()

"""The core agrees with Pinocchio on the robots of example-robot-data.

Run as a script it prints how well:
``PYTHONPATH=. python test/unit/test_dynamics_against_pinocchio.py``.
"""

import logging
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest
from comparison import EPSILON, TOLERANCE, relative_error, solving_tolerance
from example_robots import EMPTY, ROBOTS, UNLIKE_ROBOTS, to_pinocchio
from random_trees import SCREWS, TREES
from studies import few_or_all

from featherstone_ros import Dynamics, Model

pinocchio = pytest.importorskip("pinocchio")

SOURCE = Path(__file__).resolve().parents[2]
OWN_ARMS = sorted((SOURCE / "config").glob("*.urdf"))
WITHOUT_JOINTS = ("quadrotor_base.urdf", "iris_simple.urdf")  # Pinocchio 4.1 crashes on these
FILES = [path for path in ROBOTS if path.name not in (EMPTY, *WITHOUT_JOINTS)] + OWN_ARMS
STATES = 2
POINT = np.array([0.1, -0.2, 0.3])
WELL_CONDITIONED = 1e8  # of J M^-1 J^T
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
    data: "pinocchio.Data"  # kinematics at q, qd, of one case at a time
    scratch: "pinocchio.Data"
    random: np.random.Generator

    def __post_init__(self):
        n = self.model.nv
        self.dynamics = Dynamics(self.model)
        self.q, self.qd, self.qdd = self.random.uniform(-2, 2, (3, n))
        if self.model.floating:
            self.q = np.insert(self.q, 3, self.random.uniform(-1, 1))
            self.q[3:7] /= np.linalg.norm(self.q[3:7])
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
        of_base = self.model.nv - self.model.n
        G = np.eye(self.reference.nv, self.model.nv)
        G[of_base:] = 0
        column = {name: of_base + k for k, name in enumerate(self.model.joint_names)}
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

    def forces(self, f_ext):
        """Return wrenches on links as forces on the joints that carry them."""
        forces = [pinocchio.Force.Zero() for _ in range(self.reference.njoints)]
        for link, wrench in (f_ext or {}).items():
            frame = self.reference.frames[self.frame(link)]
            forces[frame.parentJoint] += frame.placement.act(pinocchio.Force(wrench))
        return forces

    @property
    def at_rest(self):
        return np.zeros(self.model.nv)

    @cached_property
    def inertia(self):
        upper = np.triu(pinocchio.crba(self.reference, self.scratch, self.q_full))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    @property
    def centroidal_momentum(self):
        return pinocchio.computeCentroidalMomentum(
            self.reference, self.scratch, self.q_full, self.G @ self.qd
        ).vector

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


def minv(case):
    error = relative_error(case.dynamics.minv(case.q), np.linalg.inv(case.inertia))
    return error * TOLERANCE / solving_tolerance(case.inertia)


def rnea_derivatives(case):
    return error_of_torque_derivatives(case, None)


def rnea_derivatives_with_wrenches(case):
    return error_of_torque_derivatives(case, case.f_ext)


def error_of_torque_derivatives(case, f_ext):
    ours = case.dynamics.rnea_derivatives(case.q, case.qd, case.qdd, f_ext)
    theirs, scale = torque_derivatives(case, case.qdd, f_ext)
    return max(map(relative_error, ours, theirs, [scale] * 3))


def torque_derivatives(case, qdd, f_ext):
    """Return dtau_dq, dtau_dqd and M by Pinocchio, and the scale that errors are relative to."""
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ qdd
    full = pinocchio.computeRNEADerivatives(*state, case.forces(f_ext))
    scale = max(np.abs(derivative).max(initial=0) for derivative in full)
    return [case.G.T @ derivative @ case.G for derivative in full], scale


def aba_derivatives(case):
    return error_of_acceleration_derivatives(case, None)


def aba_derivatives_with_wrenches(case):
    return error_of_acceleration_derivatives(case, case.f_ext)


def error_of_acceleration_derivatives(case, f_ext):
    """Pinocchio's own, or of its rnea where joints are locked or follow others."""
    tau = case.tau + (case.torque_of_wrenches if f_ext else 0)
    bias = case.G.T @ case.full_torque(case.qd, case.at_rest)
    qdd = np.linalg.solve(case.inertia, tau - bias)
    (dtau_dq, dtau_dqd, _), _ = torque_derivatives(case, qdd, f_ext)
    theirs = [-np.linalg.solve(case.inertia, dtau) for dtau in (dtau_dq, dtau_dqd)]
    if case.model.nv == case.reference.nv:
        state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.tau
        full = pinocchio.computeABADerivatives(*state, case.forces(f_ext))
        theirs = [case.G.T @ derivative @ case.G for derivative in full[:2]]
    ours = case.dynamics.aba_derivatives(case.q, case.qd, case.tau, f_ext)[:2]
    size = np.abs(np.linalg.inv(case.inertia)).max(initial=0) * np.abs(case.inertia).max(initial=0)
    scale = size * np.abs(qdd).max(initial=0)
    error = max(map(relative_error, ours, theirs, [scale, scale]))
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


def jacobian_at_a_point(case):
    def reference(frame):
        J = case.jacobian(frame, BASE_AXES)
        arm = case.data.oMf[frame].rotation @ POINT
        return np.vstack([J[:3] - pinocchio.skew(arm) @ J[3:], J[3:]])

    return worst_link(case, lambda q, link: case.dynamics.jacobian(q, link, POINT), reference)


def jacobian_derivative(case):
    pinocchio.computeJointJacobiansTimeVariation(
        case.reference, case.scratch, case.q_full, case.G @ case.qd
    )
    pinocchio.updateFramePlacements(case.reference, case.scratch)
    errors = []
    for link in case.links:
        full = pinocchio.getFrameJacobianTimeVariation(
            case.reference, case.scratch, case.frame(link), BASE_AXES
        )
        ours = case.dynamics.jacobian_derivative(case.q, case.qd, link)
        speed = np.abs(case.qd).max(initial=0)
        scale = speed * np.abs(case.jacobian(case.frame(link), BASE_AXES)).max(initial=0)
        errors.append(relative_error(ours, full.reshape(6, -1) @ case.G, scale))
    return max(errors)


def link_acceleration(case):
    pinocchio.forwardKinematics(
        case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.qdd
    )

    def reference(frame):
        return pinocchio.getFrameClassicalAcceleration(
            case.reference, case.scratch, frame, BASE_AXES
        ).vector

    def ours(q, link):
        return case.dynamics.link_acceleration(q, case.qd, case.qdd, link)

    return worst_link(case, ours, reference)


def operational_space_inertia(case):
    """Of the links that can move in all directions, well enough for the inverse to be known."""
    jacobians = [case.jacobian(case.frame(link), BASE_AXES) for link in case.links]
    solved = np.linalg.solve(case.inertia, np.vstack(jacobians).T).T
    of_inertia = np.linalg.cond(case.inertia)
    errors = [0.0]
    for link, J, of_link in zip(
        case.links, jacobians, np.split(solved, len(jacobians)), strict=True
    ):
        inverse = J @ of_link.T
        condition = np.linalg.cond(inverse)
        if np.linalg.matrix_rank(J) == 6 and condition < WELL_CONDITIONED:
            ours = case.dynamics.operational_space_inertia(case.q, link)
            error = relative_error(ours, np.linalg.inv(inverse))
            errors.append(error / max(1, 4 * EPSILON * condition * of_inertia / TOLERANCE))
    return max(errors)


def centroidal_momentum_matrix(case):
    """Pinocchio's angular part is about a centre of mass without the base link."""
    full = pinocchio.computeCentroidalMap(case.reference, case.scratch, case.q_full)
    mass, moment = case.mass_and_first_moment
    A = full.reshape(6, -1) @ case.G
    to_ours = pinocchio.skew(case.scratch.com[0] - moment / mass)
    A = np.vstack([A[:3], A[3:] + to_ours @ A[:3]])
    return relative_error(case.dynamics.centroidal_momentum_matrix(case.q), A)


def centre_of_mass_jacobian(case):
    full = pinocchio.jacobianCenterOfMass(case.reference, case.scratch, case.q_full)
    mass, _ = case.mass_and_first_moment
    moving = mass - case.reference.inertias[0].mass
    return relative_error(
        case.dynamics.centre_of_mass_jacobian(case.q),
        full.reshape(3, -1) @ case.G * (moving / mass),
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


def momentum(case):
    """Pinocchio's angular part is about a centre of mass without the base link."""
    p, L = np.split(case.centroidal_momentum, 2)
    mass, moment = case.mass_and_first_moment
    L = L + np.cross(case.scratch.com[0] - moment / mass, p)
    return relative_error(case.dynamics.momentum(case.q, case.qd), np.concatenate([p, L]))


def coriolis(case):
    full = pinocchio.computeCoriolisMatrix(
        case.reference, case.scratch, case.q_full, case.G @ case.qd
    )
    ours = case.dynamics.coriolis(case.q, case.qd)
    scale = np.abs(case.inertia).max() * np.abs(case.qd).max()
    return relative_error(ours, case.G.T @ full @ case.G, max(scale, np.abs(full).max()))


def joint_wrenches(case):
    """Pinocchio's joints have the frames of their child links."""
    case.full_torque(case.qd, case.qdd)
    joints = [case.reference.getJointId(name) for name in case.model.joint_names]
    theirs = [case.scratch.f[joint].vector for joint in joints]
    ours = case.dynamics.joint_wrenches(case.q, case.qd, case.qdd)
    return relative_error(ours, np.array(theirs).reshape(-1, 6))


def regressor(case):
    """The columns of a link in the frame of its joint are those of Pinocchio's body."""
    full = pinocchio.computeJointTorqueRegressor(
        case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.qdd
    )
    theirs = case.G.T @ full.reshape(case.reference.nv, -1)
    theirs = theirs.reshape(case.model.nv, -1, 10)
    theirs = theirs[:, :, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]  # Pinocchio has yy before xz
    ours = case.dynamics.regressor(case.q, case.qd, case.qdd).reshape(case.model.nv, -1, 10)
    errors = [0.0]
    for k, link in enumerate(case.links):
        frame = case.reference.frames[case.frame(link)]
        if frame.parentJoint > 0 and frame.placement == pinocchio.SE3.Identity():
            scale = np.abs(full).max()
            errors.append(relative_error(ours[:, k], theirs[:, frame.parentJoint - 1], scale))
    return max(errors)


def regressor_with_wrenches(case):
    _, ours = case.dynamics.regressor(case.q, case.qd, case.qdd, case.f_ext)
    return relative_error(ours, -case.torque_of_wrenches)


def hybrid_with_wrenches(case):
    """Every second freedom accelerates as given; the others by the equations that are left."""
    held = np.arange(case.model.nv) % 2 == 1
    given = case.dynamics.hybrid(case.q, case.qd, case.qdd, case.tau, held, case.f_ext)
    at_rest = case.G.T @ case.full_torque(case.qd, np.where(held, case.qdd, 0))
    missing = (case.tau + case.torque_of_wrenches - at_rest)[~held]
    H = case.inertia[np.ix_(~held, ~held)]
    error = relative_error(given[0][~held], np.linalg.solve(H, missing))
    tau = case.G.T @ case.full_torque(case.qd, given[0]) - case.torque_of_wrenches
    scale = np.abs(case.inertia).max(initial=0) * np.abs(given[0]).max(initial=0)
    scale += np.abs(case.torque_of_wrenches).max(initial=0)
    return max(error * TOLERANCE / solving_tolerance(H), relative_error(given[1], tau, scale))


def potential_energy(case):
    _, moment = case.mass_and_first_moment
    ours = case.dynamics.energy(case.q, case.qd)[1]
    scale = np.linalg.norm(case.model.gravity) * np.linalg.norm(moment)
    return relative_error(ours, -case.model.gravity @ moment, scale)


QUANTITIES = [
    rnea, rnea_with_wrenches, bias, gravity, crba, aba, aba_with_wrenches, link_pose, jacobian,
    link_velocity, centre_of_mass, kinetic_energy, potential_energy, momentum, coriolis,
    joint_wrenches, regressor, regressor_with_wrenches, hybrid_with_wrenches, minv,
    rnea_derivatives, rnea_derivatives_with_wrenches, aba_derivatives,
    aba_derivatives_with_wrenches, jacobian_at_a_point, jacobian_derivative, link_acceleration,
    operational_space_inertia, centroidal_momentum_matrix, centre_of_mass_jacobian,
]  # fmt: skip


@cache
def all_joints(path):
    return Model.from_file(path)


def every_second_joint_locked(path):
    names = all_joints(path).joint_names
    return Model.from_file(path, locked={name: 0.3 for name in names[1::2]})


def floating(path):
    return Model.from_file(path, base="floating")


def build(path, floating):
    """Return Pinocchio's model of a URDF."""
    root = [pinocchio.JointModelFreeFlyer()] if floating else []
    return pinocchio.buildModelFromUrdf(str(path), *root)


VARIANTS = {
    "all joints": all_joints,
    "half locked": every_second_joint_locked,
    "floating base": floating,
}


def errors(model, reference):
    """Return the relative error of every quantity, the worst of some random states."""
    random = np.random.default_rng(67)
    room = reference.createData(), reference.createData()  # of 200 bodies these take a while
    found = []
    for _ in range(STATES):
        case = Case(model, reference, *room, random)
        found.append([quantity(case) for quantity in QUANTITIES])
    return dict(zip([q.__name__ for q in QUANTITIES], np.max(found, axis=0), strict=True))


def above_tolerance(errors):
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
@pytest.mark.parametrize("load", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("path", [*UNLIKE_ROBOTS, *OWN_ARMS])
def test_robot_agrees_with_pinocchio(path, load):
    model = load(path)
    assert not above_tolerance(errors(model, build(path, model.floating)))


@pytest.mark.parametrize(
    "name", few_or_all([name for name in TREES if name != "200 bodies"], TREES)
)
def test_random_tree_agrees_with_pinocchio(name):
    reference = pinocchio.buildModelFromXML(TREES[name])
    assert not above_tolerance(errors(Model.from_urdf(TREES[name]), reference))


@pytest.mark.parametrize("tree", SCREWS.values(), ids=SCREWS)
def test_tree_with_screws_agrees_with_pinocchio(tree):
    assert not above_tolerance(errors(tree.model(), to_pinocchio_model(tree.robot())))


def to_pinocchio_model(robot):
    """Return Pinocchio's model, without mimic, of checked links and joints."""
    model = pinocchio.Model()
    inertials = {link.name: link.inertial for link in robot.links}
    placements = {robot.base_link: (0, pinocchio.SE3.Identity())}  # joint, pose of the link there
    for joint in robot.tree:
        before, placement = placements[joint.parent]
        placement = placement * pinocchio.SE3(joint.rotation, joint.translation)
        if joint.moves:
            before = model.addJoint(before, MOVING[joint.type](joint), placement, joint.name)
            placement = pinocchio.SE3.Identity()
        placements[joint.child] = before, placement
    for link, (joint, placement) in placements.items():
        if (inertial := inertials[link]) is not None:
            body = pinocchio.Inertia(inertial.mass, inertial.com, inertial.inertia)
            model.appendBodyToJoint(joint, body, placement)
        model.addFrame(pinocchio.Frame(link, joint, placement, pinocchio.FrameType.BODY))
    return model


MOVING = {
    "revolute": lambda joint: pinocchio.JointModelRevoluteUnaligned(joint.axis),
    "continuous": lambda joint: pinocchio.JointModelRevoluteUnaligned(joint.axis),
    "prismatic": lambda joint: pinocchio.JointModelPrismaticUnaligned(joint.axis),
    "screw": lambda joint: pinocchio.JointModelHelicalUnaligned(joint.axis, joint.pitch),
}


def print_agreement():
    """Print a table: robots by quantities, exponent of the worst relative error."""
    from rich.console import Console
    from rich.table import Table

    logging.disable(logging.WARNING)
    table = Table("robot", "n", *(quantity.__name__ for quantity in QUANTITIES))
    worst = {}
    for path in FILES:
        for variant, load in VARIANTS.items():
            model = load(path)
            row = errors(model, build(path, model.floating))
            table.add_row(
                f"{path.stem}, {variant}", str(model.n), *map("{:.0e}".format, row.values())
            )
            worst = {name: max(error, worst.get(name, 0)) for name, error in row.items()}
    table.add_section()
    table.add_row(f"worst of {len(FILES)}", "", *map("{:.0e}".format, worst.values()))
    Console(width=220).print(table)


if __name__ == "__main__":
    print_agreement()

"""The core agrees with Pinocchio on the robots of example-robot-data."""

from contextlib import suppress
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from comparison import EPSILON, TOLERANCE, relative_error, solving_tolerance
from example_robots import EMPTY, ROBOTS, UNLIKE_ROBOTS, to_pinocchio
from methods import METHODS, POINT
from random_trees import SCREWS, TREES
from states import State
from studies import few_or_all

from featherstone_ros import Model, SingularJacobianError

SOURCE = Path(__file__).resolve().parents[3]
OWN_ARMS = sorted((SOURCE / "config").glob("*.urdf"))
WITHOUT_JOINTS = ("quadrotor_base.urdf", "iris_simple.urdf")  # Pinocchio 4.1 crashes on these
FILES = [path for path in ROBOTS if path.name not in (EMPTY, *WITHOUT_JOINTS)] + OWN_ARMS
GRAVITY = np.array([1.0, -2.0, -9.5])  # along no axis
AT_THE_ORIGIN = ("jacobian_derivative", "operational_space_inertia")  # of the link
WELL_CONDITIONED = 1e8  # of J M^-1 J^T
LINK_AXES = pinocchio.ReferenceFrame.LOCAL
BASE_AXES = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED


class Case(State):
    """A robot in a random state, and Pinocchio's model of it.

    Pinocchio's knows neither followers nor locked joints: its velocity is G qd, which makes
    tau = G^T tau_full, H = G^T H_full G and J = J_full G.
    """

    def __init__(self, model, reference):
        super().__init__(model)
        self.reference, self.links = reference, model.link_names
        self.data, self.scratch = reference.createData(), reference.createData()
        data = self.data  # kinematics at q, qd
        self.q_full = to_pinocchio(reference, model, self.q)
        pinocchio.forwardKinematics(reference, data, self.q_full, self.G @ self.qd)
        pinocchio.computeJointJacobians(reference, data, self.q_full)
        pinocchio.updateFramePlacements(reference, data)

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

    def jacobian_of(self, frame, axes):
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

    def ours(self, name, **more):
        """Return the result of a method; of one about a link, that of every link."""
        call = getattr(self, name)
        if "link" not in METHODS[name].others:
            return call(**more)
        if name in AT_THE_ORIGIN:
            more["point"] = None
        found = [np.empty(0) for _ in self.links]  # of any shape but the right one
        for k, link in enumerate(self.links):
            with suppress(SingularJacobianError):
                found[k] = call(link=link, **more)
        return found

    def acceleration(self, f_ext):
        bias = self.G.T @ self.full_torque(self.qd, self.still)
        torque = self.tau + (self.torque_of_wrenches if f_ext else 0)
        return np.linalg.solve(self.inertia, torque - bias)

    @cached_property
    def inertia(self):
        upper = np.triu(pinocchio.crba(self.reference, self.scratch, self.q_full))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    @cached_property
    def torque_of_wrenches(self):
        torques = [
            self.jacobian_of(self.frame(link), LINK_AXES).T @ wrench
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

    def worst(self, ours, reference):
        """Return the greatest error of what is given for each link."""
        pairs = zip(ours, self.links, strict=True)
        return max(relative_error(x, reference(self.frame(link))) for x, link in pairs)


PEERS = {}


def peer(error):
    """Have a function compare the results of the method that it is named after.

    It takes a case, the result, for each link if the method is about one, and the wrenches if the
    method takes any, and returns the error relative to TOLERANCE.
    """
    PEERS[error.__name__] = error
    return error


@peer
def rnea(case, ours, f_ext=None):
    return torque_error(case, ours, case.full_torque(case.qd, case.qdd), f_ext)


@peer
def bias(case, ours, f_ext=None):
    return torque_error(case, ours, case.full_torque(case.qd, case.still), f_ext)


@peer
def gravity(case, ours):
    return torque_error(case, ours, case.full_torque(case.still, case.still))


def torque_error(case, ours, full, f_ext=None):
    without = case.G.T @ full
    if not f_ext:
        return relative_error(ours, without, np.abs(full).max(initial=0))
    scale = np.abs([without, case.torque_of_wrenches]).max(initial=0)
    return relative_error(ours, without - case.torque_of_wrenches, scale)


@peer
def crba(case, ours):
    return relative_error(ours, case.inertia)


def solved(error, inertia):
    """Return the error in units that make TOLERANCE the limit for any condition of the inertia."""
    return error * TOLERANCE / solving_tolerance(inertia)


@peer
def aba(case, ours, f_ext=None):
    return solved(relative_error(ours, case.acceleration(f_ext)), case.inertia)


@peer
def minv(case, ours):
    return solved(relative_error(ours, np.linalg.inv(case.inertia)), case.inertia)


@peer
def rnea_derivatives(case, ours, f_ext=None):
    theirs, scale = torque_derivatives(case, case.qdd, f_ext)
    return max(map(relative_error, ours, theirs, [scale] * 3))


def torque_derivatives(case, qdd, f_ext):
    """Return dtau_dq, dtau_dqd and M by Pinocchio, and the scale that errors are relative to."""
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ qdd
    full = pinocchio.computeRNEADerivatives(*state, case.forces(f_ext))
    scale = max(np.abs(derivative).max(initial=0) for derivative in full)
    return [case.G.T @ derivative @ case.G for derivative in full], scale


@peer
def aba_derivatives(case, ours, f_ext=None):
    """Pinocchio's own, or of its rnea where joints are locked or follow others."""
    qdd = case.acceleration(f_ext)
    (dtau_dq, dtau_dqd, _), _ = torque_derivatives(case, qdd, f_ext)
    theirs = [-np.linalg.solve(case.inertia, dtau) for dtau in (dtau_dq, dtau_dqd)]
    if case.model.nv == case.reference.nv:
        state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.tau
        full = pinocchio.computeABADerivatives(*state, case.forces(f_ext))
        theirs = [case.G.T @ derivative @ case.G for derivative in full[:2]]
    size = np.abs(np.linalg.inv(case.inertia)).max(initial=0) * np.abs(case.inertia).max(initial=0)
    scale = size * np.abs(qdd).max(initial=0)
    return solved(max(map(relative_error, ours[:2], theirs, [scale, scale])), case.inertia)


@peer
def hybrid(case, ours, f_ext=None):
    """Some freedoms accelerate as given; the others by the equations that are left."""
    held = case.tau > 0
    pull = case.torque_of_wrenches if f_ext else case.still
    at_rest = case.G.T @ case.full_torque(case.qd, np.where(held, case.qdd, 0))
    missing = (case.tau + pull - at_rest)[~held]
    H = case.inertia[np.ix_(~held, ~held)]
    error = relative_error(ours[0][~held], np.linalg.solve(H, missing))
    tau = case.G.T @ case.full_torque(case.qd, ours[0]) - pull
    scale = np.abs(case.inertia).max(initial=0) * np.abs(ours[0]).max(initial=0)
    scale += np.abs(pull).max(initial=0)
    return max(solved(error, H), relative_error(ours[1], tau, scale))


@peer
def link_pose(case, ours):
    return case.worst(ours, lambda frame: case.data.oMf[frame].homogeneous)


@peer
def jacobian(case, ours):
    return case.worst(ours, lambda frame: case.jacobian_of(frame, BASE_AXES))


@peer
def jacobian_at_a_point(case, ours):
    def reference(frame):
        J = case.jacobian_of(frame, BASE_AXES)
        arm = case.data.oMf[frame].rotation @ POINT["point"]
        return np.vstack([J[:3] - pinocchio.skew(arm) @ J[3:], J[3:]])

    return case.worst(ours, reference)


@peer
def link_velocity(case, ours):
    velocity = partial(pinocchio.getFrameVelocity, case.reference, case.data)
    return case.worst(ours, lambda frame: velocity(frame, BASE_AXES).vector)


@peer
def jacobian_derivative(case, ours):
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd
    pinocchio.computeJointJacobiansTimeVariation(*state)
    pinocchio.updateFramePlacements(case.reference, case.scratch)
    errors, speed = [], np.abs(case.qd).max(initial=0)
    for x, link in zip(ours, case.links, strict=True):
        at = case.reference, case.scratch, case.frame(link), BASE_AXES
        full = pinocchio.getFrameJacobianTimeVariation(*at)
        scale = speed * np.abs(case.jacobian_of(case.frame(link), BASE_AXES)).max(initial=0)
        errors.append(relative_error(x, full.reshape(6, -1) @ case.G, scale))
    return max(errors)


@peer
def link_acceleration(case, ours):
    pinocchio.forwardKinematics(
        case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.qdd
    )
    acceleration = partial(pinocchio.getFrameClassicalAcceleration, case.reference, case.scratch)
    return case.worst(ours, lambda frame: acceleration(frame, BASE_AXES).vector)


@peer
def operational_space_inertia(case, ours):
    """Of the links that can move in all directions, well enough for the inverse to be known."""
    jacobians = [case.jacobian_of(case.frame(link), BASE_AXES) for link in case.links]
    solved = np.linalg.solve(case.inertia, np.vstack(jacobians).T).T
    of_inertia = np.linalg.cond(case.inertia)
    errors = [0.0]
    for x, J, of_link in zip(ours, jacobians, np.split(solved, len(jacobians)), strict=True):
        inverse = J @ of_link.T
        condition = np.linalg.cond(inverse)
        if np.linalg.matrix_rank(J) == 6 and condition < WELL_CONDITIONED:
            error = relative_error(x, np.linalg.inv(inverse))
            errors.append(error / max(1, 4 * EPSILON * condition * of_inertia / TOLERANCE))
    return max(errors)


@peer
def centroidal_momentum_matrix(case, ours):
    """Pinocchio's angular part is about a centre of mass without the base link."""
    full = pinocchio.computeCentroidalMap(case.reference, case.scratch, case.q_full)
    mass, moment = case.mass_and_first_moment
    A = full.reshape(6, -1) @ case.G
    to_ours = pinocchio.skew(case.scratch.com[0] - moment / mass)
    return relative_error(ours, np.vstack([A[:3], A[3:] + to_ours @ A[:3]]))


@peer
def momentum(case, ours):
    """As for the matrix."""
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd
    p, L = np.split(pinocchio.computeCentroidalMomentum(*state).vector, 2)
    mass, moment = case.mass_and_first_moment
    L = L + np.cross(case.scratch.com[0] - moment / mass, p)
    return relative_error(ours, np.concatenate([p, L]))


@peer
def centre_of_mass(case, ours):
    mass, moment = case.mass_and_first_moment
    return relative_error(ours, moment / mass)


@peer
def centre_of_mass_jacobian(case, ours):
    full = pinocchio.jacobianCenterOfMass(case.reference, case.scratch, case.q_full)
    mass, _ = case.mass_and_first_moment
    moving = mass - case.reference.inertias[0].mass
    return relative_error(ours, full.reshape(3, -1) @ case.G * (moving / mass))


@peer
def energy(case, ours):
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd
    _, moment = case.mass_and_first_moment
    scale = np.linalg.norm(case.model.gravity) * np.linalg.norm(moment)
    kinetic = relative_error(ours[0], pinocchio.computeKineticEnergy(*state))
    return max(kinetic, relative_error(ours[1], -case.model.gravity @ moment, scale))


@peer
def coriolis(case, ours):
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd
    full = pinocchio.computeCoriolisMatrix(*state)
    scale = np.abs(case.inertia).max() * np.abs(case.qd).max()
    return relative_error(ours, case.G.T @ full @ case.G, max(scale, np.abs(full).max()))


@peer
def joint_wrenches(case, ours, f_ext=None):
    """Pinocchio's joints have the frames of their child links."""
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.qdd
    pinocchio.rnea(*state, case.forces(f_ext))
    joints = [case.reference.getJointId(name) for name in case.model.joint_names]
    theirs = [case.scratch.f[joint].vector for joint in joints]
    return relative_error(ours, np.array(theirs).reshape(-1, 6))


@peer
def regressor(case, ours, f_ext=None):
    """The columns of a link in the frame of its joint are those of Pinocchio's body."""
    if f_ext:
        return relative_error(ours[1], -case.torque_of_wrenches)
    state = case.reference, case.scratch, case.q_full, case.G @ case.qd, case.G @ case.qdd
    full = pinocchio.computeJointTorqueRegressor(*state)
    theirs = case.G.T @ full.reshape(case.reference.nv, -1)
    theirs = theirs.reshape(case.model.nv, -1, 10)
    theirs = theirs[:, :, [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]  # Pinocchio has yy before xz
    ours = ours.reshape(case.model.nv, -1, 10)
    errors = [0.0]
    for k, link in enumerate(case.links):
        frame = case.reference.frames[case.frame(link)]
        if frame.parentJoint > 0 and frame.placement == pinocchio.SE3.Identity():
            scale = np.abs(full).max()
            errors.append(relative_error(ours[:, k], theirs[:, frame.parentJoint - 1], scale))
    return max(errors)


@cache
def all_joints(path):
    return Model.from_file(path)


def every_second_joint_locked(path):
    names = all_joints(path).joint_names
    return Model.from_file(path, locked={name: 0.3 for name in names[1::2]})


def build(path, floating):
    """Return Pinocchio's model of a URDF."""
    root = [pinocchio.JointModelFreeFlyer()] if floating else []
    return pinocchio.buildModelFromUrdf(str(path), *root)


VARIANTS = {
    "all joints": all_joints,
    "half locked": every_second_joint_locked,
    "floating base": lambda path: Model.from_file(path, base="floating"),
}


def errors(model, reference):
    """Return the relative error of every method in a random state."""
    model, reference.gravity.linear = model.with_gravity(GRAVITY), GRAVITY
    case, found = Case(model, reference), {}
    for name, row in METHODS.items():
        for f_ext in (None, case.f_ext)[: 1 + row.wrenches]:
            if error := PEERS.get(name.replace(" ", "_")):
                more = {"f_ext": f_ext} if row.wrenches else {}
                key = name + " with wrenches" * bool(f_ext)
                found[key] = error(case, case.ours(name, **more), **more)
    return found


def above_tolerance(errors):
    return {name: error for name, error in errors.items() if not error <= TOLERANCE}


def test_every_method_is_compared():
    """Here, or by identities (test_dynamics_identities.py, test_operational_space.py), or with the
    book (at the end of test_dynamics_identities.py).
    """
    by_identities = {"operational_space", "log_det_inertia", "impulse_response"}
    by_the_book = {"composite_inertias", "articulated_inertias"}
    methods = {name.replace(" ", "_") for name in METHODS}
    assert methods - PEERS.keys() == by_identities | by_the_book


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
@pytest.mark.parametrize("load", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("path", few_or_all([*UNLIKE_ROBOTS, *OWN_ARMS], FILES))
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


def to_pinocchio_model(robot, base="fixed"):
    """Return Pinocchio's model, without mimic, of checked links and joints."""
    model, root = pinocchio.Model(), 0
    if base == "floating":
        root = model.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "root")
    inertials = {link.name: link.inertial for link in robot.links}
    placements = {
        robot.base_link: (root, pinocchio.SE3.Identity())
    }  # joint, pose of the link there
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

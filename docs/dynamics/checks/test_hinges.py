"""Hinges with several degrees of freedom: their kinematics, and dynamics beside Pinocchio's."""

from types import SimpleNamespace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from pinocchio_from_reference import Peer
from random_trees import TREES

from featherstone_ros import Dynamics, Model, Prismatic, Revolute, Tree, box
from reference import Robot, composite, free_base, hinges, innovations, operators
from reference.spatial import crf, crm

TILTED = tuple(np.array([2, -1, 2]) / 3)
ALL = [
    hinges.Universal((1, 0, 0), TILTED),
    hinges.Cylindrical(TILTED),
    hinges.Planar(),
    hinges.Spherical(),
    hinges.Free(),
]
STEP = 1e-6


def position(hinge, random):
    """Return a random position: quaternions have the length 1."""
    sizes = {hinges.Universal: 2, hinges.Cylindrical: 2, hinges.Planar: 3, hinges.Free: 3}
    q = random.uniform(-2, 2, sizes.get(type(hinge), 0))
    if isinstance(hinge, (hinges.Spherical, hinges.Free)):
        quaternion = random.normal(size=4)
        q = np.concatenate([q, quaternion / np.linalg.norm(quaternion)])
    return q


@pytest.fixture(params=ALL, ids=lambda hinge: type(hinge).__name__)
def moving(request):
    """A hinge, its position and its quasi-velocities."""
    random = np.random.default_rng(3)
    q = position(request.param, random)
    beta = random.uniform(-2, 2, len(request.param.H(q)))
    return SimpleNamespace(hinge=request.param, q=q, beta=beta)


def test_velocity_is_the_derivative_of_the_transform(moving):
    """dXJ/dt = - V x XJ, as q moves at ``rates``."""
    hinge, q, beta = moving.hinge, moving.q, moving.beta
    qd = hinge.rates(q, beta)
    ahead, behind = (hinge.transform(q + s * STEP * qd) for s in (1, -1))
    V = hinge.H(q).T @ beta
    expected = -crm(V) @ hinge.transform(q)
    assert_equal_to_rounding((ahead - behind) / (2 * STEP), expected, tolerance=1e-8)


def test_axes_move_in_the_body_as_dH_says(moving):
    hinge, q, beta = moving.hinge, moving.q, moving.beta
    qd = hinge.rates(q, beta)
    ahead, behind = (hinge.H(q + s * STEP * qd) for s in (1, -1))
    expected = np.tensordot(beta, hinge.dH(q), 1)
    assert_equal_to_rounding((ahead - behind) / (2 * STEP), expected, scale=1, tolerance=1e-8)


@pytest.mark.parametrize("moving", [hinges.Spherical(), hinges.Free()], indirect=True)
def test_quaternions_keep_their_length(moving):
    qd = moving.hinge.rates(moving.q, moving.beta)
    assert qd[-4:].any()
    assert abs(moving.q[-4:] @ qd[-4:]) < 1e-15


@pytest.fixture(scope="module", params=["chain", "star", "massless between"])
def jointed(request):
    """A tree whose joints are hinges of all kinds, in turn, and its motion."""
    robot = Robot.of(Model.from_urdf(TREES[request.param]))
    random = np.random.default_rng(robot.N)
    chosen = [ALL[i % len(ALL)] for i in range(robot.N)]
    if request.param == "massless between":  # which can only be between hinges that hold on to it
        chosen = [ALL[0] if robot.m[i] == 0 else hinge for i, hinge in enumerate(chosen)]
    q = [position(hinge, random) for hinge in chosen]
    o = operators.body_frames(robot, q, chosen)
    V_0 = random.uniform(-1, 1, 6)
    qd, qdd, tau = random.uniform(-2, 2, (3, len(o.H)))
    lift = np.concatenate([np.zeros(3), -robot.gravity])
    return SimpleNamespace(
        robot=robot, hinges=chosen, q=q, o=o, qd=qd, qdd=qdd, tau=tau, lift=lift, V_0=V_0
    )


def peer(jointed, floats=False):
    pinocchio = pytest.importorskip("pinocchio")
    return Peer(pinocchio, jointed.robot, jointed.hinges, floats)


def test_mass_matrix_is_pinocchio_s(jointed):
    expected = peer(jointed).crba(jointed.q)
    for by in operators, composite, innovations:
        assert_equal_to_rounding(by.mass_matrix(jointed.o), expected)


def test_inverse_dynamics_is_pinocchio_s(jointed):
    expected = peer(jointed).rnea(jointed.q, jointed.qd, jointed.qdd)
    for by in operators, composite:
        _, tau = by.inverse_dynamics(jointed.o, jointed.qd, jointed.qdd, jointed.lift)
        assert_equal_to_rounding(tau, expected)


def test_coriolis_torques_are_the_rates_of_phi_and_H(jointed):
    """H phi (M (phi*' H* + phi* H*') beta + b) in the bodies' frames, where some axes move."""
    o, beta = jointed.o, jointed.qd
    phi_dot = o.phi @ o.E_phi @ operators.each(crf, o.H.T @ beta) @ o.phi
    H_dot = np.tensordot(beta, o.dH, 1)
    assert H_dot.any()
    _, b = operators.velocity_terms(o, beta)
    acceleration = (phi_dot.T @ o.H.T + o.phi.T @ H_dot.T) @ beta
    expected = peer(jointed).rnea(jointed.q, beta, 0 * beta)
    weight = peer(jointed).rnea(jointed.q, 0 * beta, 0 * beta)
    C = o.H @ o.phi @ (o.M @ acceleration + b)
    assert_equal_to_rounding(C + weight, expected)


def test_forward_dynamics_is_pinocchio_s(jointed):
    expected = peer(jointed).aba(jointed.q, jointed.qd, jointed.tau)
    qdd = innovations.forward_dynamics(jointed.o, jointed.qd, jointed.tau, jointed.lift)
    tolerance = solving_tolerance(operators.mass_matrix(jointed.o))
    assert_equal_to_rounding(qdd, expected, tolerance=tolerance)


def test_free_base_with_hinges_is_pinocchio_s(jointed):
    """Pinocchio's base accelerates as seen in its own turning frame; its gravity falls out."""
    weightless = peer(jointed, floats=True)
    weightless.model.gravity.linear = np.zeros(3)
    v = np.concatenate([jointed.V_0, jointed.qd])
    expected = weightless.aba(jointed.q, v, np.concatenate([np.zeros(6), jointed.tau]))
    alpha_0, qdd = free_base.forward_dynamics(jointed.o, jointed.qd, jointed.tau, jointed.V_0)
    tolerance = solving_tolerance(weightless.crba(jointed.q))
    assert_equal_to_rounding(np.concatenate([alpha_0, qdd]), expected, tolerance=tolerance)


def test_trace_is_the_sum_of_the_traces_of_blocks(jointed):
    M = operators.mass_matrix(jointed.o)
    blocks = [np.trace(M[r, r]) for r in jointed.o.rows]
    assert max(r.stop - r.start for r in jointed.o.rows) > 1
    assert_equal_to_rounding(composite.trace(jointed.o), sum(blocks))


def test_everything_is_the_same_in_the_base_s_frame(jointed):
    inertial = operators.base_frame(jointed.robot, jointed.q, jointed.hinges)
    assert set(np.unique(inertial.phi)) <= {0.0, 1.0}
    for o in inertial, jointed.o:
        assert_equal_to_rounding(operators.mass_matrix(o), operators.mass_matrix(jointed.o))
        C = operators.coriolis(o, jointed.qd)
        assert_equal_to_rounding(C, operators.coriolis(jointed.o, jointed.qd))
        assert_equal_to_rounding(operators.coriolis_matrix(o, jointed.qd) @ jointed.qd, C)


def test_derivative_of_the_mass_matrix_is_c_and_its_transpose(jointed):
    """By differences along the motion: Mdot - 2 C is skew, quasi-velocities or not."""

    def M(s):
        pairs = zip(jointed.hinges, jointed.q, jointed.o.rows, strict=True)
        q = [q_i + s * h.rates(q_i, jointed.qd[r]) for h, q_i, r in pairs]
        return operators.mass_matrix(operators.body_frames(jointed.robot, q, jointed.hinges))

    C = operators.coriolis_matrix(jointed.o, jointed.qd)
    M_dot = (M(STEP) - M(-STEP)) / (2 * STEP)
    assert_equal_to_rounding(C + C.T, M_dot, scale=np.abs(M(0)).max(), tolerance=1e-7)


def test_one_degree_hinges_are_the_joints_of_a_robot():
    """A cylinder that does not slide is a revolute joint: rows and columns of the same matrices."""
    robot = Robot.of(Model.from_urdf(TREES["one revolute joint"]))
    q, qd = np.array([0.7]), np.array([1.3])
    one = operators.body_frames(robot, q)
    two = operators.body_frames(robot, [[*q, 0]], [hinges.Cylindrical(tuple(robot.axis[0]))])
    assert_equal_to_rounding(operators.mass_matrix(two)[:1, :1], operators.mass_matrix(one))
    assert_equal_to_rounding(
        operators.coriolis(two, np.array([*qd, 0]))[:1], operators.coriolis(one, qd), scale=1
    )


@pytest.mark.parametrize("kind", ["universal", "cylindrical"])
def test_hinge_is_a_row_of_the_core_s_joints_with_massless_links_between(kind):
    random = np.random.default_rng(7)
    heavy = box((0.2, 0.3, 0.5), mass=2, translation=(0.1, 0.2, 0.3), rotation=(1, 2, 3))
    first, second = Revolute("first", TILTED), Revolute("second", (1, 0, 0))
    hinge = hinges.Universal(TILTED, (1, 0, 0))
    if kind == "cylindrical":
        second, hinge = Prismatic("second", TILTED), hinges.Cylindrical(TILTED)
    tree = Tree("base")
    tree.add("between", parent="base", joint=first)
    tree.add("end", parent="between", joint=second, inertial=heavy)
    core = Dynamics(tree.model())
    alone = Tree("base")
    alone.add("end", parent="base", joint=Revolute("any", (1, 0, 0)), inertial=heavy)
    robot = Robot.of(alone.model())
    q, qd, qdd = random.uniform(-2, 2, (3, 2))
    o = operators.body_frames(robot, [q], [hinge])
    lift = np.concatenate([np.zeros(3), -robot.gravity])
    assert_equal_to_rounding(operators.mass_matrix(o), core.crba(q))
    _, tau = operators.inverse_dynamics(o, qd, qdd, lift)
    assert_equal_to_rounding(tau, core.rnea(q, qd, qdd))
    assert_equal_to_rounding(innovations.forward_dynamics(o, qd, tau, lift), core.aba(q, qd, tau))
    C, scale = operators.coriolis_matrix(o, qd), np.abs(core.crba(q)).max()
    assert_equal_to_rounding(C, core.coriolis(q, qd), scale)  # 0 where M is constant

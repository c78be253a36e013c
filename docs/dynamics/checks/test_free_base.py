"""A base that floats: Pinocchio's free-flyer, the laws of momentum, and a satellite that moves."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from pinocchio_from_reference import Peer
from reference_cases import cases, few_or_all_cases

from featherstone_ros import Dynamics, Tree, box, cylinder
from featherstone_ros import Revolute as Turning
from reference import (
    BASE,
    Robot,
    articulated,
    composite,
    free_base,
    hinges,
    innovations,
    momentum,
    operators,
)
from reference.spatial import crf, rot, xlt

pinocchio = pytest.importorskip("pinocchio")


class Floating:
    """A case whose base moves, and Pinocchio's model of it."""

    def __init__(self, case):
        self.case, self.robot = case, case.robot
        self.o = operators.body_frames(case.robot, case.q_J)
        self.V_0, self.alpha_0, self.f_0 = case.random.uniform(-2, 2, (3, 6))
        self.peer = Peer(pinocchio, case.robot, floats=True)
        self.peer.model.gravity.linear = np.zeros(3)
        self.v = np.concatenate([self.V_0, case.qd_J])
        self.a = np.concatenate([self.alpha_0, case.qdd_J])
        self.forces = self.peer.rnea(case.q_J, self.v, self.a)
        self.tolerance = solving_tolerance(self.peer.crba(case.q_J))
        self.f_x = case.robot.body_forces(case.f_ext)[:BASE].ravel()


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def floating(request):
    return Floating(request.param)


@pytest.mark.parametrize("by", [operators, composite], ids=["operators", "composite bodies"])
def test_torques_of_a_moving_base_are_pinocchio_s(floating, by):
    case, o = floating.case, floating.o
    state = case.qd_J, case.qdd_J, floating.alpha_0
    f, tau = by.inverse_dynamics(o, *state, V_0=floating.V_0)
    assert_equal_to_rounding(tau, floating.forces[6:], scale=np.abs(floating.forces).max())
    force = free_base.base_force(o, f, floating.alpha_0, floating.V_0)
    assert_equal_to_rounding(force, floating.forces[:6], scale=np.abs(floating.forces).max())


def test_velocity_terms_know_the_base_s_velocity(floating):
    """The torques with nothing accelerating; those with V_0 = 0 are others."""
    case = floating.case
    expected = floating.peer.rnea(case.q_J, floating.v, 0 * floating.a)[6:]
    C = operators.coriolis(floating.o, case.qd_J, floating.V_0)
    assert_equal_to_rounding(C, expected)
    assert np.abs(operators.coriolis(floating.o, case.qd_J) - C).max() > 1e-3 * np.abs(C).max()


def test_joints_of_a_moving_base_accelerate_as_it_is_moved(floating):
    case = floating.case
    tau = floating.forces[6:]
    qdd = innovations.forward_dynamics(
        floating.o, case.qd_J, tau, floating.alpha_0, V_0=floating.V_0
    )
    assert_equal_to_rounding(qdd, case.qdd_J, tolerance=floating.tolerance)


def test_free_base_accelerates_as_pinocchio_s(floating):
    case = floating.case
    f_0, tau = np.split(floating.forces, [6])
    alpha_0, qdd = free_base.forward_dynamics(floating.o, case.qd_J, tau, floating.V_0, f_0)
    actual = np.concatenate([alpha_0, qdd])
    assert_equal_to_rounding(actual, floating.a, tolerance=floating.tolerance)


def test_free_base_answers_external_forces(floating):
    """Forces on bodies do what their torques and their sum at the base do."""
    case, o = floating.case, floating.o
    tau = case.random.uniform(-20, 20, case.robot.N)
    with_forces = free_base.forward_dynamics(o, case.qd_J, tau, floating.V_0, f_x=floating.f_x)
    f_0, more = o.E_0 @ o.phi @ floating.f_x, o.H @ o.phi @ floating.f_x
    by_torques = free_base.forward_dynamics(o, case.qd_J, tau + more, floating.V_0, f_0)
    for actual, expected in zip(with_forces, by_torques, strict=True):
        assert_equal_to_rounding(actual, expected, tolerance=floating.tolerance)


def test_inverse_dynamics_of_a_free_base_is_the_inverse_of_forward_dynamics(floating):
    case, tau = floating.case, floating.case.random.uniform(-20, 20, floating.robot.N)
    outside = floating.V_0, floating.f_0, floating.f_x
    alpha_0, qdd = free_base.forward_dynamics(floating.o, case.qd_J, tau, *outside)
    again, tau_again = free_base.inverse_dynamics(floating.o, case.qd_J, qdd, *outside)
    assert_equal_to_rounding(again, alpha_0, tolerance=floating.tolerance)
    scale = np.abs(tau).max() + np.abs(operators.mass_matrix(floating.o)).max() * np.abs(qdd).max()
    assert_equal_to_rounding(tau_again, tau, scale=scale)


@pytest.fixture(scope="module")
def core(floating):
    return core_of(floating.case)


def core_of(case):
    """Return the compiled core's free base, a position of it, and gravity in the base's frame."""
    model = replace(case.model, base="floating")
    quaternion = case.random.normal(size=4)
    pose = np.array([1, 2, 3, *quaternion / np.linalg.norm(quaternion)])
    g = hinges.Free().transform(pose)[:3, :3] @ model.gravity
    return SimpleNamespace(
        dynamics=Dynamics(model), q=np.concatenate([pose, case.q]), g=np.concatenate([0 * g, g])
    )


def in_core_s_order(base, joints):
    """Return the core's vector of a spatial one of the base and one of the joints."""
    return np.concatenate([base[3:], base[:3], joints])


def test_joint_space_inertia_of_a_free_base_is_the_core_s(floating, core):
    """[R_0 A; A* M], rows and columns of the base with the linear half first."""
    o, G = floating.o, floating.robot.G
    A, order = momentum.momentum_matrix(o) @ G, [3, 4, 5, 0, 1, 2]
    R_0 = momentum.locked_inertia(o)[np.ix_(order, order)]
    M = floating.robot.reduce(operators.mass_matrix(o))
    expected = np.block([[R_0, A[order]], [A[order].T, M]])
    assert_equal_to_rounding(core.dynamics.crba(core.q), expected)


def test_free_base_takes_the_core_s_forces(floating, core):
    case, o = floating.case, floating.o
    alpha_0 = floating.alpha_0 - core.g  # gravity as an acceleration
    f, tau = operators.inverse_dynamics(o, case.qd_J, case.qdd_J, alpha_0, V_0=floating.V_0)
    f_0 = free_base.base_force(o, f, alpha_0, floating.V_0)
    v = in_core_s_order(floating.V_0, case.qd)
    a = in_core_s_order(floating.alpha_0, case.qdd)
    expected = core.dynamics.rnea(core.q, v, a)
    assert_equal_to_rounding(in_core_s_order(f_0, case.robot.reduce(tau)), expected)


@pytest.mark.parametrize("case", [case for case in cases(50) if not case.coupled], ids=repr)
def test_free_base_accelerates_as_the_core_s(case):
    """Where joints move each for itself, as articulated bodies need."""
    floating, core = Floating(case), core_of(case)
    tau = case.random.uniform(-20, 20, case.model.n)
    tau_J = case.robot.G @ tau  # G only sorts here
    state = floating.o, case.qd_J, tau_J, floating.V_0, floating.f_0
    alpha_0, qdd = free_base.forward_dynamics(*state)
    v, forces = in_core_s_order(floating.V_0, case.qd), in_core_s_order(floating.f_0, tau)
    expected = core.dynamics.aba(core.q, v, forces)
    actual = in_core_s_order(alpha_0 + core.g, case.robot.G.T @ qdd)
    assert_equal_to_rounding(actual, expected, tolerance=floating.tolerance)


def test_P_0_is_the_inertia_of_the_base_with_all_joints_free(floating):
    s, inertias = articulated.bodies(floating.robot, floating.case.q_J)
    I_A, _ = articulated.articulated_inertias(floating.robot, s, inertias)
    P_0 = free_base.articulated_inertia(floating.o, innovations.articulate(floating.o))
    scale = np.abs(momentum.locked_inertia(floating.o)).max()
    assert_equal_to_rounding(P_0, I_A[BASE], scale)


def test_free_base_is_a_free_hinge_on_a_base_that_is_fixed(floating):
    """Base and bodies, renumbered, with a hinge of six degrees of freedom in front."""
    case, robot = floating.case, floating.robot
    tau, one = case.random.uniform(-20, 20, robot.N), np.eye(6)[None]
    rows = [np.eye(6), *(floating.o.H[i, 6 * i : 6 * i + 6][None] for i in range(robot.N))]
    to_parent, _, rates = operators.joints_at(robot, case.q_J)
    inertias = np.concatenate([robot.I[BASE:], robot.I[:BASE], 0 * one])
    o = operators.assemble(
        [BASE, *(robot.parent + 1)],
        [np.eye(6), *to_parent],
        rows,
        [hinges.Free().dH(None), *rates],
        inertias,
    )
    forces = np.concatenate([floating.f_0, tau])
    expected = innovations.forward_dynamics(o, floating.v, forces)
    actual = free_base.forward_dynamics(floating.o, case.qd_J, tau, floating.V_0, floating.f_0)
    assert_equal_to_rounding(np.concatenate(actual), expected, tolerance=floating.tolerance)


# Momentum -----------------------------------------------------------------------------------------


def test_momentum_in_a_moving_frame_changes_though_nothing_acts(floating):
    """In the base's axes, about its origin: dh/dt = - V_0 x* h."""
    case, tau = floating.case, floating.case.random.uniform(-20, 20, floating.robot.N)
    alpha_0, qdd = free_base.forward_dynamics(floating.o, case.qd_J, tau, floating.V_0)

    def h(t):
        o = operators.body_frames(floating.robot, case.q_J + t * case.qd_J)
        return momentum.momentum(o, case.qd_J + t * qdd, floating.V_0 + t * alpha_0)

    step = 1e-6 / (1 + np.abs(qdd).max())
    rate = (h(step) - h(-step)) / (2 * step)
    scale = np.abs(rate).max() + np.abs(h(0)).max() * (1 + np.abs(qdd).max())
    assert_equal_to_rounding(rate, -crf(floating.V_0) @ h(0), scale, tolerance=1e-8)


def test_momentum_about_the_centre_of_mass_stays(floating):
    """In axes at rest, whatever the joints' torques: Pinocchio's h, and its rate is zero."""
    case, o = floating.case, floating.o
    alpha_0, qdd = free_base.forward_dynamics(o, case.qd_J, 0 * case.qd_J, floating.V_0)
    q_peer, order = floating.peer.position(case.q_J), floating.peer.order
    pin, model, data = pinocchio, floating.peer.model, floating.peer.data
    a = np.concatenate([alpha_0, qdd])
    pin.computeCentroidalMomentumTimeVariation(model, data, q_peer, floating.v[order], a[order])
    h_C = momentum.centroidal_momentum(o, case.qd_J, floating.V_0)
    expected = np.concatenate([data.hg.angular, data.hg.linear])
    assert_equal_to_rounding(h_C, expected)
    scale = np.abs(floating.forces).max()
    assert_equal_to_rounding(data.dhg.vector, np.zeros(6), scale, floating.tolerance)


def test_centre_of_mass_is_the_core_s(floating):
    expected = floating.case.dynamics.centre_of_mass(floating.case.q)
    assert_equal_to_rounding(momentum.centre_of_mass(floating.o), expected)


def test_whole_robot_moves_as_its_centre_of_mass_s_spatial_velocity(floating):
    """R_0 V_C = h: as one body, joints frozen, it would have the same momentum."""
    o, qd = floating.o, floating.case.qd_J
    V_C = momentum.centre_of_mass_spatial_velocity(o, qd, floating.V_0)
    h = momentum.momentum(o, qd, floating.V_0)
    assert_equal_to_rounding(momentum.locked_inertia(o) @ V_C, h)
    at_centre = xlt(momentum.centre_of_mass(o)) @ V_C
    linear = momentum.centre_of_mass_velocity(o, qd, floating.V_0)
    tolerance = solving_tolerance(momentum.locked_inertia(o))
    assert_equal_to_rounding(at_centre[3:], linear, np.abs(V_C).max(), tolerance)


def test_base_without_the_centre_of_mass_s_velocity_leaves_no_momentum(floating):
    """Of V_C in the base's frame; at the centre of mass it is another vector."""
    o, qd = floating.o, floating.case.qd_J
    V_C = momentum.centre_of_mass_spatial_velocity(o, qd, floating.V_0)
    left = momentum.momentum(o, qd, floating.V_0 - V_C)
    scale = np.abs(momentum.locked_inertia(o)).max() * np.abs(V_C).max()
    assert_equal_to_rounding(left, np.zeros(6), scale)
    tolerance = solving_tolerance(momentum.locked_inertia(o))
    still = momentum.nulling_base_velocity(o, qd)
    scale = np.abs(V_C).max() + np.abs(floating.V_0).max()
    assert_equal_to_rounding(floating.V_0 - V_C, still, scale, tolerance)


def test_joints_that_stand_still_leave_the_base_s_velocity(floating):
    o = floating.o
    V_C = momentum.centre_of_mass_spatial_velocity(o, 0 * floating.case.qd_J, floating.V_0)
    tolerance = solving_tolerance(momentum.locked_inertia(o))
    assert_equal_to_rounding(V_C, floating.V_0, tolerance=tolerance)


def test_momentum_reset_gives_the_momentum_asked_for(floating):
    o, qd, h = floating.o, floating.case.qd_J, 10 * floating.alpha_0
    V_0 = momentum.base_velocity(o, qd, h)
    scale = np.abs(momentum.momentum(o, qd)).max() + np.abs(h).max()
    tolerance = solving_tolerance(momentum.locked_inertia(o))
    assert_equal_to_rounding(momentum.momentum(o, qd, V_0), h, scale, tolerance)


@pytest.fixture(scope="module")
def satellite():
    """A satellite with an arm that tumbles for 0.3 s: what its momentum is before and after."""
    tree = Tree("bus", inertial=box((0.5, 0.6, 0.8), mass=20, translation=(0.1, 0, 0)))
    arm = cylinder(0.05, 0.6, mass=4, translation=(0, 0, 0.3))
    for k, axis in enumerate([(0, 1, 0), (1, 0, 0), (0, 1, 1)]):
        parent = f"arm{k - 1}" if k else "bus"
        where = (0, 0, 0.6) if k else (0, 0.2, 0.4)
        tree.add(
            f"arm{k}", parent=parent, joint=Turning(f"j{k}", axis), translation=where, inertial=arm
        )
    robot = Robot.of(tree.model(gravity=(0, 0, 0)))
    random = np.random.default_rng(1)
    q, qd, V_0 = random.uniform(-1, 1, 3), random.uniform(-3, 3, 3), random.uniform(-1, 1, 6)
    tau, base = random.uniform(-2, 2, 3), np.array([0, 0, 0, 0, 0, 0, 1.0])
    body = hinges.Free()

    def rate(state):
        q, qd, base, V_0 = np.split(state, [3, 6, 13])
        alpha_0, qdd = free_base.forward_dynamics(operators.body_frames(robot, q), qd, tau, V_0)
        return np.concatenate([qd, qdd, body.rates(base, V_0), alpha_0])

    def at(state):
        q, qd, base, V_0 = np.split(state, [3, 6, 13])
        o = operators.body_frames(robot, q)
        E = body.transform(base)[:3, :3]
        h = momentum.momentum(o, qd, V_0)
        about_centre = rot(E.T) @ momentum.centroidal_momentum(o, qd, V_0)
        in_world = body.transform(base).T @ h
        return SimpleNamespace(h=h, about_centre=about_centre, in_world=in_world)

    state = np.concatenate([q, qd, base, V_0])
    before, dt = at(state), 1e-3
    for _ in range(150):
        k1 = rate(state)
        k2 = rate(state + dt / 2 * k1)
        k3 = rate(state + dt / 2 * k2)
        k4 = rate(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return SimpleNamespace(before=before, after=at(state))


@pytest.mark.parametrize("kept", ["about_centre", "in_world"])
def test_momentum_in_a_frame_at_rest_stays(satellite, kept):
    """Whatever the joints' torques: they are inside."""
    before, after = getattr(satellite.before, kept), getattr(satellite.after, kept)
    assert_equal_to_rounding(after, before, tolerance=1e-9)


def test_momentum_about_the_base_s_origin_does_not_stay(satellite):
    change = np.abs(satellite.after.h - satellite.before.h).max()
    assert change > 0.01 * np.abs(satellite.before.h).max()

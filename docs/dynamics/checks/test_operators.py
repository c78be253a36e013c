"""The spatial operator algebra: its identities, one test each, and the compiled core's numbers."""

import re

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from reference_cases import few_or_all_cases

from featherstone_ros import Dynamics, ModelError
from reference import (
    BASE,
    articulated,
    composite,
    explicit,
    innovations,
    momentum,
    operators,
)
from reference.featherstone import aba, crba, rnea
from reference.spatial import crf, dual, inverse, rot, xlt

STEP = 1e-6  # of central differences [rad, m]
DIFFERENCE = 1e-8  # relative: what such a step leaves, epsilon / STEP and some


class Algebra:
    """A case's operators with each body in its own frame, and what tests compare them to."""

    def __init__(self, case):
        self.case = case
        self.robot = case.robot
        self.o = operators.body_frames(case.robot, case.q_J)
        self.x = innovations.articulate(self.o)
        self.R = composite.composite_inertias(self.o)
        self.crba = crba(case.robot, case.q_J)
        self.solving = solving_tolerance(self.crba)
        self.one = np.eye(6 * case.robot.N)
        self.f_x = case.robot.body_forces(case.f_ext)[:BASE].ravel()
        self.lift = np.concatenate([np.zeros(3), -case.robot.gravity])  # gravity as acceleration
        self.tau = rnea(case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext)

    def block(self, A, i, j):
        return A[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]

    def carried_by(self, i):
        """Return i and all bodies beyond it."""
        carried = [i]
        for j in range(i + 1, self.robot.N):
            if self.robot.parent[j] in carried:
                carried.append(j)
        return carried

    def core_momentum(self, V_0):
        """Return momentum (6,) and kinetic energy, body by body from the core's link velocities.

        The bodies' mass, first moment and inertia are the model's; V_0 (6,) adds what the base's
        motion gives to each.
        """
        tree, h, energy = self.case.model.tree, np.zeros(6), 0.0
        for k, name in enumerate(tree.body_names):
            pose = self.case.dynamics.link_pose(self.case.q, name)
            R, p = pose[:3, :3], pose[:3, 3]
            v, w = self.case.dynamics.link_velocity(self.case.q, self.case.qd, name).reshape(2, 3)
            v, w = v + V_0[3:] + np.cross(V_0[:3], p), w + V_0[:3]
            moment = R @ tree.first_moment[k]
            linear = tree.mass[k] * v + np.cross(w, moment)
            angular = R @ tree.inertia[k] @ R.T @ w + np.cross(moment, v)
            h += np.concatenate([angular + np.cross(p, linear), linear])
            energy += (linear @ v + angular @ w) / 2
        return h, energy


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def algebra(request):
    return Algebra(request.param)


@pytest.fixture(scope="module", params=few_or_all_cases(14), ids=repr)
def small(request):
    """Those with few bodies, for derivatives of M."""
    return Algebra(request.param)


# Operators ---------------------------------------------------------------------------------------


def test_phi_takes_forces_to_all_that_carry_a_body_and_to_no_other(algebra):
    """phi(i, j) = iXj*, with the core's poses."""
    case, phi = algebra.case, algebra.o.phi
    expected = np.zeros_like(phi)
    for i in range(algebra.robot.N):
        iT0 = np.linalg.inv(case.dynamics.link_pose(case.q, algebra.robot.names[i]))
        for j in algebra.carried_by(i):
            iTj = iT0 @ case.dynamics.link_pose(case.q, algebra.robot.names[j])
            jXi = rot(iTj[:3, :3].T) @ xlt(iTj[:3, 3])
            algebra.block(expected, i, j)[:] = jXi.T
    assert_equal_to_rounding(phi, expected)


def test_phi_is_the_sum_of_the_powers_of_E_phi(algebra):
    total, power = np.zeros_like(algebra.o.phi), algebra.one
    while power.any():  # as many as the tree is deep
        total += power
        power = algebra.o.E_phi @ power
    assert_equal_to_rounding(algebra.o.phi, total)


def test_E_phi_is_strictly_triangular(algebra):
    """Upper here; with bodies numbered as Rodriguez and Jain do, from the tips, lower."""
    assert not np.tril(algebra.o.E_phi).any()
    N = algebra.robot.N
    theirs = algebra.o.E_phi.reshape(N, 6, N, 6)[::-1, :, ::-1].reshape(6 * N, 6 * N)
    assert not np.triu(theirs).any()


def test_velocities_agree_with_the_core(algebra):
    case = algebra.case
    V = operators.velocities(algebra.o, case.qd_J).reshape(-1, 6)
    for i in algebra.case.random.choice(algebra.robot.N, 4):
        name = algebra.robot.names[i]
        R = case.dynamics.link_pose(case.q, name)[:3, :3]
        linear, angular = case.dynamics.link_velocity(case.q, case.qd, name).reshape(2, 3)
        expected = np.concatenate([R.T @ angular, R.T @ linear])
        assert_equal_to_rounding(V[i], expected, scale=np.abs(V).max())


# The mass matrix ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mass_matrix",
    [
        operators.mass_matrix,
        composite.mass_matrix,
        operators.mass_matrix_by_columns,
        innovations.mass_matrix,
    ],
    ids=["operators", "composite bodies", "columns by inverse dynamics", "innovations"],
)
def test_mass_matrix_agrees_with_the_core(algebra, mass_matrix):
    M = mass_matrix(algebra.o)
    assert_equal_to_rounding(M, algebra.crba)
    expected = algebra.case.dynamics.crba(algebra.case.q)
    assert_equal_to_rounding(algebra.robot.reduce(M), expected)


def test_composite_inertia_is_the_sum_of_what_a_body_carries(algebra):
    X0 = algebra.robot.X0(algebra.case.q_J)
    for i in range(algebra.robot.N):
        expected = np.zeros((6, 6))
        for j in algebra.carried_by(i):
            jXi = X0[j] @ inverse(X0[i])
            expected += jXi.T @ algebra.robot.I[j] @ jXi
        assert_equal_to_rounding(algebra.block(algebra.R, i, i), expected)


def test_composite_inertia_depends_on_the_joints_beyond_alone(algebra):
    """R_i in body i's frame: so do the diagonal of the mass matrix, and its derivatives."""
    random = np.random.default_rng(3)
    for i in random.choice(algebra.robot.N, 3):
        q = random.uniform(-2, 2, algebra.robot.N)
        beyond = algebra.carried_by(i)[1:]
        q[beyond] = algebra.case.q_J[beyond]
        moved = composite.composite_inertias(operators.body_frames(algebra.robot, q))
        assert_equal_to_rounding(algebra.block(moved, i, i), algebra.block(algebra.R, i, i))


def test_mass_matrix_has_walker_and_orin_s_components(algebra):
    """H_i phi(i, j) R_j H_j* if joint i carries j, and 0 on different branches."""
    o, M = algebra.o, np.zeros_like(algebra.crba)
    for i in range(algebra.robot.N):
        for j in algebra.carried_by(i):
            H_i, H_j = (o.H[k, 6 * k : 6 * k + 6] for k in (i, j))
            phi, R = algebra.block(o.phi, i, j), algebra.block(algebra.R, j, j)
            M[i, j] = M[j, i] = H_i @ phi @ R @ H_j
    assert_equal_to_rounding(M, algebra.crba)


def test_composite_inertias_and_mass_matrix_are_covariances(algebra):
    """Of f = phi w and T = H f for independent forces w of covariance M on the bodies.

    One outcome per column: together they have the covariance M exactly. From the tips, each body
    adds up what its children hand on.
    """
    o, case = algebra.o, algebra.case
    values, axes = np.linalg.eigh(o.M)
    f = axes * np.sqrt(np.abs(values))
    for i in reversed(range(algebra.robot.N)):
        k = slice(6 * i, 6 * i + 6)
        f[k] = f[k] + o.E_phi[k] @ f
    for i in range(algebra.robot.N):
        covariance = algebra.block(f @ f.T, i, i)
        assert_equal_to_rounding(covariance, algebra.block(algebra.R, i, i))
    T = o.H @ f
    assert_equal_to_rounding(algebra.robot.reduce(T @ T.T), case.dynamics.crba(case.q))


def test_lyapunov_equation(algebra):
    """M = R - E_phi R E_phi*."""
    o, R = algebra.o, algebra.R
    assert_equal_to_rounding(R - o.E_phi @ R @ o.E_phi.T, o.M, scale=np.abs(R).max())


def test_decomposition(algebra):
    """phi M phi* = R + phi~ R + R phi~*, and the terms do not overlap."""
    o = algebra.o
    own, beyond, transpose = composite.decomposition(o, algebra.R)
    assert_equal_to_rounding(own + beyond + transpose, o.phi @ o.M @ o.phi.T)
    blocks = (-1, 6, algebra.robot.N, 6)
    diagonal, upper, lower = (
        term.reshape(blocks).any(axis=(1, 3)) for term in (own, beyond, transpose)
    )
    np.testing.assert_array_equal(diagonal, np.eye(algebra.robot.N, dtype=bool))
    assert not np.tril(upper).any()
    assert not np.triu(lower).any()


def test_trace_of_the_mass_matrix(algebra):
    trace = composite.trace(algebra.o)
    assert_equal_to_rounding(trace, np.trace(algebra.crba))
    if not algebra.case.coupled:
        assert_equal_to_rounding(trace, np.trace(algebra.case.dynamics.crba(algebra.case.q)))


# Links -------------------------------------------------------------------------------------------


def links_that_move(case):
    """Return up to four links, some of them frames that are fixed to the body of another."""
    robot = case.robot
    moving = [name for name, (body, _) in robot.links.items() if body != BASE]
    return [str(name) for name in case.random.choice(moving, min(4, len(moving)), replace=False)]


def test_jacobians_agree_with_the_core(algebra):
    """J = B* phi* H*, in the links' axes and with the angular rows first."""
    case, links = algebra.case, links_that_move(algebra.case)
    J = operators.jacobian(algebra.o, operators.pick_off(algebra.robot, links))
    for rows, link in zip(J.reshape(-1, 6, algebra.robot.N), links, strict=True):
        R = case.dynamics.link_pose(case.q, link)[:3, :3]
        linear, angular = case.dynamics.jacobian(case.q, link).reshape(2, 3, -1)
        expected = np.vstack([R.T @ angular, R.T @ linear])
        assert_equal_to_rounding(rows @ algebra.robot.G, expected)


def test_forces_on_links_ask_for_torques_by_the_transpose(algebra):
    """tau = - H phi B f, which is - J* f, with the wrenches of the core."""
    case, links = algebra.case, links_that_move(algebra.case)
    f_ext = {link: case.random.uniform(-30, 30, 6) for link in links}
    B = operators.pick_off(algebra.robot, links)
    f = np.concatenate([[*wrench[3:], *wrench[:3]] for wrench in f_ext.values()])
    expected = algebra.robot.body_forces(f_ext)[:BASE].ravel()
    assert_equal_to_rounding(B @ f, expected)
    zero = np.zeros(case.model.n)
    still = case.dynamics.rnea(case.q, zero, zero)
    expected = case.dynamics.rnea(case.q, zero, zero, f_ext=f_ext) - still
    tau = -operators.jacobian(algebra.o, B).T @ f
    scale = np.abs(still).max() + np.abs(expected).max()
    assert_equal_to_rounding(algebra.robot.reduce(tau), expected, scale)


def test_compliance_of_links_is_khatib_s(algebra):
    """B* Omega B = J M^-1 J*."""
    B = operators.pick_off(algebra.robot, links_that_move(algebra.case))
    J = operators.jacobian(algebra.o, B)
    expected = J @ np.linalg.solve(algebra.crba, J.T)
    actual = B.T @ innovations.compliance(algebra.o) @ B
    assert_equal_to_rounding(actual, expected, tolerance=algebra.solving)


def test_link_of_the_base_is_refused(algebra):
    link = algebra.case.model.base_link
    with pytest.raises(ModelError, match=f"'{re.escape(link)}' is on the base"):
        operators.pick_off(algebra.robot, [link])


# Velocity terms, forces, gravity -----------------------------------------------------------------


def test_coriolis_torques_agree_with_the_core(algebra):
    case = algebra.case
    C = algebra.robot.reduce(operators.coriolis(algebra.o, case.qd_J))
    expected = Dynamics(case.model.with_gravity([0, 0, 0])).bias(case.q, case.qd)
    assert_equal_to_rounding(C, expected, scale=np.abs(algebra.crba).max())


@pytest.fixture(scope="module")
def moving_base(algebra):
    """V_0 and alpha_0."""
    return np.random.default_rng(7).uniform(-1, 1, (2, 6))


def test_implicit_equations_have_the_explicit_solutions(algebra, moving_base):
    """Each body's row asks for its parent's motion, or for its children's forces."""
    o, qd, qdd, (V_0, alpha_0) = algebra.o, algebra.case.qd_J, algebra.case.qdd_J, moving_base
    V = operators.velocities(o, qd, V_0)
    assert_equal_to_rounding(o.E_phi.T @ V + o.H.T @ qd + o.E_0.T @ V_0, V)
    a, b = operators.velocity_terms(o, qd, V_0)
    f, tau = operators.inverse_dynamics(o, qd, qdd, alpha_0, algebra.f_x, V_0)
    alpha = o.phi.T @ (o.H.T @ qdd + a + o.E_0.T @ alpha_0)
    again = o.E_phi.T @ alpha + o.H.T @ qdd + a + o.E_0.T @ alpha_0
    assert_equal_to_rounding(again, alpha)
    assert_equal_to_rounding(o.E_phi @ f + o.M @ alpha + b - algebra.f_x, f)
    assert_equal_to_rounding(o.H @ f, tau, scale=np.abs(f).max())


def test_torques_are_the_sum_of_four_terms(algebra, moving_base):
    """Mass matrix, Coriolis, the base's acceleration, external forces."""
    o, qd, qdd, (V_0, alpha_0) = algebra.o, algebra.case.qd_J, algebra.case.qdd_J, moving_base
    f, tau = operators.inverse_dynamics(o, qd, qdd, alpha_0, algebra.f_x, V_0)
    of_base = o.H @ o.phi @ o.M @ o.phi.T @ o.E_0.T @ alpha_0
    terms = operators.mass_matrix(o) @ qdd + operators.coriolis(o, qd, V_0) + of_base
    scale = np.abs(f).max()
    assert_equal_to_rounding(terms - o.H @ o.phi @ algebra.f_x, tau, scale)
    weight = algebra.robot.reduce(o.H @ o.phi @ o.M @ o.phi.T @ o.E_0.T @ algebra.lift)
    assert_equal_to_rounding(weight, algebra.case.dynamics.gravity(algebra.case.q))


def rate_of_phi(o, qd):
    """Return dphi/dt in the bodies' frames: the joints turn what E_phi hands on."""
    return o.phi @ o.E_phi @ operators.each(crf, o.H.T @ qd) @ o.phi


def test_phi_changes_as_the_joints_turn_the_transforms(small):
    case, o = small.case, small.o
    step = STEP / (1 + np.abs(case.qd_J).max())
    ahead, behind = (
        operators.body_frames(case.robot, case.q_J + s * step * case.qd_J).phi for s in (1, -1)
    )
    expected = rate_of_phi(o, case.qd_J)
    actual = (ahead - behind) / (2 * step)
    assert_equal_to_rounding(actual, expected, np.abs(expected).max() + 1, DIFFERENCE)


def test_coriolis_torques_are_the_rates_of_phi_and_H_in_either_frames(algebra):
    """H phi (M (phi*' H* + phi* H*') qd + b): in bodies' frames H stands still, in the base's phi.

    With unlike frames the two terms are unlike, and the torques the same: the core's.
    """
    case, qd = algebra.case, algebra.case.qd_J
    expected = case.dynamics.bias(case.q, case.qd) - case.dynamics.gravity(case.q)
    o = algebra.o
    accelerations = {"bodies": (o, rate_of_phi(o, qd).T @ o.H.T @ qd)}
    o = operators.base_frame(algebra.robot, case.q_J)
    accelerations["base"] = o, o.phi.T @ operators.axes_rate(o, qd) @ qd
    for o, of_rates in accelerations.values():
        _, b = operators.velocity_terms(o, qd)
        C = algebra.robot.reduce(o.H @ o.phi @ (o.M @ of_rates + b))
        scale = np.abs(expected).max() + np.abs(case.dynamics.gravity(case.q)).max()
        assert_equal_to_rounding(C, expected, scale)


def test_coriolis_matrix_has_the_coriolis_torques(algebra):
    C = operators.coriolis_matrix(algebra.o, algebra.case.qd_J)
    expected = operators.coriolis(algebra.o, algebra.case.qd_J)
    product = C @ algebra.case.qd_J
    assert_equal_to_rounding(product, expected, scale=np.abs(algebra.crba).max())


def test_derivative_of_the_mass_matrix_less_twice_coriolis_is_skew_symmetric(small):
    """With the derivative that Lagrange's form gives."""
    qd = small.case.qd_J
    M_dot = explicit.inertia_derivatives(small.robot, small.case.q_J) @ qd
    S = M_dot - 2 * operators.coriolis_matrix(small.o, qd)
    assert_equal_to_rounding(S, -S.T, scale=np.abs(small.crba).max())


def test_coriolis_matrix_is_that_of_the_christoffel_symbols(small):
    qd = small.case.qd_J
    b = explicit.christoffel(explicit.inertia_derivatives(small.robot, small.case.q_J))
    C = operators.coriolis_matrix(small.o, qd)
    assert_equal_to_rounding(C, explicit.coriolis_matrix(b, qd), scale=np.abs(small.crba).max())


def test_external_forces_agree_with_the_core(algebra):
    """With and without them, nothing else acting: tau = -H phi f_x."""
    case, still = algebra.case, np.zeros(algebra.robot.N)
    _, tau = operators.inverse_dynamics(algebra.o, still, still, f_x=algebra.f_x)
    zero = np.zeros(case.model.n)
    weightless = Dynamics(case.model.with_gravity([0, 0, 0]))
    expected = weightless.rnea(case.q, zero, zero, f_ext=case.f_ext)
    scale = np.abs(algebra.f_x).max()
    assert_equal_to_rounding(algebra.robot.reduce(tau), expected, scale=scale)


def test_gravity_is_a_force(algebra):
    still = np.zeros(algebra.robot.N)
    weights = operators.weights(algebra.robot, algebra.case.q_J)
    _, tau = operators.inverse_dynamics(algebra.o, still, still, f_x=weights)
    expected = algebra.case.dynamics.gravity(algebra.case.q)
    assert_equal_to_rounding(algebra.robot.reduce(tau), expected)


def test_gravity_is_an_acceleration(algebra):
    still = np.zeros(algebra.robot.N)
    _, tau = operators.inverse_dynamics(algebra.o, still, still, alpha_0=algebra.lift)
    expected = algebra.case.dynamics.gravity(algebra.case.q)
    assert_equal_to_rounding(algebra.robot.reduce(tau), expected)


@pytest.mark.parametrize("by", [operators, composite], ids=["operators", "composite bodies"])
def test_inverse_dynamics_agrees_with_the_core(algebra, by):
    case = algebra.case
    _, tau = by.inverse_dynamics(algebra.o, case.qd_J, case.qdd_J, algebra.lift, algebra.f_x)
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    assert_equal_to_rounding(algebra.robot.reduce(tau), expected)


def test_composite_bodies_give_every_joint_s_force(algebra):
    """f = R alpha + y is f = phi (M alpha + b - f_x): all six components."""
    motion = algebra.case.qd_J, algebra.case.qdd_J, algebra.lift, algebra.f_x
    expected, _ = operators.inverse_dynamics(algebra.o, *motion)
    f, _ = composite.inverse_dynamics(algebra.o, *motion)
    assert_equal_to_rounding(f, expected)


# Body frames and the base's frame ----------------------------------------------------------------


def test_mass_matrix_is_the_same_in_the_base_s_frame(algebra):
    inertial = operators.base_frame(algebra.robot, algebra.case.q_J)
    assert set(np.unique(inertial.phi)) <= {0.0, 1.0}
    assert_equal_to_rounding(operators.mass_matrix(inertial), operators.mass_matrix(algebra.o))


def test_coriolis_torques_are_the_same_in_the_base_s_frame(algebra):
    inertial, qd = operators.base_frame(algebra.robot, algebra.case.q_J), algebra.case.qd_J
    scale = np.abs(algebra.crba).max()
    for coriolis in operators.coriolis, operators.coriolis_matrix:
        assert_equal_to_rounding(coriolis(inertial, qd), coriolis(algebra.o, qd), scale=scale)


def test_forces_are_the_same_in_the_base_s_frame_but_for_their_coordinates(algebra):
    case, X0 = algebra.case, algebra.robot.X0(algebra.case.q_J)
    inertial = operators.base_frame(algebra.robot, case.q_J)
    f_x = algebra.robot.base_forces(case.f_ext, case.q_J)[:BASE].ravel()
    motion = case.qd_J, case.qdd_J, algebra.lift
    expected, _ = operators.inverse_dynamics(algebra.o, *motion, algebra.f_x)
    f, tau = operators.inverse_dynamics(inertial, *motion, f_x)
    in_body_frames = [dual(X) @ f_i for X, f_i in zip(X0[:BASE], f.reshape(-1, 6), strict=True)]
    scale = np.abs(f).max()
    assert_equal_to_rounding(np.concatenate(in_body_frames), expected, scale=scale)
    assert_equal_to_rounding(tau, algebra.tau)


def test_innovations_are_the_same_in_the_base_s_frame(algebra):
    inertial = operators.base_frame(algebra.robot, algebra.case.q_J)
    L, D = innovations.factors(algebra.o, algebra.x)
    L_inertial, D_inertial = innovations.factors(inertial, innovations.articulate(inertial))
    assert_equal_to_rounding(L_inertial, L, tolerance=algebra.solving)
    assert_equal_to_rounding(D_inertial, D, tolerance=algebra.solving)


# Momentum ----------------------------------------------------------------------------------------


def test_momentum_agrees_with_the_core(algebra):
    V_0 = algebra.case.random.uniform(-2, 2, 6)
    for base in np.zeros(6), V_0:
        expected, _ = algebra.core_momentum(base)
        h = momentum.momentum(algebra.o, algebra.case.qd_J, base)
        assert_equal_to_rounding(h, expected)


def test_momentum_is_locked_inertia_and_momentum_matrix_times_velocities(algebra):
    V_0, qd = algebra.case.random.uniform(-2, 2, 6), algebra.case.qd_J
    h = momentum.locked_inertia(algebra.o) @ V_0 + momentum.momentum_matrix(algebra.o) @ qd
    expected, _ = algebra.core_momentum(V_0)
    assert_equal_to_rounding(h, expected)


def test_centre_of_mass_velocity_is_the_derivative_of_the_core_s_centre_of_mass(algebra):
    case = algebra.case
    ahead, behind = (case.dynamics.centre_of_mass(case.q + s * STEP * case.qd) for s in (1, -1))
    expected = (ahead - behind) / (2 * STEP)
    v = momentum.centre_of_mass_velocity(algebra.o, case.qd_J)
    assert_equal_to_rounding(v, expected, scale=1 + np.abs(v).max(), tolerance=DIFFERENCE)


def test_centre_of_mass_moves_with_the_base(algebra):
    case = algebra.case
    V_0 = case.random.uniform(-2, 2, 6)
    with_base_fixed = momentum.centre_of_mass_velocity(algebra.o, case.qd_J)
    v = momentum.centre_of_mass_velocity(algebra.o, case.qd_J, V_0)
    expected = V_0[3:] + np.cross(V_0[:3], case.dynamics.centre_of_mass(case.q))
    assert_equal_to_rounding(v - with_base_fixed, expected, scale=np.abs(v).max())


def test_base_of_a_free_robot_moves_so_that_its_momentum_is_zero(algebra):
    V_0 = momentum.nulling_base_velocity(algebra.o, algebra.case.qd_J)
    with_base_fixed, _ = algebra.core_momentum(np.zeros(6))
    h, _ = algebra.core_momentum(V_0)
    scale = np.abs(with_base_fixed).max()
    assert scale > 0
    tolerance = solving_tolerance(momentum.locked_inertia(algebra.o))
    assert_equal_to_rounding(h, np.zeros(6), scale, tolerance)


def test_base_of_a_free_robot_moves_so_that_its_energy_is_least(algebra):
    """What another velocity of the base costs is d* R_0 d / 2."""
    V_0 = momentum.nulling_base_velocity(algebra.o, algebra.case.qd_J)
    d = algebra.case.random.uniform(-1, 1, 6)
    (_, least), (_, more) = algebra.core_momentum(V_0), algebra.core_momentum(V_0 + d)
    expected = d @ momentum.locked_inertia(algebra.o) @ d / 2
    _, fixed = algebra.core_momentum(np.zeros(6))
    assert_equal_to_rounding(more - least, expected, scale=more + fixed)


# Articulated bodies and innovations --------------------------------------------------------------


def test_riccati_equation(algebra):
    """M = P - E_phi (P - P H* D^-1 H P) E_phi*, D = H P H*."""
    o, P = algebra.o, algebra.x.P
    D = o.H @ P @ o.H.T
    assert_equal_to_rounding(algebra.x.D, D)
    let_through = P - P @ o.H.T @ np.linalg.inv(D) @ o.H @ P
    M = P - o.E_phi @ let_through @ o.E_phi.T
    assert_equal_to_rounding(M, o.M, scale=np.abs(algebra.R).max())


def test_riccati_equation_in_the_form_of_lyapunov_s(algebra):
    """M = P - E_psi P E_psi*."""
    o, x = algebra.o, algebra.x
    M = x.P - x.E_psi @ x.P @ x.E_psi.T
    assert_equal_to_rounding(M, o.M, scale=np.abs(algebra.R).max())


def test_articulated_inertias_are_those_of_the_open_tree(algebra):
    """P, which is block diagonal, and I_A in the bodies' frames."""
    robot, q = algebra.robot, algebra.case.q_J
    I_A, _ = articulated.articulated_inertias(robot, *articulated.bodies(robot, q))
    back = [inverse(X) for X in robot.X0(q)[:BASE]]
    expected = operators.block_diagonal([X.T @ I_A[i] @ X for i, X in enumerate(back)])
    assert_equal_to_rounding(algebra.x.P, expected, scale=np.abs(algebra.R).max())


def test_articulated_inertia_of_the_base_is_what_a_floating_robot_feels_like(algebra):
    """R_0 - A M^-1 A*: the joints' equations eliminated from R_0 dV_0 + A qdd = f, joints free."""
    robot, q = algebra.robot, algebra.case.q_J
    I_A, _ = articulated.articulated_inertias(robot, *articulated.bodies(robot, q))
    R_0, A = momentum.locked_inertia(algebra.o), momentum.momentum_matrix(algebra.o)
    expected = R_0 - A @ np.linalg.solve(algebra.crba, A.T)
    assert_equal_to_rounding(I_A[BASE], expected, np.abs(R_0).max(), algebra.solving)


def test_articulated_inertias_are_covariances_once_the_torques_beyond_are_known(algebra):
    """P_i is what is left of the covariance of f_i, and D_i of that of T_i: a Kalman filter.

    f = phi w and T = H f for independent forces w of covariance M on the bodies.
    """
    o = algebra.o
    of_f = o.phi @ o.M @ o.phi.T
    of_f_and_T, of_T = of_f @ o.H.T, o.H @ of_f @ o.H.T
    for i in range(algebra.robot.N):
        k, beyond = slice(6 * i, 6 * i + 6), algebra.carried_by(i)[1:]
        known = of_f_and_T[k][:, beyond]
        gain = np.linalg.solve(of_T[np.ix_(beyond, beyond)], known.T)
        left, scale = of_f[k, k] - known @ gain, np.abs(of_f[k, k]).max()
        assert_equal_to_rounding(left, algebra.x.P[k, k], scale, algebra.solving)
        D = o.H[i, k] @ left @ o.H[i, k]
        assert_equal_to_rounding(D, algebra.x.D[i, i], scale, algebra.solving)


def test_psi_and_phi_decompose_the_inertia_between_them(algebra):
    """psi M phi* = psi P + P phi~*."""
    o, x = algebra.o, algebra.x
    expected = x.psi @ x.P + x.P @ (o.phi - algebra.one).T
    scale = np.abs(o.phi @ o.M @ o.phi.T).max()
    assert_equal_to_rounding(x.psi @ o.M @ o.phi.T, expected, scale, algebra.solving)


def test_innovations_factor_has_ones_on_its_diagonal_and_is_triangular(algebra):
    L, _ = innovations.factors(algebra.o, algebra.x)
    np.testing.assert_array_equal(np.diag(L), np.ones(algebra.robot.N))
    assert not np.tril(L, -1).any()


def test_innovations_factor_has_the_inverse_1_minus_H_psi_K(algebra):
    L, D = innovations.factors(algebra.o, algebra.x)
    L_inverse, D_inverse = innovations.inverse_factors(algebra.o, algebra.x)
    scale = np.abs(L).max() * np.abs(L_inverse).max()
    assert_equal_to_rounding(L @ L_inverse, np.eye(len(L)), scale)
    assert_equal_to_rounding(D @ D_inverse, np.eye(len(L)))


def test_inverse_mass_matrix_agrees_with_the_core(algebra):
    inverse_M = innovations.inverse_mass_matrix(algebra.o)
    expected = np.linalg.inv(algebra.crba)
    if not algebra.case.coupled:
        G = algebra.robot.G
        expected = G @ np.linalg.inv(algebra.case.dynamics.crba(algebra.case.q)) @ G.T
    assert_equal_to_rounding(inverse_M, expected, tolerance=algebra.solving)


def test_determinant_of_the_mass_matrix_is_that_of_D(algebra):
    sign, logarithm = np.linalg.slogdet(algebra.crba)
    assert sign == 1
    expected = np.log(np.diag(algebra.x.D)).sum()
    assert_equal_to_rounding(logarithm, expected, 1 + abs(expected), algebra.solving)


def test_forward_dynamics_agrees_with_the_core(algebra):
    case = algebra.case
    tau_J = case.random.uniform(-20, 20, algebra.robot.N)
    expected = aba(algebra.robot, case.q_J, case.qd_J, tau_J, case.f_ext)
    if not case.coupled:
        G = algebra.robot.G
        expected = G @ case.dynamics.aba(case.q, case.qd, G.T @ tau_J, f_ext=case.f_ext)
    qdd = innovations.forward_dynamics(algebra.o, case.qd_J, tau_J, algebra.lift, algebra.f_x)
    assert_equal_to_rounding(qdd, expected, tolerance=algebra.solving)


def test_compliance_is_how_bodies_answer_forces(algebra):
    """Omega = phi* H* M^-1 H phi."""
    o = algebra.o
    expected = o.phi.T @ o.H.T @ np.linalg.solve(algebra.crba, o.H @ o.phi)
    assert_equal_to_rounding(innovations.compliance(o), expected, tolerance=algebra.solving)


def test_compliance_has_the_mobilities_on_its_diagonal(algebra):
    inertial = operators.base_frame(algebra.robot, algebra.case.q_J)
    Omega = innovations.compliance(inertial)
    Phi = articulated.mobility(algebra.robot, algebra.case.q_J)
    for i in range(algebra.robot.N):
        actual = algebra.block(Omega, i, i)
        assert_equal_to_rounding(actual, Phi[i], np.abs(Phi).max(), algebra.solving)


def test_innovations_give_every_joint_s_force(algebra):
    """f = (P - G D G*) E_phi* alpha + z + G e: all six components, as inverse dynamics has them."""
    case, o, x = algebra.case, algebra.o, algebra.x
    a, b = operators.velocity_terms(o, case.qd_J)
    a = a + o.E_0.T @ algebra.lift
    z, e = innovations.inward(o, x, algebra.tau, a, b - algebra.f_x)
    alpha = o.phi.T @ (o.H.T @ case.qdd_J + a)
    expected, _ = operators.inverse_dynamics(o, case.qd_J, case.qdd_J, algebra.lift, algebra.f_x)
    f = (x.P - x.G @ x.D @ x.G.T) @ o.E_phi.T @ alpha + z + x.G @ e
    scale = np.abs(expected).max() + np.abs(algebra.R).max() * np.abs(alpha).max()
    assert_equal_to_rounding(f, expected, scale, algebra.solving)

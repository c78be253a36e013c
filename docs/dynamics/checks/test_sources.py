"""Examples of the sources, worked out on paper there, and misprints in them."""

from types import SimpleNamespace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from reference_cases import cases

from featherstone_ros import Dynamics, Prismatic, Revolute, Tree, inertial
from reference import (
    Robot,
    articulated,
    composite,
    explicit,
    inertia,
    mirtich,
    newton_euler,
    operators,
)
from reference.spatial import turn

STEP = 1e-6  # of central differences
GRAVITY = 9.81


@pytest.fixture(params=range(5))
def rp(request):
    """Khatib's RP arm, at random figures and states: its formulas and the model of it."""
    random = np.random.default_rng(request.param)
    m1, m2, I1, I2, l1 = random.uniform(0.5, 3, 5)
    (theta, d), (thetad, dd) = random.uniform(-2, 2, (2, 2))
    c, s = np.cos(theta), np.sin(theta)
    tree = Tree("ground")
    first = inertial(m1, (l1, 0, 0), np.diag([0.1, I1, I1]))
    second = inertial(m2, (0, 0, 0), np.diag([0.1, I2, I2]))
    tree.add("link1", parent="ground", joint=Revolute("theta", (0, 0, 1)), inertial=first)
    tree.add("link2", parent="link1", joint=Prismatic("d", (1, 0, 0)), inertial=second)
    model = tree.model(gravity=(0, -GRAVITY, 0))
    return SimpleNamespace(
        robot=Robot.of(model),
        core=Dynamics(model),
        q=np.array([theta, d]),
        qd=np.array([thetad, dd]),
        J_v1=np.array([[-l1 * s, 0], [l1 * c, 0], [0, 0]]),
        J_v2=np.array([[-d * s, c], [d * c, s], [0, 0]]),
        J_w=np.array([[0, 0], [0, 0], [1, 0]]),
        M=np.diag([m1 * l1**2 + I1 + m2 * d**2 + I2, m2]),
        m_112=2 * m2 * d,
        b_112=m2 * d,
        V=np.array([2 * m2 * d * thetad * dd, -m2 * d * thetad**2]),
        G=GRAVITY * np.array([(m1 * l1 + m2 * d) * c, m2 * s]),
    )


def test_rp_arm_has_the_jacobians_of_the_lecture(rp):
    J_v, J_w = explicit.link_jacobians(rp.robot, rp.q)
    for actual, expected in ((J_v[0], rp.J_v1), (J_v[1], rp.J_v2), (J_w[0], rp.J_w)):
        assert_equal_to_rounding(actual, expected)
    assert_equal_to_rounding(J_w[1], rp.J_w)


def test_rp_arm_s_second_column_of_J_v2_is_the_direction_of_the_slide(rp):
    """(c, s, 0), of length 1 whatever d: the derivative of the core's centre of link 2."""
    ahead, behind = (
        rp.core.link_pose(rp.q + np.array([0, s * STEP]), "link2")[:3, 3] for s in (1, -1)
    )
    column = explicit.link_jacobians(rp.robot, rp.q)[0][1][:, 1]
    assert_equal_to_rounding(column, (ahead - behind) / (2 * STEP), tolerance=1e-8)
    assert_equal_to_rounding(np.linalg.norm(column), 1.0)


def test_rp_arm_has_the_mass_matrix_of_the_lecture(rp):
    assert_equal_to_rounding(explicit.inertia(rp.robot, rp.q), rp.M)
    assert_equal_to_rounding(rp.core.crba(rp.q), rp.M)


def test_rp_arm_has_the_christoffel_symbols_of_the_lecture(rp):
    m_ijk = explicit.inertia_derivatives(rp.robot, rp.q)
    assert_equal_to_rounding(m_ijk, [[[0, rp.m_112], [0, 0]], [[0, 0], [0, 0]]])
    expected = [[[0, rp.b_112], [rp.b_112, 0]], [[-rp.b_112, 0], [0, 0]]]
    assert_equal_to_rounding(explicit.christoffel(m_ijk), expected)


def test_rp_arm_s_coriolis_torque_counts_both_symbols_once(rp):
    """2 b_112 is b_112 + b_121: twice that again is not the core's torque."""
    b = explicit.christoffel(explicit.inertia_derivatives(rp.robot, rp.q))
    assert_equal_to_rounding(explicit.coriolis(b)[:, 0], [2 * rp.b_112, 0])
    coriolis = explicit.coriolis(b) @ explicit.products(rp.qd)
    turning, sliding = (rp.core.bias(rp.q, [rp.qd[0], 0]), rp.core.bias(rp.q, [0, rp.qd[1]]))
    crossed = rp.core.bias(rp.q, rp.qd) - turning - sliding + rp.core.gravity(rp.q)
    scale = np.abs(rp.core.bias(rp.q, rp.qd)).max()
    assert_equal_to_rounding(coriolis, crossed, scale)


def test_rp_arm_has_the_velocity_terms_of_the_lecture(rp):
    assert_equal_to_rounding(explicit.velocity_terms(rp.robot, rp.q, rp.qd), rp.V)
    expected = rp.core.bias(rp.q, rp.qd) - rp.core.gravity(rp.q)
    assert_equal_to_rounding(rp.V, expected, scale=np.abs(rp.V).max() + np.abs(rp.G).max())
    assert abs(rp.V[0] * (rp.qd[1] - 1)) > 0.01 * np.abs(rp.V).max()  # with a second dd


def test_rp_arm_has_the_gravity_of_the_lecture(rp):
    assert_equal_to_rounding(explicit.gravity(rp.robot, rp.q), rp.G)
    assert_equal_to_rounding(rp.core.gravity(rp.q), rp.G)


def test_cube_has_the_tensor_of_the_lecture_about_centre_and_corner():
    m, a = 2.5, 0.7
    centre = inertia.of_box(m, [a, a, a])
    assert_equal_to_rounding(centre, m * a**2 / 6 * np.eye(3))
    corner = inertia.parallel_axis(centre, m, np.full(3, a / 2))
    assert_equal_to_rounding(corner, m * a**2 * (11 / 12 * np.eye(3) - 1 / 4))
    principal = m * a**2 * np.array([1 / 6, 11 / 12, 11 / 12])
    assert_equal_to_rounding(np.linalg.eigvalsh(corner), principal)


def test_angular_momentum_of_points_is_their_tensor_times_the_angular_velocity():
    random = np.random.default_rng(4)
    m, p, w = random.uniform(1, 2, 7), random.normal(size=(7, 3)), random.normal(size=3)
    expected = np.cross(p, m[:, None] * np.cross(w, p)).sum(axis=0)
    assert_equal_to_rounding(inertia.of_points(m, p) @ w, expected)


def test_angular_momentum_is_p_x_m_v_and_its_rate_p_x_m_a():
    """Particles under forces. One source prints p x m a, the rate, for the momentum itself."""
    random = np.random.default_rng(4)
    m, (p, v, a) = random.uniform(1, 2, 7), random.normal(size=(3, 7, 3))

    def momentum(t):
        return np.cross(p + t * v + t**2 / 2 * a, m[:, None] * (v + t * a)).sum(axis=0)

    moment = np.cross(p, m[:, None] * a).sum(axis=0)
    rate = (momentum(STEP) - momentum(-STEP)) / (2 * STEP)
    assert_equal_to_rounding(rate, moment, tolerance=1e-8)
    assert np.abs(moment - momentum(0)).max() > 0.1 * np.abs(momentum(0)).max()


def test_euler_s_equation_is_the_derivative_of_angular_momentum():
    """A body that turns at w, which grows at wd, from where its axes are those of the room.

    One source prints the derivative of wd, here zero, for wd.
    """
    random = np.random.default_rng(5)
    w, wd = random.normal(size=(2, 3))
    tensor = inertia.of_points(random.uniform(1, 2, 4), random.normal(size=(4, 3)))

    def momentum(t):
        R = turn(w / np.linalg.norm(w), t * np.linalg.norm(w)).T
        return inertia.turned(tensor, R) @ (w + t * wd)

    rate = (momentum(STEP) - momentum(-STEP)) / (2 * STEP)
    expected = tensor @ wd + np.cross(w, tensor @ w)
    assert_equal_to_rounding(rate, expected, tolerance=1e-8)
    printed = np.cross(w, tensor @ w)
    assert np.abs(printed - rate).max() > 0.01 * np.abs(rate).max()


@pytest.mark.parametrize("case", [case for case in cases(9) if case.robot.N > 1], ids=repr)
def test_recursion_gives_wd_on_the_left_and_takes_w_x_w_x_P(case):
    """As the core's accelerations of the last link say.

    One source prints thetad for wd on the left, and wd x for the outer w x in the acceleration of
    the next link's origin.
    """
    robot, last = case.robot, case.robot.N - 1
    R, _ = robot.poses(case.q_J)
    turn, P = newton_euler.steps(robot, case.q_J)
    w, wd, vd = newton_euler.link_accelerations(robot, case.q_J, case.qd_J, case.qdd_J)
    core = case.dynamics.link_acceleration(case.q, case.qd, case.qdd, robot.names[last])
    linear, angular = np.split(core, 2)
    assert_equal_to_rounding(wd[last], R[last].T @ angular, scale=np.abs(wd).max() + 1)
    assert_equal_to_rounding(vd[last], R[last].T @ linear, scale=np.abs(vd).max() + 1)
    up, arm = robot.parent[last], P[last]
    printed = turn[last] @ np.cross(wd[up] - w[up], np.cross(w[up], arm)) + vd[last]
    if np.abs(np.cross(w[up], arm)).max() > 1e-6:
        assert np.abs(printed - R[last].T @ linear).max() > 1e-3 * np.abs(vd).max()


@pytest.mark.parametrize("case", cases(9), ids=repr)
def test_lagrange_s_equation_gives_the_core_s_torques(case):
    """M qdd + Mdot qd - 1/2 d(qd^T M qd)/dq + dU/dq, U by differences of the core's energy."""
    M, m_ijk = (by(case.robot, case.q_J) for by in (explicit.inertia, explicit.inertia_derivatives))
    qd, qdd = case.qd_J, case.qdd_J
    by_motion = M @ qdd + m_ijk @ qd @ qd - np.einsum("i,ijk,j->k", qd, m_ijk, qd) / 2
    still = np.zeros(case.model.n)

    def potential(q):
        return case.dynamics.energy(q, still)[1]

    steps = STEP * np.eye(case.model.n)
    slope = [(potential(case.q + e) - potential(case.q - e)) / (2 * STEP) for e in steps]
    tau = case.robot.reduce(by_motion) + slope
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd)
    scale = np.abs(expected).max() + abs(potential(case.q))
    assert_equal_to_rounding(tau, expected, scale, tolerance=1e-8)
    printed = tau + case.robot.reduce((M - m_ijk @ qd) @ qd)  # M for Mdot
    assert np.abs(printed - expected).max() > 1e-3 * scale


@pytest.mark.parametrize("case", [case for case in cases(14) if case.robot.N > 1], ids=repr)
def test_force_across_a_joint_takes_the_inertia_of_its_own_body(case):
    """f_i = I_i^A a_i + p_i^A: a child's inertia, as one source prints it, is out of balance."""
    tau = case.random.uniform(-20, 20, case.robot.N)
    _, a, f = articulated.forward_dynamics(case.robot, case.q_J, case.qd_J, tau)
    s, inertias = articulated.bodies(case.robot, case.q_J)
    I_A, _ = articulated.articulated_inertias(case.robot, s, inertias)
    child = case.robot.N - 1
    parent = case.robot.parent[child] if case.robot.parent[child] >= 0 else 0
    wrong = f.copy()
    wrong[parent] += (I_A[child] - I_A[parent]) @ a[parent]
    right, off = (
        np.abs(articulated.residuals(case.robot, case.q_J, case.qd_J, a, forces)).max()
        for forces in (f, wrong)
    )
    assert right < 1e-9 * off


@pytest.mark.parametrize("case", [case for case in cases(14) if case.robot.N > 1], ids=repr)
def test_velocity_across_a_joint_accelerates_with_one_omega_cross_v(case):
    """v_J' = s qdd + w_up x v_J + w_J x v_J; a second w_up x v_J, as one source prints it, is off.

    v_J is the velocity of a link's centre of mass relative to the parent, here a vector in the
    base's axes, differentiated along the motion.
    """
    robot = case.robot

    def relative(t):
        q, qd = case.q_J + t * case.qd_J + t**2 / 2 * case.qdd_J, case.qd_J + t * case.qdd_J
        R, _ = robot.poses(q)
        turning, sliding = robot.motion[:, :1] * robot.axis, robot.motion[:, 1:] * robot.axis
        per_rate = np.cross(turning, robot.c[:-1]) + sliding
        axes = [np.einsum("ikl,il->ik", R[:-1], x) for x in (turning, per_rate)]
        return [axis * qd[:, None] for axis in axes]

    (w_J, v_J), step = relative(0), 1e-5
    v_J_dot = (relative(step)[1] - relative(-step)[1]) / (2 * step)
    w = np.zeros((robot.N + 1, 3))
    for i in range(robot.N):
        w[i] = w[robot.parent[i]] + w_J[i]
    w_up = w[robot.parent]
    own = np.divide(case.qdd_J, case.qd_J)[:, None] * v_J
    right = own + np.cross(w_up, v_J) + np.cross(w_J, v_J)
    scale = np.abs(right).max()
    assert_equal_to_rounding(v_J_dot, right, scale, tolerance=1e-7)
    assert np.abs(right + np.cross(w_up, v_J) - v_J_dot).max() > 1e-3 * scale


@pytest.mark.parametrize("case", [case for case in cases(14) if case.robot.N > 2], ids=repr)
def test_bias_force_needs_each_of_its_terms(case):
    """p^A hands on (1 - T s') (p^A_n + I^A_n c_n) + T tau_n of each child n, and nothing less.

    p^A is what is left of the joint's force, f - I^A a, which the balance of each body confirms.
    """
    robot, tau = case.robot, case.random.uniform(-20, 20, case.robot.N)
    _, a, f = articulated.forward_dynamics(robot, case.q_J, case.qd_J, tau, case.f_ext)
    s, inertias = articulated.bodies(robot, case.q_J)
    c, p = articulated.velocity_terms(robot, s, inertias, case.qd_J)
    I_A, T = articulated.articulated_inertias(robot, s, inertias)
    p_A = f - np.einsum("ikl,il->ik", I_A[:-1], a[:-1])
    own = p - robot.base_forces(case.f_ext, case.q_J)

    def handed_on(p_n, I_n, s_n, tau_n):
        total = own.copy()
        for n in range(robot.N):
            beyond = p_n[n] + I_n[n] @ c[n]
            total[robot.parent[n]] += beyond - T[n] * (s_n[n] @ beyond) + T[n] * tau_n[n]
        return total[:-1]

    scale = np.abs(f).max() + np.abs(I_A[:-1] @ a[:-1, :, None]).max()
    assert_equal_to_rounding(handed_on(p_A, I_A, s, tau), p_A, scale)
    wrong = {
        "without c": handed_on(p_A, 0 * I_A, s, tau),
        "c with the link's own inertia": handed_on(p_A, inertias, s, tau),
        "the link's own bias force": handed_on(own, I_A, s, tau),
        "without what the joint yields": handed_on(p_A, I_A, 0 * s, tau),
        "without the torque": handed_on(p_A, I_A, s, 0 * tau),
    }
    for name, other in wrong.items():
        assert np.abs(other - p_A).max() > 1e-4 * scale, name


@pytest.mark.parametrize("case", cases(14), ids=repr)
def test_motor_holds_its_joint_to_a_prescribed_motion(case):
    """Featherstone3D's motors that define an acceleration: q follows its second integral."""
    robot, moved = case.robot, np.arange(case.robot.N) % 2 == 0
    q, qd, t, dt = 0.1 * case.q_J, np.zeros(robot.N), 0.0, 1e-3
    start = q[moved]
    for _ in range(20):
        qdd, tau, _, _ = articulated.hybrid_dynamics(
            robot, q, qd, np.full(robot.N, np.cos(t)), np.zeros(robot.N), moved
        )
        np.testing.assert_array_equal(qdd[moved], np.full(moved.sum(), np.cos(t)))
        assert not tau[~moved].any()
        # one step of Stoermer and Verlet's rule, from velocities half a step back
        qd = qd + (dt if t else dt / 2) * qdd
        q, t = q + dt * qd, t + dt
    expected = np.full(moved.sum(), 1 - np.cos(t))
    assert_equal_to_rounding(q[moved] - start, expected, tolerance=1e-6)


def blocks(A, N):
    """Return which 6 x 6 blocks of an operator are not zero."""
    return A.reshape(N, 6, N, 6).any(axis=(1, 3))


def test_recursions_of_the_operators_cost_as_many_blocks_as_there_are_pairs():
    """phi has a block for each pair of a body and one that carries it: n (n + 1) / 2 of a chain.

    Composite bodies need one of R and one of E_phi for each body: f = R alpha + y is O(n).
    """
    chain = next(case for case in cases(14) if case.name == "chain")
    o = operators.body_frames(chain.robot, chain.q_J)
    assert blocks(o.phi, 7).sum() == 7 * 8 / 2
    assert blocks(composite.composite_inertias(o), 7).sum() == 7
    assert blocks(o.E_phi, 7).sum() == 6


# Mirtich's recursion, retold ---------------------------------------------------------------------

CHAINS = [
    case
    for case in cases(14)
    if case.robot.N > 2 and (case.robot.parent == np.arange(case.robot.N) - 1).all()
]
MISPRINTS = (
    "left X of I^A",
    "right X of I^A",
    "both X of I^A",
    "X of qdd",
    "X of a",
    "no M in I",
    "- s' I^A X a twice in Z^A",
)


def retold(chain, tau, misprint=""):
    """Return qdd (N,) of Mirtich's recursion with one of MISPRINTS in it, X being the one back."""
    robot = chain.robot
    _, a_right, _ = mirtich.link_accelerations(robot, chain.q_J, chain.qd_J, tau)
    X, s, c, w = mirtich.motion(robot, chain.q_J, chain.qd_J)
    I_A, Z_A = mirtich.isolated(robot, chain.q_J, w)
    X, bars = X[:-1], [mirtich.transposed(s_i) for s_i in s]
    back = np.linalg.inv(X)
    if misprint == "no M in I":
        I_A[:, :3, 3:] = 0

    side = misprint.removesuffix(" X of I^A")
    outward = back if side in ("right", "both") else X
    inward = X if side in ("left", "both") else back
    to_qdd, to_a = (back if misprint == f"X of {line}" else X for line in ("qdd", "a"))

    for i in reversed(range(1, robot.N)):
        I_s, s_I, Z_c = I_A[i] @ s[i], bars[i] @ I_A[i], Z_A[i] + I_A[i] @ c[i]
        rest = tau[i] - bars[i] @ Z_c
        if misprint.endswith("twice in Z^A"):
            rest -= s_I @ X[i] @ a_right[i - 1]
        I_A[i - 1] += inward[i] @ (I_A[i] - np.outer(I_s, s_I) / (s_I @ s[i])) @ outward[i]
        Z_A[i - 1] += back[i] @ (Z_c + I_s * rest / (s_I @ s[i]))
    a, qdd = np.zeros_like(s), np.zeros(robot.N)
    for i in range(robot.N):
        s_I = bars[i] @ I_A[i]
        rest = tau[i] - s_I @ (to_qdd[i] @ a[i - 1] + c[i]) - bars[i] @ Z_A[i]
        qdd[i] = rest / (s_I @ s[i])
        a[i] = to_a[i] @ a[i - 1] + c[i] + s[i] * qdd[i]
    return qdd


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_mirtich_s_recursion_is_off_with_each_misprint(chain):
    """Without one, it is the inverse of the core's: so each line is as the page has it."""
    expected = chain.qdd_J
    tau = chain.robot.G @ chain.dynamics.rnea(chain.q, chain.qd, chain.qdd)
    tolerance = solving_tolerance(chain.dynamics.crba(chain.q))
    assert_equal_to_rounding(retold(chain, tau), expected, tolerance=10 * tolerance)
    for misprint in MISPRINTS:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(retold(chain, tau, misprint) - expected).max()
        assert not off < 0.1 * np.abs(expected).max(), misprint


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_mirtich_s_joint_force_takes_the_parent_s_acceleration_once(chain):
    """f = (I^A - I^A s s' I^A / s' I^A s) X a + ...: - s' I^A X a is in it, and not in drive."""
    robot, tau = chain.robot, chain.random.uniform(-20, 20, chain.robot.N)
    _, a, f = mirtich.link_accelerations(robot, chain.q_J, chain.qd_J, tau)
    X, s, c, w = mirtich.motion(robot, chain.q_J, chain.qd_J)
    I_N, Z_N = (part[-2] for part in mirtich.isolated(robot, chain.q_J, w))  # of the last link
    X, s, c, parent = X[-2], s[-2], c[-2], X[-2] @ a[-3]
    I_s, bar = I_N @ s, mirtich.transposed(s)
    drive = (tau[-1] - bar @ (Z_N + I_N @ c)) / (bar @ I_s)
    right = (I_N - np.outer(I_s, bar @ I_N) / (bar @ I_s)) @ parent + Z_N + I_N @ c + I_s * drive
    scale = np.abs(I_N @ parent).max() + np.abs(f[-1]).max()
    assert_equal_to_rounding(right, f[-1], scale)
    printed = right - I_s * (bar @ I_N @ parent) / (bar @ I_s)
    assert_equal_to_rounding(bar @ right, tau[-1], scale)
    assert abs(bar @ printed - tau[-1]) > 0.01 * abs(tau[-1])


# Rodriguez, Jain, Kreutz-Delgado -----------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in cases(14) if case.robot.N > 1], ids=repr)
def test_composite_bodies_take_the_joints_accelerations(case):
    """f = R alpha + phi~ R w + phi b, w = H* qdd + a; H* qd, as one source prints it, is off."""
    o, qd, qdd = operators.body_frames(case.robot, case.q_J), case.qd_J, case.qdd_J
    R, (a, b) = composite.composite_inertias(o), operators.velocity_terms(o, qd)
    w, alpha = o.H.T @ qdd + a, o.phi.T @ (o.H.T @ qdd + a)
    beyond = (o.phi - np.eye(len(o.phi))) @ R
    expected, _ = operators.inverse_dynamics(o, qd, qdd)
    f = R @ alpha + beyond @ w + o.phi @ b
    assert_equal_to_rounding(f, expected)
    rates = beyond @ o.H.T @ (qd - qdd)
    assert np.abs(rates).max() > 0.01 * np.abs(expected).max()


@pytest.mark.parametrize("case", [case for case in cases(14) if case.robot.N > 1], ids=repr)
def test_decomposition_takes_a_star_on_the_last_factor(case):
    """phi M phi* = (phi~ + 1) R (phi~ + 1)* - phi~ R phi~*; one source prints no first star."""
    o = operators.body_frames(case.robot, case.q_J)
    R, one = composite.composite_inertias(o), np.eye(len(o.phi))
    tilde, expected = o.phi - one, o.phi @ o.M @ o.phi.T
    right = (tilde + one) @ R @ (tilde + one).T - tilde @ R @ tilde.T
    printed = (tilde + one) @ R @ (tilde + one) - tilde @ R @ tilde.T
    assert_equal_to_rounding(right, expected)
    assert np.abs(printed - expected).max() > 0.01 * np.abs(expected).max()

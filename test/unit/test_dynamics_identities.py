"""Identities between the core's results, on trees of all kinds whose base stands or floats.

An identity yields pairs that are equal: actual, expected, and how nearly (comparison.py).
"""

from dataclasses import replace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from methods import METHODS
from random_trees import UNLIKE_MODELS, as_tree, random_tree
from states import DIFFERENCE, STEP, State, difference

from featherstone_ros import Dynamics, Model
from featherstone_ros.model.robots import robot_file

TREE = random_tree(1, 5, branching=0.6)
MODELS = UNLIKE_MODELS | {
    "arm": Model.from_file(robot_file("panda")),
    "chain with mimic": Model.from_urdf(random_tree(12, 12, mimic=0.4)),
    "screws": as_tree(random_tree(3, 9), screws=0.5).model(),
    "floating tree": Model.from_urdf(TREE, base="floating"),
    "floating with mimic": Model.from_urdf(random_tree(12, 7, mimic=0.4), base="floating"),
    "floating arm": Model.from_file(robot_file("panda"), base="floating"),
    "floating body": Model.from_urdf(TREE, joints=(), base="floating"),
}
EXACT = 1.0, 0.0  # scale and tolerance of what has the same bits
IDENTITIES = {}
HOLDS_FOR = {}


def identity(of):
    IDENTITIES[of.__name__] = of
    return of


def identity_for(condition):
    """Return a decorator of an identity that holds for some models."""

    def decorate(of):
        HOLDS_FOR[of.__name__] = condition
        return identity(of)

    return decorate


def fixed(model):
    return not model.floating


def without_followers(model):
    return not model.mimics and fixed(model)


def check(name, model):
    """Fail where an identity does not hold; return how much was compared."""
    if not HOLDS_FOR.get(name, lambda model: True)(model):
        return 0
    pairs = list(IDENTITIES[name](State(model)))
    for pair in pairs:
        assert_equal_to_rounding(*pair)
    return len(pairs)


# Inverse and forward dynamics --------------------------------------------------------------------


@identity
def aba_is_the_inverse_of_rnea(s):
    for f_ext in (None, s.f_ext):
        yield s.aba(tau=s.rnea(f_ext=f_ext), f_ext=f_ext), s.qdd, None, s.solving


@identity
def rnea_is_the_inverse_of_aba(s):
    qdd = s.aba()
    yield s.rnea(qdd=qdd), s.tau, np.abs(s.H).max(initial=0) * np.abs(qdd).max(initial=0)


@identity
def inertia_has_the_columns_that_rnea_gives(s):
    weightless = s.weightless
    for k, unit in s.freedoms():
        yield s.H[:, k], weightless.rnea(qd=s.still, qdd=unit)


@identity
def inertia_is_symmetric_to_the_last_bit_and_positive_definite(s):
    yield s.H, s.H.T, *EXACT
    assert np.linalg.eigvalsh(s.H).min(initial=1) > 0


@identity
def torque_is_inertia_times_acceleration_plus_bias(s):
    for f_ext in (None, s.f_ext):
        yield s.rnea(f_ext=f_ext), s.H @ s.qdd + s.bias(f_ext=f_ext)


@identity
def bias_is_rnea_without_acceleration_and_gravity_is_bias_at_rest(s):
    for f_ext in (None, s.f_ext):
        yield s.bias(f_ext=f_ext), s.rnea(qdd=s.still, f_ext=f_ext), *EXACT
    yield s.gravity(), s.bias(qd=s.still), *EXACT


@identity
def velocity_torque_is_quadratic_in_velocity(s):
    once, thrice, back = (s.bias(qd=f * s.qd) - s.gravity() for f in (1, 3, -1))
    scale = np.abs(thrice).max(initial=0) + s.weight
    yield thrice, 9 * once, scale
    yield back, once, scale


@identity
def wrenches_are_torques_by_the_transposed_jacobian(s):
    expected = s.rnea()
    for name, wrench in s.f_ext.items():
        R = s.link_pose(link=name)[:3, :3]
        expected = expected - s.jacobian(link=name).T @ (wrench.reshape(2, 3) @ R.T).ravel()
    yield s.rnea(f_ext=s.f_ext), expected


@identity_for(fixed)
def base_stays_where_it_is_whatever_pulls_at_it(s):
    base = s.model.base_link
    yield s.rnea(f_ext={base: [1, 2, 3, 4, 5, 6]}), s.rnea(), *EXACT
    yield s.link_pose(link=base), np.eye(4), *EXACT
    yield s.jacobian(link=base), np.zeros((6, s.model.n)), *EXACT


@identity
def gravity_torque_is_linear_in_gravity(s):
    g1, g2 = s.random.uniform(-10, 10, (2, 3))
    one, two, both, none = (
        s.of(s.model.with_gravity(g)).gravity() for g in (g1, g2, g1 + g2, 0 * g1)
    )
    yield both, one + two, np.abs(one).max(initial=0) + 1e-3
    yield none, s.still, *EXACT


@identity
def payload_adds_its_own_inertia_and_weight(s):
    name, mass, com = s.model.link_names[-1], 2.5, np.array([0.1, -0.2, 0.3])
    moment = np.array([[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.1]])
    loaded = s.of(s.model.with_payload(name, mass, com, moment))
    R, J = s.link_pose(link=name)[:3, :3], s.jacobian(link=name)
    J_com = J[:3] + np.cross(J[3:], R @ com, axis=0)
    added = mass * J_com.T @ J_com + J[3:].T @ R @ moment @ R.T @ J[3:]
    weight = -mass * J_com.T @ s.model.gravity
    yield loaded.crba(), s.H + added
    heavier = s.gravity() + weight
    yield loaded.gravity(), heavier, np.abs([heavier, weight]).sum(axis=0).max(initial=0)


@identity
def results_are_the_same_from_a_used_workspace(s):
    used = Dynamics(s.model)
    used.aba(s.q, s.tau, s.qd, f_ext=s.f_ext)
    names = [name for name in METHODS if name != "operational_space_inertia"]
    fresh = {name: METHODS[name](Dynamics(s.model), *METHODS[name].states(s.dynamics))
             for name in names}  # fmt: skip
    for name in (*names, *reversed(names)):
        yield METHODS[name](used, *METHODS[name].states(used)), fresh[name], *EXACT


# Links -------------------------------------------------------------------------------------------


@identity
def jacobian_is_the_derivative_of_link_pose(s):
    for name in s.links:
        J, R = s.jacobian(link=name), s.link_pose(link=name)[:3, :3]
        for k, unit in s.freedoms():
            change = s.slope(lambda q, name=name: s.link_pose(q=q, link=name), unit)
            spin = change[:3, :3] @ R.T  # [w]x
            twist = [*change[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
            yield J[:, k], twist, max(1, np.abs(J).max()), DIFFERENCE


@identity
def link_pose_is_a_rigid_motion_and_link_velocity_the_jacobian_s(s):
    for name in s.links:
        pose = s.link_pose(link=name)
        yield pose[:3, :3] @ pose[:3, :3].T, np.eye(3)
        yield pose[3], [0, 0, 0, 1], *EXACT
        yield s.link_velocity(link=name), s.jacobian(link=name) @ s.qd


POINT = np.array([0.1, -0.2, 0.3])


@identity
def jacobian_derivative_is_that_of_the_jacobian_at_the_same_point(s):
    for name in s.links:
        at = {"link": name, "point": POINT}
        expected = s.slope(lambda q, at=at: s.jacobian(q=q, **at), s.qd)
        scale = 1 + np.abs(expected).max(initial=0)
        yield s.jacobian_derivative(**at), expected, scale, DIFFERENCE


@identity
def link_acceleration_is_the_derivative_of_the_velocity_without_gravity(s):
    thrown = s.of(s.model.with_gravity((1.0, 2.0, 3.0)))
    for name in s.links:
        along_q = s.slope(lambda q, name=name: s.link_velocity(q=q, link=name), s.qd)
        expected = along_q + s.jacobian(link=name) @ s.qdd
        a = s.link_acceleration(link=name)
        yield a, expected, 1 + np.abs(expected).max(), DIFFERENCE
        without = s.link_acceleration(qdd=s.still, link=name)
        J_dot = s.jacobian_derivative(link=name, point=None)
        yield J_dot @ s.qd, without, 10 + np.abs(without).max()
        yield thrown.link_acceleration(link=name), a, *EXACT


# Energy and momentum -----------------------------------------------------------------------------


@identity
def energy_is_that_of_the_inertia_and_of_the_centre_of_mass(s):
    kinetic, potential = s.energy()
    yield kinetic, s.qd @ s.H @ s.qd / 2
    weight, centre = s.model.tree.mass.sum() * s.model.gravity, s.centre_of_mass()
    yield potential, -weight @ centre, np.linalg.norm(weight) * np.linalg.norm(centre)


@identity
def gravity_is_the_gradient_of_potential_energy(s):
    gravity, scale = s.gravity(), abs(s.energy()[1]) + s.weight
    for k, unit in s.freedoms():
        slope = s.slope(lambda q: s.energy(q=q)[1], unit)
        yield gravity[k], slope, scale, DIFFERENCE


@identity
def energy_changes_by_the_power_of_the_joints(s):
    """dE/dt = qd . tau, along the motion q + qd t + qdd t^2 / 2 at t = 0."""

    def energy(t):
        q = s.model.integrate(s.q, s.qd * t + s.qdd * t**2 / 2)
        return sum(s.energy(q=q, qd=s.qd + s.qdd * t))

    power = s.qd @ s.rnea()
    yield difference(energy), power, abs(energy(0.0)) + abs(power), 100 * DIFFERENCE


@identity
def momentum_is_that_of_the_centre_of_mass_and_linear_in_velocity(s):
    mass, momentum = s.model.tree.mass.sum(), s.momentum()
    velocity = s.slope(lambda q: s.centre_of_mass(q=q), s.qd)
    scale = max(1, np.abs(velocity).max())
    yield momentum[:3], mass * velocity, mass * scale, 10 * DIFFERENCE
    yield s.centre_of_mass_jacobian() @ s.qd, velocity, scale, DIFFERENCE
    yield s.centroidal_momentum_matrix() @ s.qd, momentum
    other = s.momentum(qd=s.tau)
    scale = np.abs(momentum).max() + np.abs(other).max()
    yield s.momentum(qd=3 * s.qd + s.tau), 3 * momentum + other, scale
    yield s.momentum(qd=s.still), np.zeros(6), *EXACT


@identity
def momentum_is_the_sum_over_the_links(s):
    """m v of every link's centre of mass, and I w and the moment of m v about that of all."""
    centre = s.centre_of_mass()
    p, L = np.zeros(3), np.zeros(3)
    parameters = s.model.inertial_parameters.reshape(-1, 10)
    for name, (m, *figures) in zip(s.model.link_names, parameters, strict=True):
        if m == 0:
            continue
        pose = s.link_pose(link=name)
        R, c = pose[:3, :3], np.array(figures[:3]) / m
        xx, xy, xz, yy, yz, zz = figures[3:]
        I_O = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        I_C = I_O - m * (c @ c * np.eye(3) - np.outer(c, c))
        v, w = np.split(s.link_velocity(link=name), 2)
        of_link = m * (v + np.cross(w, R @ c))
        p += of_link
        L += R @ I_C @ R.T @ w + np.cross(pose[:3, 3] + R @ c - centre, of_link)
    yield s.momentum(), [*p, *L]


# Coriolis matrix and derivatives -----------------------------------------------------------------


@identity_for(fixed)
def coriolis_columns_are_those_of_the_christoffel_symbols(s):
    """The torque V is quadratic: V_i(qd) = sum_jk b_ijk qd_j qd_k, with b symmetric in j and k.

    So C_ij = sum_k b_ijk qd_k is V's symmetric bilinear form: (V(e_j + qd) - V(e_j) - V(qd)) / 2.
    """
    weightless, C = s.weightless, s.coriolis()
    own = weightless.bias()
    for j, unit in s.freedoms():
        together = weightless.bias(qd=unit + s.qd)
        column = (together - weightless.bias(qd=unit) - own) / 2
        yield C[:, j], column, max(np.abs(together).max(), 1e-3)
    # Velocities may change places: C(u) v = C(v) u, which other factors of the bias do not have.
    yield C @ s.tau, s.coriolis(qd=s.tau) @ s.qd, s.size


@identity
def coriolis_gives_the_bias_and_the_derivative_of_inertia(s):
    """C + C^T = dH/dt says that dH/dt - 2 C is skew-symmetric."""
    C, bias = s.coriolis(), s.bias()
    yield C @ s.qd + s.gravity(), bias, np.abs(bias).max(initial=0) + s.weight
    rate = s.slope(lambda q: s.crba(q=q), s.qd)
    yield C + C.T, rate, s.size, 10 * DIFFERENCE
    yield s.coriolis(qd=3 * s.qd + s.tau), 3 * C + s.coriolis(qd=s.tau), s.size
    yield s.coriolis(qd=s.still), 0 * C, *EXACT


@identity
def torque_changes_as_differences_say(s):
    """With wrenches too, which turn with their links."""
    for f_ext in (None, s.f_ext):
        dtau_dq, dtau_dqd, M = s.rnea_derivatives(f_ext=f_ext)
        for k, unit in s.freedoms():
            slope = s.slope(lambda q, f_ext=f_ext: s.rnea(q=q, f_ext=f_ext), unit)
            scale = s.scale + (0 if f_ext is None else np.abs(slope).max())
            yield dtau_dq[:, k], slope, scale, DIFFERENCE
            # Differences of a quadratic function have no error but rounding: a step may be long.
            rise = s.bias(qd=s.qd + unit) - s.bias(qd=s.qd - unit)
            yield dtau_dqd[:, k], rise / 2, s.scale
        yield M, s.H
        yield M, M.T, *(EXACT if fixed(s.model) else (None,))
    yield [dtau_dqd, M], list(s.rnea_derivatives()[1:]), *EXACT


@identity_for(fixed)
def derivatives_of_a_fixed_base_are_symmetric_where_its_energy_s_are(s):
    """By velocity twice the Coriolis matrix, both being linear in qd; by position at rest the
    second derivative of the potential energy; zero for joints on different branches.
    """
    derivatives = s.rnea_derivatives()
    yield derivatives[1], 2 * s.coriolis(), s.scale
    stiffness, dtau_dqd, _ = s.rnea_derivatives(qd=s.still, qdd=s.still)
    yield stiffness, stiffness.T, s.scale
    yield dtau_dqd, 0 * dtau_dqd, *EXACT
    without = s.weightless.rnea_derivatives(qd=s.still, qdd=s.still)[0]
    yield without, 0 * without, *EXACT
    bodies = s.model.tree
    apart = np.ones((s.model.n, s.model.n), dtype=bool)
    for body, outer in enumerate(bodies.dof):
        while body >= 0:  # from a joint to the base
            apart[outer, bodies.dof[body]] = apart[bodies.dof[body], outer] = False
            body = bodies.parent[body]
    for derivative in derivatives:
        yield derivative[apart], 0 * derivative[apart], *EXACT


@identity
def minv_is_the_inverse_of_crba_and_has_the_columns_that_aba_gives(s):
    Minv, weightless = s.minv(), s.weightless
    yield Minv @ s.H, np.eye(s.model.nv), 1, s.solving
    yield Minv, np.linalg.inv(s.H), None, s.solving
    yield Minv, Minv.T, *EXACT
    for k, unit in s.freedoms():
        yield Minv[:, k], weightless.aba(qd=s.still, tau=unit), np.abs(Minv).max(), s.solving


@identity
def log_determinant_is_that_of_the_inertia_and_changes_as_differences_say(s):
    def expected(q):
        return np.linalg.slogdet(s.crba(q=q))[1]

    value, gradient = s.log_det_inertia()
    yield value, expected(s.q), max(1, abs(value)), s.solving
    tolerance = max(10 * DIFFERENCE, s.solving / STEP)  # what the difference of two values leaves
    for k, unit in s.freedoms():
        yield gradient[k], s.slope(expected, unit), 1 + abs(gradient[k]), tolerance
    base = gradient[: s.model.nv - s.model.n]
    yield base, 0 * base, 1, s.solving


@identity
def impulses_change_the_velocity_by_what_the_joints_yield(s):
    generalized = -s.weightless.bias(qd=s.still, f_ext=s.f_ext)  # J^T p
    jump = s.impulse_response(f_ext=s.f_ext)
    yield jump, np.linalg.solve(s.H, generalized), None, s.solving
    yield s.impulse_response(), s.still, *EXACT


@identity
def aba_derivatives_solve_those_of_rnea(s):
    """tau = rnea(q, qd, aba(q, qd, tau)) whatever q and qd are: M dqdd/dx + dtau/dx = 0."""
    *accelerations, Minv = s.aba_derivatives()
    qdd = s.aba()
    *torques, M = s.rnea_derivatives(qdd=qdd)
    yield Minv, s.minv(), *EXACT
    for dqdd, dtau in zip(accelerations, torques, strict=True):
        scale = np.abs(dqdd).max(initial=0) + np.abs(qdd).max(initial=0)
        yield M @ dqdd, -dtau, np.abs(M).max(initial=0) * scale


@identity
def acceleration_changes_as_differences_say(s):
    for f_ext in (None, s.f_ext):
        dqdd_dq, dqdd_dqd, _ = s.aba_derivatives(f_ext=f_ext)
        qdd = np.abs(s.aba(f_ext=f_ext)).max(initial=0)
        for k, unit in s.freedoms():
            by_q = s.slope(lambda q, f_ext=f_ext: s.aba(q=q, f_ext=f_ext), unit)
            by_qd = difference(lambda qd, f_ext=f_ext: s.aba(qd=qd, f_ext=f_ext), s.qd, unit)
            for column, slope in ((dqdd_dq[:, k], by_q), (dqdd_dqd[:, k], by_qd)):
                yield column, slope, np.abs(slope).max() + qdd, 10 * DIFFERENCE


# Hybrid dynamics ---------------------------------------------------------------------------------


def hybrid(s, prescribed):
    """Return it with NaN where a number is not to be looked at."""
    qdd, tau = np.where(prescribed, s.qdd, np.nan), np.where(prescribed, np.nan, s.tau)
    return s.hybrid(qdd=qdd, tau=tau, prescribed=prescribed)


@identity
def hybrid_is_forward_or_inverse_dynamics_at_its_ends(s):
    qdd, tau = hybrid(s, s.still > 0)
    yield qdd, s.aba(), None, s.solving
    yield tau, s.tau, *EXACT
    qdd, tau = hybrid(s, s.still == 0)
    yield tau, s.rnea()
    yield qdd, s.qdd, *EXACT


@identity
def hybrid_solves_the_equation_of_motion(s):
    held = s.random.random(s.model.nv) < 0.5
    qdd, tau = hybrid(s, held)
    yield qdd[held], s.qdd[held], *EXACT
    yield tau[~held], s.tau[~held], *EXACT
    scale = np.abs(s.H).max(initial=0) * np.abs(qdd).max(initial=0)
    yield s.rnea(qdd=qdd), tau, scale
    free = s.H[np.ix_(~held, ~held)]
    missing = (s.tau - s.rnea(qdd=np.where(held, s.qdd, 0)))[~held]
    yield qdd[~held], np.linalg.solve(free, missing), None, solving_tolerance(free)
    again, _ = s.hybrid(qdd=qdd, tau=tau, prescribed=~held)
    yield again, qdd, None, 10 * s.solving


# Regressor ---------------------------------------------------------------------------------------


@identity
def regressor_times_parameters_is_the_torque(s):
    """With any masses: loads on many links change parameters and torque alone."""
    Y = s.regressor()
    yield Y @ s.model.inertial_parameters, s.rnea()
    at_rest = s.regressor(qd=s.still, qdd=s.still)
    yield at_rest @ s.model.inertial_parameters, s.gravity()
    loaded = s.model
    for name in s.links:
        half = s.random.uniform(-0.3, 0.3, (3, 3))
        mass, com = s.random.uniform(0, 5), s.random.uniform(-0.5, 0.5, 3)
        loaded = loaded.with_payload(name, mass, com, half @ half.T)
    yield s.of(loaded).regressor(), Y, *EXACT
    yield Y @ loaded.inertial_parameters, s.of(loaded).rnea()
    same, tau = s.regressor(f_ext=s.f_ext)
    yield same, Y, *EXACT
    yield Y @ s.model.inertial_parameters + tau, s.rnea(f_ext=s.f_ext)
    yield s.regressor(f_ext={})[1], s.still, *EXACT
    for k, name in enumerate(s.model.link_names):
        unmoved = Y.reshape(s.model.nv, -1, 10)[~s.jacobian(link=name).any(axis=0), k]
        yield unmoved, 0 * unmoved, *EXACT


@identity
def every_column_of_the_regressor_is_the_torque_of_one_parameter(s):
    """Two loads that differ in one parameter differ in the torque by its column."""
    links, base = s.model.link_names, s.rnea()
    at = s.random.integers(1, len(links))
    columns = s.regressor()[:, 10 * at :][:, :10]
    scale = 100 * np.abs(columns).max(initial=0) + np.abs(base).max(initial=0)

    def torque(m, c, inertia):
        loaded = s.model.with_payload(links[at], m, c, inertia)
        change = (loaded.inertial_parameters - s.model.inertial_parameters).reshape(-1, 10)
        assert not np.delete(change, at, axis=0).any()
        return s.of(loaded).rnea() - base, change[at]

    for k in range(3):
        tau, change = torque(100, 0.1 * np.eye(3)[k], None)
        yield change[[0, 1 + k]], [100.0, 10.0]
        yield tau, columns @ change, scale
    for k, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True)):
        moment = np.zeros((3, 3)) if i == j else 200 * np.eye(3)  # none of a load's is negative
        moment[i, j] = moment[j, i] = 100
        tau, change = torque(0, np.zeros(3), moment)
        expected = np.append(np.zeros(4), moment[np.triu_indices(3)])
        assert expected[4 + k] == 100
        yield change, expected, 1.0, 1e-12
        yield tau, columns @ expected, scale


# Wrenches across joints --------------------------------------------------------------------------


@identity_for(without_followers)
def joint_wrench_along_the_axis_is_the_torque(s):
    """With mimic joints a leader's torque is its own part, and its followers' times multipliers."""
    wrenches, bodies = s.joint_wrenches(f_ext=s.f_ext), s.model.tree.joint_body
    axis = s.model.tree.axis[bodies]
    angular, linear = s.model.tree.motion[bodies].T
    along = linear * (wrenches[:, :3] * axis).sum(1) + angular * (wrenches[:, 3:] * axis).sum(1)
    yield along, s.rnea(f_ext=s.f_ext), np.abs(wrenches).max()


@identity_for(without_followers)
def joints_of_the_base_carry_the_change_of_momentum_and_the_weight(s):
    """Newton and Euler for all that moves, about the base's origin, f_ext included."""
    carried = dict(zip(s.model.tree.link_names, s.model.tree.link_body >= 0, strict=True))
    f_ext = {name: wrench for name, wrench in s.f_ext.items() if carried[name]}
    names = ("mass", "first_moment", "inertia")
    figures = {name: getattr(s.model.tree, name).copy() for name in names}
    for figure in figures.values():
        figure[0] = 0  # a base that weighs nothing
    moving = s.of(replace(s.model, tree=replace(s.model.tree, **figures)))
    wrenches, tree = s.joint_wrenches(f_ext=f_ext), s.model.tree

    def from_base(link, wrench):
        """Return a wrench at a link's origin, in its axes, as force and moment about the base."""
        pose = s.link_pose(link=link)
        force, moment = wrench.reshape(2, 3) @ pose[:3, :3].T
        return np.concatenate([force, moment + np.cross(pose[:3, 3], force)])

    total = sum(
        from_base(tree.body_names[body + 1], wrenches[k])
        for k, body in enumerate(tree.joint_body)
        if tree.parent[body] == -1
    )
    total = total + sum(from_base(name, wrench) for name, wrench in f_ext.items())
    weight = moving.model.tree.mass.sum() * s.model.gravity

    def momentum(t):
        at = {"q": s.q + s.qd * t + s.qdd * t**2 / 2, "qd": s.qd + s.qdd * t}
        p, L = np.split(moving.momentum(**at), 2)
        return np.concatenate([p, L + np.cross(moving.centre_of_mass(q=at["q"]), p)])

    needed = difference(momentum) - [*weight, *np.cross(moving.centre_of_mass(), weight)]
    scale = np.abs(total).max() + np.abs(momentum(0.0)).max()
    yield total, needed, scale, 100 * DIFFERENCE


@pytest.mark.parametrize("name", IDENTITIES)
def test_identity_holds(name):
    compared = 0
    for kind, model in MODELS.items():
        try:
            compared += check(name, model)
        except AssertionError as error:
            raise AssertionError(f"{kind}: {error}") from error
    assert compared, "no model has it"

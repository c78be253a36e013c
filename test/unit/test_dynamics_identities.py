"""Identities between the core's results on random trees; and closed forms."""

import numpy as np
import pytest
from comparison import TOLERANCE, assert_equal_to_rounding, relative_error, solving_tolerance
from random_trees import UNLIKE_MODELS, random_tree
from states import DIFFERENCE, RobotInState, difference
from urdf_text import chain, joint, link, robot

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


def test_aba_is_the_inverse_of_rnea(tree):
    tau = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd)
    qdd = tree.dynamics.aba(tree.q, tree.qd, tau)
    assert_equal_to_rounding(qdd, tree.qdd, tolerance=solving_tolerance(tree.inertia))


def test_rnea_is_the_inverse_of_aba(tree):
    qdd = tree.dynamics.aba(tree.q, tree.qd, tree.tau)
    tau = tree.dynamics.rnea(tree.q, tree.qd, qdd)
    assert_equal_to_rounding(tau, tree.tau, scale=np.abs(tree.inertia).max() * np.abs(qdd).max())


def test_aba_is_the_inverse_of_rnea_under_wrenches(tree):
    f_ext = tree.wrenches()
    tau = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd, f_ext=f_ext)
    qdd = tree.dynamics.aba(tree.q, tree.qd, tau, f_ext=f_ext)
    assert_equal_to_rounding(qdd, tree.qdd, tolerance=solving_tolerance(tree.inertia))


def test_inertia_has_the_columns_that_rnea_gives(tree):
    without_gravity = Dynamics(tree.model.with_gravity([0, 0, 0]))
    for k in tree.sample(range(tree.model.n)):
        unit = np.eye(tree.model.n)[k]
        column = without_gravity.rnea(tree.q, np.zeros(tree.model.n), unit)
        assert_equal_to_rounding(tree.inertia[:, k], column)


def test_inertia_is_symmetric_to_the_last_bit(tree):
    np.testing.assert_array_equal(tree.inertia, tree.inertia.T)


def test_inertia_is_positive_definite(tree):
    assert np.linalg.eigvalsh(tree.inertia)[0] > 0


def test_torque_is_inertia_times_acceleration_plus_bias(tree):
    tau = tree.inertia @ tree.qdd + tree.dynamics.bias(tree.q, tree.qd)
    assert_equal_to_rounding(tree.dynamics.rnea(tree.q, tree.qd, tree.qdd), tau)


def test_bias_is_rnea_without_acceleration(tree):
    at_rest = np.zeros(tree.model.n)
    np.testing.assert_array_equal(
        tree.dynamics.bias(tree.q, tree.qd), tree.dynamics.rnea(tree.q, tree.qd, at_rest)
    )
    f_ext = tree.wrenches()
    np.testing.assert_array_equal(
        tree.dynamics.bias(tree.q, tree.qd, f_ext=f_ext),
        tree.dynamics.rnea(tree.q, tree.qd, at_rest, f_ext=f_ext),
    )


def test_gravity_is_bias_at_rest(tree):
    at_rest = np.zeros(tree.model.n)
    gravity = tree.dynamics.gravity(tree.q)
    np.testing.assert_array_equal(gravity, tree.dynamics.bias(tree.q, at_rest))


def test_velocity_torque_is_quadratic_in_velocity(tree):
    def velocity_torque(qd):
        return tree.dynamics.bias(tree.q, qd) - tree.dynamics.gravity(tree.q)

    once, thrice, back = map(velocity_torque, (tree.qd, 3 * tree.qd, -tree.qd))
    scale = np.abs(thrice).max() + np.abs(tree.dynamics.gravity(tree.q)).max()
    assert_equal_to_rounding(thrice, 9 * once, scale)
    assert_equal_to_rounding(back, once, scale)


def test_wrenches_are_torques_by_the_transposed_jacobian(tree):
    f_ext = tree.wrenches()
    expected = np.zeros(tree.model.n)
    for name, wrench in f_ext.items():
        R = tree.dynamics.link_pose(tree.q, name)[:3, :3]
        in_base_axes = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        expected -= tree.dynamics.jacobian(tree.q, name).T @ in_base_axes
    without = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd)
    actual = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd, f_ext=f_ext)
    assert_equal_to_rounding(actual, without + expected)


def test_wrench_on_the_base_moves_nothing(tree):
    f_ext = {tree.model.base_link: [1, 2, 3, 4, 5, 6]}
    np.testing.assert_array_equal(
        tree.dynamics.rnea(tree.q, tree.qd, tree.qdd, f_ext=f_ext),
        tree.dynamics.rnea(tree.q, tree.qd, tree.qdd),
    )


def test_jacobian_is_the_derivative_of_link_pose(tree):
    for name in tree.sample(tree.model.link_names):
        J = tree.dynamics.jacobian(tree.q, name)
        R = tree.dynamics.link_pose(tree.q, name)[:3, :3]
        for k in tree.sample(range(tree.model.n)):
            change = difference(
                lambda q, name=name: tree.dynamics.link_pose(q, name),
                tree.q,
                np.eye(tree.model.n)[k],
            )
            spin = change[:3, :3] @ R.T  # [w]x
            twist = [*change[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
            scale = max(1, np.abs(J).max())
            assert_equal_to_rounding(J[:, k], twist, scale, tolerance=DIFFERENCE)


def test_link_pose_is_a_rigid_motion(tree):
    for name in tree.sample(tree.model.link_names):
        pose = tree.dynamics.link_pose(tree.q, name)
        assert_equal_to_rounding(pose[:3, :3] @ pose[:3, :3].T, np.eye(3))
        np.testing.assert_array_equal(pose[3], [0, 0, 0, 1])


def test_link_velocity_is_jacobian_times_joint_velocity(tree):
    for name in tree.sample(tree.model.link_names):
        expected = tree.dynamics.jacobian(tree.q, name) @ tree.qd
        assert_equal_to_rounding(tree.dynamics.link_velocity(tree.q, tree.qd, name), expected)


def test_base_link_stays_where_it_is(tree):
    base = tree.model.base_link
    np.testing.assert_array_equal(tree.dynamics.link_pose(tree.q, base), np.eye(4))
    assert not tree.dynamics.jacobian(tree.q, base).any()


def test_kinetic_energy_is_half_the_inertia_times_velocity_squared(tree):
    kinetic, _ = tree.dynamics.energy(tree.q, tree.qd)
    assert_equal_to_rounding(kinetic, tree.qd @ tree.inertia @ tree.qd / 2)


def test_potential_energy_is_that_of_the_centre_of_mass(tree):
    _, potential = tree.dynamics.energy(tree.q, tree.qd)
    weight = tree.model.tree.mass.sum() * tree.model.gravity
    centre = tree.dynamics.centre_of_mass(tree.q)
    scale = np.linalg.norm(weight) * np.linalg.norm(centre)
    assert_equal_to_rounding(potential, -weight @ centre, scale)


def test_gravity_is_the_gradient_of_potential_energy(tree):
    def potential(q):
        return tree.dynamics.energy(q, np.zeros(tree.model.n))[1]

    gravity = tree.dynamics.gravity(tree.q)
    scale = abs(potential(tree.q)) + np.abs(gravity).max()
    for k in tree.sample(range(tree.model.n)):
        slope = difference(potential, tree.q, np.eye(tree.model.n)[k])
        assert_equal_to_rounding(gravity[k], slope, scale, tolerance=DIFFERENCE)


def test_energy_changes_by_the_power_of_the_joints(tree):
    """dE/dt = qd . tau, along the motion q + qd t + qdd t^2 / 2 at t = 0."""

    def energy(t):
        q = tree.q + tree.qd * t + tree.qdd * t**2 / 2
        return sum(tree.dynamics.energy(q, tree.qd + tree.qdd * t))

    power = tree.qd @ tree.dynamics.rnea(tree.q, tree.qd, tree.qdd)
    scale = abs(energy(0)) + abs(power)
    assert_equal_to_rounding(difference(energy, 0.0, 1.0), power, scale, tolerance=100 * DIFFERENCE)


def test_result_is_the_same_from_a_used_workspace(tree):
    def everything(dynamics):
        return [
            dynamics.rnea(tree.q, tree.qd, tree.qdd),
            dynamics.aba(tree.q, tree.qd, tree.tau),
            dynamics.bias(tree.q, tree.qd),
            dynamics.gravity(tree.q),
            dynamics.crba(tree.q),
            dynamics.link_pose(tree.q, tree.model.link_names[-1]),
            dynamics.jacobian(tree.q, tree.model.link_names[-1]),
            dynamics.coriolis(tree.q, tree.qd),
            *dynamics.hybrid(tree.q, tree.qd, tree.qdd, tree.tau, tree.q > 0),
            dynamics.joint_wrenches(tree.q, tree.qd, tree.qdd),
            dynamics.momentum(tree.q, tree.qd),
            dynamics.regressor(tree.q, tree.qd, tree.qdd),
            dynamics.minv(tree.q),
            *dynamics.rnea_derivatives(tree.q, tree.qd, tree.qdd),
            *dynamics.aba_derivatives(tree.q, tree.qd, tree.tau),
            dynamics.centre_of_mass(tree.q),
            np.array(dynamics.energy(tree.q, tree.qd)),
        ]

    used = Dynamics(tree.model)
    used.aba(tree.qdd, tree.tau, tree.q, f_ext=tree.wrenches())
    used.energy(tree.qd, tree.q)
    in_any_order = everything(used)[::-1] + everything(used)
    fresh = everything(Dynamics(tree.model))
    for actual, expected in zip(in_any_order, fresh[::-1] + fresh, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_gravity_torque_is_linear_in_gravity(tree):
    g1, g2 = tree.random.uniform(-10, 10, (2, 3))

    def torque(g):
        return Dynamics(tree.model.with_gravity(g)).gravity(tree.q)

    sum_of_both = torque(g1) + torque(g2)
    assert_equal_to_rounding(torque(g1 + g2), sum_of_both, np.abs(torque(g1)).max() + 1e-3)
    assert not torque([0, 0, 0]).any()


def test_payload_adds_its_own_inertia_and_weight(tree):
    name, mass, com = tree.model.link_names[-1], 2.5, np.array([0.1, -0.2, 0.3])
    moment = np.array([[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.1]])
    loaded = Dynamics(tree.model.with_payload(name, mass, com, moment))
    pose = tree.dynamics.link_pose(tree.q, name)
    R, lever = pose[:3, :3], pose[:3, :3] @ com
    J = tree.dynamics.jacobian(tree.q, name)
    J_com = J[:3] + np.cross(J[3:], lever, axis=0)
    added = mass * J_com.T @ J_com + J[3:].T @ R @ moment @ R.T @ J[3:]
    weight = -mass * J_com.T @ tree.model.gravity
    assert_equal_to_rounding(loaded.crba(tree.q), tree.inertia + added)
    heavier = tree.dynamics.gravity(tree.q) + weight
    scale = np.abs(heavier).max() + np.abs(weight).max()
    assert_equal_to_rounding(loaded.gravity(tree.q), heavier, scale)


# Robots with a closed form ---------------------------------------------------------------------

GRAVITY = 9.81


def test_rp_manipulator_has_the_forces_of_its_closed_form():
    """Stanford CS223A: th1 turns, d2 slides along the arm; l1 and d2 reach the centres of mass."""
    m1, m2, l1, izz1, izz2 = 3.0, 2.0, 0.25, 0.07, 0.05
    text = robot(
        link("base"),
        link("arm", m1, f"{l1} 0 0", (0.1, 0.2, izz1)),
        link("slider", m2, "0 0 0", (0.3, 0.4, izz2)),
        # The plane of motion is vertical: the axis is horizontal and y points up.
        joint("th1", "base", "arm", "continuous", rpy=f"{np.pi / 2!r} 0 0"),
        joint("d2", "arm", "slider", "prismatic", xyz="0 0 0", axis="1 0 0"),
    )
    dynamics = Dynamics(Model.from_urdf(text))
    for seed in range(5):
        th1, d2, w, v = np.random.default_rng(seed).uniform(-2, 2, 4)
        M = np.diag([m1 * l1**2 + izz1 + m2 * d2**2 + izz2, m2])
        V = np.array([2 * m2 * d2 * w * v, -m2 * d2 * w**2])
        G = GRAVITY * np.array([(m1 * l1 + m2 * d2) * np.cos(th1), m2 * np.sin(th1)])
        assert_equal_to_rounding(dynamics.crba([th1, d2]), M)
        assert_equal_to_rounding(dynamics.gravity([th1, d2]), G)
        assert_equal_to_rounding(dynamics.bias([th1, d2], [w, v]), V + G)


def test_double_pendulum_has_the_forces_of_its_closed_form():
    """Angles from the downward vertical and from the first rod: Spong, Robot Modeling, 7.4."""
    m1, m2, l1, c1, c2, i1, i2 = 1.5, 0.8, 0.7, 0.3, 0.25, 0.06, 0.02
    text = robot(
        link("base"),
        link("upper", m1, f"0 0 -{c1}", (0.01, i1, 0.02)),
        link("lower", m2, f"0 0 -{c2}", (0.01, i2, 0.02)),
        joint("q1", "base", "upper", "continuous", xyz="0 0 0", axis="0 -1 0"),
        joint("q2", "upper", "lower", "continuous", xyz=f"0 0 -{l1}", axis="0 -1 0"),
    )
    dynamics = Dynamics(Model.from_urdf(text))
    for seed in range(5):
        q1, q2, w1, w2 = np.random.default_rng(seed).uniform(-3, 3, 4)
        m12 = m2 * (c2**2 + l1 * c2 * np.cos(q2)) + i2
        m11 = m1 * c1**2 + i1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q2)) + i2
        h = m2 * l1 * c2 * np.sin(q2)
        V = np.array([-h * (2 * w1 * w2 + w2**2), h * w1**2])
        tip = m2 * c2 * np.sin(q1 + q2)
        G = GRAVITY * np.array([(m1 * c1 + m2 * l1) * np.sin(q1) + tip, tip])
        assert_equal_to_rounding(dynamics.crba([q1, q2]), [[m11, m12], [m12, m2 * c2**2 + i2]])
        assert_equal_to_rounding(dynamics.gravity([q1, q2]), G)
        assert_equal_to_rounding(dynamics.bias([q1, q2], [w1, w2]), V + G)


def test_falling_mass_has_the_acceleration_of_gravity():
    text = chain("drop", kind="prismatic")
    assert Dynamics(Model.from_urdf(text)).aba([0], [0], [0]) == pytest.approx(-GRAVITY, rel=1e-15)


def test_follower_counts_with_the_square_of_its_multiplier():
    """A lead screw: the slider moves 0.01 m per rad of its motor."""
    text = robot(
        link("base"), link("rotor", 1, "0 0 0", (1, 1, 0.002)), link("slider", 5, "0 0 0"),
        joint("motor", "base", "rotor", "continuous"),
        joint("slide", "base", "slider", "prismatic", '<mimic joint="motor" multiplier="0.01"/>'),
    )  # fmt: skip
    dynamics = Dynamics(Model.from_urdf(text))
    assert_equal_to_rounding(dynamics.crba([0.3]), [[0.002 + 5 * 0.01**2]])
    assert_equal_to_rounding(dynamics.gravity([0.3]), [5 * GRAVITY * 0.01])


# Size --------------------------------------------------------------------------------------------

LINKS = 1000


@pytest.fixture(scope="module")
def long_chain():
    return RobotInState(Model.from_urdf(random_tree(1000, LINKS, branching=0)))


def test_long_chain_keeps_the_identities(long_chain):
    dynamics, q, qd, qdd = (long_chain.dynamics, long_chain.q, long_chain.qd, long_chain.qdd)
    tau = dynamics.rnea(q, qd, qdd)
    product = long_chain.inertia @ qdd
    scale = np.abs(product).max() + np.abs(tau).max()
    assert_equal_to_rounding(product + dynamics.bias(q, qd), tau, scale)
    error = relative_error(dynamics.aba(q, qd, tau), qdd)
    assert error <= solving_tolerance(long_chain.inertia)
    assert error <= 1e3 * TOLERANCE


def test_long_chain_needs_memory_in_proportion_to_its_length(long_chain):
    """A matrix of n x n would take 8 MB; the workspace is some 200 numbers per body."""
    before = resident_memory()
    several = [Dynamics(long_chain.model) for _ in range(10)]
    for dynamics in several:
        dynamics.aba(long_chain.q, long_chain.qd, long_chain.tau)
    assert resident_memory() - before < 10 * LINKS * 8 * 300


def resident_memory():
    """Return the memory of this process that is in use [byte]."""
    resource = pytest.importorskip("resource")
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        pytest.skip("needs /proc")

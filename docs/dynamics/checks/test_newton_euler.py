"""Newton-Euler in 3-vectors agrees with the compiled core, with RBDA's tables, and with statics."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import TREES
from reference_cases import few_or_all_cases

from featherstone_ros import Model
from featherstone_ros.model.urdf import parse
from reference import BASE, Robot, inertia, newton_euler
from reference.featherstone import rnea

STEP = 1e-6  # of central differences [s]


@pytest.fixture(scope="module", params=few_or_all_cases(50), ids=repr)
def case(request):
    return request.param


def test_torques_agree_with_the_core(case):
    tau, _, _ = newton_euler.inverse_dynamics(
        case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext
    )
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    assert_equal_to_rounding(case.robot.reduce(tau), expected)


def test_torques_agree_with_the_spatial_form(case):
    state = case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext
    assert_equal_to_rounding(newton_euler.inverse_dynamics(*state)[0], rnea(*state))


def test_joint_wrenches_agree_with_the_core(case):
    _, f, n = newton_euler.inverse_dynamics(case.robot, case.q_J, case.qd_J, case.qdd_J, case.f_ext)
    tree = case.model.tree  # the joint that is the coordinate, not one that mimics it:
    own = [case.robot.names.index(tree.body_names[body + 1]) for body in tree.joint_body]
    expected = case.dynamics.joint_wrenches(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    assert_equal_to_rounding(np.hstack([f, n])[own], expected)


def test_link_accelerations_are_the_derivatives_of_the_core_s_velocities(case):
    """Along q(t) with these qd and qdd, by central differences, in the base's axes."""
    w, wd, vd = newton_euler.link_accelerations(case.robot, case.q_J, case.qd_J, case.qdd_J)
    R, _ = case.robot.poses(case.q_J)
    scale = 1 + np.abs(vd).max() + np.abs(wd).max()
    for i, name in enumerate(case.robot.names[:-1]):
        ahead, behind = (
            case.dynamics.link_velocity(
                case.q + s * case.qd + s**2 * case.qdd / 2, case.qd + s * case.qdd, name
            )
            for s in (STEP, -STEP)
        )
        expected = (ahead - behind) / (2 * STEP)
        actual = np.concatenate([R[i] @ vd[i], R[i] @ wd[i]])
        assert_equal_to_rounding(actual, expected, scale=scale, tolerance=1e-8)
        angular = case.dynamics.link_velocity(case.q, case.qd, name)[3:]
        assert_equal_to_rounding(R[i] @ w[i], angular, scale=scale)


def test_accelerations_of_centres_of_mass_are_the_forces_per_mass(case):
    """Newton's equation summed up: what the base holds is the mass times all accelerations."""
    state = case.robot, case.q_J, case.qd_J, case.qdd_J
    w, wd, vd = newton_euler.link_accelerations(*state)
    vd_C = newton_euler.centre_of_mass_accelerations(case.robot, w, wd, vd)
    R, _ = case.robot.poses(case.q_J)
    _, f, _ = newton_euler.inverse_dynamics(*state)
    m = case.robot.m[:-1, None]
    expected = np.sum(m * (np.einsum("ikl,il->ik", R, vd_C)[:-1] - case.robot.gravity), axis=0)
    assert_equal_to_rounding(f[BASE], expected)


def test_base_holds_the_weight_of_everything_at_rest(case):
    still = np.zeros(case.robot.N)
    _, f, n = newton_euler.inverse_dynamics(case.robot, case.q_J, still, still)
    m = case.robot.m
    base, total = m[BASE] * case.robot.c[BASE], m.sum() * case.dynamics.centre_of_mass(case.q)
    assert_equal_to_rounding(f[BASE], -(m.sum() - m[BASE]) * case.robot.gravity)
    assert_equal_to_rounding(n[BASE], -np.cross(total - base, case.robot.gravity))


def test_box_has_the_inertia_of_eight_points():
    # Two points per side integrate polynomials up to the third degree exactly (Gauss, Legendre).
    m, sides = 3.0, np.array([0.2, 0.5, 1.1])
    corners = np.array(list(np.ndindex(2, 2, 2))) * 2 - 1
    points = corners * sides / (2 * np.sqrt(3))
    assert_equal_to_rounding(inertia.of_points(np.full(8, m / 8), points), inertia.of_box(m, sides))


def test_parallel_axis_theorem_moves_the_origin_of_points():
    random = np.random.default_rng(1)
    m, r = random.uniform(1, 2, 9), random.uniform(-1, 1, (9, 3))
    c = m @ r / m.sum()
    moved = inertia.parallel_axis(inertia.of_points(m, r - c), m.sum(), c)
    assert_equal_to_rounding(moved, inertia.of_points(m, r))


def test_tensor_turns_with_the_points():
    random = np.random.default_rng(2)
    m, r = random.uniform(1, 2, 5), random.uniform(-1, 1, (5, 3))
    R, _ = np.linalg.qr(random.normal(size=(3, 3)))
    turned = inertia.turned(inertia.of_points(m, r), R)
    assert_equal_to_rounding(inertia.of_points(m, r @ R.T), turned)


def test_links_welded_together_make_the_bodies_of_the_model():
    text = TREES["fixed between"]
    model = Model.from_urdf(text)
    tree, robot = model.tree, Robot.of(model)
    carried = [robot.links[name][0] for name in tree.link_names]
    where = zip(carried, tree.link_rotation, tree.link_translation, strict=True)
    parts = {body: [] for body in range(BASE, robot.N)}
    for link, (body, R, p) in zip(parse(text).links, where, strict=True):
        own = link.inertial
        parts[body].append((own.mass, R @ own.com + p, inertia.turned(own.inertia, R)))
    assert max(map(len, parts.values())) > 1
    for body, links in parts.items():
        m, c, I_C = inertia.of_bodies(*map(np.array, zip(*links, strict=True)))
        assert_equal_to_rounding(m, robot.m[body])
        assert_equal_to_rounding(c, robot.c[body])
        assert_equal_to_rounding(I_C, robot.I_C[body])
        I_O = tree.inertia[tree.body_names.index(robot.names[body])]
        assert_equal_to_rounding(inertia.parallel_axis(I_C, m, c), I_O)

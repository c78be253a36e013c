"""Articulated bodies, serial and branched, agree with the compiled core and balance every force."""

from dataclasses import replace

import numpy as np
import pytest
from comparison import assert_equal_to_rounding, solving_tolerance
from random_trees import TREES
from reference_cases import ARMS, Case, cases, with_screws
from urdf_text import joint, link, robot

from featherstone_ros import Model, ModelError
from reference import Robot, articulated, mirtich, newton_euler, operators
from reference.featherstone import aba, crba, rnea
from reference.spatial import skew

CASES = cases(50)
CHAINS = [case for case in CASES if (case.robot.parent == np.arange(case.robot.N) - 1).all()]
FREE = [case for case in CASES if not case.coupled]  # every joint moves for itself
CHAINS.append(Case("chain with screws", with_screws(Model.from_urdf(TREES["chain"]))))


@pytest.fixture(scope="module", params=CASES, ids=repr)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def tau_J(case):
    """Torques of all N joints."""
    return case.random.uniform(-20, 20, case.robot.N)


@pytest.fixture(scope="module")
def motion(case, tau_J):
    """What those torques do to the robot, by articulated bodies: qdd, a, f."""
    return articulated.forward_dynamics(case.robot, case.q_J, case.qd_J, tau_J, case.f_ext)


def test_real_arms_are_among_the_chains():
    assert set(ARMS) <= {chain.name for chain in CHAINS}


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_mirtich_agrees_with_the_core(chain):
    tau = chain.random.uniform(-20, 20, chain.robot.n)
    expected = chain.dynamics.aba(chain.q, chain.qd, tau, f_ext=chain.f_ext)
    tau_J = chain.robot.G @ tau  # G only sorts: these joints move each for itself
    qdd = mirtich.forward_dynamics(chain.robot, chain.q_J, chain.qd_J, tau_J, chain.f_ext)
    tolerance = solving_tolerance(chain.dynamics.crba(chain.q))
    assert_equal_to_rounding(chain.robot.G.T @ qdd, expected, tolerance=tolerance)


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_mirtich_s_link_accelerations_are_those_of_newton_and_euler(chain):
    """At the centres of mass, in the links' axes."""
    robot = chain.robot
    tau_J = chain.random.uniform(-20, 20, robot.N)
    qdd, a, _ = mirtich.link_accelerations(robot, chain.q_J, chain.qd_J, tau_J, chain.f_ext)
    w, wd, vd = newton_euler.link_accelerations(robot, chain.q_J, chain.qd_J, qdd)
    vd_C = newton_euler.centre_of_mass_accelerations(robot, w, wd, vd)
    assert_equal_to_rounding(a[:-1], np.hstack([wd, vd_C])[:-1])


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_mirtich_s_joint_forces_are_those_of_newton_and_euler(chain):
    """f = I^A a + Z^A: force, then moment about the link's centre of mass."""
    robot, tau_J = chain.robot, chain.random.uniform(-20, 20, chain.robot.N)
    qdd, _, forces = mirtich.link_accelerations(robot, chain.q_J, chain.qd_J, tau_J, chain.f_ext)
    _, f, n = newton_euler.inverse_dynamics(robot, chain.q_J, chain.qd_J, qdd, chain.f_ext)
    expected = np.hstack([f, n - np.cross(robot.c, f)])[:-1]
    assert_equal_to_rounding(forces, expected, tolerance=solving_tolerance(crba(robot, chain.q_J)))


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_chain_cut_off_behind_a_body_answers_the_force_that_the_rest_exerts(chain):
    """Featherstone3D's outward recursion: a = b - L f with the f of articulated bodies."""
    robot, tau_J = chain.robot, chain.random.uniform(-20, 20, chain.robot.N)
    _, a, f = articulated.forward_dynamics(robot, chain.q_J, chain.qd_J, tau_J)
    L, b = articulated.outward_mobility(robot, chain.q_J, chain.qd_J, tau_J)
    handed_on = np.vstack([f[1:], np.zeros(6)])
    tolerance = solving_tolerance(crba(robot, chain.q_J))
    actual = b - np.einsum("ikl,il->ik", L, handed_on)
    assert_equal_to_rounding(actual, a[:-1], np.abs(b).max() + np.abs(a).max(), tolerance)


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_last_body_s_outward_mobility_is_its_mobility(chain):
    """Nothing is beyond it that could be cut off."""
    L, _ = articulated.outward_mobility(chain.robot, chain.q_J, chain.qd_J, 0 * chain.q_J)
    Phi = articulated.mobility(chain.robot, chain.q_J)
    tolerance = solving_tolerance(crba(chain.robot, chain.q_J))
    assert_equal_to_rounding(L[-1], Phi[-1], tolerance=tolerance)


@pytest.mark.parametrize("fork", ["trunk", "upper"])
def test_mirtich_raises_if_the_robot_branches(fork):
    text = robot(
        *(link(name) for name in ("trunk", "upper", "lower", "other")),
        joint("j1", "trunk", "upper"), joint("j2", "upper", "lower"), joint("j3", fork, "other"),
    )  # fmt: skip
    branched = Robot.of(Model.from_urdf(text))
    with pytest.raises(ModelError, match=f"'{fork}' carries 2 bodies .*other.*serial chain"):
        mirtich.forward_dynamics(branched, *np.zeros((3, 3)))


def test_spatial_transpose_gives_work_and_transforms_keep_it():
    """x' f is the same in every frame, though one matrix transforms motions and forces."""
    random = np.random.default_rng(1)
    R, _ = np.linalg.qr(random.normal(size=(3, 3)))
    X = mirtich.transform(R * np.linalg.det(R), random.normal(size=3))
    x, f = random.normal(size=(2, 6))
    work = x[:3] @ f[3:] + x[3:] @ f[:3]
    assert_equal_to_rounding(mirtich.transposed(x) @ f, work)
    assert_equal_to_rounding(mirtich.transposed(X @ x) @ X @ f, work, scale=1)


def test_open_tree_agrees_with_the_core(case, tau_J, motion):
    expected = aba(case.robot, case.q_J, case.qd_J, tau_J, case.f_ext)
    if not case.coupled:  # the core has no torques of followers
        tau = case.robot.G.T @ tau_J
        qdd = case.dynamics.aba(case.q, case.qd, tau, f_ext=case.f_ext)
        expected = case.robot.G @ qdd
    tolerance = solving_tolerance(crba(case.robot, case.q_J))
    assert_equal_to_rounding(motion[0], expected, tolerance=tolerance)


def test_core_agrees_with_the_open_tree_s_accelerations(case, tau_J):
    """Where the torques make followers follow, they are G^T tau_J on the coordinates."""
    H = crba(case.robot, case.q_J)
    still = np.zeros(case.robot.N)
    drift, _, _ = articulated.forward_dynamics(case.robot, case.q_J, case.qd_J, still, case.f_ext)
    tau_J = H @ (case.qdd_J - drift)
    expected = case.dynamics.rnea(case.q, case.qd, case.qdd, f_ext=case.f_ext)
    scale = np.abs(H).max() * (np.abs(drift).max() + 1)
    assert_equal_to_rounding(case.robot.reduce(tau_J), expected, scale=scale)


@pytest.mark.parametrize("case", FREE, ids=repr)
def test_hybrid_dynamics_agrees_with_the_core(case):
    """Some joints are driven by torques, some moved."""
    prescribed = case.random.random(case.model.n) < 0.5
    tau = case.random.uniform(-20, 20, case.model.n)
    qdd_core, tau_core = case.dynamics.hybrid(case.q, case.qd, case.qdd, tau, prescribed)
    G = case.robot.G
    full = G @ case.qdd, G @ tau, (G @ prescribed).astype(bool)
    qdd, tau, a, f = articulated.hybrid_dynamics(case.robot, case.q_J, case.qd_J, *full)
    tolerance = solving_tolerance(crba(case.robot, case.q_J))
    assert_equal_to_rounding(G.T @ qdd, qdd_core, tolerance=tolerance)
    assert_equal_to_rounding(G.T @ tau, tau_core, tolerance=tolerance)
    lacking = articulated.residuals(case.robot, case.q_J, case.qd_J, a, f)
    assert_equal_to_rounding(lacking, np.zeros_like(f), scale=np.abs(f).max())


def test_every_joint_moved_is_inverse_dynamics(case):
    all_moved = np.ones(case.robot.N, dtype=bool)
    nothing = np.full(case.robot.N, np.nan)  # torques are not read
    state = case.q_J, case.qd_J, case.qdd_J
    moved = articulated.hybrid_dynamics(case.robot, *state, nothing, all_moved, case.f_ext)
    np.testing.assert_array_equal(moved[0], case.qdd_J)
    assert_equal_to_rounding(moved[1], rnea(case.robot, *state, case.f_ext))


def test_every_body_s_forces_are_in_balance(case, motion):
    _, a, f = motion
    lacking = articulated.residuals(case.robot, case.q_J, case.qd_J, a, f, case.f_ext)
    assert_equal_to_rounding(lacking, np.zeros_like(f), scale=np.abs(f).max())


def test_residual_shows_where_a_force_is_wrong(case, motion):
    _, a, f = motion
    i = int(case.random.integers(case.robot.N))
    off = case.random.uniform(1, 2, 6) * np.abs(f).max()
    f = f + off * (np.arange(case.robot.N) == i)[:, None]
    lacking = articulated.residuals(case.robot, case.q_J, case.qd_J, a, f, case.f_ext)
    expected = np.zeros_like(f)
    expected[i] = off
    if case.robot.parent[i] >= 0:
        expected[case.robot.parent[i]] = -off
    assert_equal_to_rounding(lacking, expected)


def test_joint_forces_do_the_torques(case, tau_J, motion):
    s, _ = articulated.bodies(case.robot, case.q_J)
    _, _, f = motion
    torques = np.einsum("ik,ik->i", s[:-1], f)
    assert_equal_to_rounding(torques, tau_J, scale=np.abs(f).max())


def jacobian_of_the_core(case, i):
    """Return J (6, n) of body i, angular rows first, at the base's origin."""
    J = case.dynamics.jacobian(case.q, case.robot.names[i])
    p = case.dynamics.link_pose(case.q, case.robot.names[i])[:3, 3]
    return np.vstack([J[3:], J[:3] + skew(p) @ J[3:]])


@pytest.mark.parametrize("case", FREE, ids=repr)
def test_mobility_is_how_the_core_s_links_answer_forces(case):
    """a = J qdd with H qdd = J^T f: how a body's acceleration changes with a force on it."""
    Phi = articulated.mobility(case.robot, case.q_J)
    H = case.dynamics.crba(case.q)
    for i in range(case.robot.N):
        J = jacobian_of_the_core(case, i)
        expected = J @ np.linalg.solve(H, J.T)
        assert_equal_to_rounding(Phi[i], expected, tolerance=solving_tolerance(H))


def test_gravity_counts_once(case, tau_J):
    """As weights, or as an acceleration of the base; both, as one source's code had it, is off."""
    weights = operators.weights(case.robot, case.q_J).reshape(-1, 6)
    pushes = {
        name: np.concatenate([w[3:], w[:3]])
        for name, w in zip(case.robot.names[:-1], weights, strict=True)
    }
    weightless = replace(case.robot, gravity=np.zeros(3))
    by_acceleration, by_weights, by_both = (
        articulated.forward_dynamics(robot, case.q_J, case.qd_J, tau_J, forces)[0]
        for robot, forces in ((case.robot, None), (weightless, pushes), (case.robot, pushes))
    )
    scale, tolerance = np.abs(by_acceleration).max(), solving_tolerance(crba(case.robot, case.q_J))
    assert_equal_to_rounding(by_weights, by_acceleration, scale, tolerance)
    if np.abs(case.dynamics.gravity(case.q)).max() > 1e-3:
        assert np.abs(by_both - by_acceleration).max() > 0.1

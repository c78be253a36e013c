"""The torque is the regressor times the inertial parameters, whatever these are."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import UNLIKE_MODELS, random_tree
from states import RobotInState
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


def regressor(tree, dynamics=None):
    return (dynamics or tree.dynamics).regressor(tree.q, tree.qd, tree.qdd)


def test_product_with_parameters_is_the_torque(tree):
    tau = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd)
    assert_equal_to_rounding(regressor(tree) @ tree.model.inertial_parameters, tau)


def test_is_that_of_any_other_masses(tree):
    """Loads of random mass, place and inertia on many links change parameters and torque alone."""
    loaded = tree.model
    for name in tree.sample(tree.model.link_names):
        half = tree.random.uniform(-0.3, 0.3, (3, 3))
        mass, com = tree.random.uniform(0, 5), tree.random.uniform(-0.5, 0.5, 3)
        loaded = loaded.with_payload(name, mass, com, half @ half.T)
    dynamics = Dynamics(loaded)
    Y = regressor(tree)
    np.testing.assert_array_equal(regressor(tree, dynamics), Y)
    tau = dynamics.rnea(tree.q, tree.qd, tree.qdd)
    assert_equal_to_rounding(Y @ loaded.inertial_parameters, tau)


def test_every_column_is_the_torque_of_one_parameter(tree):
    """Two loads that differ in one parameter differ in the torque by its column."""
    links = tree.model.link_names
    link = links[tree.random.integers(1, len(links))]
    columns = regressor(tree)[:, 10 * links.index(link) :][:, :10]

    def torque(m, c, inertia):
        loaded = tree.model.with_payload(link, m, c, inertia)
        change = (loaded.inertial_parameters - tree.model.inertial_parameters).reshape(-1, 10)
        others = np.delete(change, links.index(link), axis=0)
        assert not others.any()
        tau = Dynamics(loaded).rnea(tree.q, tree.qd, tree.qdd) - base
        return tau, change[links.index(link)]

    base = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd)
    scale = 100 * np.abs(columns).max() + np.abs(base).max()
    for k in range(3):
        tau, change = torque(100, 0.1 * np.eye(3)[k], None)
        assert change[0] == 100 and change[1 + k] == pytest.approx(10)
        assert_equal_to_rounding(tau, columns @ change, scale=scale)
    for k, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True)):
        moment = np.zeros((3, 3)) if i == j else 200 * np.eye(3)  # none of a load's is negative
        moment[i, j] = moment[j, i] = 100
        tau, change = torque(0, np.zeros(3), moment)
        expected = np.append(np.zeros(4), moment[np.triu_indices(3)])
        assert expected[4 + k] == 100
        np.testing.assert_allclose(change, expected, atol=1e-12)
        assert_equal_to_rounding(tau, columns @ expected, scale=scale)


def test_links_that_a_joint_does_not_move_have_zero_columns(tree):
    Y = regressor(tree).reshape(tree.model.n, -1, 10)
    for k, name in enumerate(tree.model.link_names):
        moved = tree.dynamics.jacobian(tree.q, name).any(axis=0)
        assert not Y[~moved, k].any()


def test_gravity_is_the_regressor_at_rest(tree):
    still = np.zeros(tree.model.n)
    weight = tree.dynamics.regressor(tree.q, still, still) @ tree.model.inertial_parameters
    assert_equal_to_rounding(weight, tree.dynamics.gravity(tree.q))


def test_wrenches_are_torques_that_no_masses_change(tree):
    f_ext = tree.wrenches()
    Y, tau = tree.dynamics.regressor(tree.q, tree.qd, tree.qdd, f_ext)
    np.testing.assert_array_equal(Y, regressor(tree))
    whole = tree.dynamics.rnea(tree.q, tree.qd, tree.qdd, f_ext)
    assert_equal_to_rounding(Y @ tree.model.inertial_parameters + tau, whole)
    assert not tree.dynamics.regressor(tree.q, tree.qd, tree.qdd, {})[1].any()


def test_batch_with_a_wrench_for_each_row(tree):
    link = tree.model.link_names[-1]
    q, qd, qdd = tree.random.uniform(-2, 2, (3, 5, tree.model.n))
    wrenches = tree.random.uniform(-9, 9, (5, 6))
    batch = tree.dynamics.regressor(q, qd, qdd, {link: wrenches})
    for k in range(5):
        single = tree.dynamics.regressor(q[k], qd[k], qdd[k], {link: wrenches[k]})
        for actual, expected in zip(batch, single, strict=True):
            assert_equal_to_rounding(actual[k], expected, tolerance=1e-12)


# model.inertial_parameters -----------------------------------------------------------------------

ARM = robot(
    link("base", 7, "0 0 1", (1, 1, 1)), link("empty", None),
    link("arm", 2, "0 0 0.5", (1, 2, 3, 0.1, 0.2, 0.3)),
    joint("weld", "base", "empty", "fixed"), joint("turn", "empty", "arm"),
)  # fmt: skip


def test_parameters_are_mass_first_moment_and_inertia_about_the_link_s_origin():
    base, empty, arm = Model.from_urdf(ARM).inertial_parameters.reshape(-1, 10)
    np.testing.assert_allclose(base, [7, 0, 0, 7, 8, 0, 0, 8, 0, 1], rtol=1e-15)
    assert not empty.any()
    np.testing.assert_allclose(arm, [2, 0, 0, 1, 1.5, 0.1, 0.2, 2.5, 0.3, 3], rtol=1e-15)


def test_parameters_do_not_mind_where_the_link_is_carried():
    """Locking every joint merges all links into the base; what a link weighs stays the same."""
    model = Model.from_urdf(ARM)
    locked = Model.from_urdf(ARM, joints=[])
    np.testing.assert_array_equal(locked.inertial_parameters, model.inertial_parameters)


def test_payload_adds_to_the_parameters_of_its_link():
    loaded = Model.from_urdf(ARM).with_payload("empty", 3, [1, 0, 0], np.diag([1, 2, 3]))
    before = Model.from_urdf(ARM).inertial_parameters
    np.testing.assert_allclose(
        (loaded.inertial_parameters - before).reshape(-1, 10)[1], [3, 3, 0, 0, 1, 0, 0, 5, 0, 6]
    )
    assert not np.delete((loaded.inertial_parameters - before).reshape(-1, 10), 1, axis=0).any()


def test_parameters_are_a_copy():
    model = Model.from_urdf(ARM)
    model.inertial_parameters[:] = 0
    assert model.inertial_parameters.any()


@pytest.mark.parametrize("joints", [6, 48], ids=["in lanes", "row by row"])
def test_results_are_written_where_the_caller_wants_them(joints):
    """Also those of a batch, which goes row by row where its results are large."""
    model = Model.from_urdf(random_tree(3, joints, ["revolute"]))
    dynamics, random = Dynamics(model), np.random.default_rng(0)
    q, qd, qdd = random.normal(size=(3, 11, model.n))
    wrench = {model.link_names[-1]: random.normal(size=6)}
    matrix, torque = dynamics.regressor(q, qd, qdd, wrench)
    for k in range(len(q)):
        one, alone = dynamics.regressor(q[k], qd[k], qdd[k], wrench)
        assert_equal_to_rounding(matrix[k], one)
        assert_equal_to_rounding(torque[k], alone)
    out = np.full_like(matrix, np.nan), np.full_like(torque, np.nan)
    assert dynamics.regressor(q, qd, qdd, wrench, out=out)[0] is out[0]
    np.testing.assert_array_equal(out[0], matrix)
    np.testing.assert_array_equal(out[1], torque)
    assert dynamics.regressor(q, qd, qdd, out=out[0]) is out[0]
    np.testing.assert_array_equal(out[0], matrix)

"""A base that floats: conservation, integration on the group, what the API says and refuses.

Agreement with Pinocchio's free-flyer: test_dynamics_against_pinocchio.py; what all robots have in
common: test_dynamics_identities.py, test_batches.py.
"""

import pickle

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from methods import random_state
from random_trees import random_tree
from refusals import refusals
from urdf_text import link, robot

from featherstone_ros import Dynamics, Model, ModelError, Simulator, SingularInertiaError
from featherstone_ros.control import CartesianImpedance
from featherstone_ros.kinematics import inverse_kinematics
from featherstone_ros.model.robots import robot_file

ARM = robot_file("panda")
WEIGHTLESS = (0.0, 0.0, 0.0)
TREE = random_tree(1, 5, branching=0.6)
TREES = {
    "tree": Model.from_urdf(TREE, base="floating"),
    "with mimic": Model.from_urdf(random_tree(12, 7, mimic=0.4), base="floating"),
    "arm": Model.from_file(ARM, base="floating"),
    "no joints": Model.from_urdf(TREE, joints=(), base="floating"),
}


@pytest.fixture(params=TREES.values(), ids=TREES)
def model(request):
    return request.param


def test_base_is_kept_by_models_made_of_models(model):
    heavier = model.with_payload(model.link_names[-1], 1.0, (0, 0, 0.1))
    for other in (heavier, model.with_gravity(WEIGHTLESS), pickle.loads(pickle.dumps(model))):
        assert other.floating and other.nv == model.nv


def test_momentum_of_an_arm_that_floats_is_conserved():
    """Ten seconds at 1 ms, while the joints are driven."""
    model = Model.from_file(ARM, base="floating", gravity=WEIGHTLESS)
    q, qd = random_state(model, np.random.default_rng(5))
    dynamics = Dynamics(model)
    simulator = Simulator(model, 1e-3, "rk4", damping=0.1, friction=0)
    simulator.reset(q, qd)
    before, mass = dynamics.momentum(q, qd), dynamics.crba(q)[0, 0]
    centre = dynamics.centre_of_mass(q)
    for second in range(10):
        tau = np.zeros(model.nv)
        tau[6:] = 0.5 * np.sin(second + np.arange(model.n))
        simulator.step(tau, 1000)
    after = dynamics.momentum(simulator.q, simulator.qd)
    assert np.abs(after - before).max() <= 1e-9 * np.abs(before).max()
    moved = dynamics.centre_of_mass(simulator.q) - centre
    assert_equal_to_rounding(moved, 10 * before[:3] / mass, tolerance=1e-9)
    assert abs(np.linalg.norm(simulator.q[3:7]) - 1) <= 1e-14


@pytest.mark.parametrize("rows", [(), (3,)])
def test_momentum_that_drifted_is_set_right(rows):
    model = Model.from_file(ARM, base="floating", gravity=WEIGHTLESS)
    dynamics = Dynamics(model)
    q, qd = random_state(model, np.random.default_rng(5))
    q, qd = (np.broadcast_to(x, (*rows, len(x))) for x in (q, qd))
    simulator = Simulator(model, 0.01, damping=0.1, friction=0)
    simulator.reset(q, qd)
    before = dynamics.momentum(q, qd)
    simulator.step(np.zeros(model.nv), 20)
    q, qd, time = simulator.q, simulator.qd, simulator.time
    assert np.abs(dynamics.momentum(q, qd) - before).max() > 1e-4 * np.abs(before).max()
    simulator.set_momentum(before)
    assert_equal_to_rounding(dynamics.momentum(q, simulator.qd), before)
    np.testing.assert_array_equal(simulator.qd[..., 6:], qd[..., 6:])
    np.testing.assert_array_equal(simulator.q, q)
    assert simulator.time == time
    simulator.set_momentum(np.zeros(6))  # at rest as a whole: the centre of mass is, too
    assert np.abs(dynamics.centre_of_mass_jacobian(q) @ simulator.qd[..., np.newaxis]).max() < 1e-12


def test_runge_kutta_is_of_order_four():
    model = TREES["tree"]
    q, qd = random_state(model, np.random.default_rng(7), speed=2.0)

    def after(step):
        simulator = Simulator(model, step, "rk4", damping=0, friction=0)
        simulator.reset(q, qd)
        simulator.step(np.zeros(model.nv), round(0.2 / step))
        return np.concatenate([simulator.q, simulator.qd])

    best = after(0.2 / 512)
    errors = [np.abs(after(0.2 / steps) - best).max() for steps in (16, 32)]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.6


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit", "rk4"])
def test_wrench_on_the_base_accelerates_it(model, integrator):
    q, qd = random_state(model, np.random.default_rng(11))
    f_ext = {model.base_link: [1, 2, 3, 0.4, 0.5, 0.6]}
    simulator = Simulator(model, 1e-6, integrator, damping=0, friction=0)
    simulator.reset(q, qd)
    simulator.step(np.zeros(model.nv), f_ext=f_ext)
    qdd = Dynamics(model).aba(q, qd, np.zeros(model.nv), f_ext)
    assert_equal_to_rounding((simulator.qd - qd) / 1e-6, qdd, tolerance=1e-4)


def test_simulator_starts_at_neutral_and_pickles(model):
    simulator = Simulator(model, friction=0.1)
    assert simulator.q.tolist() == model.neutral.tolist()
    assert simulator.damping.shape == (model.n,)
    simulator.step(np.zeros(model.nv), 5)
    copy = pickle.loads(pickle.dumps(simulator))
    for one in (simulator, copy):
        one.step(np.zeros(model.nv), 5)
    assert copy.q.tolist() == simulator.q.tolist()


@pytest.mark.parametrize(
    "quaternion", [(0, 0, 0, 0), (0, 0, 0, 2), (1, 1, 0, 0), (0, 0, np.nan, 1), (np.inf, 0, 0, 1)]
)
def test_what_is_no_unit_quaternion_is_refused_by_name(model, quaternion):
    q = model.neutral
    q[3:7] = quaternion
    zero = np.zeros(model.nv)
    with pytest.raises(ValueError, match=r"q\[3:7\]: expected the unit quaternion x y z w"):
        Dynamics(model).rnea(q, zero, zero)
    with pytest.raises(ValueError, match=r"q\[3:7\] \(row 1\)"):
        Dynamics(model).crba(np.stack([model.neutral, q]))
    with pytest.raises(ValueError, match=r"^q1\[3:7\]"):
        model.difference(model.neutral, q)
    finite = r"q\[3:7\]" if np.isfinite(q).all() else "q: expected finite numbers"
    with pytest.raises(ValueError, match=finite):
        Simulator(model).reset(q)


FLOATS, STANDS = TREES["arm"], Model.from_file(ARM)
DOT = Model.from_urdf(robot(link("dot", 1, "0 0 0", (0, 0, 0))), base="floating")
ARMS_ALONE = r"expected .* fixed base, .* 'panda_link0' floats"
test_what_a_base_is_not_for_is_refused = refusals(
    (NotImplementedError, ARMS_ALONE, lambda: CartesianImpedance(FLOATS, "panda_hand")),
    (NotImplementedError, ARMS_ALONE,
     lambda: inverse_kinematics(FLOATS, "panda_hand", np.eye(4), np.zeros(FLOATS.n))),
    (ModelError, "base is 'afloat', expected one of fixed, floating",
     lambda: Model.from_urdf(TREE, base="afloat")),
    (ValueError, "set_momentum: expected a model with a floating base",
     lambda: Simulator(STANDS).set_momentum(np.zeros(6))),
    (ValueError, r"^momentum: expected shape \(6,\)",
     lambda: Simulator(FLOATS).set_momentum(np.zeros(3))),
    (SingularInertiaError, "floating base 'dot' moves no inertia",
     lambda: Dynamics(DOT).aba(DOT.neutral, np.zeros(6), np.zeros(6))),
)  # fmt: skip

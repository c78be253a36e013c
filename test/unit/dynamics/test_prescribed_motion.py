"""Motion prescribed over time in the simulator: hybrid dynamics in the loop."""

import pickle
import re
from functools import partial

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from methods import INTEGRATORS, random_state
from random_trees import random_tree
from refusals import refusals
from test_dynamics_arguments import on_the_axis

from featherstone_ros import Dynamics, Model, Simulator, UnknownNameError
from featherstone_ros.model.robots import robot_file

FRICTIONLESS = {"damping": 0, "friction": 0}
ONES = np.ones((4, 2))  # arguments of hybrid dynamics of two joints
PANDA = Model.from_file(robot_file("panda"))
ROBOTS = {
    "panda": PANDA,
    "tree": Model.from_urdf(random_tree(31, 6, branching=0.5)),
    "with mimic": Model.from_urdf(random_tree(36, 6, ["revolute"], mimic=0.4)),
    "floating": Model.from_urdf(random_tree(33, 6, branching=0.5), base="floating"),
}

every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def swing(t):
    """Position, velocity and acceleration of a swing that begins from rest."""
    w = 3.0
    return 0.4 * (1 - np.cos(w * t)), 0.4 * w * np.sin(w * t), 0.4 * w * w * np.cos(w * t)


def turn(t):
    return 0.3 + 0.5 * t, 0.5, 0.0


def table_of(motion, times, columns=4):
    return np.column_stack([times, *np.array([motion(t) for t in times]).T])[:, :columns]


@pytest.fixture(params=ROBOTS.values(), ids=ROBOTS)
def model(request):
    return request.param


def motions(model):
    return {model.joint_names[-1]: turn, model.joint_names[0]: swing}


def test_steps_are_those_of_hybrid_dynamics_by_hand(model):
    random, h = np.random.default_rng(1), 1e-3
    dynamics, tau = Dynamics(model), random.uniform(-1, 1, model.nv)
    f_ext = {model.link_names[-1]: random.uniform(-1, 1, 6)}
    simulator = Simulator(model, h, prescribed=motions(model), **FRICTIONLESS)
    simulator.reset(*random_state(model, random))
    assert list(simulator.prescribed) == [model.joint_names[0], model.joint_names[-1]]
    base = model.nv - model.n
    joints = [base, model.nv - 1]
    mask = np.isin(np.arange(model.nv), joints)
    told = Simulator(model, h, **FRICTIONLESS)
    for k in range(20):
        q, qd, given = simulator.q, simulator.qd, np.zeros(model.nv)
        now = np.array([swing(k * h), turn(k * h)])
        assert_equal_to_rounding(q[model.nq - model.nv + np.array(joints)], now[:, 0])
        assert_equal_to_rounding(qd[joints], now[:, 1])
        given[joints] = now[:, 2]
        # What external forces add to the torques is what rnea says.
        pushed = dynamics.rnea(q, qd, given) - dynamics.rnea(q, qd, given, f_ext)
        qdd, force = dynamics.hybrid(q, qd, given, tau + pushed, mask)
        told.set_state(q, qd)
        told.step(force)
        simulator.step(tau, f_ext=f_ext)
        assert_equal_to_rounding(simulator.qdd, qdd, tolerance=1e-10)
        forces = (force - pushed)[joints]
        assert_equal_to_rounding(simulator.prescribed_tau, forces, np.abs(force).max(), 1e-10)
        free = ~mask
        assert_equal_to_rounding(simulator.qd[free], (qd + h * qdd)[free], tolerance=1e-10)
        expected = told.q[model.nq - model.nv :][free]
        assert_equal_to_rounding(
            simulator.q[model.nq - model.nv :][free], expected, tolerance=1e-10
        )


def test_work_of_the_motor_is_the_change_of_energy():
    h, steps, first = 1e-3, 1000, PANDA.joint_names[0]
    simulator = Simulator(PANDA, h, "rk4", prescribed={first: swing}, **FRICTIONLESS)
    dynamics = Dynamics(PANDA)
    simulator.reset(np.full(PANDA.n, 0.3))
    before = sum(dynamics.energy(simulator.q, simulator.qd))
    power = []
    for _ in range(steps + 1):
        at, speed = (simulator.q, simulator.qd), simulator.qd[0]
        simulator.step(np.zeros(PANDA.n))
        power.append(simulator.prescribed_tau[0] * speed)
    kinetic, potential = dynamics.energy(*at)
    weights = np.full(steps + 1, 2.0)  # Simpson's rule
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    work = h / 3 * weights @ power
    assert abs(work) > 0.1
    assert kinetic + potential - before == pytest.approx(work, abs=1e-7 * kinetic)


@every_integrator
def test_table_does_what_the_function_does(integrator):
    joint = PANDA.joint_names[2]
    times = np.linspace(-0.1, 0.5, 61)
    states = []
    for motion in (swing, table_of(swing, times), table_of(swing, times, 3)):
        simulator = Simulator(PANDA, 1e-3, integrator, prescribed={joint: motion}, **FRICTIONLESS)
        simulator.reset(np.full(PANDA.n, 0.2))
        simulator.step(np.zeros(PANDA.n), 500)
        states.append(simulator.q)
    np.testing.assert_allclose(states[1], states[0], atol=1e-9)
    np.testing.assert_allclose(states[2], states[0], atol=1e-5)
    assert np.abs(states[0] - 0.2).max() > 0.1


def test_table_meets_its_rows_and_is_smooth_between_them():
    rows = np.array([[0, 0.1, 0.2, -1.0], [0.5, -0.4, 0.7, 2.0], [0.8, 0.0, 0.0, 0.0]])
    joint = PANDA.joint_names[0]
    h = 1e-3
    simulator = Simulator(PANDA, h, prescribed={joint: rows})
    states = []
    for _ in range(801):
        position, velocity = simulator.q[0], simulator.qd[0]
        if len(states) < 800:
            simulator.step(np.zeros(PANDA.n))
        states.append((position, velocity, simulator.qdd[0]))
    states = np.array(states)
    np.testing.assert_allclose(states[[0, 500, 800], :2], rows[:, 1:3], atol=1e-13)
    np.testing.assert_allclose(states[[0, 500], 2], rows[:2, 3], atol=1e-10)
    for k in (0, 1):  # the trapezoidal rule takes velocity to position, acceleration to velocity
        means = 0.5 * h * (states[1:800, k + 1] + states[:799, k + 1])
        np.testing.assert_allclose(np.diff(states[:800, k]), means, atol=1e-6 * 10**k)


@every_integrator
def test_what_resists_the_motor_adds_to_its_force_and_to_nothing_else(integrator):
    h, first = 1e-3, PANDA.joint_names[0]
    of_first = np.eye(PANDA.n)[0]
    resisting = {"damping": 2.0 * of_first, "friction": 0.5 * of_first, "armature": 0.1 * of_first}
    resisted = Simulator(PANDA, h, integrator, prescribed={first: swing}, **resisting)
    bare = Simulator(PANDA, h, integrator, prescribed={first: swing}, **FRICTIONLESS)
    for k in range(100):
        _, speed, acceleration = swing(k * h)
        for simulator in (resisted, bare):
            simulator.step(np.full(PANDA.n, 0.1))
        later = h * acceleration if integrator == "implicit" else 0.0
        added = 2.0 * (speed + later) + 0.5 * np.sign(speed) + 0.1 * acceleration
        force = bare.prescribed_tau + added
        assert_equal_to_rounding(resisted.prescribed_tau, force, tolerance=1e-10)
        assert_equal_to_rounding(resisted.q, bare.q, tolerance=1e-12)


def test_friction_holds_free_joints_beside_one_that_is_driven():
    """Under more friction than acts on them they stay exactly where they are."""
    first = PANDA.joint_names[0]
    simulator = Simulator(PANDA, 1e-3, prescribed={first: turn}, damping=0, friction=200.0)
    simulator.reset(np.full(PANDA.n, 0.4))
    simulator.step(np.zeros(PANDA.n), 200)
    assert simulator.q[0] == pytest.approx(turn(0.2)[0])
    assert simulator.q[1:].tolist() == [0.4] * (PANDA.n - 1)


@every_integrator
def test_batch_equals_single_states_and_many_steps_single_steps(model, integrator):
    random = np.random.default_rng(4)
    states = [random_state(model, random) for _ in range(11)]
    settings = {"damping": 0.2, "friction": 0.1, "armature": 0.1, "stop_stiffness": 300.0}
    make = {"time_step": 1e-3, "integrator": integrator, "prescribed": motions(model), **settings}
    tau = random.uniform(-1, 1, (11, model.nv))
    batch = Simulator(model, **make)
    batch.reset(*map(np.array, zip(*states, strict=True)))
    batch.step(tau, 30)
    assert batch.prescribed_tau.shape == (11, 2)
    one = Simulator(model, **make)
    for k, state in enumerate(states):
        one.reset(*state)
        for _ in range(30):
            one.step(tau[k])
        assert_equal_to_rounding(batch.q[k], one.q)
        assert_equal_to_rounding(batch.qd[k], one.qd)
        assert_equal_to_rounding(batch.prescribed_tau[k], one.prescribed_tau, tolerance=1e-9)


def test_state_given_to_a_prescribed_joint_is_that_of_its_motion():
    first = PANDA.joint_names[0]
    simulator = Simulator(PANDA, 1e-3, prescribed={first: swing})
    simulator.step(np.zeros(PANDA.n), 250)
    simulator.set_state(np.full(PANDA.n, 0.7))
    position, velocity, _ = swing(0.25)
    assert (simulator.q[0], simulator.qd[0]) == pytest.approx((position, velocity))
    assert simulator.q[1:].tolist() == [0.7] * (PANDA.n - 1)
    simulator.reset()
    assert (simulator.q[0], simulator.qd[0]) == swing(0.0)[:2]
    assert simulator.prescribed_tau.tolist() == [0.0]


def test_torque_of_a_prescribed_joint_is_not_looked_at():
    first = PANDA.joint_names[0]
    ends = []
    for torque in (0.0, 55.0, np.nan):
        simulator = Simulator(PANDA, 1e-3, prescribed={first: swing})
        simulator.step(np.append(torque, np.zeros(PANDA.n - 1)), 10)
        ends.append([*simulator.q, *simulator.prescribed_tau])
    assert ends[0] == ends[1] == ends[2]


def test_pickle_goes_on_alike():
    joint = PANDA.joint_names[3]
    table = table_of(swing, np.linspace(0, 1, 11))
    simulator = Simulator(PANDA, prescribed={joint: table})
    table[:] = np.nan  # was copied
    simulator.step(np.zeros(PANDA.n), 5)
    copy = pickle.loads(pickle.dumps(simulator))
    for each in (simulator, copy):
        each.step(np.zeros(PANDA.n), 5)
    assert copy.q.tolist() == simulator.q.tolist()
    assert copy.prescribed_tau.tolist() == simulator.prescribed_tau.tolist()


# Refusals.

WRIST = Model.from_urdf(on_the_axis())  # whose own torque nothing resists
MIMICKING = ROBOTS["with mimic"]
BAD_MOTIONS = (
    (0.3, r"expected a function of time, or a table .* got shape \(\)"),
    ([[0, 1], [1, 2]], r"got shape \(2, 2\)"),
    ([[0, 1, 0, 0]], r"got shape \(1, 4\)"),
    ([[0, 1, 0], [0, 2, 0]], "times that increase, got 0 s after 0 s in row 1"),
    ([[0, 1, 0], [1, np.inf, 0]], r"expected finite numbers, got \[1.0, inf, 0.0\] in row 1"),
    ([[1, 1, 0], [2, 1, 0]], "the table goes from 1 to 2 s, the simulation from 0 to 0 s"),
    (lambda t: 0.3, "at 0 s: expected position, velocity and acceleration, got 0.3"),
    (lambda t: (0.3, 0.0), r"got \(0.3, 0.0\)"),
    (lambda t: (0.3, np.nan, 0.0), "got .*nan"),
)
test_what_prescribes_no_motion_is_refused_by_name = refusals(
    *(
        (UnknownNameError, f"{name}.*{MIMICKING.joint_names[0]}",
         partial(Simulator, MIMICKING, prescribed={name: swing}))
        for name in ("wheel", next(iter(MIMICKING.mimics)))
    ),
    *(
        (ValueError, f"motion of joint 'panda_joint2'.*{reason}",
         partial(Simulator, PANDA, prescribed={"panda_joint2": motion}))
        for motion, reason in BAD_MOTIONS
    ),
    (TypeError, "prescribed: expected a mapping of joint name to motion",
     partial(Simulator, PANDA, prescribed=[swing])),
    *(
        (ValueError, "^prescribed: expected ", partial(Dynamics(WRIST).hybrid, *ONES, choice))
        for choice in ([0, 2], [np.nan, 1], ["wrist", "elbow"], [-1, 1])
    ),
    *(
        (ValueError, rf"prescribed: expected shape \(2,\).*got {re.escape(str(shape))}$",
         partial(Dynamics(WRIST).hybrid, *states, np.ones(shape, dtype=bool)))
        for shape in ((), (1,), (3,), (1, 3), (2, 3))
        for states in (ONES, np.ones((4, 5, 2)))
    ),
)  # fmt: skip


def test_motion_that_ends_or_fails_leaves_state_and_time():
    joint = PANDA.joint_names[1]
    ending = table_of(swing, [0.0, 0.01])

    def failing(t):
        if t > 0.0101:
            raise RuntimeError("the wire is cut")
        return swing(t)

    for motion, error in ((ending, ValueError), (failing, RuntimeError)):
        simulator = Simulator(PANDA, prescribed={joint: motion})
        simulator.step(np.zeros(PANDA.n), 10)
        before = simulator.q
        with pytest.raises(error, match=r"'panda_joint2': the table goes.*to 0\.011 s|the wire"):
            simulator.step(np.zeros(PANDA.n))
        assert simulator.time == pytest.approx(0.01)
        assert simulator.q.tolist() == before.tolist()


@pytest.mark.parametrize("method", ["step", "reset", "set_state"])
def test_a_motion_that_moves_its_own_simulator_is_refused(method):
    def meddling(t):
        if t > 0:
            arguments = {"step": np.zeros(7), "set_state": PANDA.neutral}.get(method)
            getattr(simulator, method)(arguments)
        return turn(t)

    simulator = Simulator(PANDA, prescribed={"panda_joint1": meddling})
    simulator.reset()
    before = simulator.q
    with pytest.raises(RuntimeError, match="while it asks for the motion of panda_joint1"):
        simulator.step(np.zeros(7), 3)
    np.testing.assert_array_equal(simulator.q, before)
    assert simulator.time == 0


# The dynamics alone: joints that are held or move no inertia, what says which are prescribed


def test_joint_without_inertia_may_be_prescribed():
    dynamics = Dynamics(WRIST)
    qdd, tau = dynamics.hybrid([0.1, 0.2], [1, 2], [np.nan, 3], [4, np.nan], [False, True])
    np.testing.assert_allclose(dynamics.rnea([0.1, 0.2], [1, 2], qdd), tau, rtol=1e-12, atol=1e-12)


WRIST_DRIVEN = np.array([False, True])


@pytest.mark.parametrize(
    "choice",
    [
        [False, True],
        (0, 1),
        np.array([0.0, 1.0]),
        np.array([False, True, True])[::2],
        np.array([[True, False], [False, True]])[1],
    ],
    ids=["list", "ints", "floats", "not contiguous", "view"],
)
def test_prescribed_is_whatever_says_true_or_false(choice):
    given = np.random.default_rng(1).uniform(-1, 1, (4, 2))
    expected = Dynamics(WRIST).hybrid(*given, WRIST_DRIVEN)
    np.testing.assert_array_equal(Dynamics(WRIST).hybrid(*given, choice), expected)


def test_one_choice_holds_for_all_rows_of_a_batch():
    """Nor is looked at what it leaves out."""
    q, qd, qdd, tau = np.random.default_rng(3).uniform(-1, 1, (4, 5, 2))
    expected = Dynamics(WRIST).hybrid(q, qd, qdd, tau, np.tile(WRIST_DRIVEN, (5, 1)))
    qdd, tau = np.where(WRIST_DRIVEN, qdd, np.nan), np.where(WRIST_DRIVEN, np.nan, tau)
    together = Dynamics(WRIST).hybrid(q, qd, qdd, tau, WRIST_DRIVEN)
    np.testing.assert_array_equal(together, expected)


def test_prescribed_of_several_rows_makes_a_batch_of_a_single_state():
    choices = np.array([[False, True], [True, True]])
    q, qd, qdd, tau = np.random.default_rng(2).uniform(-1, 1, (4, 2))
    dynamics = Dynamics(WRIST)
    together = np.stack(dynamics.hybrid(q, qd, qdd, tau, choices))
    alone = [np.stack(dynamics.hybrid(q, qd, qdd, tau, choice)) for choice in choices]
    np.testing.assert_allclose(together, np.stack(alone, axis=1), rtol=1e-14)

"""The simulator: energy, convergence, friction, stops, and what its methods take."""

import contextlib
import copy
import pickle
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from at_work import interrupted, is_refused
from comparison import assert_equal_to_rounding, relative_error
from each import each
from methods import INTEGRATORS
from random_trees import as_tree, random_tree
from refusals import refusals
from urdf_text import joint, link, robot

from featherstone_ros import (
    DivergenceError,
    Dynamics,
    Model,
    Simulator,
    SingularInertiaError,
)
from featherstone_ros.model.robots import share_directory

FRICTIONLESS = {"damping": 0, "friction": 0}
STOPS = {"stop_stiffness": 2000.0, "stop_damping": 5.0}

every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def arm(name):
    return Model.from_file(Path(share_directory()) / "config" / f"{name}.urdf")


ROBOTS = {
    "panda": arm("panda"),
    "ur5e": arm("ur5e"),
    "tree": Model.from_urdf(random_tree(31, 6, branching=0.5)),
    "with mimic": Model.from_urdf(random_tree(36, 6, ["revolute"], mimic=0.4)),
    "with screws": as_tree(random_tree(31, 6, ["revolute"], mimic=0.4), screws=0.6).model(),
}


@pytest.fixture(params=ROBOTS.values(), ids=ROBOTS)
def model(request):
    return request.param


@pytest.fixture
def tree():
    return ROBOTS["tree"]


INERTIA = 0.05


def flywheel(inside="", kind="continuous"):
    """Return one joint about the vertical, or along the horizontal: nothing acts on it."""
    axis = "0 0 1" if kind != "prismatic" else "1 0 0"
    return Model.from_urdf(
        robot(
            link("base"),
            link("wheel", INERTIA, "0 0 0", (1, 1, INERTIA)),
            joint("turn", "base", "wheel", kind, inside, axis=axis),
        )
    )


def random_state(model, *batch, seed=0):
    q, qd, tau = np.random.default_rng(seed).uniform(-1, 1, (3, *batch, model.n))
    return q, qd, 5 * tau


def started(model, q, qd=None, **parameters):
    simulator = Simulator(model, **parameters)
    simulator.reset(q, qd)
    return simulator


# Rigid bodies ------------------------------------------------------------------------------------


ROTORS = 0.1  # [kg m^2, kg]


@pytest.mark.parametrize(
    "weightless, armature", [(False, ROTORS), (True, 0)], ids=["falling with rotors", "weightless"]
)
def test_rk4_keeps_the_energy(model, weightless, armature):
    """To 1e-6 of the greatest kinetic energy over 10 s at 1 ms, without torque or friction.

    A bare arm that falls freely for 10 s spins its wrist at 100 to 250 rad/s, where the
    truncation of any fourth-order step of 1 ms is a few 1e-6: real arms have rotors.
    """
    model = model.with_gravity([0, 0, 0]) if weightless else model
    q, qd, _ = random_state(model)
    simulator = started(model, q, 2 * qd, integrator="rk4", armature=armature, **FRICTIONLESS)
    dynamics = Dynamics(model)
    kinetic, potential = [], []
    for _ in range(200):
        of_links, of_weight = dynamics.energy(simulator.q, simulator.qd)
        kinetic.append(of_links + armature / 2 * simulator.qd @ simulator.qd)
        potential.append(of_weight)
        simulator.step(np.zeros(model.n), steps=50)
    total = np.add(kinetic, potential)
    assert simulator.time == pytest.approx(10)
    assert np.abs(total - total[0]).max() <= 1e-6 * max(kinetic)


@pytest.mark.parametrize(
    "integrator, order", [("semi_implicit_euler", 1), ("implicit", 1), ("rk4", 4)]
)
def test_error_shrinks_with_the_order_of_the_integrator(model, integrator, order):
    q, qd, tau = random_state(model)
    duration = 0.064

    def final_state(time_step, integrator=integrator):
        simulator = started(
            model, q, qd, time_step=time_step, integrator=integrator, damping=0.1, friction=0
        )
        simulator.step(tau, steps=round(duration / time_step))
        return np.concatenate([simulator.q, simulator.qd])

    truth = final_state(duration / 4096, "rk4")
    coarse, fine = (
        np.linalg.norm(final_state(duration / steps) - truth)
        for steps in ((64, 128) if order == 4 else (256, 512))
    )
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.2)


@every_integrator
@pytest.mark.parametrize("armature", [0.0, 0.3], ids=["bare", "with rotors"])
@pytest.mark.parametrize("links", [[], [-1, 2]], ids=["free", "with wrenches"])
def test_acceleration_is_that_of_the_links_and_rotors(model, integrator, links, armature):
    """Rotors add to the diagonal of inertia."""
    q, qd, tau = random_state(model)
    wrenches = [3, -2, 1, 0.3, 0.2, -0.1], np.ones(6)
    f_ext = {model.link_names[k]: wrench for k, wrench in zip(links, wrenches, strict=False)}
    rotors = armature * np.linspace(0.3, 1.7, model.n)
    simulator = started(model, q, qd, integrator=integrator, armature=rotors, **FRICTIONLESS)
    simulator.step(tau, f_ext=f_ext)
    inertia, bias = Dynamics(model).crba(q) + np.diag(rotors), Dynamics(model).bias(q, qd, f_ext)
    assert_equal_to_rounding(simulator.qdd, np.linalg.solve(inertia, tau - bias))


def test_semi_implicit_euler_moves_with_the_new_velocity(model):
    q, qd, tau = random_state(model)
    simulator = started(model, q, qd, time_step=0.002, **FRICTIONLESS)
    simulator.step(tau)
    new_velocity = qd + 0.002 * Dynamics(model).aba(q, qd, tau)
    assert_equal_to_rounding(simulator.qd, new_velocity)
    assert_equal_to_rounding(simulator.q, q + 0.002 * new_velocity)


# Friction ----------------------------------------------------------------------------------------


def test_rk4_decays_as_viscous_friction_does():
    damping, armature, speed = 0.3, 0.01, 2.0
    simulator = started(
        flywheel(), [0.5], [speed], integrator="rk4", damping=damping, armature=armature
    )
    rate = damping / (INERTIA + armature)
    for _ in range(5):
        simulator.step([0], steps=100)
        decayed = np.exp(-rate * simulator.time)
        assert simulator.qd[0] == pytest.approx(speed * decayed, rel=1e-9)
        assert simulator.q[0] == pytest.approx(0.5 + speed / rate * (1 - decayed), rel=1e-9)


STIFF = 100.0  # [N m s/rad]: a rate of 100 / INERTIA = 2,000 per step of 1 ms is 2, the limit


def test_implicit_is_stable_under_damping_that_makes_the_explicit_ones_blow_up():
    final = {}
    for integrator in INTEGRATORS:
        simulator = started(
            flywheel(), [0], [1], integrator=integrator, damping=2 * STIFF, friction=0
        )
        simulator.step([0], steps=30)
        final[integrator] = abs(simulator.qd[0])
    assert final["implicit"] < 1e-12
    assert not final["semi_implicit_euler"] < 1e6
    assert not final["rk4"] < 1e6


@pytest.mark.parametrize("damping", [1.0, 1e3, 1e6])
def test_implicit_brings_an_arm_to_rest_under_any_damping(model, damping):
    kinetic = kinetic_energies(model, 50, integrator="implicit", damping=damping, friction=0)
    assert (np.diff(kinetic) <= 1e-9 * kinetic[0]).all()


def kinetic_energies(model, steps, **parameters):
    """Return that before and after each step, weightless and without torques."""
    q, qd, _ = random_state(model)
    still = model.with_gravity([0, 0, 0])
    simulator, dynamics = started(still, q, qd, **parameters), Dynamics(still)
    kinetic = [dynamics.energy(q, qd)[0]]
    for _ in range(steps):
        simulator.step(np.zeros(model.n))
        kinetic.append(dynamics.energy(simulator.q, simulator.qd)[0])
    return kinetic


@every_integrator
@pytest.mark.parametrize("share", [0.5, -0.999, 1.0])
def test_coulomb_friction_holds_a_joint_under_less_torque_without_creep(integrator, share):
    friction = 0.4
    simulator = started(flywheel(), [0.2], [0], integrator=integrator, friction=friction)
    simulator.step([share * friction], steps=1000)
    assert (simulator.q[0], simulator.qd[0], simulator.qdd[0]) == (0.2, 0, 0)


@every_integrator
@pytest.mark.parametrize("torque", [0.31, 0.5, -10.0])
@pytest.mark.parametrize("time_step", [1e-4, 1e-3, 1e-2])
def test_coulomb_friction_leaves_all_torque_beyond_its_limit(integrator, torque, time_step):
    """However fast the speed grows: not friction times the growth of speed over speed."""
    simulator = started(
        flywheel(), [0], [0], integrator=integrator, friction=0.3, time_step=time_step
    )
    for _ in range(20):
        simulator.step([torque])
        left = torque - np.copysign(0.3, torque)
        assert abs(simulator.qdd[0] * INERTIA / left - 1) <= 1e-12
        assert abs(simulator.qd[0] * INERTIA / (left * simulator.time) - 1) <= 1e-12


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit"])
@each("seed", range(20))
def test_friction_of_many_joints_is_coulombs_law_at_the_end_of_the_step(model, integrator, seed):
    """Who slips feels the limit against its motion; who rests feels no more than the limit."""
    random = np.random.default_rng(seed)
    q, tau = random.uniform(-1, 1, (2, model.n)) * [[1], [20]]
    tau += Dynamics(model).gravity(q)
    # Some are zero, and some change sign within a step.
    qd = random.normal(size=model.n) * random.choice([0, 1e-3, 0.02, 1], model.n)
    friction = random.uniform(0.1, 20, model.n) * random.choice([0, 1, 1, 1], model.n)
    simulator = started(
        model, q, qd, integrator=integrator, friction=friction, armature=0.01, damping=0.2
    )
    simulator.step(tau)
    damped = simulator.qd if integrator == "implicit" else qd
    accelerates = Dynamics(model).rnea(q, qd, simulator.qdd) + 0.01 * simulator.qdd
    felt = accelerates + 0.2 * damped - tau
    slips = simulator.qd != 0
    rounding = 1e-10 * (1 + np.abs(tau).max())
    against = -friction * np.sign(simulator.qd)
    np.testing.assert_allclose(felt[slips], against[slips], rtol=0, atol=rounding)
    assert (np.abs(felt[~slips]) <= friction[~slips] + rounding).all()


@every_integrator
def test_friction_of_one_joint_through_stick_and_slip(integrator):
    """Under a torque that swells and turns: at rest to the last bit, then at most the limit."""
    friction, step = 0.3, 1e-3
    simulator = started(
        flywheel(), [0], [0], integrator=integrator, friction=friction, time_step=step
    )
    speed, stuck, slipped = 0.0, 0, 0
    for torque in 0.4 * np.sin(np.linspace(0, 12, 4000)):
        simulator.step([torque])
        (now,) = simulator.qd
        felt = INERTIA * (now - speed) / step - torque
        assert abs(felt) <= friction * (1 + 1e-9)
        if now:
            assert abs(felt + np.copysign(friction, now)) <= 1e-9 * friction
            slipped += 1
        else:
            stuck += speed == 0
        speed = now
    assert stuck > 500 and slipped > 500


@every_integrator
def test_arm_that_friction_can_hold_stands_still_for_ever(integrator):
    model = ROBOTS["panda"]
    q = (model.lower + model.upper) / 2
    load = Dynamics(model).gravity(q)
    simulator = started(model, q, integrator=integrator, friction=1.01 * np.abs(load) + 1e-3)
    simulator.step(np.zeros(model.n), steps=2000)
    np.testing.assert_array_equal(simulator.q, q)
    np.testing.assert_array_equal(simulator.qd, np.zeros(model.n))


def test_rk4_is_of_order_four_while_joints_go_on_slipping(model):
    """As many of them stick from the beginning to the end."""
    q, qd, _ = random_state(model)
    qd = 2 * np.sign(qd)
    qd[0] = 0
    friction = np.full(model.n, 0.3)
    friction[0] = 1e4
    tau = Dynamics(model).rnea(q, qd, np.zeros(model.n)) + friction * np.sign(qd)

    def final_state(steps):
        simulator = started(
            model, q, qd, time_step=0.064 / steps, integrator="rk4", damping=0, friction=friction
        )
        simulator.step(tau, steps=steps)
        assert simulator.qd[0] == 0
        assert (np.sign(simulator.qd[1:]) == np.sign(qd[1:])).all()
        return np.concatenate([simulator.q, simulator.qd])

    truth = final_state(2048)
    coarse, fine = (np.linalg.norm(final_state(steps) - truth) for steps in (32, 64))
    assert np.log2(coarse / fine) == pytest.approx(4, abs=0.2)


@every_integrator
@pytest.mark.parametrize("friction", [0.1, 10.0, 1e4])
def test_coulomb_friction_never_adds_energy(model, integrator, friction):
    kinetic = kinetic_energies(model, 300, integrator=integrator, damping=0, friction=friction)
    assert (np.diff(kinetic) <= 1e-5 * kinetic[0]).all()
    assert kinetic[-1] < kinetic[0]


def test_none_takes_damping_and_friction_of_the_urdf():
    model = flywheel('<dynamics damping="0.3" friction="0.2"/>')
    by_default, as_given, none = (
        started(model, [0], [1], **parameters)
        for parameters in ({}, {"damping": 0.3, "friction": 0.2}, FRICTIONLESS)
    )
    for simulator in (by_default, as_given, none):
        simulator.step([0], steps=10)
    np.testing.assert_array_equal(by_default.qd, as_given.qd)
    assert by_default.qd[0] < none.qd[0] == 1
    np.testing.assert_array_equal(by_default.damping, [0.3])
    np.testing.assert_array_equal(by_default.friction, [0.2])
    np.testing.assert_array_equal(by_default.armature, [0])


# Stops -------------------------------------------------------------------------------------------

LOWER, UPPER = -0.5, 0.8
LIMITED = f'<limit lower="{LOWER}" upper="{UPPER}" velocity="9" effort="99"/>'

ANY_STOP = [
    (integrator, stiffness, damping)
    for integrator in INTEGRATORS
    for stiffness in (1e2, 1e4, 1e6, 1e8)
    for damping in (0.0, 1e2, 1e4)
    # rk4 is explicit: a stop whose bounce is faster than a step of 1 ms makes it unstable.
    if integrator != "rk4" or max(stiffness * 1e-3, damping) * 1e-3 <= INERTIA
]


@pytest.mark.parametrize("integrator, stiffness, stop_damping", ANY_STOP)
def test_stop_of_any_stiffness_adds_no_energy(integrator, stiffness, stop_damping):
    simulator = started(
        flywheel(LIMITED, "revolute"), [0.7], [2.0], integrator=integrator,
        stop_stiffness=stiffness, stop_damping=stop_damping, **FRICTIONLESS,
    )  # fmt: skip
    for _ in range(500):
        simulator.step([0])
        assert abs(simulator.qd[0]) <= 2.0 * (1 + 1e-9)
    assert LOWER - 0.1 < simulator.q[0] < UPPER + 0.1


@every_integrator
@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_arm_that_bounces_between_its_stops_gains_no_energy(integrator, name):
    """But for the integrator's own error, which a weightless arm shows without stops as well."""
    model = ROBOTS[name].with_gravity([0, 0, 0])
    middle = (model.lower + model.upper) / 2
    speed = 4 * np.resize([1, -1], model.n)
    rotors = {"armature": ROTORS, **FRICTIONLESS}
    simulator = started(
        model, middle, speed, integrator=integrator, stop_stiffness=5e3, stop_damping=5, **rotors
    )
    dynamics = Dynamics(model)

    def energy():
        depth = np.maximum(simulator.q - model.upper, 0) + np.minimum(simulator.q - model.lower, 0)
        deepest.append(np.abs(depth).max())
        stored = 5e3 * depth @ depth + ROTORS * simulator.qd @ simulator.qd
        return dynamics.energy(simulator.q, simulator.qd)[0] + stored / 2

    deepest = []
    energies = [energy()]
    for _ in range(1500):
        simulator.step(np.zeros(model.n))
        energies.append(energy())
    assert 0 < max(deepest) < np.sqrt(2 * energies[0] / 5e3), "no spring holds more than there is"
    assert max(energies) <= energies[0] * 1.02
    assert energies[-1] < 0.9 * energies[0]


@every_integrator
def test_stop_carries_a_load_at_the_depth_of_its_spring(integrator):
    torque = 4.0
    simulator = started(
        flywheel(LIMITED, "revolute"), [0.7], integrator=integrator, **STOPS, **FRICTIONLESS
    )
    simulator.step([torque], steps=3000)
    assert simulator.q[0] == pytest.approx(UPPER + torque / STOPS["stop_stiffness"], abs=1e-6)
    assert abs(simulator.qd[0]) < 1e-6


@every_integrator
@pytest.mark.parametrize("stop_damping", [1.0, 1e2, 1e4])
def test_stop_never_pulls(integrator, stop_damping):
    """A joint that is drawn out of its stop leaves at least as fast as if there were none."""
    parameters = {"integrator": integrator, **FRICTIONLESS}
    for speed in (0.0, -0.5):
        free = started(flywheel(LIMITED, "revolute"), [UPPER + 1e-3], [speed], **parameters)
        stopped = started(
            flywheel(LIMITED, "revolute"), [UPPER + 1e-3], [speed],
            stop_stiffness=10.0, stop_damping=stop_damping, **parameters,
        )  # fmt: skip
        for _ in range(20):
            for simulator in (free, stopped):
                simulator.step([-3.0])
            assert stopped.qd[0] <= free.qd[0] + 1e-12


@pytest.mark.parametrize(
    ("inside", "kind", "stops"),
    [(LIMITED, "revolute", {}), ("", "continuous", STOPS)],
    ids=["not asked for", "without limits"],
)
def test_joint_without_a_stop_goes_on(inside, kind, stops):
    simulator = started(flywheel(inside, kind), [0.7], [2.0], **stops, **FRICTIONLESS)
    simulator.step([0], steps=1000)
    assert simulator.q[0] == pytest.approx(2.7)


# State, steps and batches ------------------------------------------------------------------------

GEARS = {"load": 0.2, "thinning": 0.4}
EVERYTHING = {"damping": 0.2, "friction": 0.3, "armature": 0.1, **STOPS, **GEARS}


def states(simulator):
    return simulator.q, simulator.qd, simulator.qdd


@every_integrator
def test_many_steps_are_single_steps_to_the_last_bit(model, integrator):
    q, qd, tau = random_state(model)
    at_once = started(model, q, qd, integrator=integrator, **EVERYTHING)
    one_by_one = started(model, q, qd, integrator=integrator, **EVERYTHING)
    at_once.step(tau, steps=25)
    for _ in range(25):
        one_by_one.step(tau)
    np.testing.assert_array_equal(states(at_once), states(one_by_one))
    assert at_once.time == one_by_one.time == 25 * 0.001


def test_reset_starts_again(tree):
    q, qd, tau = random_state(tree)
    simulator = started(tree, q, qd, **EVERYTHING)
    simulator.step(tau, steps=10)
    first = states(simulator)
    simulator.reset(q, qd)
    assert simulator.time == 0
    np.testing.assert_array_equal(states(simulator), [q, qd, np.zeros(tree.n)])
    simulator.step(tau, steps=10)
    np.testing.assert_array_equal(states(simulator), first)
    simulator.reset()
    np.testing.assert_array_equal(states(simulator), np.zeros((3, tree.n)))


def test_set_state_leaves_the_time_alone(tree):
    q, qd, tau = random_state(tree)
    simulator = Simulator(tree)
    simulator.step(tau, steps=10)
    simulator.set_state(q, qd)
    assert simulator.time == pytest.approx(0.01)
    np.testing.assert_array_equal(simulator.q, q)
    np.testing.assert_array_equal(simulator.qd, qd)
    simulator.set_state(qd)
    np.testing.assert_array_equal(simulator.qd, np.zeros(tree.n))


def test_state_given_or_taken_is_a_copy(tree):
    q, qd, tau = random_state(tree)
    given = q.copy(), qd.copy(), tau.copy()
    simulator = started(tree, q, qd)
    taken = simulator.q
    simulator.step(tau, steps=3)
    np.testing.assert_array_equal((q, qd, tau), given)
    np.testing.assert_array_equal(taken, q)
    simulator.q[:] = np.nan
    simulator.qd[:] = np.nan
    assert np.isfinite(states(simulator)).all()


def test_time_does_not_drift():
    simulator = Simulator(flywheel(), time_step=0.1)
    for _ in range(1000):
        simulator.step([0])
    assert simulator.time == 1000 * 0.1


@every_integrator
@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e200])
def test_state_that_is_no_longer_finite_raises_with_joint_and_time(tree, integrator, poison):
    q, qd, tau = random_state(tree)
    simulator = started(tree, q, qd, integrator=integrator, **EVERYTHING)
    simulator.step(tau, steps=2)
    before = states(simulator)
    with pytest.raises(DivergenceError, match=r"'joint\d' is not finite at 0.00\d s") as error:
        simulator.step(np.full(tree.n, poison), steps=7)
    joint, time, row = error.value.args
    assert joint in tree.joint_names and row is None and 0.003 <= time <= 0.009
    np.testing.assert_array_equal(states(simulator), before)
    assert simulator.time == 0.002
    simulator.step(tau)
    assert np.isfinite(states(simulator)).all()


def test_divergence_names_the_row_of_a_batch(tree):
    q, qd, tau = random_state(tree, 21)
    simulator = started(tree, q, qd)
    tau[17, 2] = np.nan
    with pytest.raises(DivergenceError, match=r"in row 17 of the batch is not finite at 0.001 s"):
        simulator.step(tau, steps=5)
    np.testing.assert_array_equal(simulator.q, q)


def test_divergence_names_the_time_after_many_steps():
    """Euler's method is unstable for a stop that is not."""
    model = flywheel()
    simulator = started(model, [0], [1], damping=2 * STIFF, friction=0)
    with pytest.raises(DivergenceError) as error:
        simulator.step([0], steps=10**6)
    _, time, _ = error.value.args
    last = round(time / 0.001)
    simulator.step([0], steps=last - 1)
    with pytest.raises(DivergenceError, match=f"at {time:.9g} s"):
        simulator.step([0])


@pytest.mark.parametrize("size", [(), (3,)], ids=["one state", "batch"])
def test_ctrl_c_ends_long_steps_and_leaves_the_state(tree, size):
    q, qd, tau = random_state(tree, *size)
    simulator = started(tree, q, qd, **EVERYTHING)
    simulator.step(tau)
    before = states(simulator)
    with interrupted(lambda: is_refused(lambda: simulator.step(tau, steps=0))):
        simulator.step(0 * tau, steps=10**12)
    np.testing.assert_array_equal(states(simulator), before)
    assert simulator.time == 0.001
    simulator.step(tau)


class NamedSimulator(Simulator):
    """A subclass with an argument and an attribute of its own."""

    def __init__(self, model, name, **settings):
        super().__init__(model, **settings)
        self.name = name


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_and_pickles_go_on_alike_and_apart(tree, duplicate):
    q, qd, tau = random_state(tree)
    simulator = NamedSimulator(tree, "left", **EVERYTHING)
    simulator.reset(q, qd)
    simulator.step(tau)
    other = duplicate(simulator)
    assert type(other) is NamedSimulator and other.name == "left"
    assert other.time == simulator.time
    before = states(simulator)
    other.step(tau, steps=5)
    np.testing.assert_array_equal(states(simulator), before)
    simulator.step(tau, steps=5)
    np.testing.assert_array_equal(states(other), states(simulator))


def test_refused_call_leaves_the_steps_of_the_other_thread_alone(tree):
    q, qd, tau = random_state(tree, 4000)
    alone, disturbed = started(tree, q, qd), started(tree, q, qd)

    def work():
        with contextlib.suppress(RuntimeError):  # the other one was at work first
            disturbed.step(tau, steps=40)
            done.append(True)

    refused, done = 0, []
    while not refused or not done:  # this thread may get no processor until the other is done
        worker = threading.Thread(target=work)
        worker.start()
        while worker.is_alive():
            refused += is_refused(lambda: disturbed.step(tau, steps=0))
        worker.join()
    for _ in done:
        alone.step(tau, steps=40)
    np.testing.assert_array_equal(states(disturbed), states(alone))


@pytest.mark.parametrize("meddles", ["sets the state", "steps"])
def test_what_happens_while_the_wrenches_are_read_leaves_the_step_alone(tree, meddles):
    """Another thread may do so, or a mapping that does more than it says."""

    class Meddling(dict):
        def items(self):
            if meddles == "steps":
                simulator.step(tau, steps=2)
            else:
                simulator.set_state(np.full(tree.n, 9.0))
                self.memory = np.full((50, tree.n), 7.0).tolist(), [np.full(tree.n, 7.0)] * 50
            return {}.items()

    q, qd, tau = random_state(tree)
    expected, simulator = started(tree, q, qd), started(tree, q, qd)
    expected.step(tau)
    simulator.step(tau, f_ext=Meddling())
    np.testing.assert_array_equal(states(simulator), states(expected))


# Errors ------------------------------------------------------------------------------------------


HOIST = Model.from_urdf(
    robot(link("base"), link("cage", 2.0), joint("rope", "base", "cage", "prismatic"))
)
LOADED = {"friction": 3.0, "load": 0.2, "damping": 0.0}
WEIGHT = 2.0 * 9.81


@every_integrator
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_loaded_gear_sticks_up_to_what_its_load_adds(integrator, up):
    """f = friction + load * weight, beside the weight itself."""
    limit = WEIGHT + up * (3.0 + 0.2 * WEIGHT)
    simulator = Simulator(HOIST, integrator=integrator, **LOADED)
    simulator.step([limit - 1e-3 * up], 100)
    assert simulator.qd[0] == 0.0
    simulator.step([limit + 1e-3 * up], 100)
    assert up * simulator.qd[0] > 0.0


@every_integrator
@pytest.mark.parametrize("speed", [0.7, -0.7])
@pytest.mark.parametrize("torque", [60.0, WEIGHT, 2.0, -30.0])
def test_a_loaded_gear_takes_its_share_of_the_torque(integrator, speed, torque):
    """torque = carried + (friction + load |carried|) sign(qd)."""
    simulator = started(HOIST, [0.0], [speed], time_step=1e-5, integrator=integrator, **LOADED)
    simulator.step([torque])
    carried = 2.0 * (simulator.qdd[0] + 9.81)
    friction = (3.0 + 0.2 * abs(carried)) * np.sign(speed)
    assert carried + friction == pytest.approx(torque, abs=1e-9)


@every_integrator
def test_speed_thins_the_damping(integrator):
    thinned = {"friction": 0.0, "damping": 6.0, "thinning": 0.5}
    simulator = started(HOIST, [0.0], [4.0], time_step=1e-6, integrator=integrator, **thinned)
    simulator.step([WEIGHT])
    assert simulator.qdd[0] == pytest.approx(-6.0 * 4.0 / (1 + 0.5 * 4.0) / 2.0, rel=1e-4)


PARAMETERS = (
    *("damping", "friction", "armature", "stop_stiffness", "stop_damping"), "load", "thinning"
)  # fmt: skip


@each("name", PARAMETERS)
def test_a_parameter_is_one_or_one_for_each_joint_and_kept_as_given(tree, name):
    np.testing.assert_array_equal(
        getattr(Simulator(tree, **{name: 0.25}), name), np.full(tree.n, 0.25)
    )
    given = np.full(tree.n, 0.5)
    simulator = Simulator(tree, **{name: given})
    given[:] = -1
    np.testing.assert_array_equal(getattr(simulator, name), np.full(tree.n, 0.5))


NUMBERS, TREE = "expected an array of numbers: got ", ROBOTS["tree"]
INFINITE = (np.nan, np.inf, -np.inf)
SHAPE, ZERO = r"expected shape \(6,\)", np.zeros(6)
FINITE = "expected finite .* of joint 'joint3'"
NOT_FINITE = [np.where(np.arange(18).reshape(3, 6) == 8, x, 0.0) for x in (np.nan, np.inf)]


def refused_state(what, error, *arguments):
    """Return rows of what neither ``reset`` nor ``set_state`` takes."""
    calls = (
        lambda name=name: getattr(Simulator(TREE), name)(*arguments)
        for name in ("reset", "set_state")
    )
    return [(ValueError, f"^{what}: {error}", call) for call in calls]


def refused_step(what, error, *arguments, kind=ValueError, **options):
    def call():
        simulator = started(TREE, 0.1 * np.ones(6))
        before = states(simulator)
        try:
            simulator.step(*arguments, **options)
        finally:
            np.testing.assert_array_equal(states(simulator), before)
            assert simulator.time == 0

    return kind, f"^{what}: {error}" if kind is ValueError else error, call


test_what_no_simulator_takes_is_refused_by_name_and_changes_nothing = refusals(
    *((ValueError, f"^time_step: expected a positive .*, got {float(x)}",
       partial(Simulator, TREE, time_step=x)) for x in (0, -0.001, *INFINITE)),
    (ValueError, "^integrator: expected one of .*rk4, got 'leapfrog'",
     lambda: Simulator(TREE, integrator="leapfrog")),
    (ValueError, r"^load: expected less than 1, got 1\.0", lambda: Simulator(HOIST, load=1.0)),
    *((ValueError, f"^{name}: {error}", partial(Simulator, TREE, **{name: value}))
      for name in PARAMETERS
      for error, value in [
          *(("expected finite values >= 0", x) for x in (-1.0, *INFINITE, [0] * 5 + [-1])),
          (SHAPE + r" or a scalar, got \(5,\)", np.zeros(5)),
          *((NUMBERS, [x] * 6) for x in ("1", 1j)),
      ]),
    *(row for x in ("1", None, 1j) for row in refused_state("q", NUMBERS, [x] * 6)),
    *(row for x in ("1", None, 1j) for row in refused_state("qd", NUMBERS, ZERO, [x] * 6)),
    *(row for x in NOT_FINITE for row in refused_state("q", FINITE, x)),
    *(row for x in NOT_FINITE for row in refused_state("qd", FINITE, np.zeros((3, 6)), x)),
    *refused_state("q", SHAPE + r" or \(B, 6\), got \(5,\)", ZERO[:5]),
    *refused_state("qd", SHAPE + r".*, got \(2, 5\)", ZERO, np.zeros((2, 5))),
    *(refused_step("tau", NUMBERS, [x] * 6) for x in ("1", None, 1j)),
    refused_step("tau", SHAPE + r".*, got \(5,\)", ZERO[:5]),
    refused_step("tau", SHAPE + r".*, got \(2, 6\)", np.zeros((2, 6))),
    refused_step("steps", "expected .*, got -1", ZERO, steps=-1),
    refused_step("", "no link 'gripper'; valid names: link0", ZERO, f_ext={"gripper": ZERO},
                 kind=KeyError),
)  # fmt: skip


def test_step_raises_if_a_joint_moves_no_inertia_unless_it_has_an_armature():
    spindle = Model.from_urdf(
        robot(
            link("base"),
            link("rod", 1, "0 0 0.3", (0, 0, 0)),
            joint("turn", "base", "rod"),
        )
    )
    simulator = started(spindle, [0.5], [0.25])
    with pytest.raises(SingularInertiaError, match="joint 'turn' moves no inertia"):
        simulator.step([1.0], steps=10)
    np.testing.assert_array_equal([simulator.q, simulator.qd], [[0.5], [0.25]])
    with_rotor = started(spindle, [0], armature=0.1)
    with_rotor.step([1.0])
    assert relative_error(with_rotor.qdd, [10.0]) < 1e-12

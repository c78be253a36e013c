"""Gains from the model, and the stability of the sampled loop, against simulated closed loops."""

from collections import deque

import control_arm
import numpy as np
import pytest
import urdf_text
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS
from studies import few_or_all, study

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros import errors as fr_errors
from featherstone_ros.control.choices import TimingError
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    SampledLoop,
    Timing,
    choose,
    error_of_friction,
    postures,
    unstable,
)
from featherstone_ros.control.settings import Mode
from featherstone_ros.model.robots import robot_file

ARMS = ("kinova", "xarm7", "ur5_robot", "ur10_robot", "z1", "so100", "talos_left_arm")
PATHS = [
    *map(robot_file, ("panda", "ur5e")),
    *(path for path in ROBOTS if path.stem in ARMS),
]
every_arm = pytest.mark.parametrize("path", PATHS)
unlike_arms = pytest.mark.parametrize(
    "path",
    [path for path in PATHS if path.stem in ("panda", "so100", "talos_left_arm")],
)
both_laws = pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
timings = pytest.mark.parametrize(
    "timing", [Timing(0.002, 0.0), study(Timing(0.001, 0.0025)), Timing(0.002, 0.002)], ids=str
)
MAX_JOINTS = 16  # of a robot in tests of all: the others take long, and have such limbs
SMALL = 1e-8  # [rad or m] so that the loop is as good as linear
STEPS = 10  # of the simulation, per period


def simulate(model, q, loop, p, d, x, periods):
    """Return the largest error at each sample of a loop with delay that starts x off posture q."""
    dynamics, timing = Dynamics(model), loop.timing
    sim = Simulator(model, timing.period / STEPS, "rk4", damping=0.0, friction=0.0)
    sim.reset(q + x)
    late = round(timing.delay / timing.period * STEPS)
    hold = dynamics.gravity(q)
    coming = deque([hold] * (late + 1), late + 1)
    errors = []
    for _ in range(periods):
        e, ed = q - sim.q, -sim.qd
        errors.append(np.abs(e).max())
        if loop.computed:
            tau = dynamics.rnea(sim.q, sim.qd, p * e + d * ed)
        else:
            tau = hold + p * e + d * ed
        for _ in range(STEPS):
            coming.append(tau)
            sim.step(coming[0])
    return np.array(errors)


def radius(loop, p, d):
    """Return the growth per period in each posture (B,)."""
    return np.abs(np.linalg.eigvals(loop.transition(p, d))).max(axis=1)


def predict(loop, p, d, x, periods):
    """Return the same by powers of the transition matrix."""
    (A,) = loop.transition(p, d)
    z = np.zeros(len(A))
    z[: len(x)] = x
    errors = []
    for _ in range(periods):
        errors.append(np.abs(z[: len(x)]).max())
        z = A @ z
    return np.array(errors)


@unlike_arms
def test_a_joint_moves_least_with_all_others_free_and_most_with_them_at_rest(path):
    model = Model.from_file(path)
    M, loop = Dynamics(model).crba(postures(model)), SampledLoop(model)
    free, held = (np.diagonal(each, axis1=1, axis2=2) for each in (np.linalg.inv(M), M))
    np.testing.assert_allclose(loop.lightest, (1.0 / free).min(axis=0), rtol=1e-9)
    np.testing.assert_allclose(loop.heaviest, held.max(axis=0), rtol=1e-9)


@unlike_arms
@both_laws
@timings
@pytest.mark.parametrize("factor", [1.0, 20.0], ids="{:g} times the gains".format)
def test_the_linear_loop_predicts_the_simulated_one(path, mode, timing, factor):
    model = Model.from_file(path)
    q = postures(model)[1]
    chosen = choose(SampledLoop(model, timing=timing, mode=mode), 8.0, 1.0)
    p, d = factor * chosen.p, factor * chosen.d
    loop = SampledLoop(model, timing=timing, at=q, mode=mode)
    x = SMALL * np.random.default_rng(3).standard_normal(model.n)
    expected = predict(loop, p, d, x, 80)
    linear = np.maximum.accumulate(expected) < 1e-6  # until then: what diverges is not small
    got = simulate(model, q, loop, p, d, x, int(linear.sum()))
    np.testing.assert_allclose(got, expected[linear], rtol=1e-2, atol=1e-3 * SMALL)


@unlike_arms
@both_laws
@timings
def test_chosen_gains_are_stable_with_margin_everywhere(path, mode, timing):
    model = Model.from_file(path)
    loop = SampledLoop(model, timing=timing, mode=mode)
    gains = choose(loop, 8.0, 1.0)
    assert loop.is_stable(gains.p, gains.d)
    everywhere = postures(model, 60, seed=4)
    elsewhere = SampledLoop(model, timing=timing, at=everywhere, mode=mode)
    assert radius(elsewhere, gains.p, gains.d).max() < 1.0 + 1e-6


@pytest.mark.parametrize(
    "path",
    few_or_all(
        [path for path in UNLIKE_ROBOTS if path.name not in MASSLESS_JOINTS],
        [path for path in ROBOTS if path.name not in {EMPTY, *MASSLESS_JOINTS}],
    ),
)
def test_default_gains_of_every_robot_with_rotors_are_stable_with_margin(path):
    model = Model.from_file(path)
    if not 0 < model.n <= MAX_JOINTS:
        pytest.skip(f"{model.n} joints")
    loop = SampledLoop(model, 0.05 * SampledLoop(model).heaviest)
    for mode in (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE):
        under = loop.under(mode)
        gains = choose(under, BANDWIDTH, DAMPING_RATIO, model.friction)
        assert under.is_stable(gains.p, gains.d)


@every_arm
@both_laws
def test_friction_that_is_wrong_costs_little_where_the_loop_bears_it(path, mode):
    """0.8 N m at each joint, and rotors of 0.1 kg m^2: 64 to 113 mrad with 8 rad/s."""
    model = Model.from_file(path)
    loop = SampledLoop(model, 0.1, mode=mode)
    gains = choose(loop, BANDWIDTH, DAMPING_RATIO, 0.8)
    assert error_of_friction(loop, gains.p, 0.8).max() <= 0.005 * (1.0 + 1e-9)


def test_friction_asks_for_more_than_the_bandwidth_up_to_a_bound():
    loop = SampledLoop(Model.from_urdf(urdf_text.chain("only")), 0.1, Timing(0.001, 0.0))
    m = loop.heaviest
    for coulomb in (0.0, 5.0, 1000.0):
        gains = choose(loop, 10.0, 1.0, coulomb)
        wanted = np.sqrt(0.3 * coulomb / 0.005 / m)
        np.testing.assert_allclose(gains.bandwidth, np.clip(wanted, 10.0, 100.0))
        assert not gains.reduced
        np.testing.assert_allclose(gains.d, 2.0 * np.sqrt(m * gains.p))


@every_arm
@timings
def test_default_gains_are_stable_without_measured_velocities(path, timing):
    """The estimate's filter of 30 Hz is a delay of 5.3 ms, here of the whole loop."""
    model = Model.from_file(path)
    loop = SampledLoop(model, 0.1, timing)
    gains = choose(loop, BANDWIDTH, DAMPING_RATIO)
    late = Timing(timing.period, timing.delay + 1.0 / (2.0 * np.pi * 30.0))
    assert radius(loop.at(late), gains.p, gains.d).max() < 1.02


@every_arm
def test_what_the_check_advises_is_stable(path):
    model = Model.from_file(path)
    loop = SampledLoop(model)
    chosen = choose(loop, 8.0, 1.0)
    gains = np.stack([np.full(model.n, 600.0), np.full(model.n, 50.0)])
    findings = unstable(loop, gains, [chosen.p, chosen.d])
    assert findings
    for finding in findings:
        np.testing.assert_array_equal(finding.given, gains[:, finding.joint])
        gains[:, finding.joint] = finding.advised
    assert loop.is_stable(*gains)


@pytest.mark.parametrize(
    ("gain", "value", "words"),
    [("d", 200.0, "swings up at"), ("p", 0.0, "gravity tips"), ("d", 0.0, "swings up at")],
)
def test_the_joint_with_the_bad_gain_is_named(gain, value, words):
    model = Model.from_file(robot_file("ur5e"))
    loop = SampledLoop(model, armature=0.5)
    gains = choose(loop, 8.0, 1.0)
    wrong = {"p": gains.p.copy(), "d": gains.d.copy()}
    joint = model.joint_names.index("elbow_joint")
    if gain == "d" and not value:
        wrong["p"][joint] = 3000.0
    wrong[gain][joint] = value
    (finding,) = unstable(loop, list(wrong.values()), [gains.p, gains.d])
    assert finding.joint == joint and words in str(finding.mode)


def test_a_slow_loop_gets_slower_joints_and_says_which():
    model = Model.from_file(robot_file("panda"))
    fast = choose(SampledLoop(model, timing=Timing(0.001, 0.0)), 8.0, 1.0)
    slow = choose(SampledLoop(model, timing=Timing(0.002, 0.002)), 8.0, 1.0)
    assert slow.reduced and set(fast.reduced) <= set(slow.reduced)
    assert all(0.0 < bandwidth < 8.0 for bandwidth in slow.reduced.values())
    assert slow.d.sum() < fast.d.sum()


def test_acceleration_gains_are_those_of_the_bandwidth():
    model = Model.from_file(robot_file("ur5e"))
    loop = SampledLoop(model, mode=Mode.COMPUTED_TORQUE)
    gains = choose(loop, 8.0, 0.7)
    np.testing.assert_allclose(gains.p, 64.0)
    np.testing.assert_allclose(gains.d, 11.2)


def test_gains_that_no_loop_can_have_are_refused_with_joint_and_remedy():
    model = Model.from_file(robot_file("panda"))
    loop = SampledLoop(model, timing=Timing(0.005, 0.01))
    with pytest.raises(ValueError, match=r"'panda_joint3'.*period 5 ms, delay 10 ms.*`armature`"):
        choose(loop, 8.0, 1.0)


def test_more_periods_of_delay_than_a_loop_can_have_are_refused():
    """The loop's states would not fit into memory."""
    Timing(0.001, 0.02)
    with pytest.raises(TimingError, match=r"^delay is 1 s, 1000 periods of 0.001 s; expected"):
        Timing(0.001, 1.0)


def test_gains_that_only_the_margin_makes_strong_enough_for_gravity_are_not_stable():
    model = control_arm.model()
    loop = SampledLoop(model)
    p = loop.gravity_gain
    d = np.array([10.0, 1.0])
    assert loop.is_stable(1.5 * p, d)
    assert not loop.is_stable(0.75 * p, d)


@pytest.mark.parametrize(
    ("before", "after", "error", "words"),
    [
        ('iyz="0"', 'iyz="-0.1"', fr_errors.ModelError, "joint '.' moves links whose inertia"),
        ('xyz="0 0 0.1"', 'xyz="0 0 1e16"', fr_errors.SingularInertiaError, "joint '.' moves no"),
    ],
)
def test_an_inertia_that_no_body_has_is_refused_by_joint(before, after, error, words):
    """The search for gains would not end."""
    body = {"com": "0 0 0.1", "inertia": (0.01, 0.01, 0.005, 0, 0, 0)}
    links = [urdf_text.link("l0", None), *(urdf_text.link(f"l{k}", **body) for k in (1, 2, 3))]
    inside = '<limit effort="50" velocity="3"/>'
    joints = (
        urdf_text.joint(f"{k}", f"l{k - 1}", f"l{k}", "continuous", inside, axis=axis)
        for k, axis in enumerate(("0 0 1", "0 1 0", "1 0 0"), 1)
    )
    links[-1] = links[-1].replace(before, after)
    text = urdf_text.robot(*links, *joints)
    with pytest.raises(error, match=words):
        SampledLoop(Model.from_urdf(text))

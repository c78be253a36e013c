"""Gains and damping from the model, and the sampled loop's stability, against simulated loops."""

from collections import deque
from itertools import product

import control_arm
import numpy as np
import pytest
import urdf_text
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS
from refusals import refusals
from studies import few_or_all

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.control.choices import TimingError
from featherstone_ros.control.gains import (
    BANDWIDTH,
    BRAKING,
    DAMPING_RATIO,
    GUIDING,
    NoStableGainsError,
    SampledLoop,
    Timing,
    choose,
    choose_damping,
    choose_fault_damping,
    error_of_friction,
    postures,
    unstable,
    wanted_damping,
)
from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import ModelError, SingularInertiaError
from featherstone_ros.model.robots import robot_file

ARMS = ("kinova", "xarm7", "ur5_robot", "ur10_robot", "z1", "so100", "talos_left_arm")
PATHS = [
    *map(robot_file, ("panda", "ur5e")),
    *(path for path in ROBOTS if path.stem in ARMS),
]
UNLIKE = [path for path in PATHS if path.stem in ("panda", "so100", "talos_left_arm")]
unlike_arms = pytest.mark.parametrize("path", UNLIKE)
every_arm = pytest.mark.parametrize("path", few_or_all(UNLIKE, PATHS))
LAWS = (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE)
both_laws = pytest.mark.parametrize("mode", LAWS)
TIMINGS = (Timing(0.002, 0.002), Timing(0.002, 0.0), Timing(0.001, 0.0025))
loops = pytest.mark.parametrize(
    ("mode", "timing"),
    few_or_all(list(zip(LAWS, TIMINGS, strict=False)), product(LAWS, TIMINGS)),
    ids=str,
)
MAX_JOINTS = 16  # of a robot in tests of all: the others take long, and have such limbs
SMALL = 1e-8  # [rad or m] so that the loop is as good as linear
STEPS = 4  # of the simulation, per period


def simulate(model, q, qd, hold, law, timing, periods):
    """Yield q, qd at each sample of a frictionless arm, whose law takes the place of hold late."""
    sim = Simulator(model, timing.period / STEPS, "rk4", damping=0.0, friction=0.0)
    sim.reset(q, qd)
    late = round(timing.delay / timing.period * STEPS)
    coming = deque([hold] * (late + 1), late + 1)
    for _ in range(periods):
        yield sim.q, sim.qd
        tau = law(sim.q, sim.qd)
        for _ in range(STEPS):
            coming.append(tau)
            sim.step(coming[0])


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
@loops
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
    dynamics = Dynamics(model)
    hold = dynamics.gravity(q)

    def law(at, qd):
        correction = p * (q - at) - d * qd
        return dynamics.rnea(at, qd, correction) if loop.computed else hold + correction

    run = simulate(model, q + x, np.zeros(model.n), hold, law, timing, int(linear.sum()))
    got = [np.abs(q - at).max() for at, _ in run]
    np.testing.assert_allclose(got, expected[linear], rtol=1e-2, atol=1e-3 * SMALL)


@unlike_arms
@loops
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
        [*PATHS[:2], *(p for p in ROBOTS if p.stem in ("a1", "double_pendulum_continuous"))],
        [*PATHS[:2], *(path for path in ROBOTS if path.name not in {EMPTY, *MASSLESS_JOINTS})],
    ),
)
def test_defaults_of_every_robot_are_stable_with_margin(path):
    """Gains with rotors, damping of the gravity hold and of a fault without."""
    model = Model.from_file(path)
    if not 0 < model.n <= MAX_JOINTS:
        pytest.skip(f"{model.n} joints")
    bare = SampledLoop(model)
    loop = SampledLoop(model, 0.05 * bare.heaviest)
    for mode in LAWS:
        under = loop.under(mode)
        gains = choose(under, BANDWIDTH, DAMPING_RATIO, model.friction)
        assert under.is_stable(gains.p, gains.d)
    dampings = default_dampings(model, bare)
    assert (dampings[0] > 0.0).all() and (dampings[1] >= dampings[0]).all()
    for damping in dampings:
        assert bare.under(Mode.GRAVITY_COMPENSATION).is_stable(np.zeros(model.n), damping)


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
@pytest.mark.parametrize("timing", few_or_all(TIMINGS[:1], TIMINGS), ids=str)
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


def test_gains_that_only_the_margin_makes_strong_enough_for_gravity_are_not_stable():
    model = control_arm.model()
    loop = SampledLoop(model)
    p = loop.gravity_gain
    d = np.array([10.0, 1.0])
    assert loop.is_stable(1.5 * p, d)
    assert not loop.is_stable(0.75 * p, d)


BODY = {"com": "0 0 0.1", "inertia": (0.01, 0.01, 0.005, 0, 0, 0)}
SWIVEL = urdf_text.robot(
    urdf_text.link("l0", None), *(urdf_text.link(f"l{k}", **BODY) for k in (1, 2)), "{}",
    *(urdf_text.joint(f"{k}", f"l{k - 1}", f"l{k}", "continuous", axis=axis)
      for k, axis in enumerate(("0 0 1", "0 1 0", "1 0 0"), 1))
)  # fmt: skip


def gains_of(urdf=SWIVEL, delay=0.002, **last):
    urdf = urdf.format(urdf_text.link("l3", **BODY | last))
    return choose(SampledLoop(Model.from_urdf(urdf), timing=Timing(0.002, delay)), 8.0, 1.0)


# Of an inertia that no body has, the search would not end; of too many periods, memory would.
test_loops_that_cannot_be_are_refused = refusals(
    (NoStableGainsError, "'inner'.*period 2 ms, delay 2 ms.*`armature`",
     {"urdf": urdf_text.geared_arm()}),
    (TimingError, "^delay is 1 s, 500 periods of 0.002 s; expected at most 20", {"delay": 1.0}),
    (ModelError, "joint '.' moves links whose inertia", {"inertia": (0.01, 0.01, 0.01, 0, 0, 1)}),
    (SingularInertiaError, "joint '.' moves no", {"com": "0 0 1e16"}),
    of=gains_of,
)  # fmt: skip


DELAYS = (0.0, 0.005, 0.002)  # [s]
SILENCE, CUTOFF = 0.1, 30.0  # state_timeout [s] and velocity_cutoff [Hz]


def default_damping(model, loop):
    return choose_damping(loop, wanted_damping(model, loop), SILENCE)


def default_dampings(model, loop):
    """Return the default damping of the gravity hold, and of a fault."""
    held = default_damping(model, loop).value
    return held, choose_fault_damping(model, loop, held, CUTOFF)


@pytest.mark.parametrize(
    ("path", "delay"),
    few_or_all(list(zip(PATHS[1:4], DELAYS, strict=True)), product(PATHS, DELAYS)),
)
def test_a_push_decays_without_friction(path, delay):
    model = Model.from_file(path)
    dynamics = Dynamics(model)
    loop = SampledLoop(model, timing=Timing(0.002, delay))
    for damping in default_dampings(model, loop):
        law = lambda q, qd, damping=damping: dynamics.gravity(q) - damping * qd  # noqa: E731
        for i, q in enumerate(postures(model, 2, seed=5)):
            qd = np.zeros(model.n)
            qd[-1 - i % model.n] = 0.05
            run = simulate(model, q, qd, law(q, qd), law, loop.timing, 300)
            energy = np.array([0.5 * v @ dynamics.crba(at) @ v for at, v in run])
            assert energy.max() < 1.02 * energy[0]
            assert energy[-1] < energy[0]


@every_arm
def test_hand_guiding_gets_what_it_wants_with_rotors(path):
    model = Model.from_file(path)
    loop = SampledLoop(model, armature=5.0)
    limited = np.isfinite(model.effort_limit) & np.isfinite(model.velocity_limit)
    wanted = GUIDING * model.effort_limit / model.velocity_limit
    held, in_fault = default_dampings(model, loop)
    assert (held[limited] > wanted[limited] * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(in_fault[limited], BRAKING / GUIDING * wanted[limited])


def test_a_joint_without_limits_coasts_for_a_second_once_it_is_let_go():
    """To 1/e of its speed, as a link that is led by hand."""
    for share, limit in ((GUIDING, ""), (BRAKING, '<limit effort="0" velocity="2"/>')):
        table = urdf_text.chain("turntable", kind="continuous", axis="0 0 1", inside=limit)
        loop = SampledLoop(model := Model.from_urdf(table))
        damping = wanted_damping(model, loop, share)
        sim = Simulator(model, 1e-3, damping=0.0, friction=0.0)
        sim.reset([0.0], [1.0])
        for _ in range(1000):
            sim.step(-damping * sim.qd)
        assert np.log(sim.qd[0]) == pytest.approx(-share / GUIDING, rel=0.02)


def check(loop, damping, chosen, margin=2.0):
    """Return what is unstable with a damping (n,), where another is chosen."""
    none = np.zeros_like(damping)
    law = loop.under(Mode.GRAVITY_COMPENSATION)
    return unstable(law, [none, damping], [none, chosen.value], margin)


@every_arm
def test_damping_beyond_the_bound_is_named(path):
    model = Model.from_file(path)
    loop = SampledLoop(model)
    chosen = default_damping(model, loop)
    assert check(loop, chosen.value, chosen) == []
    for i in {0, model.n // 2, model.n - 1}:
        damping = chosen.value.copy()
        damping[i] = 2.0 * loop.heaviest[i] / loop.timing.period
        (finding,) = check(loop, damping, chosen, 1.0)
        assert finding.joint == i and "with period 2 ms, delay 2 ms" in str(finding.mode)
        assert "swings up" in str(finding.mode) and not finding.mode.creeps
        assert finding.advised[1] == chosen.value[i]


def test_too_little_damping_lets_late_gravity_drive_an_arm_that_is_upright():
    model = Model.from_file(robot_file("panda"))
    loop = SampledLoop(model, 0.5, Timing(0.002, 0.02))
    chosen = choose_damping(loop, wanted_damping(model, loop))
    shoulder = 1
    damping = chosen.value.copy()
    damping[shoulder] = 0.02 * chosen.value[shoulder]
    (finding,) = check(loop, damping, chosen, 1.0)
    assert finding.joint == shoulder and finding.mode.creeps
    assert "gravity tips the joint over" in str(finding.mode)


def test_a_fault_is_damped_for_velocities_that_the_estimate_delays():
    model = Model.from_file(robot_file("ur5e"))
    loop = SampledLoop(model, timing=Timing(0.001, 0.02))  # as many periods late as may be
    slow = loop.at(Timing(0.01, 0.02 + 1.0 / (2.0 * np.pi * 30.0)))
    held = np.full(model.n, 1e-3)
    expected = choose_damping(slow, wanted_damping(model, loop, BRAKING)).value
    np.testing.assert_array_equal(choose_fault_damping(model, loop, held, CUTOFF), expected)


@every_arm
def test_when_states_stop_the_last_damping_does_not_throw_the_arm(path):
    """It then acts for state_timeout, and reverses the motion at most."""
    model = Model.from_file(path)
    loop = SampledLoop(model, timing=Timing(0.002, 0.0))
    chosen = default_damping(model, loop)
    late = choose_damping(loop, np.zeros(model.n)).value  # what late gravity needs comes first
    mobility = np.linalg.inv(Dynamics(model).crba(postures(model, 40, seed=7)))
    root = np.sqrt(np.where(chosen.value > 1.01 * late, chosen.value, 0.0))
    decay = np.linalg.eigvalsh(mobility * np.outer(root, root)).max()
    assert decay * SILENCE < 2.2

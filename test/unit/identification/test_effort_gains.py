"""Torque per unit of effort from recordings: currents by a known load, deflections by the links."""

from dataclasses import replace

import known_arm
import numpy as np
import pytest
from example_robots import example_robot
from known_arm import NAMES, NOISE, NOMINAL
from refusals import refusals
from studies import study

import featherstone_ros as fr
from featherstone_ros.identification import IdentificationError, gains_by_links, gains_by_load
from featherstone_ros.identification.effort_gains import EffortGains
from featherstone_ros.identification.recording import Recording

GAINS = np.array([14.0, -13.0, 11.0, 10.5, -11.0, 9.0])  # [N m/A]
STIFFNESS = np.array([900.0, 800.0, 500.0, -200.0, 150.0, 60.0])  # [N m/rad]
MASS = 3.0
LOADED = NOMINAL.with_payload("tool0", MASS, [0.04, -0.03, 0.12], 0.01 * np.eye(3))


def recording(model, unit, noise, motion=1, carried=0.0):
    """Return a recording of a motion, its efforts in drives' units.

    Friction of gears that bear a torque: ``carried`` times its root.
    """
    time, q, qd, qdd = known_arm.motion(20.0, seed=motion)
    random = np.random.default_rng(noise)
    tau = fr.Dynamics(model).rnea(q, qd, qdd) + known_arm.torque(known_arm.DRIVES, qd, qdd)
    tau += carried * np.sqrt(np.abs(tau)) * np.tanh(qd / 0.01)
    tau += NOISE * random.standard_normal(q.shape)
    qd = qd + 1e-3 * random.standard_normal(q.shape)
    return Recording(f"run {noise}", NAMES, time, q, qd, tau / unit)


def pair(seed, carried=0.0):
    """Return the same motion with and without the load."""
    loaded = recording(LOADED, GAINS, seed, seed, carried)
    return loaded, recording(NOMINAL, GAINS, seed + 50, seed, carried)


@pytest.mark.parametrize("carried", [0.0, 0.3, study(-0.3)])
def test_currents_by_a_known_load(carried):
    """Constants, directions, and intervals that hold what is true, but for the first joint: the
    load's weight never reaches it. Also where gears bear loads by another law.
    """
    scores = []
    for seed in range(1, 4):
        found = gains_by_load(NOMINAL, *pair(seed, carried), "tool0", MASS)
        if not carried:
            assert set(NAMES[1:]) <= set(found.found)
            np.testing.assert_allclose(found.gain[1:], GAINS[1:], rtol=0.02)
        scores.append((found.gain - GAINS)[1:] / found.deviation[1:])
    assert 0.3 * (not carried) < np.sqrt(np.mean(np.square(scores))) < 2.0
    assert np.abs(scores).max() < 4.0


def test_errors_of_the_arms_model_cancel_out():
    """Both motions are those of an arm whose links differ from the description by up to 25 %."""
    real = known_arm.deformed()
    loaded = real.with_payload("tool0", MASS, [0.04, -0.03, 0.12], 0.01 * np.eye(3))
    motions = recording(loaded, GAINS, 1), recording(real, GAINS, 2)
    found = gains_by_load(NOMINAL, *motions, "tool0", MASS)
    np.testing.assert_allclose(found.gain[1:], GAINS[1:], rtol=0.02)


def test_gains_are_as_uncertain_as_the_mass():
    motions = pair(1)
    known = gains_by_load(NOMINAL, *motions, "tool0", MASS)
    assumed = gains_by_load(NOMINAL, *motions, "tool0", 1.1 * MASS, mass_deviation=0.3)
    np.testing.assert_allclose(assumed.gain[1:], 1.1 * known.gain[1:], rtol=1e-4)
    share = 0.3 / (1.1 * MASS)
    np.testing.assert_allclose(
        assumed.deviation[1:],
        np.abs(assumed.gain[1:]) * np.hypot((known.deviation / known.gain)[1:], share),
        rtol=1e-2,
    )


def test_stiffness_from_deflections_by_the_links():
    """What a drive's command is beside the position is torque by its stiffness."""
    found = gains_by_links(NOMINAL, recording(NOMINAL, STIFFNESS, 3))
    assert found.found[:3] == NAMES[1:4]
    known = [NAMES.index(name) for name in found.found]
    np.testing.assert_allclose(found.gain[known], STIFFNESS[known], rtol=0.05)
    assert (np.abs(found.gain - STIFFNESS)[known] < 4.0 * found.deviation[known]).all()
    assert NAMES[-1] not in found.found  # it bears no torque: nothing hangs beside its axis


def by_load(link="tool0", dead=1.0, other=1):
    loaded, bare = pair(1)[0], pair(other)[1]
    motions = [replace(r, effort=r.effort * dead) for r in (loaded, bare)]
    return gains_by_load(NOMINAL, *motions, link, MASS)


test_what_tells_no_gains_is_refused = refusals(
    (IdentificationError, "run 1 and run 52 are different motions", {"other": 2}),
    (fr.UnknownNameError, "hand", {"link": "hand"}),
    (IdentificationError, "no effort changes", {"dead": 0.0}),
    of=by_load,
)


def test_an_effort_that_never_changes_tells_nothing():
    dead = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    found = by_load(dead=dead)
    assert np.isnan(found.gain[2]) and NAMES[2] not in found.found
    others = dead > 0.0
    np.testing.assert_allclose(found.gain[others][1:], GAINS[others][1:], rtol=0.02)


SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
SERVOS = np.array([20.0, 22.0, 16.0, 12.0, 10.0])  # [N m/rad]
PERCENT = 0.03  # [N m] of these drives


def yielding(arm, mass, is_percent):
    """Return a recording of servos; their efforts are percents, else what they are deflected by."""
    random, period = np.random.default_rng(1), 0.01
    t = np.arange(3000) * period
    omega, phase = random.uniform((0.3, 0.0), (2.5, 2 * np.pi), (3, 5, 2)).transpose(2, 0, 1)
    angle = omega * t[:, None, None] + phase
    command = (arm.lower + arm.upper) / 2 + 0.2 * np.sin(angle).sum(axis=1)
    loaded = arm.with_payload("gripper_link", mass, [0.0, 0.0, -0.05], 4e-4 * mass * np.eye(3))
    damping, states = 0.05 * SERVOS, []
    servos = fr.Simulator(
        loaded, period / 10, "implicit", damping=damping, friction=0.05, armature=0.02
    )
    servos.reset(command[0])
    for told in command:
        for _ in range(10):
            deflection = told - servos.q
            servos.step(SERVOS * deflection)
        percent = (SERVOS * deflection - damping * servos.qd) / PERCENT
        states.append((servos.q, servos.qd, percent if is_percent else deflection))
    return Recording(f"{mass} kg", SO101, t, *map(np.array, zip(*states, strict=True)))


@pytest.mark.parametrize("is_percent", [True, study(False)])
def test_an_so101s_percent_and_stiffness_by_a_known_load_to_which_it_yields(is_percent):
    """Each effort is compared with the torque where the arm was, and friction as it moved there."""
    arm = fr.Model.from_file(example_robot("so101"), joints=SO101)
    loaded, bare = (yielding(arm, mass, is_percent) for mass in (0.25, 1e-6))
    apart = np.sqrt(np.mean((loaded.position - bare.position)[:, 1:4] ** 2))
    assert apart > 0.01  # [rad] both are one motion all the same
    found = gains_by_load(arm, loaded, bare, "gripper_link", 0.25)
    assert set(SO101[1:4]) <= set(found.found)
    known = [SO101.index(name) for name in found.found]
    true = np.full(5, PERCENT) if is_percent else SERVOS
    np.testing.assert_allclose(found.gain[known], true[known], rtol=0.05)


def test_a_constant_that_is_known_to_nine_percent_is_not_found():
    gains = EffortGains(("a", "b"), np.array([10.0, -5.0]), np.array([0.9, 0.05]))
    assert gains.found == ("b",) and "unknown: a" in gains.in_words()

"""Damping of the gravity hold and of a fault: chosen, checked, and against simulated arms."""

from collections import deque
from pathlib import Path

import numpy as np
import pytest
import urdf_text
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS
from studies import few_or_all

from featherstone_ros import Dynamics, Model, Simulator
from featherstone_ros.control.damping import (
    BRAKING,
    GUIDING,
    choose_damping,
    choose_fault_damping,
    fault_timing,
    wanted_damping,
)
from featherstone_ros.control.gains import SampledLoop, Timing, postures, unstable
from featherstone_ros.control.settings import Mode
from featherstone_ros.model.robots import robot_file

CONFIG = [robot_file("panda"), robot_file("ur5e")]
LIGHT = ("kinova", "xarm7", "ur5_robot", "ur10_robot", "iiwa14", "so100", "talos_left_arm")
ARMS = [*CONFIG, *(path for path in ROBOTS if path.stem in LIGHT)]
HELD = [*CONFIG, *(path for path in ROBOTS if path.name not in {EMPTY, *MASSLESS_JOINTS})]
MAX_JOINTS = 16  # of a robot in tests of all: the others take long, and have such limbs
SILENCE, CUTOFF = 0.1, 30.0  # state_timeout [s] and velocity_cutoff [Hz]
every_arm = pytest.mark.parametrize("path", ARMS)
delays = pytest.mark.parametrize("delay", [0.0, 0.002, 0.005], ids="{:g} s late".format)


def arm(path: Path) -> Model:
    model = Model.from_file(path)
    if not 0 < model.n <= MAX_JOINTS:
        pytest.skip(f"{model.n} joints")
    return model


@pytest.mark.parametrize(
    "path", few_or_all([p for p in HELD if p in CONFIG or p in UNLIKE_ROBOTS], HELD)
)
def test_default_damping_of_every_robot_is_stable_with_margin(path):
    model = arm(path)
    loop = SampledLoop(model)
    chosen = choose_damping(loop, wanted_damping(model, loop), SILENCE)
    assert loop.under(Mode.GRAVITY_COMPENSATION).is_stable(np.zeros(model.n), chosen.value)
    in_fault = choose_fault_damping(model, loop, chosen.value, CUTOFF)
    assert loop.under(Mode.GRAVITY_COMPENSATION).is_stable(np.zeros(model.n), in_fault)
    assert (chosen.value > 0.0).all() and (in_fault >= chosen.value).all()


def kinetic_energies(model, q, qd, damping, delay, duration=0.6, period=0.002, steps=4):
    """Return the kinetic energy at each sample of a frictionless arm under the law [J]."""
    dynamics = Dynamics(model)
    sim = Simulator(model, period / steps, "rk4", damping=0.0, friction=0.0)
    sim.reset(q, qd)
    late = round(delay / period * steps)
    coming = deque([dynamics.gravity(q) - damping * qd] * (late + 1), late + 1)
    energies = []
    for _ in range(round(duration / period)):
        energies.append(0.5 * sim.qd @ dynamics.crba(sim.q) @ sim.qd)
        tau = dynamics.gravity(sim.q) - damping * sim.qd
        for _ in range(steps):
            coming.append(tau)
            sim.step(coming[0])
    return np.array(energies)


@pytest.mark.parametrize(
    "path", few_or_all([p for p in ARMS if p.stem in ("ur5e", "kinova", "so100")], ARMS)
)
@delays
def test_a_push_decays_without_friction(path, delay):
    model = arm(path)
    loop = SampledLoop(model, timing=Timing(0.002, delay))
    chosen = choose_damping(loop, wanted_damping(model, loop), SILENCE)
    for damping in (chosen.value, choose_fault_damping(model, loop, chosen.value, CUTOFF)):
        for i, q in enumerate(postures(model, 2, seed=5)):
            qd = np.zeros(model.n)
            qd[-1 - i % model.n] = 0.05
            energy = kinetic_energies(model, q, qd, damping, delay)
            assert energy.max() < 1.02 * energy[0]
            assert energy[-1] < energy[0]


@every_arm
def test_hand_guiding_gets_what_it_wants_with_rotors(path):
    model = arm(path)
    loop = SampledLoop(model, armature=5.0)
    limited = np.isfinite(model.effort_limit) & np.isfinite(model.velocity_limit)
    wanted = GUIDING * model.effort_limit / model.velocity_limit
    chosen = choose_damping(loop, wanted_damping(model, loop), SILENCE)
    np.testing.assert_array_less(wanted[limited] * (1.0 - 1e-12), chosen.value[limited])
    in_fault = choose_fault_damping(model, loop, chosen.value, CUTOFF)
    np.testing.assert_allclose(in_fault[limited], BRAKING / GUIDING * wanted[limited])


def test_a_joint_without_limits_coasts_for_a_second_once_it_is_let_go():
    """To 1/e of its speed, as a link that is led by hand."""
    model = Model.from_urdf(urdf_text.chain("turntable", kind="continuous", axis="0 0 1"))
    loop = SampledLoop(model)
    for share in (GUIDING, BRAKING):
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
    model = arm(path)
    loop = SampledLoop(model)
    chosen = choose_damping(loop, wanted_damping(model, loop), SILENCE)
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
    timing = fault_timing(Timing(0.002, 0.003), 30.0)
    assert timing.period == 0.01
    assert timing.delay == pytest.approx(0.003 + 1.0 / (2.0 * np.pi * 30.0))


@every_arm
def test_when_states_stop_the_last_damping_does_not_throw_the_arm(path):
    """It then acts for state_timeout, and reverses the motion at most."""
    model = arm(path)
    loop = SampledLoop(model, timing=Timing(0.002, 0.0))
    chosen = choose_damping(loop, wanted_damping(model, loop), SILENCE)
    late = choose_damping(loop, np.zeros(model.n)).value  # what late gravity needs comes first
    mobility = np.linalg.inv(Dynamics(model).crba(postures(model, 40, seed=7)))
    root = np.sqrt(np.where(chosen.value > 1.01 * late, chosen.value, 0.0))
    decay = np.linalg.eigvalsh(mobility * np.outer(root, root)).max()
    assert decay * SILENCE < 2.2

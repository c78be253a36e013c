"""The three control laws against their formulas."""

import contextlib

import control_arm
import numpy as np
import pytest
from compiled import control_parts
from numpy.testing import assert_allclose

import featherstone_ros as fr
from featherstone_ros.control.settings import Mode, Terms

Q, QD = np.array([0.3, -0.4]), np.array([0.7, 0.2])
DESIRED = np.array([[0.35, -0.5], [0.5, 0.1], [2.0, -3.0]])
DYNAMICS = fr.Dynamics(control_arm.model())


def laws(**changes):
    return control_parts.ControlLaws(control_arm.model(), control_arm.settings(**changes))


def correction() -> np.ndarray:
    it = control_arm.settings()
    return it.p * (DESIRED[0] - Q) + it.d * (DESIRED[1] - QD)


def test_gravity_compensation_holds_springs_and_offsets_too():
    standing = {"offset": np.array([0.5, -1.0]), "stiffness": np.array([2.0, 3.0])}
    law = laws(mode=Mode.GRAVITY_COMPENSATION, **standing)
    held = DYNAMICS.gravity(Q) + standing["offset"] + standing["stiffness"] * Q
    assert_allclose(law.torque(Q, 0 * QD, DESIRED), held)


def test_gravity_compensation():
    torque = laws(mode=Mode.GRAVITY_COMPENSATION).torque(Q, QD, DESIRED)
    assert_allclose(torque, DYNAMICS.gravity(Q) - control_arm.settings().damping * QD)


@pytest.mark.parametrize(
    ("terms", "model"),
    [
        (Terms.FULL, DYNAMICS.rnea(*DESIRED)),
        (Terms.GRAVITY, DYNAMICS.gravity(DESIRED[0])),
        (Terms.NONE, np.zeros(2)),
    ],
)
def test_feedforward(terms, model):
    it = laws(mode=Mode.FEEDFORWARD, feedforward_terms=terms)
    assert_allclose(it.torque(Q, QD, DESIRED), model + correction())
    assert_allclose(it.model_torque(DESIRED), model)


def test_computed_torque():
    torque = laws(mode=Mode.COMPUTED_TORQUE).torque(Q, QD, DESIRED)
    assert_allclose(torque, DYNAMICS.rnea(Q, QD, DESIRED[2] + correction()))


GAINS = {
    Mode.FEEDFORWARD: {"p": np.array([100.0, 20.0]), "d": np.array([10.0, 1.0])},
    Mode.COMPUTED_TORQUE: {"p": np.array([400.0, 400.0]), "d": np.array([28.0, 28.0])},
}


@pytest.mark.parametrize("mode", GAINS)
def test_feedback_that_acts_for_long_brings_the_arm_to_rest(mode):
    """Commands of 0.1 s each: gains for a fast loop swing the arm up, foreseen errors do not."""
    held, errors = 0.1, {}
    it = laws(mode=mode, **GAINS[mode])
    for foreseen, commands in ((held, 40), (0.0, 4)):
        arm = fr.Simulator(control_arm.model(), 0.001)
        arm.reset(Q + 0.05)
        with contextlib.suppress(fr.errors.DivergenceError):
            for _ in range(commands):
                torque = it.torque(arm.q, arm.qd, [Q, np.zeros(2)], foreseen)
                arm.step(torque, round(held / 0.001))
        errors[foreseen] = np.abs(arm.q - Q).max()
    assert errors[held] < 1e-4
    assert errors[0.0] > 0.5


@pytest.mark.parametrize("mode", GAINS)
def test_feedback_that_acts_for_a_moment_is_that_of_now(mode):
    it = laws(mode=mode, **GAINS[mode])
    now = it.torque(Q, QD, DESIRED).copy()
    assert_allclose(it.torque(Q, QD, DESIRED, 1e-9), now, rtol=1e-6)


@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE])
def test_friction_is_compensated_on_the_desired_velocity(mode):
    coulomb, viscous = np.array([1.5, 0.5]), np.array([0.3, 0.1])
    without = laws(mode=mode).torque(Q, QD, DESIRED).copy()
    torque = laws(mode=mode, coulomb=coulomb, viscous=viscous).torque(Q, QD, DESIRED)
    friction = coulomb * np.sign(DESIRED[1]) + viscous * DESIRED[1]
    assert_allclose(torque - without, friction)


def test_settings_may_be_arrays_of_any_kind():
    it = control_arm.settings()
    other = np.zeros((2, 3))
    other[:, 1] = it.p
    kinds = {"p": other[:, 1], "d": it.d.astype(np.float32), "coulomb": np.array([1, 2])}
    torque = laws(coulomb=np.array([1.0, 2.0])).torque(Q, QD, DESIRED)
    assert_allclose(laws(**kinds).torque(Q, QD, DESIRED), torque)


@pytest.mark.parametrize("mode", Mode)
def test_constant_effort_of_the_drives_is_compensated(mode):
    offset = np.array([0.4, -0.2])
    without = laws(mode=mode).torque(Q, QD, DESIRED)
    assert_allclose(laws(mode=mode, offset=offset).torque(Q, QD, DESIRED) - without, offset)


def test_rotor_inertia_is_moved_along():
    armature = np.array([0.2, 0.1])
    without = laws(mode=Mode.FEEDFORWARD).torque(Q, QD, DESIRED)
    torque = laws(mode=Mode.FEEDFORWARD, armature=armature).torque(Q, QD, DESIRED)
    assert_allclose(torque - without, armature * DESIRED[2])
    without = laws(mode=Mode.COMPUTED_TORQUE).torque(Q, QD, DESIRED)
    torque = laws(mode=Mode.COMPUTED_TORQUE, armature=armature).torque(Q, QD, DESIRED)
    assert_allclose(torque - without, armature * (DESIRED[2] + correction()))


def test_gravity_hold_is_gravity_with_damping():
    hold = laws().damped_gravity(Q, QD, 0.5)
    assert_allclose(hold, DYNAMICS.gravity(Q) - 0.5 * control_arm.settings().damping * QD)


def test_arguments_are_not_modified():
    q, qd, desired = Q.copy(), QD.copy(), DESIRED.copy()
    for mode in Mode:
        laws(mode=mode, coulomb=np.ones(2)).torque(q, qd, desired)
    assert_allclose(q, Q)
    assert_allclose(qd, QD)
    assert_allclose(desired, DESIRED)


def test_blend_goes_linearly_from_one_model_to_the_next():
    heavy = control_arm.model().with_payload("link2", 2.0, (0.0, 0.0, 0.2))
    light = DYNAMICS.rnea(*DESIRED)
    loaded = fr.Dynamics(heavy).rnea(*DESIRED)
    blend = control_parts.InverseDynamicsBlend(control_arm.model())
    blend.change(heavy, 1.0)
    for time, share in ((0.0, 0.0), (0.25, 0.25), (0.5, 0.75), (0.5, 1.0)):
        blend.advance(time)
        assert_allclose(blend.rnea(*DESIRED), light + share * (loaded - light))
    assert not blend.blending
    assert_allclose(blend.gravity(Q), fr.Dynamics(heavy).gravity(Q))


def test_blend_that_is_interrupted_goes_on_from_where_it_is():
    heavy = control_arm.model().with_payload("link2", 2.0, (0.0, 0.0, 0.2))
    blend = control_parts.InverseDynamicsBlend(control_arm.model())
    blend.change(heavy, 1.0)
    blend.advance(0.5)
    before = blend.gravity(Q).copy()
    blend.change(control_arm.model().with_gravity((0.0, 0.0, -1.62)), 1.0)
    assert_allclose(blend.gravity(Q), before)
    blend.advance(1.0)
    assert_allclose(blend.gravity(Q), DYNAMICS.gravity(Q) * 1.62 / 9.81)


def test_blend_at_once():
    blend = control_parts.InverseDynamicsBlend(control_arm.model())
    blend.change(control_arm.model().with_gravity((0.0, 0.0, 0.0)), 0.0)
    assert_allclose(blend.gravity(Q), 0.0, atol=1e-12)


@pytest.mark.parametrize("qd", [QD, -QD, 3.0 * QD])
@pytest.mark.parametrize("load", [0.0, 0.15])
@pytest.mark.parametrize("thinning", [0.0, 0.8])
def test_dead_reckoning_has_the_friction_of_the_simulation(qd, load, thinning):
    """Whatever part of friction is known: an arm without joint states goes where it would go."""
    friction = {"load": np.full(2, load), "thinning": np.full(2, thinning)}
    damping, dry, armature = np.array([0.6, 0.2]), np.array([0.3, 0.1]), np.array([0.05, 0.02])
    duration = 0.1
    arm = fr.Simulator(
        control_arm.model(), 0.0001, damping=damping, friction=dry, armature=armature, **friction
    )
    command = DYNAMICS.gravity(Q) + np.array([1.0, -0.5])
    arm.reset(Q, qd)
    arm.step(command, steps=round(duration / arm.time_step))
    settings = {"viscous": damping, "coulomb": dry, **friction, "armature": armature}
    q, reckoned = laws(**settings).dead_reckoning(Q, qd, command, duration)
    assert_allclose(q, arm.q, atol=0.003)
    assert_allclose(reckoned, arm.qd, atol=0.04)

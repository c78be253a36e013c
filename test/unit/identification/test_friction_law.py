"""The law of friction that identification finds, the position that drives it, and springs."""

import known_arm
import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.identification.filtering import steady
from featherstone_ros.identification.model_order import Fitting, fit_parts
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.drives import presliding, viscous_speed

LOAD, THINNING = 0.2, 2.0  # of an arm with gears


def samples(position, period=0.01):
    time = period * np.arange(len(position))
    return Recording("", ("a",), time, position[:, None], None, 0 * position[:, None])


def test_a_joint_that_stops_does_not_turn_round_in_the_filter():
    way = np.clip(np.arange(400) * 0.01, 0.0, 2.0)
    moved = np.diff(steady(samples(way), 1e-4)[:, 0])
    assert (moved >= 0.0).all()
    assert presliding(steady(samples(way), 1e-4))[-1] == pytest.approx(1.0)


def test_an_encoders_flicker_at_rest_is_no_motion():
    random = np.random.default_rng(0)
    way = np.round(np.clip(np.arange(1000) * 0.01, 0.0, 2.0), 4)
    flickers = way + 1e-5 * random.choice([-1.0, 1.0], len(way))
    assert presliding(steady(samples(flickers), 1e-4))[-1] == pytest.approx(1.0, abs=0.1)


def geared(seconds=20.0):
    """Return a recording of an arm whose friction grows with the load and is thinned by speed."""
    t, q, qd, qdd = (x[..., 1:4] if x.ndim > 1 else x for x in known_arm.motion(duration=seconds))
    links = fr.Dynamics(known_arm.LEVEL).rnea(q, qd, qdd)
    dry = (known_arm.COULOMB[1:4] + LOAD * np.abs(links)) * presliding(q)
    tau = links + dry + known_arm.VISCOUS[1:4] * viscous_speed(qd, THINNING)
    tau = tau + known_arm.ARMATURE[1:4] * qdd + known_arm.OFFSET[1:4]
    noise = known_arm.NOISE[1:4] * np.random.default_rng(2).standard_normal(q.shape)
    return Recording("", known_arm.LEVEL.joint_names, t, q, qd, tau + noise)


def test_cross_validation_finds_friction_of_load_and_thinning():
    fitting = Fitting(known_arm.LEVEL, [geared()], range(3), 2.0)
    fit, best = fit_parts(fitting)
    assert best.law.loaded and best.law.displacement == 1e-4
    friction = fit.by_name(best.law)
    assert_allclose(friction.load, LOAD, rtol=0.15)
    assert np.median(friction.load) == pytest.approx(LOAD, rel=0.025)  # of the links as found
    assert_allclose(friction.coulomb, known_arm.COULOMB[1:4], rtol=0.15)
    unloaded = friction.coulomb + friction.viscous * viscous_speed(0.5, best.law.thinning)
    true = known_arm.COULOMB[1:4] + known_arm.VISCOUS[1:4] * viscous_speed(0.5, THINNING)
    assert_allclose(unloaded, true, rtol=0.1)


def test_a_plain_arm_keeps_the_plain_law():
    arm, told = known_arm.LEVEL, []
    recording = Recording("", arm.joint_names, *known_arm.record(arm))
    fitting = Fitting(arm, [recording], range(arm.n), 2.0)
    fit, best = fit_parts(fitting, progress=lambda done, total: told.append(done / total))
    assert not best.law.loaded and not np.any(best.law.thinning)
    assert not np.any(fitting.arm(best, fit).drives.stiffness)
    assert told == sorted(told) and 0.9 < told[-1] <= 1.0


# Torque that grows with a joint's position, as that of cables: one parameter for everything

STIFFNESS = np.array([3.0, 0.0, 5.0])


@pytest.mark.parametrize("seed", few_or_all([0], range(6)))
def test_springs_are_found_where_they_are(seed):
    """Of an arm with other links than its URDF's."""
    arm = known_arm.INNER
    t, q, qd, tau = known_arm.record(known_arm.deformed(seed, model=arm), seed=seed, duration=25.0)
    recording = Recording("", arm.joint_names, t, q, qd, tau + STIFFNESS * q)
    fitting = Fitting(arm, [recording], range(arm.n), 2.0)
    fit, best = fit_parts(fitting)
    assert_allclose(fitting.arm(best, fit).drives.stiffness, STIFFNESS, rtol=0.05, atol=0.05)

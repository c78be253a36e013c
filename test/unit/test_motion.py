"""Piecewise polynomials: ends, continuity, stops, corrections."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featherstone_ros.control.motion import (
    Motion,
    MotionState,
    cubic,
    lead_in_duration,
    quintic,
    straight,
)

UNLIMITED = np.full(3, np.inf)


def random_state(rng: np.random.Generator) -> MotionState:
    return MotionState(*rng.normal(size=(4, 3)))


def values(coefficients: np.ndarray, t: float) -> np.ndarray:
    """Position, velocity and acceleration by numpy's own polynomials."""
    polynomials = [np.polynomial.Polynomial(column) for column in coefficients.T]
    return np.array([[p.deriv(k)(t) if k else p(t) for p in polynomials] for k in range(3)])


@pytest.mark.parametrize(("piece", "fields"), [(straight, 1), (cubic, 2), (quintic, 3)])
def test_piece_meets_both_ends_in_the_fields_it_is_given(piece, fields):
    rng = np.random.default_rng(1)
    start, end = random_state(rng), random_state(rng)
    coefficients = piece(start, end, 0.7)
    for state, t in ((start, 0.0), (end, 0.7)):
        expected = [state.position, state.velocity, state.acceleration][:fields]
        assert_allclose(values(coefficients, t)[:fields], expected, atol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_sample_agrees_with_numpy_polynomials(order):
    rng = np.random.default_rng(2)
    coefficients = np.asarray(rng.normal(size=(2, 6, 3)), order=order)
    motion = Motion([1.0, 2.5], coefficients, settled=False)
    out = np.empty((3, 3))
    for t, piece, since in ((1.0, 0, 0.0), (2.2, 0, 1.2), (2.5, 1, 0.0), (4.0, 1, 1.5)):
        assert_allclose(motion.sample(t, out), values(coefficients[piece], since), atol=1e-12)


def test_stop_begins_in_the_given_state_and_ends_at_rest():
    rng = np.random.default_rng(3)
    start = random_state(rng)
    motion = Motion.stop(10.0, start, 0.3, -UNLIMITED, UNLIMITED)
    begin, end = motion.state(10.0), motion.state(10.3)
    for field in ("position", "velocity", "acceleration", "effort"):
        assert_allclose(getattr(begin, field), getattr(start, field), atol=1e-12)
    assert end.is_rest()
    assert not end.effort.any()
    assert motion.end == pytest.approx(10.3)


def test_stop_ends_within_position_limits():
    zero = np.zeros(3)
    start = MotionState(np.array([0.9, -0.9, 0.0]), np.array([2.0, -2.0, 0.0]), zero, zero)
    motion = Motion.stop(0.0, start, 0.5, np.full(3, -1.0), np.full(3, 1.0))
    assert_allclose(motion.state(1.0).position, [1.0, -1.0, 0.0])


def test_stop_beyond_a_limit_stays_there():
    start = MotionState.rest(np.array([1.2, 0.0, 0.0]))
    motion = Motion.stop(0.0, start, 0.5, np.full(3, -1.0), np.full(3, 1.0))
    assert_allclose(motion.state(1.0).position, [1.2, 0.0, 0.0])


def test_correction_leads_in_without_a_jump_and_vanishes():
    rng = np.random.default_rng(4)
    target, before = rng.normal(size=3), random_state(rng)
    motion = Motion.hold(target)
    motion.lead_in(5.0, before.minus(MotionState.rest(target)), 0.4)
    begin = motion.state(5.0)
    assert_allclose(begin.position, before.position)
    assert_allclose(begin.velocity, before.velocity)
    assert_allclose(begin.acceleration, before.acceleration)
    assert_allclose(begin.effort, before.effort)
    assert_allclose(motion.state(5.4).position, target)
    assert motion.state(5.4).is_rest()


def test_lead_in_duration_keeps_the_correction_slow():
    offset = MotionState.rest(np.array([0.2, 0.0, 0.0]))
    limit = np.array([1.0, 1.0, np.inf])
    duration = lead_in_duration(offset, limit, 0.1)
    motion = Motion.hold(np.zeros(3))
    motion.lead_in(0.0, offset, duration)
    speeds = [abs(motion.state(t).velocity[0]) for t in np.linspace(0.0, duration, 201)]
    assert max(speeds) == pytest.approx(0.25, rel=1e-3)


def test_extrapolation_has_constant_acceleration_and_no_end():
    start = MotionState(*np.array([[1.0, 2.0], [0.5, -0.5], [2.0, 0.0], [3.0, 0.0]]))
    motion = Motion.extrapolate(1.0, start)
    later = motion.state(1.5)
    assert_allclose(later.position, [1.0 + 0.25 + 0.25, 2.0 - 0.25])
    assert_allclose(later.velocity, [1.5, -0.5])
    assert_allclose(later.effort, [3.0, 0.0])
    assert motion.end == np.inf

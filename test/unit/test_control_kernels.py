"""The compiled arithmetic of the control cycle against the same formulas in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from featherstone_ros import _control

N = 3
RANDOM = np.random.default_rng(1)
numbers = arrays(float, N, elements=st.floats(-1e3, 1e3))
positive = arrays(float, N, elements=st.floats(0.0, 1e3))


def row() -> np.ndarray:
    return RANDOM.normal(size=N)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("joint", range(N))
def test_is_finite_looks_at_every_number(bad, joint):
    x = row()
    assert _control.is_finite(x)
    x[joint] = bad
    assert not _control.is_finite(x)


def test_is_finite_of_numbers_whose_sum_is_not():
    assert _control.is_finite(np.full(N, 1.7e308))


@given(numbers, numbers, positive, st.floats(0.0, 1.0), st.floats(0.0, 10.0))
def test_is_within_reach(q, last_q, speed, duration, tolerance):
    expected = (np.abs(q - last_q) <= speed * duration + tolerance).all()
    assert _control.is_within_reach(q, last_q, speed, duration, tolerance) == expected


def test_nothing_that_is_not_finite_is_within_reach():
    zero, far = np.zeros(N), np.array([0.0, np.nan, 0.0])
    assert not _control.is_within_reach(far, zero, np.full(N, np.inf), 1.0, 1.0)


@pytest.mark.parametrize("t", [0.0, 0.7, -1.3])
def test_evaluate_is_a_polynomial_with_its_derivatives(t):
    coefficients, out = RANDOM.normal(size=(6, N)), RANDOM.normal(size=(3, N))
    before = out.copy()
    polynomials = [np.polynomial.Polynomial(c) for c in coefficients.T]
    expected = np.array([[p.deriv(k)(t) for p in polynomials] for k in range(3)])
    _control.evaluate(coefficients, t, out, add=True)
    assert_allclose(out, before + expected)
    _control.evaluate(coefficients, t, out)
    assert_allclose(out, expected)


def test_feedback():
    start, desired = row(), RANDOM.normal(size=(3, N))
    q, qd, p, d, out = row(), row(), row(), row(), row()
    expected = start + p * (desired[0] - q) + d * (desired[1] - qd)
    _control.add_feedback(start, desired, q, qd, p, d, out)
    assert_allclose(out, expected)
    _control.add_feedback(start, desired, q, qd, p, d, start)
    assert_allclose(start, expected)


def test_copy():
    values, out = row(), row()
    _control.copy(values, out)
    np.testing.assert_array_equal(out, values)
    with pytest.raises(ValueError, match=r"^values: expected .* of 3 numbers, got .*\(4,\)"):
        _control.copy(np.zeros(N + 1), out)


def test_drives():
    velocity, acceleration, armature, viscous, coulomb, torque = (row() for _ in range(6))
    expected = torque + armature * acceleration + viscous * velocity
    expected += coulomb * np.tanh(velocity / 0.2)
    _control.add_drives(velocity, acceleration, armature, viscous, coulomb, 0.2, torque)
    assert_allclose(torque, expected)


def test_damping():
    damping, velocity, torque = row(), row(), row()
    expected = torque - 0.3 * damping * velocity
    _control.add_damping(damping, 0.3, velocity, torque)
    assert_allclose(torque, expected)


@given(numbers, positive)
def test_clip(asked, effort_limit):
    applied = row()
    expected = np.clip(asked, -effort_limit, effort_limit)
    assert _control.clip(asked, effort_limit, applied) == (expected != asked).any()
    assert_allclose(applied, expected)


def test_clip_without_limits():
    asked, applied = row(), row()
    assert not _control.clip(asked, np.full(N, np.inf), applied)
    assert_allclose(applied, asked)


@given(numbers, numbers, numbers, positive, positive, numbers, st.floats(0.0, 1.0))
def test_limit_clamps_the_sum_and_then_limits_the_rate(
    asked, offset, carried, effort_limit, rate, command, weight
):
    wanted = asked + weight * offset
    clamped = np.maximum(np.minimum(wanted, effort_limit - carried), -effort_limit - carried)
    step = np.clip(clamped - command, -rate * 0.004, rate * 0.004)
    saturated = (clamped != wanted).any()
    limited = saturated or (step != clamped - command).any()
    expected = command + step
    given_back = _control.limit(asked, weight, offset, carried, effort_limit, rate, 0.004, command)
    assert given_back == (saturated, limited)
    assert_allclose(command, expected)


def test_limit_with_nothing_carried_and_no_limits():
    command, endless = row(), np.full(N, np.inf)
    asked = row()
    result = _control.limit(asked, 0.0, row(), None, endless, endless, 0.001, command)
    assert result == (False, False)
    assert_allclose(command, asked)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(N + 1),
        np.zeros(N, np.float32),
        np.zeros(2 * N)[::2],
        np.zeros(N, np.dtype(float).newbyteorder()),
    ],
    ids=["length", "type", "stride", "byte order"],
)
def test_array_of_another_kind_raises_with_its_name(wrong):
    good = np.zeros(N)
    with pytest.raises(ValueError, match=r"^q: expected a C-contiguous float64 array of 3 numb"):
        _control.is_within_reach(wrong, good, good, 1.0, 1.0)
    with pytest.raises(TypeError):
        _control.is_within_reach([0.0] * N, good, good, 1.0, 1.0)


def test_inputs_may_be_read_only_and_results_may_not():
    constant = np.zeros(N)
    constant.flags.writeable = False
    assert _control.is_within_reach(constant, constant, constant, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"torque: .*writeable"):
        _control.add_damping(constant, 1.0, constant, constant)

"""Small compiled arithmetic against the same formulas in NumPy."""

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


def test_copy():
    values, out = row(), row()
    _control.copy(values, out)
    np.testing.assert_array_equal(out, values)
    with pytest.raises(ValueError, match=r"^values: expected .* of 3 numbers, got .*\(4,\)"):
        _control.copy(np.zeros(N + 1), out)


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
    with pytest.raises(ValueError, match=r"^asked: expected a C-contiguous float64 array of 3 n"):
        _control.clip(wrong, good, good.copy())
    with pytest.raises(TypeError):
        _control.clip([0.0] * N, good, good.copy())


def test_inputs_may_be_read_only_and_results_may_not():
    constant = np.zeros(N)
    constant.flags.writeable = False
    assert not _control.clip(constant, constant, np.zeros(N))
    with pytest.raises(ValueError, match=r"out: .*writeable"):
        _control.clip(constant, constant, constant)

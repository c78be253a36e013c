"""The sine and cosine of the core, seen through the pose of a single joint that turns."""

import numpy as np
import pytest
from studies import study
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model

ARM = Dynamics(
    Model.from_urdf(
        robot(link("base"), link("tip"), joint("j", "base", "tip", "continuous", xyz="0 0 0"))
    )
)
BORDER = 1e5  # beyond it the C library computes
RIGHT_ANGLE = np.longdouble("1.570796326794896619231321691639751442")


def cosine_and_sine(q):
    """Return what the core makes of the angles (B,)."""
    pose = ARM.link_pose(q[:, None], "tip")
    return pose[:, 0, 0], pose[:, 1, 0]


def assert_accurate(q, units):
    """Fail if cosine or sine is off by more units in the last place, of NumPy's long double."""
    wide = q.astype(np.longdouble)
    for actual, expected in zip(cosine_and_sine(q), (np.cos(wide), np.sin(wide)), strict=True):
        error = np.abs(actual - expected) / np.spacing(np.abs(expected).astype(float))
        worst = int(error.argmax())
        assert error[worst] <= units, f"{float(error[worst]):.2f} units at {q[worst]!r}"


@pytest.mark.parametrize(
    "greatest, units",
    [(1e-300, 0.5), study(1e-8, 0.5), (1, 1.5), study(10, 1.5), study(1e3, 2), (BORDER, 3)],
)
def test_random_angles(greatest, units):
    assert_accurate(np.random.default_rng(1).uniform(-greatest, greatest, 100_000), units)


def test_angles_of_any_size():
    exponent = np.random.default_rng(2).uniform(-320, 5, 100_000)
    assert_accurate(10**exponent, 3)
    assert_accurate(-(10**exponent), 3)


@pytest.mark.parametrize("steps", [-2, -1, 0, 1, 2])
def test_angles_next_to_right_angles(steps):
    """Where all digits of the angle cancel: every one of them up to the border."""
    q = (np.arange(1, int(BORDER / RIGHT_ANGLE)) * RIGHT_ANGLE).astype(float)
    assert_accurate(q + steps * np.spacing(q), 3)


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_angles_next_to_where_the_quadrant_changes(steps):
    """Odd multiples of 45 degrees."""
    q = ((np.arange(int(BORDER / RIGHT_ANGLE)) + 0.5) * RIGHT_ANGLE).astype(float)
    assert_accurate(q + steps * np.spacing(q), 3)


@pytest.mark.parametrize("size", [BORDER, study(1e6), study(1e9), 1e15, study(1e22), 1e300])
def test_huge_angles(size):
    """Also beside small ones in the same register."""
    random = np.random.default_rng(3)
    q = np.append(random.uniform(-size, size, 30_000), np.nextafter(BORDER, [0, BORDER, np.inf]))
    assert_accurate(q, 3)
    mixed = np.where(random.random(q.size) < 0.2, q, random.uniform(-3, 3, q.size))
    assert_accurate(mixed, 3)
    np.testing.assert_allclose(cosine_and_sine(q), [np.cos(q), np.sin(q)], rtol=1e-14)


def test_zero_and_what_is_almost_zero():
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, 2e-308, -2e-308])
    cosine, sine = cosine_and_sine(tiny)
    np.testing.assert_array_equal(cosine, 1)
    np.testing.assert_array_equal(sine, tiny)


def test_what_is_no_angle_is_not_a_number():
    for values in cosine_and_sine(np.array([np.nan, np.inf, -np.inf])):
        assert np.isnan(values).all()

"""Torque that grows with a joint's position, as that of cables: one parameter for everything."""

import known_arm
import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import few_or_all

from featherstone_ros.identification.recording import Recording

pytest.importorskip("scipy")
from featherstone_ros.identification.model_order import Fitting, fit_parts

STIFFNESS = np.array([3.0, 0.0, 5.0, 0.0, 1.0, 0.5])


def identified(stiffness, seed=0):
    """Return the fit, the law and the deviations of an arm with other links than its URDF's."""
    t, q, qd, tau = known_arm.record(known_arm.deformed(seed), seed=seed, duration=25.0)
    recording = Recording("", known_arm.NAMES, t, q, qd, tau + stiffness * q)
    fitting = Fitting(known_arm.NOMINAL, [recording], range(known_arm.n), 2.0)
    fit, best = fit_parts(fitting)
    return fitting.arm(best, fit)


@pytest.mark.parametrize("seed", few_or_all([0], range(6)))
def test_springs_are_found_where_they_are(seed):
    arm = identified(STIFFNESS, seed)
    assert_allclose(arm.drives.stiffness, STIFFNESS, rtol=0.05, atol=0.05)


@pytest.mark.study  # test_friction_law.py has a plain arm
@pytest.mark.parametrize("seed", few_or_all([0], range(6)))
def test_none_is_invented(seed):
    assert not np.any(identified(0.0, seed).drives.stiffness)

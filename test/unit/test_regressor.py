"""Inertial parameters of links, and the regressor of robots so large that it goes row by row.

Its identities: test_dynamics_identities.py.
"""

import numpy as np
from comparison import assert_equal_to_rounding
from random_trees import random_tree
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model

ARM = robot(
    link("base", 7, "0 0 1", (1, 1, 1)), link("empty", None),
    link("arm", 2, "0 0 0.5", (1, 2, 3, 0.1, 0.2, 0.3)),
    joint("weld", "base", "empty", "fixed"), joint("turn", "empty", "arm"),
)  # fmt: skip


def test_parameters_are_mass_first_moment_and_inertia_about_the_link_s_origin():
    base, empty, arm = Model.from_urdf(ARM).inertial_parameters.reshape(-1, 10)
    np.testing.assert_allclose(base, [7, 0, 0, 7, 8, 0, 0, 8, 0, 1], rtol=1e-15)
    assert not empty.any()
    np.testing.assert_allclose(arm, [2, 0, 0, 1, 1.5, 0.1, 0.2, 2.5, 0.3, 3], rtol=1e-15)


def test_parameters_are_a_copy():
    model = Model.from_urdf(ARM)
    model.inertial_parameters[:] = 0
    assert model.inertial_parameters.any()


def test_a_large_regressor_of_a_batch_is_that_of_its_states():
    """It goes row by row, and is written where the caller wants it."""
    model = Model.from_urdf(random_tree(3, 48, ["revolute"]))
    dynamics, random = Dynamics(model), np.random.default_rng(0)
    given = random.normal(size=(3, 11, model.n))
    wrench = {model.link_names[-1]: random.normal(size=6)}
    batch = dynamics.regressor(*given, wrench)
    for k in range(11):
        for one, many in zip(dynamics.regressor(*given[:, k], wrench), batch, strict=True):
            assert_equal_to_rounding(many[k], one)
    out = tuple(np.full_like(x, np.nan) for x in batch)
    assert dynamics.regressor(*given, wrench, out=out)[0] is out[0]
    assert dynamics.regressor(*given, out=out[0]) is out[0]
    for x, y in zip(out, batch, strict=True):
        np.testing.assert_array_equal(x, y)

"""Momentum is mass times the velocity of the centre of mass, and what kinetic energy is made of."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import UNLIKE_MODELS, random_tree
from states import DIFFERENCE, RobotInState, difference
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model


@pytest.fixture(scope="module", params=UNLIKE_MODELS.values(), ids=UNLIKE_MODELS)
def tree(request):
    return RobotInState(request.param)


def test_linear_momentum_is_mass_times_velocity_of_the_centre_of_mass(tree):
    p = tree.dynamics.momentum(tree.q, tree.qd)[:3]
    velocity = difference(tree.dynamics.centre_of_mass, tree.q, tree.qd)
    mass = tree.model.tree.mass.sum()
    scale = mass * max(1, np.abs(velocity).max())
    assert_equal_to_rounding(p, mass * velocity, scale=scale, tolerance=10 * DIFFERENCE)


def test_is_linear_in_velocity(tree):
    other = tree.random.uniform(-2, 2, tree.model.n)
    one, two = (tree.dynamics.momentum(tree.q, qd) for qd in (tree.qd, other))
    both = tree.dynamics.momentum(tree.q, 3 * tree.qd + other)
    assert_equal_to_rounding(both, 3 * one + two, scale=np.abs(one).max() + np.abs(two).max())
    assert not tree.dynamics.momentum(tree.q, 0 * tree.qd).any()


def test_is_the_sum_over_the_links(tree):
    """m v of every link's centre of mass, and I w and the moment of m v about that of all."""
    centre = tree.dynamics.centre_of_mass(tree.q)
    p, L = np.zeros(3), np.zeros(3)
    parameters = tree.model.inertial_parameters.reshape(-1, 10)
    for name, (m, *figures) in zip(tree.model.link_names, parameters, strict=True):
        if m == 0:
            continue
        pose = tree.dynamics.link_pose(tree.q, name)
        R, c = pose[:3, :3], np.array(figures[:3]) / m
        xx, xy, xz, yy, yz, zz = figures[3:]
        I_O = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        I_C = I_O - m * (c @ c * np.eye(3) - np.outer(c, c))
        v, w = np.split(tree.dynamics.link_velocity(tree.q, tree.qd, name), 2)
        of_link = m * (v + np.cross(w, R @ c))
        p += of_link
        L += R @ I_C @ R.T @ w + np.cross(pose[:3, 3] + R @ c - centre, of_link)
    momentum = tree.dynamics.momentum(tree.q, tree.qd)
    assert_equal_to_rounding(momentum, [*p, *L])


def test_free_fall_keeps_angular_momentum():
    """Gravity alone acts on a body that slides and turns freely: about its centre L is constant."""
    text = robot(
        link("base", None), *(link(f"s{k}", None) for k in range(5)),
        link("body", 2, "0 0 0", (0.3, 0.2, 0.1)),
        joint("x", "base", "s0", "prismatic", xyz="0 0 0", axis="1 0 0"),
        joint("y", "s0", "s1", "prismatic", xyz="0 0 0", axis="0 1 0"),
        joint("z", "s1", "s2", "prismatic", xyz="0 0 0", axis="0 0 1"),
        joint("a", "s2", "s3", "continuous", xyz="0 0 0", axis="1 0 0"),
        joint("b", "s3", "s4", "continuous", xyz="0 0 0", axis="0 1 0"),
        joint("c", "s4", "body", "continuous", xyz="0 0 0", axis="0 0 1"),
    )  # fmt: skip
    dynamics = Dynamics(Model.from_urdf(text))
    q, qd = np.random.default_rng(2).uniform(-1, 1, (2, 6))
    qdd = dynamics.aba(q, qd, np.zeros(6))

    def momentum(t):
        return dynamics.momentum(q + qd * t + qdd * t**2 / 2, qd + qdd * t)

    change = difference(momentum, 0.0, 1.0)
    np.testing.assert_allclose(change, [0, 0, 2 * -9.81, 0, 0, 0], atol=1e-7)


def test_base_link_takes_part_by_its_weight():
    """It does not move, but it shifts the centre of mass that the angular part refers to."""
    text = random_tree(3, 4)
    model = Model.from_urdf(text)
    heavier = model.with_payload(model.base_link, 5, [1, 2, 3])
    q, qd = np.random.default_rng(5).uniform(-1, 1, (2, 4))
    light, heavy = Dynamics(model), Dynamics(heavier)
    before, after = light.momentum(q, qd), heavy.momentum(q, qd)
    assert_equal_to_rounding(after[:3], before[:3])
    shift = light.centre_of_mass(q) - heavy.centre_of_mass(q)
    assert_equal_to_rounding(after[3:], before[3:] + np.cross(shift, before[:3]))


def test_model_without_mass_has_the_momentum_of_its_inertia():
    text = robot(
        link("base", None), link("rotor", 0, "0 0 0", (0, 0, 0.5)),
        joint("spin", "base", "rotor", "continuous"),
    )  # fmt: skip
    momentum = Dynamics(Model.from_urdf(text)).momentum([0.3], [4])
    np.testing.assert_allclose(momentum, [0, 0, 0, 0, 0, 2], rtol=1e-15)

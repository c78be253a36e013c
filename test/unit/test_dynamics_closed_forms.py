"""Robots without mass, a kilometre away, and of a thousand links."""

import numpy as np
import pytest
from comparison import (
    EPSILON,
    assert_equal_to_rounding,
)
from random_trees import random_tree
from states import State
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model


def test_model_without_mass_has_the_momentum_of_its_inertia():
    text = robot(
        link("base", None), link("rotor", 0, "0 0 0", (0, 0, 0.5)),
        joint("spin", "base", "rotor", "continuous"),
    )  # fmt: skip
    momentum = Dynamics(Model.from_urdf(text)).momentum([0.3], [4])
    np.testing.assert_allclose(momentum, [0, 0, 0, 0, 0, 2], rtol=1e-15)


def test_a_robot_on_rails_is_the_same_a_kilometre_away():
    """What it loses are the digits of its position, not their square."""
    text = robot(
        link("base"), link("wagon", 30), link("upper", 3), link("lower", 2), link("hand", 0.1),
        joint("rail", "base", "wagon", "prismatic", axis="1 0 0"),
        joint("shoulder", "wagon", "upper", rpy="0.1 0.2 0.3", axis="0 1 0"),
        joint("elbow", "upper", "lower", axis="0 1 0"),
        joint("wrist", "lower", "hand", axis="1 0 0"),
    )  # fmt: skip
    wagon = State(Model.from_urdf(text))
    away = wagon.q + np.array([1000, 0, 0, 0])
    lost = 1000 * EPSILON * 100
    assert_equal_to_rounding(wagon.dynamics.minv(away), wagon.dynamics.minv(wagon.q), None, lost)
    for method in ("rnea_derivatives", "aba_derivatives"):
        derivatives = getattr(wagon.dynamics, method)
        there, here = (derivatives(q, wagon.qd, wagon.tau) for q in (away, wagon.q))
        for actual, expected in zip(there, here, strict=True):
            assert_equal_to_rounding(actual, expected, None, lost)


LINKS = 1000


@pytest.fixture(scope="module")
def long_chain():
    return State(Model.from_urdf(random_tree(1000, LINKS, branching=0)))


def test_long_chain_needs_memory_in_proportion_to_its_length(long_chain):
    """A matrix of n x n would take 8 MB; the workspace is some 200 numbers per body."""
    before = resident_memory()
    several = [Dynamics(long_chain.model) for _ in range(10)]
    for dynamics in several:
        dynamics.aba(long_chain.q, long_chain.qd, long_chain.tau)
    assert resident_memory() - before < 10 * LINKS * 8 * 300


def resident_memory():
    """Return the memory of this process that is in use [byte]."""
    resource = pytest.importorskip("resource")
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        pytest.skip("needs /proc")

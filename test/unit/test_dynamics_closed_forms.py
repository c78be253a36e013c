"""Robots whose dynamics are known otherwise: by formulas, by other robots, by their size."""

import numpy as np
import pytest
from comparison import (
    EPSILON,
    TOLERANCE,
    assert_equal_to_rounding,
    relative_error,
    solving_tolerance,
)
from random_trees import random_tree
from states import State
from urdf_text import joint, link, robot

from featherstone_ros import Dynamics, Model

# Formulas ----------------------------------------------------------------------------------------

GRAVITY = 9.81


def test_double_pendulum_has_the_forces_of_its_closed_form():
    """Angles from the downward vertical and from the first rod: Spong, Robot Modeling, 7.4."""
    m1, m2, l1, c1, c2, i1, i2 = 1.5, 0.8, 0.7, 0.3, 0.25, 0.06, 0.02
    text = robot(
        link("base"),
        link("upper", m1, f"0 0 -{c1}", (0.01, i1, 0.02)),
        link("lower", m2, f"0 0 -{c2}", (0.01, i2, 0.02)),
        joint("q1", "base", "upper", "continuous", xyz="0 0 0", axis="0 -1 0"),
        joint("q2", "upper", "lower", "continuous", xyz=f"0 0 -{l1}", axis="0 -1 0"),
    )
    dynamics = Dynamics(Model.from_urdf(text))
    for seed in range(5):
        q1, q2, w1, w2 = np.random.default_rng(seed).uniform(-3, 3, 4)
        m12 = m2 * (c2**2 + l1 * c2 * np.cos(q2)) + i2
        m11 = m1 * c1**2 + i1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q2)) + i2
        h = m2 * l1 * c2 * np.sin(q2)
        V = np.array([-h * (2 * w1 * w2 + w2**2), h * w1**2])
        tip = m2 * c2 * np.sin(q1 + q2)
        G = GRAVITY * np.array([(m1 * c1 + m2 * l1) * np.sin(q1) + tip, tip])
        assert_equal_to_rounding(dynamics.crba([q1, q2]), [[m11, m12], [m12, m2 * c2**2 + i2]])
        assert_equal_to_rounding(dynamics.gravity([q1, q2]), G)
        assert_equal_to_rounding(dynamics.bias([q1, q2], [w1, w2]), V + G)


def test_follower_counts_with_the_square_of_its_multiplier():
    """A lead screw: the slider moves 0.01 m per rad of its motor."""
    text = robot(
        link("base"), link("rotor", 1, "0 0 0", (1, 1, 0.002)), link("slider", 5, "0 0 0"),
        joint("motor", "base", "rotor", "continuous"),
        joint("slide", "base", "slider", "prismatic", '<mimic joint="motor" multiplier="0.01"/>'),
    )  # fmt: skip
    dynamics = Dynamics(Model.from_urdf(text))
    assert_equal_to_rounding(dynamics.crba([0.3]), [[0.002 + 5 * 0.01**2]])
    assert_equal_to_rounding(dynamics.gravity([0.3]), [5 * GRAVITY * 0.01])


def test_model_without_mass_has_the_momentum_of_its_inertia():
    text = robot(
        link("base", None), link("rotor", 0, "0 0 0", (0, 0, 0.5)),
        joint("spin", "base", "rotor", "continuous"),
    )  # fmt: skip
    momentum = Dynamics(Model.from_urdf(text)).momentum([0.3], [4])
    np.testing.assert_allclose(momentum, [0, 0, 0, 0, 0, 2], rtol=1e-15)


# Other robots ------------------------------------------------------------------------------------


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


# Size --------------------------------------------------------------------------------------------

LINKS = 1000


@pytest.fixture(scope="module")
def long_chain():
    return State(Model.from_urdf(random_tree(1000, LINKS, branching=0)))


def test_long_chain_keeps_the_identities(long_chain):
    dynamics, q, qd, qdd = (long_chain.dynamics, long_chain.q, long_chain.qd, long_chain.qdd)
    tau = dynamics.rnea(q, qd, qdd)
    product = long_chain.H @ qdd
    scale = np.abs(product).max() + np.abs(tau).max()
    assert_equal_to_rounding(product + dynamics.bias(q, qd), tau, scale)
    error = relative_error(dynamics.aba(q, qd, tau), qdd)
    assert error <= solving_tolerance(long_chain.H)
    assert error <= 1e3 * TOLERANCE


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

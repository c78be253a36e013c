"""Robots that hypothesis draws keep all identities, and agree with Pinocchio and with the book."""

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import GEOMETRIES, KINDS, UNLIKE, as_tree, model_of, random_tree
from states import State
from studies import few_or_all
from test_dynamics_identities import IDENTITIES, check

from reference import Robot, featherstone


def drawn(screws, **figures):
    return as_tree(random_tree(**figures), screws)


SHARE = st.sampled_from([0.0, 0.0, 0.3, 0.7])
TREES = st.builds(
    drawn,
    seed=st.integers(0, 10**6),
    bodies=st.integers(1, 10),
    kinds=st.sampled_from([KINDS, ("revolute",), ("prismatic", "continuous")]),
    geometry=st.sampled_from(list(GEOMETRIES)),
    branching=st.floats(0, 1),
    **dict.fromkeys(("massless", "mimic", "fixed", "screws"), SHARE),
)
FLOATS = st.sampled_from(["fixed", "floating"])
few = settings(max_examples=10)


@few
@given(tree=TREES, base=FLOATS)
def test_all_identities_hold(tree, base):
    model = tree.model(base=base)
    for name in IDENTITIES:
        try:
            check(name, model)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@few
@given(tree=TREES, base=FLOATS)
def test_pinocchio_agrees(tree, base):
    import test_dynamics_against_pinocchio as pinocchio

    reference = pinocchio.to_pinocchio_model(tree.robot(), base)
    assert not pinocchio.above_tolerance(pinocchio.errors(tree.model(base=base), reference))


# The book's three algorithms, row by row: for whom Pinocchio is not there -------------------------


def book(s):
    """Yield what the core gives, and what the book does: actual, expected, scale, tolerance."""
    robot = Robot.of(s.model)
    q, qd, qdd, still = robot.expand(s.q, s.qd, s.qdd, s.still)
    H = robot.reduce(featherstone.crba(robot, q))
    yield s.H, H
    yield s.minv(), np.linalg.inv(H), None, s.solving
    yield s.gravity(), robot.reduce(featherstone.rnea(robot, q, still, still))
    for f_ext in (None, s.f_ext):
        tau = robot.reduce(featherstone.rnea(robot, q, qd, qdd, f_ext))
        yield s.rnea(f_ext=f_ext), tau
        yield s.bias(f_ext=f_ext), robot.reduce(featherstone.rnea(robot, q, qd, still, f_ext))
        expected = featherstone.forward_dynamics(robot, s.q, s.qd, s.tau, f_ext)
        if robot.N == robot.n:  # articulated bodies need independent joints
            expected = robot.G.T @ featherstone.aba(robot, q, qd, robot.G @ s.tau, f_ext)
        yield s.aba(f_ext=f_ext), expected, None, s.solving


@pytest.mark.parametrize("name", few_or_all([n for n in UNLIKE if n != "200 bodies"], UNLIKE))
def test_the_book_agrees(name):
    for pair in book(State(model_of(name))):
        assert_equal_to_rounding(*pair)

"""A hundred closed pushes; `python test/chaos/closed_pushes.py` gives any number."""

import numpy as np
import pytest
from closed_pushes import ROUNDING, PushedHand, least_work


@pytest.mark.parametrize("axes", ["base", "tip"])
def test_no_closed_push_gains_energy(axes):
    assert least_work(axes, 50, seed=1) >= -ROUNDING


def test_work_is_that_of_the_hand():
    """What was put in is in the arm's motion and spring, or was damped: it is positive."""
    hand = PushedHand("base", np.random.default_rng(1))
    hand.push()
    assert hand.work > 0.01
    assert hand.least >= -ROUNDING

"""Episodes follow from their seeds."""

from dataclasses import astuple

import numpy as np
import pytest
from arm import arm
from episodes import KINDS, draw

PANDA = arm("panda")


def test_a_seed_says_all_of_an_episode():
    first, again = (draw(7, PANDA.model, PANDA.home) for _ in range(2))
    assert first.fault == again.fault
    np.testing.assert_equal(astuple(first), astuple(again))


def test_consecutive_seeds_go_through_all_kinds_of_fault():
    kinds = [draw(seed, PANDA.model, PANDA.home).fault.kind for seed in range(len(KINDS))]
    assert kinds == list(KINDS)


@pytest.mark.parametrize("seed", range(100))
def test_motions_are_within_the_limits_and_fast_at_most_as_intended(seed):
    model = PANDA.model
    episode = draw(seed, model, PANDA.home)
    for place in (episode.start, episode.target):
        assert (place > model.lower).all() and (place < model.upper).all()
    peak = 1.875 * np.abs(episode.target - episode.start) / episode.motion_time
    assert (peak <= 0.5 * model.velocity_limit + 1e-9).all()
    assert 0.05 <= episode.fault.duration <= 2.0

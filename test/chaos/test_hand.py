"""A hundred random targets for the hand; `python test/chaos/hand.py` runs as many as one likes."""

import pytest
from hand import Hand

hand = Hand()


@pytest.mark.parametrize("seed", range(10))
def test_every_limit_is_kept_on_the_way_to_ten_targets(seed):
    outcome = hand.run(seed)
    assert outcome.is_safe, outcome
    assert outcome.speed > 0.1, "the arm has moved"
    assert outcome.torque > 0.1

"""A hundred random targets for the hand; `python test/chaos/hand.py` runs as many as one likes."""

import pytest
from hand import Hand

hand = Hand()
light = Hand(armature=0.02)


@pytest.mark.parametrize("seed", range(10))
def test_every_limit_is_kept_on_the_way_to_ten_targets(seed):
    outcome = hand.run(seed)
    assert outcome.is_safe, outcome
    assert outcome.speed > 0.1, "the arm has moved"
    assert outcome.torque > 0.1


@pytest.mark.parametrize("seed", [158, 6134])  # more than twice the speed limit
def test_light_drives_exceed_their_speed_by_what_the_torque_rate_lets_through(seed):
    outcome = light.run(seed)
    assert outcome.is_safe, outcome
    assert outcome.speed > 1.2

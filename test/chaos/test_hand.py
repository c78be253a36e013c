"""A hundred random targets for the hand; `python test/chaos/hand.py` runs any number."""

import pytest
from hand import Hand
from studies import few_or_all

hand = Hand()
light = Hand(armature=0.02)
leaving = {robot: Hand(robot, leaves=True) for robot in ("panda", "ur5e")}


@pytest.mark.parametrize("seed", few_or_all(range(2), range(10)))
def test_every_limit_is_kept_on_the_way_to_ten_targets(seed):
    outcome = hand.run(seed)
    assert outcome.is_safe, outcome
    assert outcome.speed > 0.1, "the arm has moved"
    assert outcome.torque > 0.1


@pytest.mark.parametrize("seed", [158, 6134])  # 2.6 speed limits without torque_governor.pxd
def test_light_drives_keep_their_speed(seed):
    outcome = light.run(seed)
    assert outcome.is_safe, outcome
    assert outcome.speed > 0.5, "the arm is fast"


@pytest.mark.parametrize("robot", leaving)
@pytest.mark.parametrize("seed", few_or_all(range(1), range(5)))
def test_every_limit_is_kept_when_the_controller_leaves_on_the_way(robot, seed):
    outcome = leaving[robot].run(seed)
    assert outcome.is_safe, outcome

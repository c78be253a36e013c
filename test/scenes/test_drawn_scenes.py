"""What interrupts a motion makes no arm faster, nor asks for more acceleration than it may."""

import pytest
from drawn_scenes import KINDS, failures
from studies import SWEEP, study

FEW = [("panda", [1, 2]), ("ur5e", [0])]  # replaced, deactivated; held
ROBOTS = ("panda", "ur5e", "z1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("robot", "seeds"), [*FEW, *(study(robot, range(SWEEP)) for robot in ROBOTS)]
)
def test_an_interrupted_motion_is_not_made_faster(kind, robot, seeds):
    assert not failures(kind, robot, seeds)


@pytest.mark.parametrize("kind", ["stall", study("stop")])
@pytest.mark.parametrize(
    ("robot", "seeds"), [("panda", [0]), *(study(r, range(200, 200 + SWEEP // 10)) for r in ROBOTS)]
)
def test_nor_in_mujoco(kind, robot, seeds):
    assert not failures(kind, robot, seeds, mujoco=True)

"""What interrupts a motion makes no arm faster, nor asks for more acceleration than it may."""

from itertools import cycle

import pytest
from drawn_scenes import KINDS, failures
from studies import SWEEP, study

FEW = [("panda", [1, 2]), ("ur5e", [0])]  # of stops: replaced, deactivated; held
ROBOTS = ("panda", "ur5e", "z1")


@pytest.mark.parametrize(
    ("kind", "robot", "seeds"),
    [
        *((kind, *few) for kind, few in zip(KINDS, cycle(FEW), strict=False)),
        *(study(kind, robot, range(SWEEP)) for kind in KINDS for robot in ROBOTS),
    ],
)
def test_an_interrupted_motion_is_not_made_faster(kind, robot, seeds):
    assert not failures(kind, robot, seeds)


@pytest.mark.parametrize("kind", ["stall", study("stop")])
@pytest.mark.parametrize(
    ("robot", "seeds"), [("panda", [0]), *(study(r, range(200, 200 + SWEEP // 10)) for r in ROBOTS)]
)
def test_nor_in_mujoco(kind, robot, seeds):
    assert not failures(kind, robot, seeds, mujoco=True)

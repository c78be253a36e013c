"""The scenes' own arms: what is played is what the arm's physics and its controller do."""

import numpy as np
from arm_scene import Scene, load, play, trajectory
from numpy.testing import assert_allclose

from featherstone_ros.control.trajectory import Point

START, ZERO = load("ur5e").start, np.zeros(6)
THERE = trajectory([Point(1.0, START + 0.3, ZERO)])


def test_mujoco_moves_the_arm_as_our_simulator_does():
    ours, theirs = (play(Scene("ur5e", {0.2: THERE}, 1.5, mujoco=m)) for m in (False, True))
    assert_allclose(ours.q[-1], START + 0.3, atol=2e-3)
    assert_allclose(theirs.q, ours.q, atol=2e-3)
    assert theirs.speed.max() > 0.1

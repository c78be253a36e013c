"""What an arm cannot follow: a target out of reach, a corner of a path that no torque can turn."""

from __future__ import annotations

import numpy as np
import pytest
from arm_scene import Scene, lead, load, play, trajectory
from studies import study

from featherstone_ros.control.phases import RUNNING
from featherstone_ros.control.trajectory import Point
from featherstone_ros.simulation.closed_loop import ClosedLoop

STARTS = {"xarm7": np.array([0.0, 0.02, 0.0, 1.31, 0.0, 0.72, 0.0])}
TIPS = {"ur5e": "tool0", "xarm7": "link7"}


@pytest.mark.parametrize(
    ("robot", "seed"),
    [
        *(("ur5e", 302), ("ur5e", 305)),  # its desired motion alone swings: it does not oscillate
        # Its rotors are unknown: what the desired motion would take of friction is not sent, since
        # a wrist as light would be too fast with it. So nothing moves that wrist, which its speed
        # limit holds back. (In MuJoCo it creeps.)
        *(("xarm7", 16), ("xarm7", 17), study("xarm7", 4), study("xarm7", 18)),
    ],
)
def test_an_arm_that_a_far_target_pulls_is_not_accused(robot, seed):
    model, random = load(robot).model, np.random.default_rng(seed)
    start = STARTS.get(robot, load(robot).start)
    if seed % 2 == 0:
        start = random.uniform(
            np.maximum(0.6 * model.lower, -2.0), np.minimum(0.6 * model.upper, 2.0)
        )

    def far_away(loop: ClosedLoop) -> None:
        way = random.normal(size=3)
        lead(random.choice([0.5, 1.0, 3.0]) / np.linalg.norm(way) * way)(loop)

    mode = {"mode": "cartesian_impedance", "tip": TIPS[robot]}
    played = play(Scene(robot, {0.3: far_away}, 4.3, start, mode))
    assert 0.05 < played.speed.max() < 1.0
    assert played.speed[-1] < (0.02 if robot == "ur5e" else 0.2)  # the other one's wrist creeps
    assert "oscillates" not in played.text and "to the bit" not in played.text
    assert played.loop.controller.phase in RUNNING


@pytest.mark.parametrize(
    ("robot", "seed", "moving"),
    [
        ("panda", 4, 1.0),
        ("ur5e", 2, 1.0),
        ("ur5e", 5, 1.0),
        ("panda", 3, 0.4),
        ("ur5e", 1, 0.4),
        ("xarm7", 0, 0.4),
    ],
)
def test_a_corner_throws_no_joint_in_computed_torque(robot, seed, moving):
    """Its torques also keep other joints in place: cut joint by joint, they would move them. One
    that such a torque keeps in place is not stuck."""
    model, random = load(robot).model, np.random.default_rng(seed)
    lower, upper = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
    ways = random.uniform(-0.25, 0.25, (3, model.n))
    ways[:, random.random(model.n) > moving] *= 0.01
    points = 0.5 * (lower + upper) + ways * (upper - lower)
    times = np.cumsum(np.abs(np.diff(points, axis=0) / model.velocity_limit).max(axis=1) / 0.5)
    corners = trajectory([Point(t, q) for t, q in zip(times, points[1:], strict=True)])
    mode = {"mode": "computed_torque"}
    joints = model.joint_names if robot == "xarm7" else None  # with default parameters
    scene = Scene(robot, {0.1: corners}, times[-1] + 0.5, points[0], mode, joints=joints)
    played = play(scene)
    assert 0.4 < played.speed.max() < 1.0
    assert not any(word in played.text for word in ("faster", "oscillates", "to the bit"))
    assert played.loop.controller.phase in RUNNING

"""Random targets for the hand in mode cartesian_impedance, from any posture: every limit is kept.

    SWEEP=1000 python -m pytest -m study test/scenes/test_hand.py   # so many of each kind

Each scene begins at rest in a random posture (in every fifth joints are in line, in every fifth at
their stops) and asks for ten targets of all kinds: near, out of reach, turned by half a turn,
moving, pressing, with other stiffnesses, with inertia shaping.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from arm_scene import TIPS, Ask, Played, Scene, deactivate, hand, load, play, pushed
from drive_settings import parameters_of
from scipy.spatial.transform import Rotation
from studies import SWEEP, few_or_all

from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.simulation.closed_loop import ClosedLoop

PERIOD, EACH, TARGETS = 0.001, 0.15, 10  # [s] of the states, of a target
KINDS = ("near", "far", "turned", "moving", "pressing", "stiffness", "shaped")
PRESS = np.array([30.0] * 3 + [3.0] * 3)  # [N, N m]
PUSH, PUSHED = np.array([20.0] * 3 + [2.0] * 3), 0.3  # at most: the wrists can resist it; [s]
LEAVING = 30.0  # [s] at most


def posture(robot: str, random: np.random.Generator) -> Floats:
    lower, upper = load(robot).model.lower, load(robot).model.upper
    q, kind = random.uniform(lower, upper), random.integers(5)
    some = random.random(len(q)) < 0.5
    if kind == 0:  # axes in line
        return np.where(some, np.clip(0.0, lower, upper), q)
    if kind == 1:  # stops
        return np.where(some, np.where(random.random(len(q)) < 0.5, lower, upper), q)
    return q


def target(random: np.random.Generator) -> Ask:
    """Ask for a target, which is drawn then."""

    def ask(loop: ClosedLoop) -> None:
        kind = random.choice(KINDS)
        reach = {"near": 0.05, "far": 2.0}.get(kind, 0.3)
        angle = np.pi if kind == "turned" else random.uniform(0.0, 0.5)
        pose = hand(loop)
        axis = random.normal(size=3)
        turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        pose[:3, 3] += random.uniform(-reach, reach, 3)
        pose[:3, :3] = turn @ pose[:3, :3]
        if kind in ("stiffness", "shaped"):
            loop.configure(
                stiffness=10 ** random.uniform([0.5] * 3 + [-0.5] * 3, [3.0] * 3 + [1.7] * 3),
                damping_ratio=random.uniform(0.3, 2.0, 6),
                stiffness_frame=str(random.choice(["base", "tip"])),
                inertia_shaping=bool(kind == "shaped"),
            )
        twist = random.normal(size=6) if kind == "moving" else None
        wrench = random.uniform(-1.0, 1.0, 6) * PRESS if kind == "pressing" else None
        with suppress(TrajectoryError):  # after a fault
            loop.controller.set_target(loop.now, pose, twist, wrench)

    return ask


def led(robot: str, seed: int, rotors: float | None = None, leaves: bool = False) -> Played:
    """Play a scene; the arm has no friction, and rotors of its own or of that inertia [kg m^2]."""
    random, arm = np.random.default_rng(seed), load(robot).arm
    start, ask = posture(robot, random), {}
    lasts = EACH * (1 + TARGETS)
    for k in range(1, 1 + TARGETS):
        ask[k * EACH] = target(random)
    if leaves:  # on the way to one of the first; in every other scene somebody pushes meanwhile
        left = EACH * (random.integers(1, 4) + random.random())
        ask = {at: what for at, what in ask.items() if at < left} | {left: deactivate}
        lasts = left + LEAVING
        if random.random() < 0.5:
            since, wrench = left - PUSHED * random.random(), random.uniform(-1.0, 1.0, 6) * PUSH
            ask |= {since: pushed(wrench), since + PUSHED: pushed(None)}
    drives = parameters_of(arm.model.joint_names, arm.drives.armature if rotors is None else rotors)
    parameters = {**drives, "mode": "cartesian_impedance", "tip": TIPS[robot]}
    loop = {"period": PERIOD, "delay": 0.0, "until": has_left}
    return play(Scene(robot, ask, lasts, start, parameters, **loop))


def has_left(loop: ClosedLoop) -> bool:
    return loop.controller.phase is Phase.INACTIVE


def require_limits(played: Played) -> dict[str, float]:
    """Require that every limit was kept until commands ended; return the worst, as shares."""
    arm, command = played.loop.arm, played.record.command
    command = command[~np.isnan(command).all(axis=1)]
    assert np.isfinite(command).all()
    worst = {
        "torque": np.abs(command / arm.model.effort_limit).max(),
        "rate": played.rate,
        "speed": played.speed.max(),
    }
    assert max(worst.values()) <= 1.0 + 1e-9, worst
    return worst


@pytest.mark.parametrize("robot", few_or_all(["panda"], TIPS))
@pytest.mark.parametrize("seed", few_or_all(range(2), range(SWEEP)))
def test_every_limit_is_kept_on_the_way_to_ten_targets(robot, seed):
    worst = require_limits(led(robot, seed))
    assert min(worst["speed"], worst["torque"]) > 0.1, "the arm has moved"


@pytest.mark.parametrize("seed", [158, 6134])  # 2.6 speed limits without torque_governor.pxd
def test_light_drives_keep_their_speed(seed):
    assert require_limits(led("panda", seed, rotors=0.02))["speed"] > 0.5, "the arm is fast"


@pytest.mark.parametrize("robot", TIPS)
@pytest.mark.parametrize("seed", few_or_all(range(1), range(SWEEP)))
def test_every_limit_is_kept_when_the_controller_leaves_on_the_way(robot, seed):
    played = led(robot, seed, leaves=True)
    require_limits(played)
    assert has_left(played.loop)

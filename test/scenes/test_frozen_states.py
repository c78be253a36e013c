"""States that are wrong for good: class 4 of docs/faults.md.

Positions that stay the same to the bit, of an arm that moves unseen or of one that stands; and
velocities that contradict the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from arm_scene import TIPS, Ask, Played, Scene, hold, lead, load, moved, play, trajectory
from lies import COARSE, frozen, in_steps, since
from studies import each_once, few_or_all, study

from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import HOLDS, RUNNING, Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.parameter import of_joints
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState

FASTEST = {"panda": 0.7, "ur5e": 1.5}  # over the speed limit: light wrists stick by much friction
FASTEST_UNSURE = 2.5  # where positions come in coarse steps; not wherever: docs/faults.md
MOTIONS = ((0.1, 0.4), (0.1, 3.0), (0.4, 1.0))  # how far [rad], how long [s]
WAYS = ((0.0, 0.1, 0.0), (0.0, 0.0, 0.2), (0.0, 0.0, -0.3), (-0.3, 0.0, 0.0))  # of the hand [m]
PERIOD, FINE = 0.005, 0.0003  # [s] between states; [rad] of an encoder
BEGIN = 0.4  # [s] of a motion
BRAKED = 0.2  # [s] after the last command, as most drives do
EACH = [*(("panda", j) for j in range(7)), *(("ur5e", j) for j in range(6))]
SOME = [("panda", 0), ("panda", 3), ("panda", 6), ("ur5e", 1), ("ur5e", 4)]


def away(robot: str, way: float) -> Floats:
    """Return a place about as far away in every joint."""
    start = load(robot).start
    random = np.random.default_rng(0)
    signs = random.choice([-1.0, 1.0], len(start))
    return start + way * signs * random.uniform(0.5, 1.0, len(start))


def to_and_fro(robot: str, motions: Sequence[tuple[float, float]], rest: float) -> dict[float, Ask]:
    """Ask for one motion after the other, each there and back."""
    asks, at = {}, BEGIN
    for way, duration in motions:
        for place in (away(robot, way), load(robot).start):
            asks[at], at = moved(place, duration), at + duration + rest
    return asks


def by_hand(robot: str) -> dict[str, object]:
    return {"mode": "cartesian_impedance", "tip": TIPS[robot]}


class Brakes:
    """A simulator of an arm whose brakes stop it within a tenth of a second, whatever it is told.

    One that stands at once cannot be told from frozen positions.
    """

    def __init__(self, released: Any) -> None:
        self.released, self.time_step = released, released.time_step
        self.q, self.qd = released.q, released.qd

    def step(self, tau: Floats, steps: int = 1) -> None:
        for _ in range(steps):
            self.qd = 0.95 * self.qd if np.abs(self.qd).max() > 1e-3 else 0.0 * self.qd
            self.q = self.q + self.time_step * self.qd


def brake(loop: ClosedLoop) -> None:
    loop.plant.simulator = Brakes(loop.plant.simulator)


def release(loop: ClosedLoop) -> None:
    brakes = loop.plant.simulator
    brakes.released.reset(brakes.q, brakes.qd)
    loop.plant.simulator = brakes.released


def scene(robot: str, asks: dict[float, Ask], lasts: float, **more: object) -> Scene:
    """Return a scene that goes on for a time after the last that is asked [s]."""
    model, changes = load(robot).model, more.pop("parameters", {})
    damping = 0.02 * model.effort_limit / model.velocity_limit
    changes = of_joints("damping.{}", model.joint_names, damping) | changes
    lasts += max(asks)
    return Scene(robot, asks, lasts, parameters=changes, period=PERIOD, **more)


def require_silence(played: Played, fastest: float) -> None:
    """Require that the arm was not fast before commands ended, nor before drives brake then."""
    is_silent = played.record.phase == Phase.SILENT
    assert is_silent[-1]
    braked = int(np.argmax(is_silent)) + round(BRAKED / PERIOD)
    assert played.speed[:braked].max() < fastest
    assert "stays the same to the bit" in played.loop.controller.hold_reason


def require_no_accusation(played: Played) -> None:
    """Require that the controller believed every state, and has not let go of the arm."""
    assert not played.loop.controller.refused
    assert not HOLDS.intersection(played.record.phase)
    is_led = played.loop.arm.settings.mode is Mode.CARTESIAN_IMPEDANCE
    assert played.loop.controller.phase in (RUNNING if is_led else {Phase.HOLDING})


VELOCITIES = [0.0, np.nan, None]  # of positions that are frozen: 0, not measured, live


@pytest.mark.parametrize("robot", TIPS)
@pytest.mark.parametrize(("motion", "velocity"), each_once(MOTIONS, VELOCITIES))
def test_positions_frozen_at_rest_end_in_silence_before_the_arm_is_fast(robot, motion, velocity):
    way, duration = motion
    asks = {BEGIN: moved(away(robot, way), duration)}
    played = play(scene(robot, asks, duration + 2.0, state=frozen(0.3, velocity)))
    require_silence(played, FASTEST[robot])


@pytest.mark.parametrize(
    ("robot", "motion", "velocities"), each_once([*TIPS], MOTIONS, ["missing", "derived"])
)
def test_positions_in_coarse_steps_that_freeze_end_in_silence(robot, motion, velocities):
    """Later than those in fine steps: a step may be all that a joint has moved."""
    way, duration = motion
    asks = {BEGIN: moved(away(robot, way), duration)}
    lie = frozen(BEGIN + 0.375 * duration, 0.0, seen=in_steps(COARSE, velocities))
    require_silence(play(scene(robot, asks, 1.4 * duration + 1.0, state=lie)), FASTEST_UNSURE)


@pytest.mark.parametrize(
    ("robot", "velocity", "before", "way"), each_once([*TIPS], VELOCITIES[:2], [0.0, 0.3], WAYS)
)
def test_positions_that_freeze_while_the_hand_is_led_end_in_silence(robot, velocity, before, way):
    lie = frozen(BEGIN + before, velocity)
    asks = {BEGIN: lead(way)}
    played = play(scene(robot, asks, before + 2.0, state=lie, parameters=by_hand(robot)))
    require_silence(played, FASTEST[robot])


@pytest.mark.parametrize(("robot", "joint"), few_or_all(SOME, EACH))
def test_one_frozen_joint_among_live_ones_is_named(robot, joint):
    asks = {BEGIN: moved(away(robot, 0.4), 1.0)}
    played = play(scene(robot, asks, 2.0, state=frozen(0.3, joints=[joint])))
    require_silence(played, FASTEST[robot])
    name = played.loop.arm.model.joint_names[joint]
    assert repr(name) in played.loop.controller.hold_reason


@pytest.mark.parametrize(("robot", "joint"), [("panda", 0), ("panda", 3), ("ur5e", 2), ("ur5e", 5)])
def test_a_joint_that_freezes_where_its_motion_turns_round_is_noticed(robot, joint):
    """It gains speed as it is asked to: nothing has stopped it."""
    start = load(robot).start
    points = [Point(0.6, away(robot, 0.3), 0.0 * start), Point(1.2, start, 0.0 * start)]
    lie = frozen(BEGIN + 0.6, joints=[joint])
    played = play(scene(robot, {BEGIN: trajectory(points)}, 1.9, state=lie))
    assert played.record.phase[played.since(BEGIN + 0.9).start] == Phase.OPEN_LOOP
    assert played.speed.max() < FASTEST[robot]


def test_silence_ends_when_the_positions_change_again():
    asks = {BEGIN: moved(away("panda", 0.4), 1.0)}
    played = play(scene("panda", asks, 2.5, state=frozen(0.3, end=BEGIN + 2.0)))
    assert Phase.SILENT in played.record.phase
    assert played.loop.controller.phase is Phase.HOLDING
    assert np.abs(played.qd[-1]).max() < 0.01


@pytest.mark.parametrize("robot", TIPS)
def test_brakes_that_stop_a_motion_are_not_taken_for_frozen_positions(robot):
    """Nor the arm that goes on when they are off again."""
    stop, go = BEGIN + 0.4, BEGIN + 5.4
    asks = {BEGIN: moved(away(robot, 0.4), 1.0), stop: brake, go: release}
    played = play(scene(robot, asks, 1.0))
    require_no_accusation(played)
    assert played.speed.max() < 1.0
    assert np.abs(played.qd[-1]).max() < 0.01


@pytest.mark.parametrize("step", [COARSE, study(FINE)])
@pytest.mark.parametrize(
    ("robot", "velocities"), each_once([*TIPS], ["true", "derived", "missing"])
)
def test_steps_of_an_encoder_are_not_taken_for_frozen_positions(robot, velocities, step):
    """As coarse as the 300 degrees in 1024 steps of a small servo; velocities peak at each step."""
    asks = to_and_fro(robot, ((0.005, 0.5), (0.1, 0.4), (0.1, 2.0)), 0.3)
    played = play(scene(robot, asks, 2.3, state=in_steps(step, velocities)))
    require_no_accusation(played)
    assert played.speed.max() < 0.6


@pytest.mark.parametrize(
    ("robot", "stiction", "hand"), each_once([*TIPS], [0.5, 1.5], [False, True])
)
def test_friction_that_is_not_what_the_controller_knows_freezes_nothing(robot, stiction, hand):
    asks, mode = to_and_fro(robot, ((0.005, 0.5), *MOTIONS), 0.5), {}
    if hand:
        ways = ((0.0, 0.01, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, -0.15), (0.1, 0.0, 0.0))
        asks = {BEGIN + 1.2 * k: lead(way) for k, way in enumerate(ways)}
        mode = by_hand(robot)
    known = load(robot).arm
    friction = stiction * known.drives.coulomb
    twin = of_joints("friction.{}.coulomb", known.model.joint_names, friction)
    require_no_accusation(play(scene(robot, asks, 1.5, parameters=mode, twin=twin)))


# Velocities that contradict the positions


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.3])
def test_velocities_that_contradict_the_positions_are_named_and_throw_no_arm(factor):
    """A damper of the wrong sign: once 11 times the limit."""
    lie = since(BEGIN + 0.3, lambda state: state._replace(qd=factor * state.qd))
    played = play(scene("panda", {BEGIN: moved(away("panda", 0.4), 1.0)}, 2.3, state=lie))
    assert "velocities are inconsistent with the positions" in played.text
    assert played.speed.max() < 1.5


def test_velocities_that_were_inconsistent_are_used_again_once_the_arm_is_told_to_hold():
    """All joints': what is found anew was trusted in between."""
    again = BEGIN + 2.8
    asks = {at: moved(away("panda", 0.4 * sign), 1.0) for at, sign in ((BEGIN, 1), (again, -1))}

    def lie(state: JointState) -> JointState:
        wrong = any(at + 0.3 < state.stamp < at + 2.3 for at in (BEGIN, again))
        return state._replace(qd=-state.qd) if wrong else state

    played = play(scene("panda", {**asks, BEGIN + 2.3: hold}, 2.3, state=lie))
    assert played.text.count("velocities are inconsistent") == 2

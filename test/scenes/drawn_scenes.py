"""Scenes drawn from a seed, kind by kind, and the bounds that each is judged by.

A kind is a function of a robot and a seed that draws what is played: add one to ``KINDS``, and the
study plays it, too. Times are [s], speeds in units of the joints' limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from arm_scene import Ask, Played, Scene, chunk, deactivate, fall_back, hold, load, moved, play
from lies import lost_after, unreadable_after

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.feasibility import check
from featherstone_ros.control.trajectory import Point, Trajectory, TrajectoryError
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.tools.trajectory_check import started

SPEED, MORE = 1.2, 0.1  # that nothing passes; than before, or than what is asked for
ADDED = 1.35  # times its bound, where a path that accelerates as much as it may is led in to

PEAK, PEAK_ACCELERATION = 1.875, 5.7736  # of a quintic from rest to rest, of way and duration 1
OTHER = 10_000  # added to a seed: that of the motion that replaces one
MARGIN = 0.1  # [rad] of starts and goals from position limits
BEGIN = 0.3  # [s] of a motion that is interrupted
ENDS = BEGIN + 0.1 + 0.25  # [s] after the last state: state_timeout and the shortest stop


@dataclass(frozen=True)
class Drawn:
    """A scene and what may come of it.

    Attributes:
        scene: To be played.
        event: When what is tried happens [s].
        speed: That was asked for, as a share of the limits.
        acceleration: (n,) the largest that what is asked for has of its own, 0: it has none; None:
            the desired acceleration is not judged.
        text: What it is, for a failure.
    """

    scene: Scene
    event: float
    speed: float
    acceleration: Floats | None
    text: str = ""


@cache
def bounds(robot: str) -> Floats:
    """Return acceleration, deceleration and jerk (3, n) of what the controller makes of its own."""
    return load(robot).arm.space.rates


def fitting(robot: str, start: Floats, goal: Floats, speed: float = 1.0) -> float:
    """Return how long a motion from rest to rest takes [s] at a share of the speed limits, or the
    share of them that preflight accepts; inf: none.
    """
    arm, still = load(robot).arm, 0.0 * start
    duration = (PEAK * np.abs(goal - start) / arm.model.velocity_limit).max() / speed
    for _ in range(6):
        points = [Point(t, q, still, still) for t, q in ((0.0, start), (duration, goal))]
        motion = started(Trajectory(arm.model.joint_names, points, arm.limits))
        verdict = check(Dynamics(arm.model), arm.drives, arm.limits, motion, 0.0, motion.end, still)
        if verdict.fits:
            return duration
        duration *= max(verdict.slow_down, 1.001)
    return np.inf


class Motion(NamedTuple):
    """From rest to rest, as fast as preflight accepts; its speed over the limits; what drew it."""

    start: Floats
    goal: Floats
    duration: float
    speed: float
    random: np.random.Generator


@cache
def fast(robot: str, seed: int) -> Motion:
    """Draw a motion."""
    random, arm = np.random.default_rng(seed), load(robot).arm
    model, duration = arm.model, np.inf
    lower, upper = np.maximum(model.lower, -3.0), np.minimum(model.upper, 3.0)
    while not 0.12 < duration < 10.0:  # a shorter one is nearly over when anybody notices
        away, far = random.uniform(-0.6, 0.6, model.n), random.uniform(0.1, 1.0)
        start = np.clip(load(robot).start + away, lower + 0.1, upper - 0.1)
        goal = np.clip(start + far * random.uniform(-1.0, 1.0, model.n), lower, upper)
        duration = fitting(robot, start, goal)
    speed = (PEAK * np.abs(goal - start) / model.velocity_limit).max() / duration
    return Motion(start, goal, duration, speed, random)


def fast_scene(robot: str, seed: int) -> Scene:
    """Return one in which a drawn motion is undisturbed."""
    start, goal, duration, *_ = fast(robot, seed)
    return Scene(robot, {BEGIN: moved(goal, duration)}, BEGIN + duration + 0.8, start)


def stop(robot: str, seed: int, mujoco: bool = False) -> Drawn:
    """A motion is held, deactivated, or replaced, at any instant, with any ``stop_time``."""
    start, goal, duration, speed, random = deepcopy(fast(robot, seed))
    slow = random.uniform(0.2, 1.0)
    asks = {BEGIN: moved(goal, duration / slow)}
    event = BEGIN + duration / slow * random.uniform(0.1, 0.95)
    stop_time = float(10.0 ** random.uniform(-2.0, 1.0))
    how = str(random.choice(["hold", "deactivate", "trajectory"]))
    own, rest, ask = 0.0 * start, min(max(stop_time, 0.7), 2.0), hold
    speed *= slow
    if how == "deactivate":
        ask = deactivate
    if how == "trajectory":
        other = fast(robot, seed + OTHER).goal
        time = max(fitting(robot, start, other, random.uniform(0.1, 0.9)), 1.0)
        ask, speed, rest = moved(other, time), 0.95, rest + 2.0
        own = PEAK_ACCELERATION * np.abs(other - start) / time**2
    scene = Scene(
        robot, asks | {event: ask}, event + rest, start, {"stop_time": stop_time}, mujoco=mujoco
    )
    return Drawn(scene, event, speed, own, f"{how}, stop_time {stop_time:.3f}, at {event:.3f}")


def stall(robot: str, seed: int, mujoco: bool = False) -> Drawn:
    """A policy's chunks, 16 points at 30 Hz, with a silence of any length between two of them.

    Its way goes on meanwhile, or waits for the arm.
    """
    rng = np.random.default_rng(seed)
    arm, begin = load(robot).arm, 0.1
    lower, upper = (np.clip(x, -3.0, 3.0) for x in (arm.model.lower, arm.model.upper))
    start = load(robot).start + rng.uniform(-0.5, 0.5, arm.model.n)  # around its home
    start, way = np.clip(start, lower + MARGIN, upper - MARGIN), rng.uniform(-1.0, 1.0, arm.model.n)
    way /= np.abs(way).max()
    speed, pulse = rng.uniform(0.03, 0.5), rng.uniform(1.0, 4.0)
    size = speed * arm.model.velocity_limit * way / pulse  # [rad] to either side
    silence, waits = rng.uniform(0.2, 1.2), bool(rng.integers(2))
    event, every = 1.0, rng.uniform(0.05, 0.3)
    room = np.where(size > 0.0, arm.model.upper - start, arm.model.lower - start)
    size *= min(1.0, 0.45 * np.min(np.abs(room / np.where(size, size, 1e-9))))

    def way(time: float) -> Floats:
        return start + (1.0 - np.cos(pulse * (time - begin))) * size

    def sent(seen: float) -> Ask:
        def ask(loop: ClosedLoop) -> None:
            with suppress(TrajectoryError):  # too far from where it was
                chunk(way, seen)(loop)

        return ask

    asks = {at: sent(at) for at in np.arange(begin, event, every)}
    late = max(asks) + silence
    shift = silence - every if waits else 0.0
    asks |= {at: sent(at - shift) for at in np.arange(late, late + 1.5, every)}
    text = f"silence {silence:.3f}, {'waits' if waits else 'goes on'}, speed {speed:.2f}"
    spline = {"interpolation": "spline"}
    scene = Scene(robot, asks, late + 2.2, start=start, parameters=spline, mujoco=mujoco)
    own = np.abs(size) * pulse**2
    return Drawn(scene, max(k for k in asks if k < late - 0.2), speed, own, text)


def interrupted(kind: str, robot: str, seed: int, mujoco: bool = False) -> Drawn:
    """At any instant of a fast motion states fall silent, or the controller falls back."""
    scene, motion = fast_scene(robot, seed), fast(robot, seed)
    random = deepcopy(motion.random)  # each kind draws from where the motion was drawn
    at = BEGIN + random.uniform(0.0, motion.duration)
    changes: dict[str, Any] = {
        "silence": {"state": lost_after(at), "duration": at + ENDS},
        "unreadable": {"state": unreadable_after(at), "duration": at + ENDS},
        "gap": {"state": lost_after(at, at + random.uniform(0.004, 0.3))},
        "fall back": {"ask": {**scene.ask, at: fall_back}},
    }[kind]
    speed = motion.speed
    if kind == "fall back":  # as sharply as a hold
        speed = play(replace(scene, mujoco=mujoco, ask={**scene.ask, at: hold})).speed.max()
    return Drawn(replace(scene, mujoco=mujoco, **changes), at, speed, None)


def judge(drawn: Drawn, played: Played) -> list[str]:
    """Return what is beyond its bound: of the arm's speed and of the desired acceleration."""
    found, after = [], played.since(drawn.event)
    before = max(played.speed[: after.start].max(initial=0.0), drawn.speed)
    speed = played.speed[after].max()
    if speed > min(SPEED, before + MORE):
        found.append(f"speed {speed:.2f}, before {before:.2f}")
    if drawn.acceleration is None:
        return found
    desired = played.desired[after]
    v, a = desired[:, 1], desired[:, 2]
    rates = bounds(drawn.scene.robot)
    bound = np.where(v * a > 0.0, rates[0], rates[1])
    start = np.abs(a[:2]).max(axis=0)
    share = np.abs(a) / np.maximum(np.maximum(bound, start), drawn.acceleration)
    if share.max() > ADDED:
        joint = int(share.max(axis=0).argmax())
        found.append(f"desired acceleration {share.max():.2f} of its bound, joint {joint}")
    steps = np.abs(np.diff(v, axis=0)) / np.diff(played.record.time[after])[:, None]
    share = steps / np.maximum(rates[:2].max(axis=0), np.maximum(start, drawn.acceleration))
    if share.max() > 2.0 * ADDED:
        found.append(f"step of the desired velocity {share.max():.2f} of the acceleration's bound")
    return found


Kind = Callable[[str, int, bool], Drawn]
INTERRUPTED = ("silence", "unreadable", "gap", "fall back")
KINDS: dict[str, Kind] = {kind: partial(interrupted, kind) for kind in INTERRUPTED}
KINDS |= {"stop": stop, "stall": stall}


def failures(kind: str, robot: str, seeds: Iterable[int], mujoco: bool = False) -> list[str]:
    """Play scenes; return those that fail, with what is beyond its bound."""
    failed = []
    for seed in seeds:
        drawn = KINDS[kind](robot, seed, mujoco)
        found = judge(drawn, play(drawn.scene))
        if found:
            failed.append(f"{robot} {kind} {seed} ({drawn.text}): {'; '.join(found)}")
    return failed

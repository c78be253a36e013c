"""Encoders of coarse steps: no slow motion is accused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from arm_scene import (
    Ask,
    Played,
    Scene,
    chunk,
    deactivate,
    fall_back,
    gains_for,
    load,
    play,
    set_point,
    trajectory,
)
from drive_settings import parameters_of
from lies import COARSE, SERVO, in_steps
from studies import SWEEP, each_once, study

from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import HOLDS, RUNNING
from featherstone_ros.control.trajectory import Point

ARMS = {"ur5e": (0.5, 2.0), "panda": (0.5, 1.0), "so101": (0.03, 0.05)}  # rotors, friction
STREAM = 30.0  # [Hz]
FLOATING = "gravity_compensation"
LASTS = 4.0  # [s]
REST = 0.2  # [s] before a motion

At = Callable[[float], tuple[Floats, Floats]]


def parameters(name: str, rate: float) -> dict[str, object]:
    """Return those of drives that are known, with gains chosen for a rate [Hz]."""
    rotor, coulomb = ARMS[name]
    known = parameters_of(load(name).model.joint_names, rotor, coulomb, coulomb)
    return known | gains_for(name, 1.0 / rate)


def middle(name: str) -> Floats:
    """Return the robot's start, away from its limits."""
    robot = load(name)
    lower, upper = np.maximum(robot.model.lower, -3.0), np.minimum(robot.model.upper, 3.0)
    margin = 0.35 * (upper - lower)
    return np.clip(robot.start, lower + margin, upper - margin)


def to_and_fro(name: str, seed: int) -> At:
    """Return a slow motion of all joints, at 15 % of their speed limits at most."""
    model, start, random = load(name).model, middle(name), np.random.default_rng(seed)
    room = np.minimum(np.minimum(model.upper - start, start - model.lower) / 2.2, 0.5)
    rate = random.uniform(0.3, 1.0, model.n) * 2.0 * np.pi / 3.0
    way = np.minimum(room, 0.15 * model.velocity_limit / rate)
    way = way * random.uniform(0.05, 1.0, model.n) * random.choice([-1.0, 1.0], model.n)
    return lambda t: (start + way * (1.0 - np.cos(rate * t)), way * rate * np.sin(rate * t))


def asked(at: At) -> dict[float, Ask]:
    """One trajectory of positions and velocities, which comes to rest."""
    points = [Point(t, *at(t)) for t in np.arange(0.1, LASTS, 0.1)]
    end = at(LASTS)[0]
    return {REST: trajectory([*points, Point(LASTS + 0.5, end, 0.0 * end)])}


def if_running(ask: Ask) -> Ask:
    return lambda loop: ask(loop) if loop.controller.phase in RUNNING else None


def streamed(send: Callable[[float], Ask]) -> dict[float, Ask]:
    return {REST + t: if_running(send(t)) for t in np.arange(0.0, LASTS, 1.0 / STREAM)}


KINDS = {
    "trajectory": asked,
    "set-points": lambda at: streamed(lambda t: set_point(at(t)[0])),
    "chunks": lambda at: streamed(lambda t: chunk(lambda time: at(time)[0], t, range(1, 4))),
    "stops": lambda at: streamed(lambda t: set_point(at(t)[0], 0.0 * at(t)[0])),  # at each of them
}


def played(name: str, rate: float, kind: str, seed: int, step: float, **more: object) -> Played:
    velocities = "true" if more.pop("measures_velocity", False) else "missing"
    scene = Scene(
        name,
        KINDS[kind](to_and_fro(name, seed)),
        REST + LASTS + 0.5,
        middle(name),
        parameters(name, rate),
        in_steps(step, velocities),
        **more,
    )
    return play(scene)


def require_no_accusation(seen: Played) -> None:
    assert "to the bit" not in seen.text
    assert "oscillates" not in seen.text
    assert seen.loop.controller.phase in RUNNING | HOLDS


@pytest.mark.parametrize(
    ("name", "rate", "kind", "seed", "step"),
    [
        ("ur5e", 30, "chunks", 4, SERVO),  # braked where the stream ends
        study("ur5e", 100, "chunks", 20, SERVO),
        ("panda", 30, "set-points", 46, SERVO),
        ("panda", 30, "stops", 46, SERVO),  # its estimated velocity alone leads away
        ("panda", 100, "stops", 2, SERVO),  # braked where it comes to a set-point
        ("ur5e", 30, "stops", 5, SERVO),  # the acceleration of one instant would lead it off
        ("so101", 50, "stops", 109, SERVO),  # braked by what is fed forward
        study("so101", 30, "chunks", 1, SERVO),
        ("panda", 100, "trajectory", 2, COARSE),  # commands that answer steps need their rate
    ],
)
def test_a_slow_motion_by_a_coarse_encoder_goes_on(name, rate, kind, seed, step):
    require_no_accusation(played(name, rate, kind, seed, step))


@pytest.mark.study
def test_a_slow_motion_by_a_coarse_encoder_goes_on_in_mujoco():
    require_no_accusation(played("ur5e", 30, "chunks", 4, SERVO, mujoco=True))


@pytest.mark.study
@pytest.mark.parametrize("measures_velocity", [False, True])
@pytest.mark.parametrize("rate", [30, 50, 100, 200, 500])
@pytest.mark.parametrize("name", ARMS)
def test_no_slow_motion_is_accused(name, rate, measures_velocity):
    for seed in range(SWEEP):
        kind = list(KINDS)[seed % len(KINDS)]
        try:
            seen = played(name, rate, kind, seed, SERVO, measures_velocity=measures_velocity)
            require_no_accusation(seen)
        except AssertionError as error:
            raise AssertionError(f"{kind}, seed {seed}") from error


@pytest.mark.parametrize(
    ("late", "rate", "ask"),
    each_once(
        range(4),
        [500.0, 200.0],
        [fall_back, deactivate, lambda it: it.configure(mode=FLOATING)],
    ),
)
def test_an_arm_whose_torque_flickers_is_not_thrown_by_the_last_of_it(rate, ask, late):
    """The feedback's torque goes over to gravity's from its mean: .3 to .8 from its last value."""
    start, period, coarse = load("panda").start, 1.0 / rate, in_steps(SERVO)
    gains = gains_for("panda", period, **{"gains.delay": period})
    begin = 1.5 + 0.0137 * late
    asks = {0.2: trajectory([Point(0.8, start + 0.2, np.zeros(7))]), begin: ask}
    played = play(Scene("panda", asks, begin + 0.8, None, gains, coarse, period=period))
    assert played.speed[played.since(begin)].max() < 0.2

"""When joint states stop, come late, or the motion is given up: no arm gets faster by it.

Class 1 of docs/faults.md. After a few missing periods the commands are those for the state that the
model predicts; from ``state_timeout`` on it brakes the arm.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from arm_scene import (
    TIPS,
    Ask,
    Played,
    Scene,
    deactivate,
    fall_back,
    hold,
    load,
    moved,
    play,
    trajectory,
)
from drawn_scenes import BEGIN, ENDS, MORE, SPEED, fast, fast_scene
from drive_settings import parameters_of
from lies import lost_after, unreadable_after
from studies import each_once, few_or_all, study

from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState

# Motions that preflight accepts: start, goal, duration; an instant at which it accelerates [s]
FAST = {
    "ur5e": ((1.61, -1.73, 0.69, -0.11, 0.71, -1.84), (1.22, -1.15, 0.45, 0.0, 1.29, -1.59),
             0.36, 0.12),
    "panda": ((-0.13, -0.67, 0.02, -2.12, 0.18, 2.01, 0.89),
              (-0.12, -0.53, -0.13, -2.33, -0.03, 1.99, 0.83), 0.19, 0.063),
}  # fmt: skip
FALLING = ((-1.49, 0.0, 0.41, -1.88, -1.41, 1.71), (-1.96, 0.57, 0.56, -2.05, -1.39, 1.92), 0.38)


def moving(robot: str, **changes: object) -> Scene:
    """Return the fast motion of a robot, undisturbed."""
    start, goal, duration, _ = FAST[robot]
    ask = {BEGIN: moved(goal, duration)}
    return replace(Scene(robot, ask, BEGIN + duration + 0.6, start), **changes)


@cache
def undisturbed(robot: str, mujoco: bool = False) -> Played:
    return play(moving(robot, mujoco=mujoco))


def asked(scene: Scene, at: float, what: Ask) -> Scene:
    """Return a scene in which something more is asked for."""
    return replace(scene, ask={**scene.ask, at: what})


def require_no_faster(played: Played, motion: Played) -> None:
    """Require that no joint got faster than the motion itself, and than is promised."""
    assert played.speed.max() < min(SPEED, motion.speed.max() + MORE)


@pytest.mark.parametrize(("robot", "mujoco"), each_once(list(FAST), [False, True]))
def test_silence_in_a_fast_motion_makes_no_arm_faster(robot, mujoco):
    """Its last torque would go on to accelerate it: to 1.9 and 2.8 times the limit."""
    scene, at = moving(robot, mujoco=mujoco), BEGIN + FAST[robot][3]
    played = play(replace(scene, state=lost_after(at)))
    require_no_faster(played, undisturbed(robot, mujoco))
    assert played.record.phase[-1] == Phase.OPEN_LOOP
    assert played.speed[played.since(at + ENDS)].max() < 0.1


@pytest.mark.parametrize(("robot", "lost"), each_once(list(FAST), [0.012, 0.03, 0.06, 0.09]))
def test_a_gap_in_a_fast_motion_changes_nothing(robot, lost):
    scene, at = moving(robot), BEGIN + FAST[robot][3]
    played, motion = play(replace(scene, state=lost_after(at, at + lost))), undisturbed(robot)
    require_no_faster(played, motion)
    assert played.text == ""  # nor does it accuse the states that come again
    assert played.record.phase[-1] == Phase.HOLDING
    np.testing.assert_allclose(played.q[-1], motion.q[-1], atol=0.01)
    np.testing.assert_allclose(played.q, motion.q, atol=0.02)


@pytest.mark.parametrize(
    ("robot", "seed", "mujoco"),
    few_or_all(
        [("z1", 1, False)],
        product(["xarm7", "z1"], [0, 1, 2], [False, True]),
    ),
)
def test_an_arm_that_its_friction_is_about_to_hold_is_not_thrown(robot, seed, mujoco):
    """At the instant of a state too, friction holds what creeps: without it, the last command would
    accelerate light links as if they were free, and a stop from there made up to 9 times the limit.
    """
    scene, duration = replace(fast_scene(robot, seed), mujoco=mujoco), fast(robot, seed).duration
    motion = play(scene)
    for at in BEGIN + duration * np.array([0.85, 0.92, 0.97, 1.0]) - 0.1:
        unread = replace(scene, state=unreadable_after(at), duration=at + ENDS)
        require_no_faster(play(unread), motion)


@pytest.mark.parametrize(
    ("robot", "seed"),
    few_or_all([("panda", 1), ("z1", 1)], product(["panda", "xarm7", "z1"], range(3))),
)
def test_a_short_state_timeout_does_not_accuse_a_joint_that_friction_holds(robot, seed):
    """Its position is repeated, which is no fault within the period of the slowest hardware."""
    assert play(replace(fast_scene(robot, seed), parameters={"state_timeout": 0.01})).text == ""


@pytest.mark.parametrize("rate", [30.0, 50.0, 100.0])
def test_commands_go_on_before_state_timeout_however_slow_the_states_are(rate):
    """The period is the measured one; the loop's is that of its ticks."""
    random = iter(range(10_000))
    every = round(500.0 / rate)
    silent = 1.0

    def slow(state: JointState) -> JointState | None:
        return state if next(random) % every == 0 and state.stamp < silent else None

    start = load("ur5e").start
    goal = Point(1.0, start + 0.3, np.zeros(6), np.zeros(6))
    record = play(Scene("ur5e", {0.5: trajectory([goal])}, 1.1, start, state=slow)).record
    told = record.time[np.isfinite(record.command).all(axis=1)]
    period = every / 500.0
    assert np.diff(told[(told > 0.3) & (told < silent)]).min() > period - 1e-6  # with the states
    last = told[told < silent].max()
    assert 1.5 * period < told[told > silent + 0.002].min() - last < 0.5 * (period + 0.1) + 0.003


@pytest.mark.parametrize(("robot", "late"), each_once(list(FAST), [0.015, 0.04]))
def test_states_that_come_late_all_at_once_are_no_loss(robot, late):
    """Those of a time come together after it, as after a stall of the driver."""
    scene, at = moving(robot), BEGIN + FAST[robot][3]
    held: list[JointState] = []

    def stalled(state: JointState) -> JointState | None:
        if at <= state.stamp < at + late:
            held.append(state)
            return None
        return held.pop(0) if held and held.append(state) is None else state

    require_no_faster(play(replace(scene, state=stalled)), undisturbed(robot))


@pytest.mark.parametrize(("share", "falls"), [(0.0, True), (0.01, False)])
def test_what_falls_without_states_has_no_friction(share, falls):
    """It is braked while the model can be trusted; then torque alone holds it (docs/faults.md).
    With a hundredth of its effort limits as Coulomb friction it stands.
    """
    scene, at = moving("panda"), BEGIN + FAST["panda"][3]
    arm = load("panda").arm
    friction = share * arm.model.effort_limit
    friction = parameters_of(arm.model.joint_names, arm.drives.armature, coulomb=friction)
    silent = replace(scene, state=lost_after(at), duration=at + 1.3, parameters=friction)
    played = play(silent)
    assert played.speed[: played.since(at + 0.5).start].max() < SPEED
    assert played.speed[played.since(at + 0.36)][:70].max() < 0.1
    assert (played.speed[-1] > 0.2) == falls
    assert falls or played.speed[-1] < 0.02


# The end of silence


@pytest.mark.parametrize("mujoco", [False, study(True)])
def test_an_arm_that_has_sunk_meanwhile_is_taken_up_where_it_is(mujoco):
    """The way from where the model had it is no speed, also where none is measured."""
    lost = lost_after(0.5, 1.4)

    def unmeasured(state):
        state = lost(state)
        return state and state._replace(qd=np.full(len(state.q), np.nan))

    twin = {"payload.link": "panda_link7", "payload.mass": 0.16, "payload.com": [0.1, 0.0, 0.1]}
    played = play(Scene("panda", {}, 2.0, state=unmeasured, twin=twin, mujoco=mujoco))
    after, limit = played.since(1.38), load("panda").arm.model.velocity_limit
    assert np.abs(played.q[after.start] - load("panda").start).max() > 0.005  # it has sunk
    assert Phase.HOLDING in played.record.phase[after]
    assert np.nanmax(np.abs(played.record.desired[after, 1] / limit)) < 0.1
    assert played.speed[after].max() < 0.2


@pytest.mark.parametrize("mujoco", [False, study(True)])
def test_a_gap_ends_also_where_a_velocity_is_inconsistent_for_good(mujoco):
    """Positions tell where the arm is; else it would be braked blindly, and let fall."""

    def wrong(state):
        turned = np.where(np.arange(7) == 2, -state.qd, state.qd)
        return None if 2.0 <= state.stamp < 2.3 else state._replace(qd=turned)

    ask = {BEGIN: trajectory([Point(1.5, load("panda").start + 0.5, np.zeros(7))])}
    played = play(Scene("panda", ask, 3.4, state=wrong, mujoco=mujoco))
    assert "inconsistent" in played.text
    assert Phase.OPEN_LOOP in played.record.phase[played.since(2.2)]
    after = played.since(2.3 + 0.1)
    assert (played.record.phase[after] == Phase.HOLDING).all()
    assert played.speed[after].max() < 0.05


# Falling back


@pytest.mark.parametrize("mujoco", [False, study(True)])
def test_falling_back_from_a_fast_motion_brakes_it_first(mujoco):
    """Its torque would fade out meanwhile, and accelerate the arm to 1.56 times its limit."""
    start, goal, duration = FALLING
    scene = Scene("ur5e", {BEGIN: moved(goal, duration)}, 1.6, start, mujoco=mujoco)
    at = BEGIN + 0.14
    played, held = play(asked(scene, at, fall_back)), play(asked(scene, at, hold))
    require_no_faster(played, play(scene))
    assert played.speed.max() <= held.speed.max() + 1e-9  # as sharply as a hold
    phases = played.record.phase[played.since(at + 0.004)]
    assert phases[0] == Phase.DAMPED and phases[-1] == Phase.HOLDING
    rest = played.speed[played.since(at + 0.45)]  # as soon as its deceleration allows
    assert rest.max() < 0.1


def test_a_brake_is_not_handed_over_to_a_hold_that_decays_for_long():
    """From a slow motion, sharply: its last torque, fading for 10 s, made .98 of .45."""
    robot = "kinova"
    start = load(robot).start
    way = 0.15 * load(robot).arm.model.velocity_limit / 1.875
    scene = Scene(
        robot,
        {BEGIN: moved(start + way, 1.0)},
        3.0,
        start,
        parameters={"stop_time": 0.01, "decay_time": 10.0},
    )
    for at in BEGIN + np.array([0.3, 0.5, 0.7]):
        played = play(asked(scene, at, fall_back))
        assert played.speed.max() < 0.15 + MORE


def test_falling_back_twice_on_the_way_out_does_not_throw_the_arm():
    """A deactivated arm that is still braked goes on to be braked."""
    start, goal, duration = FALLING
    ask = {
        BEGIN: moved(goal, duration),
        BEGIN + 0.14: deactivate,
        BEGIN + 0.16: fall_back,
        BEGIN + 0.17: fall_back,
    }
    played = play(Scene("ur5e", ask, 2.5, start))
    assert played.speed.max() < 1.0
    assert played.record.phase[-1] == Phase.INACTIVE


# Other laws: a predicted state must not pump


@pytest.mark.parametrize(
    ("robot", "mode"), each_once(list(FAST), [Mode.GRAVITY_COMPENSATION, Mode.CARTESIAN_IMPEDANCE])
)
def test_gaps_one_after_the_other_pump_no_arm(robot, mode):
    """An arm that moves in half of the time is seen: it comes to rest as one that always is."""

    def push(loop: ClosedLoop) -> None:
        plant = loop.plant
        plant.simulator.set_state(plant.q, 0.15 * loop.arm.model.velocity_limit)

    ends = {}
    for lost in (0.0, 0.08):

        def gaps(state: JointState, lost: float = lost) -> JointState | None:
            return None if state.stamp > 0.45 and state.stamp % 0.16 < lost else state

        scene = Scene(
            robot, {0.4: push}, 1.6, parameters={"mode": mode, "tip": TIPS[robot]}, state=gaps
        )
        ends[lost] = play(scene)
        assert ends[lost].speed[ends[lost].since(0.42)].max() < 0.5
    assert ends[0.08].speed[-200:].max() < ends[0.0].speed[-200:].max() + 0.05

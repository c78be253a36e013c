"""A stop never makes an arm faster, whatever ``stop_time`` says."""

import numpy as np
import pytest
from arm_scene import TIPS, Scene, deactivate, fall_back, hold, load, moved, play, trajectory
from drawn_scenes import bounds
from lies import late_by, lost_after, shifted_after
from studies import each_once

from featherstone_ros.control.phases import Phase
from featherstone_ros.control.trajectory import Point

WAY = {"panda": [0.5, -0.5, 0.5, -0.5, 0.5, 0.5, 0.5], "ur5e": [0.9, 0.7, -0.8, 0.6, 0.6, -0.6]}
BEGIN, DURATION = 0.2, 0.7


def stopped(robot, how, stop_time, mujoco=False):
    """Stop a motion at its fastest."""
    start = load(robot).start
    ask = {BEGIN: moved(start + WAY[robot], DURATION), BEGIN + DURATION / 2: how}
    return play(
        Scene(robot, ask, 3.0, start=start, parameters={"stop_time": stop_time}, mujoco=mujoco)
    )


@pytest.mark.parametrize(
    ("robot", "how", "mujoco"), each_once([*WAY], [hold, deactivate], [False, True])
)
def test_a_stop_time_that_is_too_short_is_lengthened(robot, how, mujoco):
    """In .02 s the torques would throw the arm, to up to 5 times its speed limit."""
    played = stopped(robot, how, 0.02, mujoco)
    after = played.since(BEGIN + DURATION / 2)
    before = played.speed[: after.start].max()
    assert 0.3 < before < 1.0
    assert played.speed[after].max() < before + 0.05
    deceleration = np.abs(played.desired[after, 2])
    bound = np.maximum(bounds(robot)[1], deceleration[0])
    assert (deceleration < 1.001 * bound).all()
    assert np.abs(played.qd[-1]).max() < 0.01
    if how is deactivate:  # at rest within .4 s, and give_up_after is 1 s
        assert played.loop.controller.phase is Phase.INACTIVE


@pytest.mark.parametrize("stop_time", [0.5, 1.0])
def test_a_stop_time_that_is_long_enough_is_kept(stop_time):
    played = stopped("ur5e", hold, stop_time)
    event = BEGIN + DURATION / 2
    moving = np.abs(played.desired[played.since(event), 1]).max(axis=1) > 1e-6
    assert np.flatnonzero(moving)[-1] * 0.002 == pytest.approx(stop_time, abs=0.02)


@pytest.mark.parametrize(
    "change",
    [
        {"effort_scale": 0.5},
        {"torque_rate.panda_joint2": 200.0},
        {"payload.link": "panda_link8", "payload.mass": 3.0, "payload.com": [0.0, 0.0, 0.1]},
    ],
    ids=["effort", "rate", "payload"],
)
def test_a_stop_goes_by_efforts_and_payload_that_came_at_run_time(change):
    """As it does where they are set from the start."""
    start = load("panda").start
    goal = start + WAY["panda"]
    ask = {
        0.1: lambda loop: loop.configure(change),
        0.2: moved(goal, 1.6),
        1.0: hold,
    }
    scene = Scene("panda", ask, 2.0, parameters={"stop_time": 0.02})
    later = play(scene)
    bound = later.loop.arm.space.rates
    assert np.min(bound / bounds("panda")) < 0.8  # the change matters
    after = later.since(1.0 + 1e-3)
    held = np.abs(later.desired[after, 2])
    assert (held <= 1.001 * np.maximum(bound[1], held[0])).all()
    changes = np.abs(np.diff(later.desired[after, 2], axis=0)) / later.loop.period
    assert (changes < 1.5 * bound[2]).all()
    assert later.speed[after].max() <= later.speed[: after.start].max() + 0.05


@pytest.mark.parametrize(
    ("robot", "moves", "update_on", "mujoco"),
    each_once([*WAY], [False, True], ["state", "timer"], [False, True]),
)
def test_a_deactivated_arm_comes_to_rest_with_a_load_that_is_not_known(
    robot, moves, update_on, mujoco
):
    """Without feedback it would sink for as long as commands go on; then they end."""
    start, mass = load(robot).start, {"panda": 1.5, "ur5e": 4.0}[robot]
    ask = {0.1: trajectory([Point(1.0, start + 0.3)])} if moves else {}
    twin = {"payload.mass": mass, "payload.link": TIPS[robot]}
    own = {"parameters": {"update_on": update_on}, "twin": twin, "mujoco": mujoco}
    played = play(Scene(robot, {**ask, 0.5: deactivate}, 2.8, **own))
    at_rest = played.since(0.5 + 0.25)  # stop_time
    assert np.abs(played.q[at_rest] - played.q[at_rest.start]).max() < 0.04
    assert np.abs(played.qd[played.since(1.7)]).max() < 0.05
    assert played.loop.controller.phase is Phase.INACTIVE
    assert np.isnan(played.record.command[played.record.phase == Phase.INACTIVE]).all()


def faster(played, at):
    """Return by how much an arm gets faster after a time [s] than it was before."""
    after = played.since(at)
    return played.speed[after].max() / played.speed[: after.start].max()


LIES = [lost_after(0.9, 1.0), lost_after(0.9, 1.05), shifted_after(0.9)]  # the second: open loop


@pytest.mark.parametrize(
    ("robot", "decay_time", "lie"), each_once(["panda", "ur5e"], [2, 0.5], LIES)
)
def test_a_stop_on_the_way_out_that_is_disturbed_throws_no_arm(robot, decay_time, lie):
    """The torque that braked it faded as slowly as decay_time: 3.5 times the fastest speed."""
    ask = {0.4: moved(load(robot).start + 0.6, 0.8), 0.8: deactivate}
    played = play(Scene(robot, ask, 2.5, parameters={"decay_time": decay_time}, state=lie))
    assert faster(played, 0.8) < 1.01


@pytest.mark.parametrize("let_go", [0.6, 1.0])
@pytest.mark.parametrize(
    ("robot", "times", "end"),
    each_once([*WAY], [(0.2, 2.0), (3.0, 0.2)], [lambda loop: None, fall_back, deactivate]),
)
def test_what_is_left_of_a_motion_as_the_arm_is_let_go_throws_no_arm(robot, times, end, let_go):
    """It accelerates at .6 s, and brakes at 1 s: up to 6.8 times the fastest speed."""
    ask = {
        0.4: moved(load(robot).start + 0.6, 0.8),
        let_go: lambda loop: loop.configure({"mode": "gravity_compensation"}),
        let_go + 0.05: end,
    }
    times = dict(zip(("blend_time", "decay_time"), times, strict=True))
    played = play(Scene(robot, ask, 4.0, parameters=times))
    assert faster(played, let_go) < 1.2  # it may still drive it for .02 s
    assert faster(played, let_go + 0.05) < 1.05
    assert played.loop.controller.phase is (Phase.INACTIVE if end is deactivate else Phase.FLOATING)


def test_noise_takes_no_unknown_load_from_the_gravity_hold():
    """A velocity of one state has the wrong sign as often as not: it sank by .18 rad."""
    random = np.random.default_rng(0)

    def noisy(state):
        q = state.q + 1e-3 * random.standard_normal(6)
        return state._replace(q=q, qd=np.full(6, np.nan))

    load = {"payload.mass": 4.0, "payload.link": "tool0"}
    slow = {"decay_time": 3.0}
    played = play(Scene("ur5e", {1.0: fall_back}, 2.0, parameters=slow, twin=load, state=noisy))
    held = played.q[played.since(1.0)]
    assert np.abs(held - held[0]).max() < 0.01


def test_a_fault_on_the_way_out_ends_the_feedback_after_a_gap_too():
    """It swings up, as commands come 40 ms late: with it 7 times the fastest speed, and no end."""
    noise = np.random.default_rng(1)
    start = load("panda").start
    lost = lost_after(0.7, 0.85)

    def noisy(state):
        return lost(state._replace(q=state.q + 1e-4 * noise.standard_normal(7)))

    ask = {0.2: moved(start + 0.3, 0.6), 0.66: deactivate}
    played = play(Scene("panda", ask, 2.4, state=noisy, command=late_by(0.04)))
    assert "faster than" in played.text
    assert played.speed[played.since(0.9)].max() < 1.3
    assert played.speed[played.since(2.0)].max() < 0.5

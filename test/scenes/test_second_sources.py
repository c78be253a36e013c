"""Somebody else commands the same arm, publishes its states, or tells it where to go.

In turns with the one that is expected, so that half of what is heard is his.
"""

import numpy as np
import pytest
from arm_scene import Scene, chunk, load, moved, play, set_point
from drawn_scenes import ADDED, bounds
from lies import in_turns
from studies import each_once, study

from featherstone_ros.control.phases import Phase
from featherstone_ros.control.trajectory import TrajectoryError

BEGIN, DURATION = 0.2, 1.2  # [s]
AWAY = {"panda": 0.4, "ur5e": 0.6}  # [rad]
START = load("panda").start


def motion(robot):
    start = load(robot).start
    return start, {BEGIN: moved(start + AWAY[robot], DURATION)}


class Holding:
    """A second controller of the same arm, which holds it where it was first seen."""

    def __init__(self, robot, mode):
        self.controller = load(robot).arm.with_parameters(mode=mode).controller()
        self.controller.activate(0.0)
        self.effort = np.zeros(load(robot).arm.model.n)

    def see(self, state):
        effort = self.controller.accept_state(state.stamp, *state[:4])
        self.effort = self.effort if effort is None else effort.copy()
        return state

    def instead(self, at, command):
        return command._replace(effort=self.effort)


@pytest.mark.parametrize(
    ("robot", "mode"),
    each_once([*AWAY], ["feedforward", "computed_torque", "gravity_compensation"]),
)
def test_an_arm_of_two_controllers_is_not_thrown(robot, mode):
    """It stays between what the two want: the one that moves it says that it is off its path. The
    other holds it, or lets it float.
    """
    start, asks = motion(robot)
    other = Holding(robot, mode)
    played = play(
        Scene(robot, asks, 3.0, start=start, state=other.see, command=in_turns(other.instead))
    )
    asked = 1.875 * AWAY[robot] / DURATION / load(robot).arm.model.velocity_limit.min()
    assert played.speed.max() < asked + 0.1
    assert played.speed[-1] < 0.1
    if mode != "gravity_compensation":
        assert "away from where it should be" in played.text


@pytest.mark.parametrize("robot", AWAY)
def test_drives_that_are_told_nothing_in_between_do_not_throw_the_arm(robot):
    start, asks = motion(robot)
    silent = in_turns(lambda at, command: command._replace(effort=0.0 * command.effort))
    played = play(Scene(robot, asks, 3.0, start=start, command=silent))
    asked = 1.875 * AWAY[robot] / DURATION / load(robot).arm.model.velocity_limit.min()
    assert played.speed.max() < asked + 0.1
    assert played.loop.controller.phase is Phase.HOLDING


@pytest.mark.parametrize(("robot", "off"), each_once([*AWAY], [0.0, 0.3]))
def test_states_of_two_arms_give_finite_torques_within_their_limits(robot, off):
    """The other one stands where this one began, or elsewhere: class 5, no speed is promised."""
    start, asks = motion(robot)
    elsewhere = in_turns(lambda state: state._replace(q=start + off, qd=0.0 * start, effort=None))
    arm = load(robot).arm
    scene = Scene(robot, asks, 1.0, start=start, state=elsewhere, period=arm.timing.period / 2)
    efforts = np.array([command.effort for _, command in play(scene).commands])
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= arm.model.effort_limit).all()


def way(there):
    return lambda time: START + there + 0.15 * np.sin(2.0 * (time - BEGIN)) * np.ones(7)


def points(at, there):
    return set_point(way(there)(at))


def chunks(at, there):
    return chunk(way(there), at)


def goal(at, there):
    return moved(START + there, 0.5)


@pytest.mark.parametrize("every", [study(0.01), 0.1])
@pytest.mark.parametrize(
    ("one", "other"), [(points, points), (chunks, chunks), (points, goal), (goal, goal)]
)
def test_two_streams_whip_no_arm(one, other, every):
    """They ask for places that are .1 rad apart."""
    taken = [0, 0]

    def send(which, at):
        def ask(loop):
            try:
                (one, other)[which](at, 0.1 * which)(loop)
                taken[which] += 1
            except (TrajectoryError, ValueError) as refused:
                assert "too far" in str(refused)

        return ask

    times = enumerate(np.arange(BEGIN, 3.0, every))
    asks = {at: send(k % 2, at) for k, at in times}
    parameters = {"interpolation": "spline"}
    played = play(Scene("panda", asks, 5.0, start=START, parameters=parameters))
    assert min(taken) > 5
    rates = bounds("panda")
    assert (np.abs(played.desired[:, 2]) < ADDED * rates[:2].max(axis=0)).all()
    assert played.speed.max() < 1.0
    assert played.speed[-1] < 0.01

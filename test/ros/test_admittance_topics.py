"""Mode admittance over DDS: drives that take positions, and a sensor that feels the twin's push."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support import TOOL, Ros, seconds  # skips this module where ROS is missing

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rig import CONTROLLER, Hand
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from terminal import in_terminal, read_until
from test_teach_and_replay import end

import featherstone_ros as fr

RATE = 100.0  # [Hz]
PACE = 3.0  # times as fast as real time
FORCE = 12.0  # [N]


class Sensor(Hand):
    """A Panda in mode admittance, in lockstep, and a sensor."""

    def __init__(self, ros: Ros, **parameters: Any) -> None:
        stiffness = [400.0] * 3 + [30.0] * 3
        law = {"output": "joint_state", "stiffness": stiffness, "wrench_timeout": 0.5}
        super().__init__(ros, {**law, **parameters}, pace=PACE, twin={"rate": RATE})
        assert ros.set_parameters(CONTROLLER, {"mode": "admittance"})[0].successful
        self.targets = ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose")
        self.felt = ros.publisher(WrenchStamped, f"{CONTROLLER}/wrench")
        ros.wait_for(lambda: self.poses, "a pose")

    def feel(self, force=(0.0, 0.0, 0.0)) -> None:
        """Push the hand, in its axes, and measure that."""
        self.push(force)
        self.felt.publish(self.wrench(force))

    def feel_until(self, condition: Callable[[], Any], what: str, **push: Any) -> Any:
        seen = None

        def felt() -> Any:
            nonlocal seen
            if seen is not self.poses[-1]:
                seen = self.poses[-1]
                self.feel(**push)
            return condition()

        return self.ros.wait_for(felt, what)

    def tells(self, text: str) -> Callable[[], DiagnosticStatus | None]:
        return self.ros.new_status(text, CONTROLLER)


@pytest.fixture(scope="module")
def hand(shared_ros: Ros) -> Sensor:
    return Sensor(shared_ros, wrench_dead_zone=[0.0, 0.0])


def test_drives_are_told_where_the_arm_is_held_and_the_torque_of_the_model(hand):
    commands = hand.ros.collect(JointState, f"{CONTROLLER}/joint_commands")
    hand.ros.wait_for(lambda: len(commands) > 20, "commands")
    assert list(commands[-1].name) == hand.names
    weight = fr.Dynamics(hand.model).gravity(np.array(commands[-1].position))
    np.testing.assert_allclose(commands[-1].position, hand.home, atol=1e-3)
    np.testing.assert_allclose(commands[-1].effort, weight, atol=1e-6)
    # A twin in lockstep that waited long asks again, and is told the same.
    told = [commands[0], *(new for last, new in pairwise(commands) if new != last)]
    assert min(np.diff([seconds(command.header.stamp) for command in told])) > 0.0


def test_no_wrench_is_told_and_targets_are_refused(hand):
    hand.ros.wait_for(hand.tells("no wrench on ~/wrench so far"), "diagnostics")
    target = deepcopy(hand.poses[-1])
    target.header.frame_id = ""
    hand.ros.ask(hand.targets, target, hand.tells("while no wrench comes on ~/wrench"), "a refusal")


def test_a_zeroed_sensor_moves_the_hand_no_more(hand):
    """How far a push moves it: test_admittance.py; what is refused: test_sensor_zero.py."""
    hand.feel_until(hand.tells("running"), "green diagnostics")
    start, answers = hand.position, []

    def zeroed() -> bool:
        answers.append(hand.ros.call(Trigger, f"{CONTROLLER}/zero_wrench", Trigger.Request()))
        return answers[-1].success

    def moved() -> float:
        return float(np.abs(hand.position - start).max())

    force = 0.0, 0.0, FORCE
    hand.feel_until(lambda: moved() > 0.01, "a hand that yields", force=force)
    hand.feel_until(zeroed, "a zero", force=force)
    said = answers[-1].message.partition("tip: ")[2].split()[:3]
    np.testing.assert_allclose(np.array(said, float), force, atol=0.2)
    hand.feel_until(lambda: moved() < 1.5e-3, "the hand back again", force=force)


@pytest.mark.study
def test_arm_without_torques_is_taught(hand):
    push = hand.turned([0.0, FORCE, 0.0])
    with in_terminal(hand.ros, *TOOL, "teach", "--output", "led.yaml") as (process, master, _):
        read_until(master, b"space: begin")
        assert hand.ros.get_parameter(CONTROLLER, "mode") == "admittance"
        os.write(master, b" ")
        read_until(master, b"space: end")
        begin = hand.position
        hand.feel_until(lambda: (hand.position - begin)[1] > 0.05, "a hand that is led", force=push)
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 0, output
    assert hand.ros.get_parameter(CONTROLLER, "mode") == "feedforward"
    assert (hand.ros.folder / "led.yaml").exists()

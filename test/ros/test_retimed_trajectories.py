"""Parameter ``retime``: what breaks limits gets new times while the arm is held.

Goals of the action are in test_follow_joint_trajectory.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from support import (
    DEEP,
    LOCKSTEP,
    SIMULATED,
    Ros,
    ros_in_free_domain,
)  # skips this module where ROS is missing

pytest.importorskip("scipy", reason="scipy is not installed: nothing can be timed anew")

# isort: split
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from test_feedforward_controller import NAMES, NODE, PARAMETERS, Q, point
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.nodes.messages import seconds

REST = [0.0, 0.0]
GOAL = Q + np.array([0.8, -0.8])
TOO_FAST = [point(0.1, GOAL, velocities=REST)]
VELOCITY = 3.0  # [rad/s] limit of both joints
# It takes many seconds to find new times for as many stops.
BUSY = [point(0.1 * (k + 1), Q + (0.3 if k % 2 else -0.3)) for k in range(100)]
STABLE = {"gains.elbow.p": 20.0, "gains.elbow.d": 1.0, "gains.shoulder.d": 5.0}


class RetimingArm:
    """A twin, and a controller that times anew what breaks limits."""

    def __init__(self, ros: Ros) -> None:
        self.ros = ros
        self.controller = ros.start(
            "featherstone_ros.feedforward_controller",
            {**PARAMETERS, **STABLE, **SIMULATED, "retime": True},
        )
        self.states = ros.collect(JointState, "joint_states", DEEP)
        self.commands = ros.collect(Float64MultiArray, f"{NODE}/commands", DEEP)
        self.desired = ros.collect(JointState, f"{NODE}/desired")
        self.trajectories = ros.publisher(JointTrajectory, f"{NODE}/joint_trajectory")
        ros.wait_for_state(NODE, "active")
        initial = {f"initial_positions.{name}": q for name, q in zip(NAMES, Q, strict=True)}
        ros.start(
            "featherstone_ros.digital_twin",
            {"robot_description": PARAMETERS["robot_description"], **LOCKSTEP, **initial},
            *("-r", f"~/commands:={NODE}/commands"),
        )
        ros.wait_for(lambda: self.commands, "command")

    def send(self, points: list, expected: str) -> str:
        """Send a trajectory; return the log from then on, once it has what is expected."""
        begin = len(self.controller.output)
        self.trajectories.publish(JointTrajectory(joint_names=NAMES, points=points))
        return self.wait_for_log(expected, begin)

    def wait_for_log(self, expected: str, begin: int) -> str:
        output = lambda: self.controller.output[begin:]  # noqa: E731
        self.ros.wait_for(lambda: expected in output(), f"{expected!r} in the log")
        return output()

    def hold(self) -> bool:
        return bool(self.ros.call(Trigger, f"{NODE}/hold", repeat=False).success)

    def is_held_at(self, q: np.ndarray) -> bool:
        """Whether no motion is under way, and the arm is there."""
        place = [self.states[-1].position[list(self.states[-1].name).index(n)] for n in NAMES]
        desired = self.desired[-1]
        is_asked = np.abs(desired.position - q).max() < 1e-9 and not np.any(desired.velocity)
        return bool(is_asked and np.abs(place - q).max() < 0.01)

    def wait_until_it_is_held_at(self, q: np.ndarray) -> None:
        """Wait for it; not by a desired position of before, whose successors are late or lost."""
        since = seconds(self.states[-1].header.stamp) if self.states else 0.0
        self.ros.wait_for(
            lambda: (
                self.desired
                and seconds(self.desired[-1].header.stamp) >= since
                and self.is_held_at(q)
            ),
            f"arm at {q}",
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetimingArm]:
    with ros_in_free_domain(tmp_path_factory.mktemp("retimed")) as ros:
        yield RetimingArm(ros)


@pytest.fixture
def arm(shared: RetimingArm) -> Iterator[RetimingArm]:
    """The arm, holding at Q."""
    shared.ros.wait_for(shared.hold, "hold")
    shared.send([point(1.0, Q, velocities=REST)], "trajectory of")
    shared.wait_until_it_is_held_at(Q)
    yield shared
    assert shared.controller.is_running
    assert np.isfinite([list(command.data) for command in shared.commands]).all()
    assert "Traceback" not in shared.controller.output


def test_it_is_followed_within_the_limits(arm):
    arm.states.clear()
    log = arm.send(TOO_FAST, "trajectory of")
    taken, times = map(float, re.search(r"timed anew: (\S+) s .* (\S+) times as", log).groups())
    assert taken > np.abs(GOAL - Q).max() / VELOCITY
    assert times == pytest.approx(taken / 0.1, rel=1e-2)
    assert "timing a trajectory anew, since " in log and "; of the limits: velocity" in log
    arm.wait_until_it_is_held_at(GOAL)
    assert np.abs([state.velocity for state in arm.states]).max() < 1.05 * VELOCITY


def test_what_fits_is_followed_as_it_is(arm):
    log = arm.send([point(2.0, Q + 0.1, velocities=REST)], "trajectory of 1 points, 2.000 s")
    assert "anew" not in log


def test_an_arm_in_motion_gets_no_new_times(arm):
    arm.send([point(5.0, Q + 0.3, velocities=REST)], "trajectory of")
    arm.ros.wait_for(lambda: not arm.is_held_at(Q), "motion")
    log = arm.send(TOO_FAST, "refused a message on ~/joint_trajectory")
    assert "not timed anew (the arm is in motion): " in log


def test_what_comes_next_supersedes_it(arm):
    for act, why in (
        (lambda: arm.send([point(1.0, Q)], "trajectory of"), "superseded by a newer request"),
        (lambda: arm.send(BUSY, "timing a trajectory anew"), "superseded by a newer one"),
        (arm.hold, "~/hold was called"),
        (
            lambda: arm.ros.set_parameters(NODE, {"stop_time": 0.3}),
            "parameters have changed: stop_time is 0.3",
        ),
    ):
        arm.wait_until_it_is_held_at(Q)
        begin = len(arm.controller.output)
        arm.send(BUSY, "timing a trajectory anew")
        act()
        arm.wait_for_log(f"not timed anew ({why}): ", begin)
    assert arm.is_held_at(Q)


def test_deactivation_supersedes_it(arm):
    begin = len(arm.controller.output)
    arm.send(BUSY, "timing a trajectory anew")
    arm.ros.change_state(NODE, "deactivate")
    arm.wait_for_log("not timed anew (the controller is deactivated): ", begin)
    arm.ros.change_state(NODE, "activate")

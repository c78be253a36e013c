"""Green only when it is there: the real controller, on arms that do not arrive."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from studies import study
from support import (  # skips this module where ROS is missing
    ARM,
    LOCKSTEP,
    SIMULATED,
    STATES,
    Between,
    Ros,
    status_values,
)

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from neighbour import CONTROLLER, TWIN
from sensor_msgs.msg import JointState
from test_feedforward_controller import NAMES, URDF, point
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file

START = {"shoulder": 0.6, "elbow": 0.5}
GOAL = [1.0, 0.1]
GAINS = {
    **{"gains.shoulder.p": 100.0, "gains.shoulder.d": 10.0},
    **{"gains.elbow.p": 20.0, "gains.elbow.d": 1.0},
}
PACE = 3.0  # times real time


class Arm:
    """Twin and controller as processes, in lockstep or in real time, and what they say."""

    def __init__(
        self,
        ros: Ros,
        urdf: str,
        twin: dict[str, Any],
        in_real_time: bool = False,
        **parameters: Any,
    ) -> None:
        self.ros = ros
        heard = STATES if in_real_time else ARM
        if not in_real_time:
            Between(ros, pace=PACE)
            twin, parameters = LOCKSTEP | twin, SIMULATED | parameters
        self.twin = ros.start(
            f"featherstone_ros.{TWIN[1:]}",
            {"robot_description": urdf, "rate": 200.0, **twin},
            *("-r", f"~/commands:={CONTROLLER}/commands", "-r", f"joint_states:={heard}"),
        )
        ros.start(f"featherstone_ros.{CONTROLLER[1:]}", {"robot_description": urdf, **parameters})
        self.states = ros.collect(JointState, STATES)
        self.errors = ros.collect(JointState, f"{CONTROLLER}/error")
        self.trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        self.status("running: hold")
        ros.run_before_others()

    def status(self, text: str) -> DiagnosticStatus:
        return self.ros.wait_for_diagnostics(
            lambda s: s.name == CONTROLLER[1:] and text in s.message, f"diagnostics {text!r}"
        )

    def follow(self, end: list[float], duration: float = 1.0, names: Sequence[str] = NAMES) -> None:
        rest = [0.0] * len(names)
        self.trajectories.publish(
            JointTrajectory(joint_names=names, points=[point(duration, end, velocities=rest)])
        )


def test_arm_that_sticks_on_its_way_is_named_until_it_is_asked_for_what_it_can_do(ros):
    # That the controller does not know; what is less than a tenth of the limit, no brakes have.
    friction = {"friction.shoulder.coulomb": 1.5}
    twin = {**friction, **{f"initial_positions.{name}": q for name, q in START.items()}}
    arm = Arm(ros, URDF, twin, path_tolerance=1.0, **GAINS)
    arm.follow(GOAL)
    status = arm.status("did not arrive: shoulder")
    assert status.level == DiagnosticStatus.WARN
    told = float(status.message.split("shoulder ")[1].split(" mrad")[0])
    ros.wait_for(
        lambda: arm.errors and abs(1e3 * abs(arm.errors[-1].position[0]) - told) < 0.2,
        f"an error of {told} mrad",
    )
    assert told > 10.0 and arm.errors[-1].name[0] == "shoulder"
    assert f"shoulder {told} mrad (expected 3)" in status.message
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.1})[0].successful
    assert arm.status("running: hold").level == DiagnosticStatus.OK
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.0})[0].successful
    arm.status("did not arrive: shoulder")
    ros.run_for(0.5)  # the last state heard is the present one
    arm.follow(list(arm.states[-1].position), 0.5)
    assert arm.status("running: hold").level == DiagnosticStatus.OK


@pytest.mark.parametrize("moves", [True, study(False)])
def test_gap_in_the_states_is_over_only_for_an_arm_that_is_where_it_was_to_be(ros, moves):
    twin = {f"initial_positions.{name}": q for name, q in START.items()}
    arm = Arm(ros, URDF, twin, in_real_time=True, state_timeout=0.3, executor_timeout=10.0)
    if moves:
        arm.follow(GOAL, 4.0)
        ros.wait_for(lambda: abs(arm.states[-1].velocity[0]) > 0.1, "motion")
    arm.twin.send(signal.SIGSTOP)  # the time of its arm stands still
    arm.status("no usable joint state")
    arm.twin.send(signal.SIGCONT)
    if moves:
        said = arm.status("did not arrive: ")
        assert "the last motion was abandoned: " in said.message
        assert said.level == DiagnosticStatus.WARN
        ros.run_for(0.5)  # likewise
        assert np.abs(arm.errors[-1].position).max() < 0.01  # the controller follows a hold well
        arm.follow(GOAL, 2.0)
    assert arm.status("running: hold").level == DiagnosticStatus.OK


def test_states_that_come_more_slowly_than_gains_allow_for_are_named(ros):
    """As from a driver of 200 Hz, with the parameters' defaults."""
    twin = {f"initial_positions.{name}": q for name, q in START.items()}
    Arm(ros, URDF, twin, **GAINS)
    ros.wait_for_diagnostics(
        lambda s: "for gains.period 2 ms" in status_values(s).get("gains", ""), "the period"
    )
    assert ros.set_parameters(CONTROLLER, {"gains.period": 0.005})[0].successful
    ros.wait_for_diagnostics(
        lambda s: status_values(s).get("gains") == "nothing found", "nothing to be found"
    )


def test_hand_of_a_stretched_arm_does_not_arrive_above_and_says_why(ros):
    upright = {"initial_positions.shoulder_lift_joint": -np.pi / 2}
    urdf = robot_file("ur5e").read_text()
    period = {"gains.period": 0.005}  # of the twin's states
    arm = Arm(ros, urdf, upright, tip="wrist_1_link", mode="cartesian_impedance", **period)
    targets = ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose")
    poses = ros.collect(PoseStamped, f"{CONTROLLER}/current_pose")
    ros.wait_for(lambda: poses, "pose of the hand")
    target = PoseStamped(pose=poses[-1].pose)
    target.pose.position.z += 0.05
    targets.publish(target)
    status = arm.status("did not arrive: end effector")
    assert status.level == DiagnosticStatus.WARN
    far, turned = map(float, re.findall(r"([\d.]+) (?:mm|deg) ", status.message)[:2])
    assert far == pytest.approx(50.0, abs=1.0) and turned < 0.5
    assert " from its target (expected 2 mm, 0.5 deg): " in status.message
    assert status.message.endswith(
        "singular posture or out of reach, no motion of the joints leads it there"
    )


FINGER = """
<link name="finger_link"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="finger" type="prismatic"><parent link="elbow_link"/><child link="finger_link"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint></robot>"""


def test_a_finger_that_is_stuck_is_named_in_millimetres(ros):
    """Not by a tolerance for joints that turn: 75 mm is more than all of its range."""
    twin = {f"initial_positions.{name}": q for name, q in START.items()}
    stuck = {
        "friction.finger.coulomb": 19.0,
        "noise.position": 1e-6,
        "initial_positions.finger": 0.0,
    }
    arm = Arm(ros, URDF.replace("</robot>", FINGER), {**twin, **stuck}, **GAINS)
    # Less than twice the 10 mm that are noted first: whenever that is, the error has not doubled.
    arm.follow([*START.values(), 0.018], names=[*NAMES, "finger"])
    # Where it is taken for braked it is an error first, until the arm is held again.
    status = ros.wait_for_diagnostics(
        lambda s: "finger 18.0 mm (expected " in s.message and s.level == DiagnosticStatus.WARN,
        "the finger",
    )
    assert "did not arrive: " in status.message


def test_hand_that_is_held_is_not_where_its_target_is_though_that_is_sent_again_and_again(ros):
    urdf = robot_file("ur5e").read_text()
    names = Model.from_urdf(urdf).joint_names
    bent = {"initial_positions.shoulder_lift_joint": -1.2, "initial_positions.elbow_joint": 1.4}
    held = {f"friction.{name}.coulomb": 60.0 for name in names}
    twin = {**bent, **held, "noise.position": 1e-4}
    Arm(ros, urdf, twin, tip="wrist_3_link", mode="cartesian_impedance")
    targets = ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose")
    poses = ros.collect(PoseStamped, f"{CONTROLLER}/current_pose")
    ros.wait_for(lambda: poses, "pose of the hand")
    target = PoseStamped(pose=poses[-1].pose)
    target.pose.position.z += 0.096
    found = ros.new_diagnostics(lambda s: "did not arrive: end effector 9" in s.message)
    seen = None

    def told() -> DiagnosticStatus | None:
        nonlocal seen
        if seen is not poses[-1]:
            seen = poses[-1]
            targets.publish(target)
        return found()

    assert ros.wait_for(told, "diagnostics of the hand").level == DiagnosticStatus.WARN

"""Trajectories that come while the controller takes an arm over."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.model import Model
from featherstone_ros.nodes.motion_input import MotionInput

ARM = ControlledArm.of(Model.from_robot("panda"))
NAMES = list(ARM.model.joint_names)


class TakesOver:
    """A loop that gets the arm's first state as soon as it has been looked at: zeros until then."""

    def __init__(self) -> None:
        self.refusal = 1
        self.controller, self.arm, self.settings, self.space = self, ARM, ARM.settings, ARM.space
        self.ros_time = 1.0

    def snapshot(self) -> SimpleNamespace:
        self.refusal = 0
        return SimpleNamespace(desired=np.zeros((3, len(NAMES))), q=np.zeros(len(NAMES)))

    def text_of(self, reason: object) -> str:
        return "waiting for a joint state"


@pytest.mark.parametrize("partial", [False, True])
def test_no_trajectory_is_planned_from_where_no_arm_has_been(partial):
    inputs = MotionInput.__new__(MotionInput)
    parameters = {"policy_frequency": 0.0, "allow_partial_joints_goal": partial}
    inputs._node, inputs._loop = SimpleNamespace(parameters=parameters), TakesOver()
    point = JointTrajectoryPoint(positions=[0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    point.time_from_start.sec = 1
    message = JointTrajectory(joint_names=NAMES, points=[point])
    with pytest.raises(TrajectoryError, match="waiting for a joint state"):
        inputs.plan_trajectory(message, ARM.tolerances)

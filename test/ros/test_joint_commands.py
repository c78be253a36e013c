"""What the controller says to drives with position loops of their own, and about its arm."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support import seconds, status_values  # skips this module where ROS is missing

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from rig import Rig
from sensor_msgs.msg import JointState
from test_feedforward_controller import NAMES, NODE, PARAMETERS, PATIENT, Q

import featherstone_ros as fr

CONTROLLER = "featherstone_ros.feedforward_controller"
GOAL = [float(Q[0]) + 0.3, float(Q[1]) - 0.3]
MODEL = fr.Model.from_urdf(PARAMETERS["robot_description"])


def test_drives_follow_a_trajectory_with_the_torque_of_the_model(ros):
    initial = {f"initial_positions.{name}": q for name, q in zip(NAMES, Q, strict=True)}
    urdf = PARAMETERS["robot_description"]
    own = {"output": "joint_state", **PATIENT}
    rig = Rig(ros, urdf, twin={"rate": 250.0, **initial}, controller=own)
    commands = ros.collect(JointState, f"{NODE}/joint_commands")
    rig.wait_until_held()
    rig.lead(GOAL, within=1e-3, accelerations=[0.0, 0.0])
    ros.wait_for(lambda: np.abs(commands[-1].velocity).max() == 0.0, "end of the motion")
    assert list(commands[-1].name) == NAMES
    assert_allclose(commands[-1].position, GOAL, atol=1e-12)
    held = fr.Dynamics(MODEL).gravity(np.array(GOAL))
    ros.wait_for(lambda: np.allclose(commands[-1].effort, held, atol=1e-6), "gravity alone")
    stamps = [seconds(c.header.stamp) for c in commands if np.abs(c.velocity).max() > 0.0]
    assert stamps and min(np.diff(stamps)) > 0.0


def test_commands_that_nobody_listens_to_are_a_warning(ros):
    ros.start(CONTROLLER, {**PARAMETERS, **PATIENT})
    states = ros.publisher(JointState, "joint_states")
    message = JointState(name=NAMES, position=list(Q), velocity=[0.0, 0.0])

    def unheard() -> DiagnosticStatus:
        states.publish(message)
        return ros.status("", NODE)

    status = ros.wait_for(
        lambda: (s := unheard()).level == DiagnosticStatus.WARN and "nobody" in s.message and s,
        "warning",
    )
    assert f"nobody listens to {NODE}/commands" in status.message
    assert status_values(status)["following"] == "hold"

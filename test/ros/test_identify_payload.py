"""A shadow finds, over DDS, the load that its model does not have; the controller takes it."""

import numpy as np
import pytest
import yaml
from support import (  # skips this module where ROS is missing
    ARM,
    SHADOWED,
    Between,
    Ros,
    point,
    status_values,
)
from test_shadow_mode import AS_SHADOW, MODEL_FIGURES, PANDA, READY, SHADOW, WITHOUT_FRICTION

pytest.importorskip("scipy")

# isort: split
from rclpy.qos import DurabilityPolicy, QoSProfile
from rig import CONTROLLER, Rig
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

TWIN = "featherstone_ros.digital_twin"
LINK, MASS, COM = "panda_hand", 1.2, np.array([0.02, -0.01, 0.09])
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LONG = 60.0  # [s] no motion here lasts longer


def start(ros: Ros) -> None:
    """Start an arm with a load; its controller and shadow do not know of it. All go in lockstep."""
    parameters = {**MODEL_FIGURES, "mode": "shadow", "payload_link": LINK}
    heard = ("-r", f"joint_states:={SHADOWED}")
    ros.start(TWIN, {"robot_description": PANDA.text, **parameters}, *AS_SHADOW, *heard)
    ros.wait_for_state(SHADOW, "active")
    loaded = PANDA.model.with_payload(LINK, MASS, COM, 0.003 * np.eye(3)).to_urdf(PANDA.text)
    noise = {"noise.velocity": 1e-3, "noise.effort": 0.1, "robot_description": loaded}
    Between(ros, SHADOW)
    Rig(
        ros,
        PANDA.text,
        pace=4.0,
        twin={**WITHOUT_FRICTION, **noise, "rate": 200.0},
        controller=PANDA.parameters["feedforward_controller"],
        states=ARM,
    )
    ros.status("running", CONTROLLER)


def swing(duration: float = LONG) -> JointTrajectory:
    """Return a motion of all joints about where they stand, each at a pace of its own."""
    pace = np.array([0.9, 1.1, 1.3, 0.8, 1.7, 1.5, 1.9])  # [rad/s]
    wide = np.array([0.2, 0.15, 0.2, 0.15, 0.4, 0.4, 0.5])  # [rad]
    points = [
        point(
            t,
            READY + wide * (1 - np.cos(pace * t)),
            velocities=wide * pace * np.sin(pace * t),
            accelerations=wide * pace**2 * np.cos(pace * t),
        )
        for t in np.arange(0.0, duration, 0.05)
    ]
    points[-1].velocities = points[-1].accelerations = np.zeros(7)
    return JointTrajectory(joint_names=PANDA.model.joint_names, points=points)


def test_a_load_is_found_while_the_arm_works_and_the_controller_takes_it(ros):
    start(ros)
    answers = ros.collect(String, f"{SHADOW}/payload", LATCHED)
    motion = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    # The shadow hears all of the motion and nothing else, however slow this process is.
    assert ros.call(SetBool, "/digital_twin/pause", SetBool.Request(data=True)).success
    motion.publish(swing())
    ros.status(following="trajectory")
    answer = ros.call(Trigger, f"{SHADOW}/identify_payload", repeat=False)
    assert answer.success and LINK in answer.message
    assert ros.call(SetBool, "/digital_twin/pause", SetBool.Request(data=False)).success
    ros.status(payload="collecting")
    ros.wait_for(lambda: answers, "answer", timeout=LONG)  # while the arm moves
    said = ros.status(payload=" kg on panda_hand")
    assert status_values(said)["joint states lost"] == "0"
    payload = yaml.safe_load(answers[0].data)["/**"]["ros__parameters"]["payload"]
    assert payload["link"] == LINK and payload["mass"] == pytest.approx(MASS, rel=0.05)
    np.testing.assert_allclose(payload["com"], COM, atol=0.01)
    late = ros.collect(String, f"{SHADOW}/payload", LATCHED)  # it is latched
    ros.wait_for(lambda: late, "answer for a late listener")
    group = {f"payload.{name}": value for name, value in payload.items()}
    assert all(result.successful for result in ros.set_parameters(CONTROLLER, group))
    assert ros.get_parameter(CONTROLLER, "payload.mass") == payload["mass"]


def test_asked_in_vain_the_shadow_says_why_and_ends_cleanly(ros):
    parameters = {**MODEL_FIGURES, "mode": "shadow", "payload_link": "hook"}
    shadow = ros.start(TWIN, {"robot_description": PANDA.text, **parameters}, *AS_SHADOW)
    ros.wait_for_state(SHADOW, "active")
    refused = ros.call(Trigger, f"{SHADOW}/identify_payload")
    assert not refused.success and "hook" in refused.message
    results = ros.set_parameters(SHADOW, {"wrench_link": "tail", "max_gap": 1.0})
    assert not any(result.successful for result in results)
    assert "no link 'tail'" in results[0].reason
    assert ros.get_parameter(SHADOW, "max_gap") == 0.25
    assert ros.set_parameters(SHADOW, {"wrench_link": "panda_link7"})[0].successful
    assert ros.set_parameters(SHADOW, {"payload_link": LINK})[0].successful
    for _ in range(2):  # the second one begins anew
        assert ros.call(Trigger, f"{SHADOW}/identify_payload").success
    ros.status(payload="collecting, 0%: turn panda_hand")
    assert ros.change_state(SHADOW, "deactivate")
    refused = ros.call(Trigger, f"{SHADOW}/identify_payload")
    assert not refused.success and "inactive" in refused.message
    for transition in ("cleanup", "configure", "activate"):
        assert ros.change_state(SHADOW, transition), transition
    assert ros.call(Trigger, f"{SHADOW}/identify_payload").success
    shadow.stop()

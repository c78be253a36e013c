"""The digital twin beside an arm: another twin that simulates, or a recorded one, over DDS."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from support import (  # skips this module where ROS is missing
    MATCHING,
    Ros,
    status_values,
)

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

import featherstone_ros as fr
from featherstone_ros.tools.robot_setup import load

MODULE = "featherstone_ros.digital_twin"
SHADOW = "/shadow"
AS_SHADOW = ("-r", "__node:=shadow")
GAIN = 10.0  # [1/s]
NANOSECONDS = 1_000_000_000


def start_shadow(ros: Ros, text: str, *arguments: str, **parameters):
    shadow = {"robot_description": text, "mode": "shadow", **parameters}
    return ros.start(MODULE, shadow, *AS_SHADOW, *arguments)


OUTPUTS = {
    "predicted": (JointState, f"{SHADOW}/predicted_joint_states"),
    "residual": (JointState, f"{SHADOW}/residual"),
    "wrench": (WrenchStamped, f"{SHADOW}/external_wrench_estimate"),
    "contact": (Bool, f"{SHADOW}/contact"),
}


def outputs(ros: Ros, *names: str) -> dict[str, list]:
    """Collect what the shadow says, on these topics or all, once they have found each other."""
    said = {name: ros.collect(*OUTPUTS[name], 1000) for name in names or OUTPUTS}
    topics = [OUTPUTS[name][1] for name in said]
    ros.wait_for(lambda: all(map(ros.node.count_publishers, topics)), "the shadow's topics")
    ros.run_for(MATCHING)
    return said


def figures(message: WrenchStamped) -> list[float]:
    force, torque = message.wrench.force, message.wrench.torque
    return [force.x, force.y, force.z, torque.x, torque.y, torque.z]


PANDA = load("panda")
WITHOUT_FRICTION = {
    name: 0.0 if name.startswith("friction") else value
    for name, value in PANDA.parameters["digital_twin"].items()
}
MODEL_FIGURES = {
    name: value
    for name, value in WITHOUT_FRICTION.items()
    if name == "joints" or name.startswith(("friction", "armature"))
}
READY = PANDA.by_joint("digital_twin", "initial_positions.{}")
WRENCH = np.array([30.0, -20.0, 40.0, 4.0, -3.0, 3.0])


def share_of(message: WrenchStamped) -> float:
    """Return how much of the wrench is seen."""
    return float(np.array(figures(message)) @ WRENCH / (WRENCH @ WRENCH))


def test_hidden_wrench_on_an_arm_at_rest_is_found(ros):
    """Of an arm in motion, with noise: test_shadow.py."""
    gains = {f"observer_gain.{joint}": GAIN for joint in PANDA.model.joint_names}
    start_shadow(ros, PANDA.text, **MODEL_FIGURES, **gains, wrench_link="panda_link7")
    said = outputs(ros, "wrench", "contact")
    arm = ros.publisher(JointState, "/joint_states")
    dynamics = fr.Dynamics(PANDA.model)
    last = publish_at_rest(ros, arm, dynamics.gravity(READY), 1.2, until=lambda: said["contact"])
    ros.status(**{"effort contract": "as torque fits at rest"})
    assert not any(message.data for message in said["contact"])
    said["wrench"].clear()
    held = dynamics.rnea(READY, np.zeros(7), np.zeros(7), {"panda_link7": WRENCH})
    publish_at_rest(
        *(ros, arm, held, 0.5, last + 0.02),
        until=lambda: said["wrench"] and abs(share_of(said["wrench"][-1]) - 1.0) < 0.05,
    )
    assert {message.header.frame_id for message in said["wrench"]} == {"panda_link7"}
    ros.wait_for(lambda: said["contact"] and said["contact"][-1].data, "contact")
    ros.status(**{"contact at": "panda_joint2"})


def test_another_effort_contract_is_reported_loudly(ros):
    gravity = fr.Dynamics(PANDA.model).gravity(READY)
    names = [f"drives.{joint}.effort" for joint in PANDA.model.joint_names]
    hidden = dict.fromkeys(names, "torque_without_gravity")
    node = start_shadow(ros, PANDA.text, **MODEL_FIGURES, **hidden)
    arm = ros.publisher(JointState, "/joint_states")
    publish_at_rest(ros, arm, gravity, 1.2)
    broken = "effort is torque_without_gravity, but at rest the effort fits torque"
    ros.status(broken, level=DiagnosticStatus.ERROR)
    node.wait_for_output("but at rest the effort fits torque")
    assert "ERROR" in node.output
    assert ros.set_parameters(SHADOW, dict.fromkeys(names, "torque"))[0].successful
    publish_at_rest(ros, arm, gravity, 1.2, start=10.0)
    ros.status(**{"effort contract": "as torque fits"})


def publish_at_rest(
    ros: Ros,
    arm: Publisher,
    effort: np.ndarray,
    duration: float,
    start: float = 1.0,
    until: Callable[[], Any] = lambda: True,
) -> float:
    """Publish joint states of an arm at rest, as fast as they go; return the last one's stamp.

    until: Go on until this, too: a shadow publishes nothing before it knows of listeners.
    """
    message = JointState(name=PANDA.model.joint_names, position=READY, effort=effort)
    message.velocity = np.zeros(7)
    stamps = itertools.count(round(start * NANOSECONDS), 20_000_000)

    def stamp_of_last() -> int:
        stamp = next(stamps)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, NANOSECONDS)
        arm.publish(message)
        ros.run_for(0.005)
        return stamp if stamp >= (start + duration) * NANOSECONDS and until() else 0

    last = ros.wait_for(stamp_of_last, "what states at rest lead to", period=0.0)
    return last / NANOSECONDS


def test_odd_joint_states_are_refused_or_passed_over_and_reported(ros):
    node = start_shadow(ros, PANDA.text, **MODEL_FIGURES)
    said = outputs(ros)
    arm = ros.publisher(JointState, "/joint_states")
    gravity = fr.Dynamics(PANDA.model).gravity(READY)
    last = publish_at_rest(ros, arm, gravity, 1.0, until=lambda: len(said["residual"]) >= 5)
    names = list(PANDA.model.joint_names)
    for message, reason in (
        (JointState(name=names, position=READY, velocity=np.zeros(7)), "effort is empty"),
        (JointState(name=names[:3]), "joints missing: panda_joint4"),
    ):
        arm.publish(message)
        ros.status(reason)
    arm.publish(JointState(name=["gripper"], position=[0.0]))
    publish_at_rest(ros, arm, gravity, 0.2, start=last + 1.0)
    node.wait_for_output("the observer starts anew")
    status = ros.status(restarts="1")
    assert status_values(status)["refused messages"] == "2"
    ros.status("no new joint state for")
    for message in said["residual"] + said["predicted"]:
        assert np.isfinite([*message.position, *message.velocity, *message.effort]).all()


def test_commands_are_what_is_predicted_with_if_asked_for(ros):
    start_shadow(ros, PANDA.text, **MODEL_FIGURES, prediction_effort="commanded")
    said = outputs(ros)
    arm = ros.publisher(JointState, "/joint_states")
    commands = ros.publisher(Float64MultiArray, f"{SHADOW}/commands")
    last = publish_at_rest(ros, arm, np.zeros(7), 1.0, until=lambda: said["predicted"])
    assert list(said["predicted"][-1].effort) == [0.0] * 7
    starts = itertools.count(last + 0.02, 0.1)

    def is_used() -> bool:
        commands.publish(Float64MultiArray(data=[2.0] * 7))
        publish_at_rest(ros, arm, np.zeros(7), 0.1, start=next(starts))
        return list(said["predicted"][-1].effort) == [2.0] * 7

    ros.wait_for(is_used, "the command")

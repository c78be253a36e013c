"""Two arms on one base: a digital twin of both, and a controller for each.

ros2 launch featherstone_ros two_arms.launch.py robot:=/path/to/baxter.urdf \
    left_joints:="left_s0 left_s1 left_e0 left_e1 left_w0 left_w1 left_w2" left_tip:=left_gripper \
    right_joints:="right_s0 right_s1 right_e0 right_e1 right_w0 right_w1 right_w2"

The controllers are left_controller and right_controller, also in the parameter file. On a real arm,
see docs/two_arms.md.
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action

from featherstone_ros.nodes.launch_support import (
    argument,
    is_installed,
    launch,
    package_node,
    state_publisher,
    value,
)

ARMS = ("left", "right")


def start(context: LaunchContext) -> list[Action]:
    """Start the nodes as the arguments say."""
    joints = {arm: value(context, f"{arm}_joints").split() for arm in ARMS}
    for arm in ARMS:
        if not joints[arm]:
            raise RuntimeError(f"{arm}_joints is empty, expected the names of the arm's joints")
    shared = sorted(set(joints["left"]) & set(joints["right"]))
    if shared:
        raise RuntimeError(f"left_joints and right_joints have in common: {', '.join(shared)}")
    twin: dict[str, object] = {"joints": [joint for arm in ARMS for joint in joints[arm]]}
    actions: list[Action] = []
    for arm in ARMS:
        name = f"{arm}_controller"
        twin |= {f"command_topic.{joint}": f"{name}/commands" for joint in joints[arm]}
        chosen = {"mode": value(context, "mode"), "tip": value(context, f"{arm}_tip")}
        parameters = {"joints": joints[arm]} | {key: text for key, text in chosen.items() if text}
        actions.append(package_node(context, "feedforward_controller", parameters, [], name=name))
    actions.append(package_node(context, "digital_twin", twin, []))
    if value(context, "robot") and is_installed("robot_state_publisher"):
        actions.append(state_publisher(context, value(context, "joint_states")))
    return actions


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments and the nodes."""
    of_arms = [
        argument(f"{arm}_{name}", text.format(arm))
        for arm in ARMS
        for name, text in {
            "joints": "names of the {} arm's joints, in order, between spaces",
            "tip": "link of the {} arm's end effector; empty: that of the parameter file",
        }.items()
    ]
    mode = argument("mode", "control law of both; empty: that of the parameter file")
    return launch("", start, *of_arms, mode)

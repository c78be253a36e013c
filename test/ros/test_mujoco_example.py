"""An arm with dry friction in MuJoCo, by the example, arrives under the controller's defaults."""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from support import SIMULATED, Listener, point, stamp_of  # skips this module where ROS is missing

# isort: split
from rclpy.serialization import deserialize_message
from rig import CONTROLLER
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.proposal import start_posture

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mujoco_arm.py"
REST = 0.6  # [s] before the end of a motion is judged
LOCKED = ("--real-time-factor", "0")
ARMATURE, COULOMB, VISCOUS = 0.1, 0.8, 0.5
WORST, LAST = 0.02, 0.003  # [rad]


def test_an_arm_in_mujoco_follows_and_arrives(ros):
    """All joints by 0.5 rad in 1 s, joint states at 500 Hz, steps of 0.5 ms; gains by default."""
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco")
    path = robot_file("ur5e")
    model = Model.from_file(path)
    joints = list(model.joint_names)
    start = start_posture(model)
    both = {
        "joints": joints,
        "friction": {joint: {"coulomb": COULOMB, "viscous": VISCOUS} for joint in joints},
        "armature": dict.fromkeys(joints, ARMATURE),
    }
    twin = {"initial_positions": dict(zip(joints, start.tolist(), strict=True))}
    file = ros.folder / "arm.yaml"
    nodes = {"/**": {"ros__parameters": both}, "/**/digital_twin": {"ros__parameters": twin}}
    file.write_text(yaml.safe_dump(nodes))
    command = [sys.executable, str(EXAMPLE), str(path), "--parameters", str(file), *LOCKED]
    plant = ros.run(command, fork=False)  # forked, it crashes at its very end
    described = {"robot_description": str(path), "state_publish_rate": 200.0, **SIMULATED}
    ros.start("featherstone_ros.feedforward_controller", described, "--params-file", str(file))
    heard: dict[str, list[bytes]] = {"joint_states": [], f"{CONTROLLER}/error": []}
    states, errors = heard.values()
    hear = [
        (JointState, topic, lambda raw, _, to=to: to.append(raw)) for topic, to in heard.items()
    ]
    Listener(ros, "listener", *hear)
    ros.status("running", "feedforward_controller")
    goal = start + np.minimum(0.5, 0.7 * (model.upper - start))
    trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    still = [0.0] * model.n
    points = [point(1.0, goal, velocities=still, accelerations=still)]
    trajectories.publish(JointTrajectory(joint_names=joints, points=points))

    def is_there() -> bool:
        if not states:
            return False
        last = deserialize_message(states[-1], JointState)
        state = dict(zip(last.name, last.position, strict=True))
        return np.abs([state[joint] for joint in joints] - goal).max() < 0.01

    ros.wait_for(is_there, "arm at the goal")
    end = stamp_of(states[-1]) + REST
    ros.wait_for(lambda: errors and stamp_of(errors[-1]) > end, "rest")
    off = np.abs([deserialize_message(error, JointState).position for error in errors])
    print(f"{1e3 * off.max():.1f} mrad off at worst, {1e3 * off[-1].max():.1f} mrad at the end")
    assert off.max() < WORST and off[-1].max() < LAST
    plant.stop()

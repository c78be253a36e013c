"""An arm with dry friction in MuJoCo, by the example, arrives under the controller's defaults."""

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from support import DEEP, SIMULATED, seconds  # skips this module where ROS is missing

# isort: split
from sensor_msgs.msg import JointState

from featherstone_ros import Model
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.proposal import start_posture

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mujoco_arm.py"
REST = 1.0  # [s] before the end of a motion is judged
LOCKED = ("--real-time-factor", "0")
ARMATURE, COULOMB, VISCOUS = 0.1, 0.8, 0.5
WORST, LAST = 0.02, 0.003  # [rad]


def test_an_arm_in_mujoco_follows_and_arrives(ros):
    """All joints by 1.2 rad in 2.5 s, joint states at 500 Hz, steps of 0.5 ms; gains by default."""
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
    plant = ros.run([sys.executable, str(EXAMPLE), str(path), "--parameters", str(file), *LOCKED])
    described = {"robot_description": str(path), "state_publish_rate": 200.0, **SIMULATED}
    ros.start("featherstone_ros.feedforward_controller", described, "--params-file", str(file))
    errors = ros.collect(JointState, "feedforward_controller/error", DEEP)
    ros.status("running", "feedforward_controller")
    goal = start + np.minimum(1.2, 0.7 * (model.upper - start))
    there = ros.move(joints, goal, 2.5, accelerations=[0.0] * model.n)
    end = seconds(there.header.stamp) + REST
    ros.wait_for(lambda: seconds(errors[-1].header.stamp) > end, "rest")
    off = np.abs([message.position for message in errors])
    print(f"{1e3 * off.max():.1f} mrad off at worst, {1e3 * off[-1].max():.1f} mrad at the end")
    assert off.max() < WORST and off[-1].max() < LAST
    plant.stop()

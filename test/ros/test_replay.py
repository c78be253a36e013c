"""`featherstone-ros replay` beside the real nodes; of a taught motion: test_teach_and_replay.py."""

from __future__ import annotations

import json
import re
import signal

import numpy as np
import pytest
from support import (  # skips this module where ROS is missing
    PACED,
    SIMULATED,
)

# isort: split
from rig import CONTROLLER, Rig, held_panda
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from featherstone_ros.model.robots import robot_file
from featherstone_ros.nodes.qos import LATCHED

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine


@pytest.fixture(scope="module")
def shared(shared_ros) -> Rig:
    rig = held_panda(shared_ros, pace=3.0, rate=50.0)
    write_motion(rig, *SLOW, file="nobody.yaml")
    missing = ("nobody.yaml", "--controller", "nobody")  # which it waits for beside the tests
    rig.nobody = shared_ros.tool("replay", *missing)
    return rig


@pytest.fixture
def rig(shared: Rig) -> Rig:
    shared.recover()
    return shared


SLOW = ((0.0, 0.0), (0.5, 10.0))  # seconds of motion are left when somebody sees it


def write_motion(rig: Rig, *way: tuple[float, float], file: str = "swing.yaml", **changes) -> None:
    """Write a motion of one joint from home, by how far it is [rad] at which time [s]."""
    one = np.eye(len(rig.home))[0]
    points = [
        {"positions": (rig.home + x * one).tolist(), "velocities": 0 * one, "time_from_start": t}
        for x, t in way
    ]
    motion = {"joint_names": rig.names, "points": points} | changes
    (rig.ros.folder / file).write_text(json.dumps(motion, default=list))


def test_a_replay_that_is_ended_leaves_the_arm_held(rig):
    write_motion(rig, *SLOW)
    process = rig.ros.tool("replay", "swing.yaml", "--loop")
    rig.wait_for_motion()
    process.send(signal.SIGINT)
    rig.ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 130, process.output
    assert "Traceback" not in process.output
    rig.wait_for_rest()
    assert 0.02 < np.abs(rig.q - rig.home).max() < 0.48  # where it was, not at the end


def test_a_replay_that_somebody_else_stops_has_not_come_to_its_end(rig):
    write_motion(rig, *SLOW)
    process = rig.ros.tool("replay", "swing.yaml")
    rig.wait_for_motion()
    rig.ros.call(Trigger, f"{CONTROLLER}/hold")
    rig.ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 1, process.output
    assert "not come to the end of the trajectory: joint 'panda_joint1' is 0." in process.output


def test_a_command_that_fails_at_a_mark_ends_the_replay(rig):
    write_motion(rig, (0.0, 0.0), (0.25, 1.0))
    file = rig.ros.folder / "swing.yaml"
    file.write_text("\n---\n".join([file.read_text()] * 2))
    arguments = ("--at-mark", "false", "--speed", "2")
    status, output = rig.ros.run_tool("replay", "swing.yaml", *arguments)
    assert status == 1 and "--at-mark false: exit status 1 at mark 1" in output, output
    assert "Traceback" not in output


def test_a_fault_ends_the_replay_with_its_reason(ros):
    rig = Rig(ros, "panda", twin={"rate": 200.0}, controller={"state_timeout": 1.0})
    rig.wait_until_held()
    write_motion(rig, *SLOW)
    process = ros.tool("replay", "swing.yaml")
    rig.wait_for_motion()
    rig.twin.kill()
    ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 1, process.output
    reason = r"featherstone-ros replay: feedforward_controller: no usable joint state .*: gravity"
    assert re.search(reason, process.output), process.output
    assert "Traceback" not in process.output


def test_an_unknown_joint_is_named(rig):
    write_motion(rig, *SLOW, joint_names=["a", "b"])
    status, output = rig.ros.run_tool("replay", "swing.yaml")
    assert status == 1 and "Traceback" not in output, output
    assert "swing.yaml, trajectory 1: unknown joint 'a'; the joints" in output


def test_a_controller_with_a_namespace_and_a_described_robot_is_found(ros):
    """The robot description comes on a topic, as from robot_state_publisher."""
    urdf, left = robot_file("ur5e").read_text(), ("-r", "__ns:=/left")
    described = ros.node.create_publisher(String, "/left/robot_description", LATCHED)
    described.publish(String(data=urdf))
    commands = ("-r", "~/commands:=feedforward_controller/commands")
    twin = {"rate": 100.0, **PACED, "real_time_factor": 3.0}
    ros.start("featherstone_ros.digital_twin", twin, *left, *commands)
    ros.start("featherstone_ros.feedforward_controller", SIMULATED, *left)
    states = ros.collect(JointState, "/left/joint_states", 1)
    ros.wait_for(lambda: states, "a joint state")
    names, home = states[-1].name, np.array(states[-1].position)
    points = [
        {"positions": (home + way).tolist(), "velocities": [0.0] * 6, "time_from_start": time}
        for time, way in ((0.0, 0.05), (1.0, 0.15))
    ]
    motion = {"joint_names": names[::-1], "points": points}
    (ros.folder / "motion.yaml").write_text(json.dumps(motion))
    name = "left/feedforward_controller"
    ros.status("running", name)
    status, output = ros.run_tool("replay", "motion.yaml", "--controller", name)
    assert status == 0, output
    there = dict(zip(names[::-1], home + 0.15, strict=True))
    expected = [there[joint] for joint in states[-1].name]
    ros.wait_for(lambda: np.allclose(states[-1].position, expected, atol=0.02), "arm at the end")


def test_a_recording_of_joint_states_is_followed_as_it_was_measured(rig):
    import bag_writer  # skips this test where rosbags is missing

    way = 0.2 * np.clip(np.arange(0.0, 2.0, 0.02) - 0.5, 0.0, 1.0)
    states = [
        (stamp, bag_writer.joint_state(stamp, [*rig.names, "gripper"], [*(rig.home + x), 0.0]))
        for stamp, x in zip(range(10**9, 3 * 10**9, 2 * 10**7), way.tolist(), strict=True)
    ]
    bag_writer.write(rig.ros.folder / "states", {"/joint_states": states})
    status, output = rig.ros.run_tool("replay", "states")
    assert status == 0 and "smoothed at 5 Hz" in output, output
    rig.wait_for_rest()
    np.testing.assert_allclose(rig.q, rig.home + 0.2, atol=0.01)


def test_a_controller_that_is_not_there_is_named_beside_those_that_are(rig):
    rig.ros.wait_for(lambda: not rig.nobody.is_running, "end")
    output = rig.nobody.output
    assert rig.nobody.wait() == 1 and "Traceback" not in output, output
    assert "waiting for nobody: no service /nobody/list_parameters yet" in output
    assert "no service /nobody/list_parameters within 30 s" in output
    assert "On /diagnostics: " in output

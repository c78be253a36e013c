"""`featherstone-ros replay` beside the real nodes; of a taught motion: test_teach_and_replay.py."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from support import NodeProcess, Ros  # skips this module where ROS is missing

# isort: split
from rig import Rig, held_panda
from std_msgs.msg import String
from std_srvs.srv import Trigger

from featherstone_ros.model.robots import robot_file
from featherstone_ros.nodes.topics import LATCHED

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine


@pytest.fixture(scope="module")
def shared(shared_ros: Ros) -> Rig:
    """A Panda in a namespace, described on a topic, as by robot_state_publisher."""
    described = shared_ros.node.create_publisher(String, "/left/robot_description", LATCHED)
    described.publish(String(data=robot_file("panda").read_text()))
    rig = held_panda(shared_ros, 2.0, 50.0, space="/left", robot_description="")
    write_motion(rig, *SLOW, file="nobody.yaml")
    rig.nobody = replay(rig, "nobody.yaml", of="nobody")  # it waits beside the tests
    return rig


@pytest.fixture
def rig(shared: Rig) -> Rig:
    shared.recover()
    return shared


def replay(rig: Rig, *arguments: str, of: str = "left/feedforward_controller") -> NodeProcess:
    return rig.ros.tool("replay", *arguments, "--controller", of)


SLOW = ((0.0, 0.0), (0.5, 6.0))  # seconds of motion are left when somebody sees it


def write_motion(
    rig: Rig, *way: tuple[float, float], file: str = "swing.yaml", joints: int | None = None
) -> None:
    """Write a motion of one joint from home, by how far it is [rad] at which time [s].

    ``joints``: how many are named; None: all.
    """
    home = np.array(rig.home)[:joints]
    one = np.eye(len(home))[0]
    points = [
        {"positions": (home + x * one).tolist(), "velocities": 0 * one, "time_from_start": t}
        for x, t in way
    ]
    motion = {"joint_names": rig.names[:joints], "points": points}
    (rig.ros.folder / file).write_text(json.dumps(motion, default=list))


def test_a_replay_that_is_ended_leaves_the_arm_held(rig):
    assert rig.ros.set_parameters(rig.control, {"mode": "computed_torque"})[0].successful
    write_motion(rig, *SLOW)
    process = replay(rig, "swing.yaml", "--loop")
    rig.wait_for_motion()
    process.send(signal.SIGINT)
    assert process.wait() == 130, process.output
    assert "Traceback" not in process.output
    rig.wait_for_rest()
    assert 0.02 < np.abs(rig.q - rig.home).max() < 0.48  # where it was, not at the end


def test_a_motion_of_some_joints_is_followed_if_the_controller_takes_it(rig):
    write_motion(rig, (0.0, 0.0), (0.1, 0.5), joints=1)
    for partial in (False, True):
        before = np.array(rig.q)
        allowed = {"allow_partial_joints_goal": partial}
        assert rig.ros.set_parameters(rig.control, allowed)[0].successful
        process = replay(rig, "swing.yaml")
        assert process.wait() == 1 - partial, process.output
        said = "every joint is required, unless allow_partial_joints_goal is true"
        assert partial or said in process.output, process.output
    rig.wait_for_rest()
    np.testing.assert_allclose(rig.q, [rig.home[0] + 0.1, *before[1:]], atol=0.01)


def test_a_replay_that_somebody_else_stops_has_not_come_to_its_end(rig):
    write_motion(rig, *SLOW)
    process = replay(rig, "swing.yaml")
    rig.wait_for_motion()
    rig.ros.call(Trigger, f"{rig.control}/hold")
    assert process.wait() == 1, process.output
    assert "not come to the end of the trajectory: joint 'panda_joint1' is 0." in process.output


def test_a_command_that_fails_at_a_mark_ends_the_replay(rig):
    write_motion(rig, (0.0, 0.0), (0.25, 1.0))
    file = rig.ros.folder / "swing.yaml"
    file.write_text("\n---\n".join([file.read_text()] * 2))
    process = replay(rig, "swing.yaml", "--at-mark", "false", "--speed", "2")
    assert process.wait() == 1, process.output
    assert "--at-mark false: exit status 1 at mark 1" in process.output, process.output
    assert "Traceback" not in process.output


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda rig: be_strict(rig, 1e-6), "the last motion was abandoned: joint '"),
        (lambda rig: rig.ros.change_state(rig.control, "deactivate"), "inactive"),
    ],
    ids=["fault", "deactivated"],
)
def test_what_ends_the_controllers_motion_ends_the_replay_with_its_reason(rig, end, reason):
    write_motion(rig, *SLOW)
    process = replay(rig, "swing.yaml")
    rig.wait_for_motion()
    assert end(rig)
    assert process.wait() == 1, process.output
    assert f"replay: left/feedforward_controller: {reason}" in process.output, process.output
    assert "Traceback" not in process.output
    be_strict(rig, 0.3)
    if rig.ros.state(rig.control) == "inactive":
        rig.ros.change_state(rig.control, "activate")


def be_strict(rig: Rig, tolerance: float) -> bool:
    """Set how far the arm may be off its path [rad]."""
    return rig.ros.set_parameters(rig.control, {"path_tolerance": tolerance})[0].successful


def test_a_recording_of_joint_states_is_followed_as_it_was_measured(rig):
    import bag_writer  # skips this test where rosbags is missing

    way = 0.2 * np.clip(np.arange(0.0, 2.0, 0.02) - 0.5, 0.0, 1.0)
    states = [
        (stamp, bag_writer.joint_state(stamp, [*rig.names, "gripper"], [*(rig.home + x), 0.0]))
        for stamp, x in zip(range(10**9, 3 * 10**9, 2 * 10**7), way.tolist(), strict=True)
    ]
    bag_writer.write(rig.ros.folder / "states", {"/joint_states": states})
    process = replay(rig, "states")
    assert process.wait() == 0 and "smoothed at 5 Hz" in process.output, process.output
    rig.wait_for_rest()
    np.testing.assert_allclose(rig.q, rig.home + 0.2, atol=0.01)


def test_a_controller_that_is_not_there_is_named_beside_those_that_are(shared):
    rig = shared
    rig.twin.send(signal.SIGSTOP)  # and with it time
    status, output = rig.nobody.wait(), rig.nobody.output
    rig.twin.send(signal.SIGCONT)
    assert status == 1 and "Traceback" not in output, output
    assert "waiting for nobody: no service /nobody/list_parameters yet" in output
    assert "no service /nobody/list_parameters within 30 s" in output
    assert "On /diagnostics: left/" in output

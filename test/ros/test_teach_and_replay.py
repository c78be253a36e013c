"""`featherstone-ros teach` and `replay` beside the real nodes: a twin that a wrench leads."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest
from support import (  # skips this module where ROS is missing
    ARM,
    DEADLINE,
    LOCKSTEP,
    SIMULATED,
    Between,
    ros_in_free_domain,
    study,
)

# isort: split
from geometry_msgs.msg import TwistStamped
from led import coordinates
from neighbour import CONTROLLER
from scene import STANDING, Scene
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_cartesian_guiding import Guided
from test_monitor import in_terminal, read, read_until, read_until_end

from featherstone_ros.model.robots import robot_file
from featherstone_ros.nodes.lifecycle import DESCRIPTION_QOS
from featherstone_ros.tools.checked_arm import load_arm
from featherstone_ros.tools.preflight.check import started, trajectory_of
from featherstone_ros.tools.preflight.source import parse

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

COMMAND = [sys.executable, "-m", "featherstone_ros.tools.cli"]
HAND = "panda_hand"
FLOATING, HOLDING = "gravity_compensation", "feedforward"


class Leader(Guided):
    """A hand that leads the arm's, gently, as with a spring and a damper."""

    SPRING, DAMPER = 200.0, 50.0  # [N/m, N s/m]

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.twists = self.ros.collect(TwistStamped, f"{CONTROLLER}/current_twist", 1)

    def lead_by(self, way, duration: float = 2.0) -> None:
        """Lead the hand by a way (3,) [m] and let it go, at rest."""
        begin, since = coordinates(self.poses[-1].pose.position), time.monotonic()
        way = np.array(way)

        def is_there() -> bool:
            ahead = min((time.monotonic() - since) / duration, 1.0) * way
            gone = coordinates(self.poses[-1].pose.position) - begin
            velocity = coordinates(self.twists[-1].twist.linear)
            force = self.SPRING * (ahead - gone) - self.DAMPER * velocity
            self.push(np.concatenate([force, np.zeros(3)]))
            return gone @ way > 0.8 * (way @ way) and np.linalg.norm(velocity) < 0.02

        self.ros.wait_for(is_there, "a hand that has been led")
        self.push(np.zeros(6))
        self.scene.wait_for_rest()


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Leader]:
    with (
        ros_in_free_domain(tmp_path_factory.mktemp("taught")) as ros,
        closing(Scene(ros, "panda", pace=1.0, tip=HAND)) as scene,
    ):
        yield Leader(scene)


@pytest.fixture
def leader(shared: Leader) -> Iterator[Leader]:
    shared.scene.recover()
    yield shared
    shared.push(np.zeros(6))


@contextmanager
def teaching(scene: Scene, *arguments: str) -> Iterator[tuple[subprocess.Popen, int]]:
    """Teach in a terminal; yield the process, and the terminal's other end, once the arm floats."""
    with in_terminal(scene.ros, *COMMAND, "teach", *arguments) as (process, master, _):
        read_until(master, b"space: begin")
        yield process, master


def end(process: subprocess.Popen, master: int) -> tuple[int, str]:
    """Return the exit status, and what was shown until the end."""
    os.set_blocking(master, False)
    seen = read_until_end(master, process)
    return process.returncode, (seen + read(master)).decode(errors="replace")


def run(scene: Scene, *arguments: str) -> tuple[int, str]:
    """Run a command without a terminal to its end."""
    process = scene.ros.run([*COMMAND, *arguments], fork=True)
    scene.ros.wait_for(lambda: not process.is_running, "end", 2.0 * DEADLINE)
    return process.wait(), process.output


def mode(scene: Scene) -> str:
    return scene.ros.get_parameter(CONTROLLER, "mode")


def positions(states: list[JointState]) -> np.ndarray:
    return np.array([state.position for state in states])


def distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how far each of some positions is from the nearest of others [rad]."""
    return np.array([np.abs(others - q).max(axis=1).min() for q in some])


def test_what_was_led_by_hand_is_replayed(leader):
    scene, ros = leader.scene, leader.ros
    states = ros.collect(JointState, ARM, 5000)
    with teaching(scene, "--output", "pick.yaml") as (process, master):
        assert mode(scene) == FLOATING
        os.write(master, b" ")
        read_until(master, b"space: end")
        states.clear()
        leader.lead_by([0.0, 0.25, 0.0])
        os.write(master, b"m")
        read_until(master, b"marks: 1")
        leader.lead_by([-0.15, -0.15, -0.1])
        led = positions(states)
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 0, output
    assert "the arm is held" in output and "part 2" in output
    assert mode(scene) == HOLDING
    parts = parse((ros.folder / "pick.yaml").read_text(), "pick.yaml")
    arm = load_arm("panda", scene.names)
    motions = [started(trajectory_of(part, arm)) for part in parts]
    taught = [motion.sample(np.arange(0.0, motion.end, 0.01))[0] for motion in motions]
    assert len(parts) == 2 and np.abs(taught[0][0] - led[0]).max() < 3e-3
    assert distances(np.concatenate(taught), led).max() < 3e-3
    assert distances(led[::10], np.concatenate(taught)).max() < 0.01
    scene.wait_for_rest()
    states.clear()
    status, output = run(scene, "replay", "pick.yaml", "--plot", "pick.png", "--at-mark", "touch")
    assert status == 0, output
    assert (ros.folder / "1").exists()  # touched at mark 1
    assert (ros.folder / "pick.png").stat().st_size > 10_000
    print(f"{sum(len(part.points) for part in parts)} points; {output}")
    rms = float(re.search(r"RMS ([\d.e+-]+) mrad", output)[1])
    assert rms < 5.0, output
    assert distances(np.concatenate(taught)[::10], positions(states)).max() < 0.02
    assert np.abs(scene.q - taught[1][-1]).max() < 0.02 and scene.speed < STANDING


@pytest.mark.parametrize("how", ["q", study("Ctrl-C"), study("SIGTERM"), "terminal lost"])
def test_whatever_ends_teaching_the_arm_is_held_afterwards(leader, how):
    scene = leader.scene
    with teaching(scene, "--output", "none.yaml") as (process, master):
        os.write(master, b" ")
        read_until(master, b"space: end")
        if how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        elif how == "terminal lost":
            os.close(master)
        else:
            os.write(master, b"q" if how == "q" else b"\x03")
        scene.ros.wait_for(lambda: process.poll() is not None, "end")
    expected = {"q": 1, "Ctrl-C": 130, "SIGTERM": 143, "terminal lost": process.returncode}
    assert process.returncode == expected[how] != 0
    assert mode(scene) == HOLDING
    assert not (scene.ros.folder / "none.yaml").exists()


def test_an_arm_whose_teacher_is_killed_floats_slowly_until_it_is_taught_again(leader):
    scene = leader.scene
    with teaching(scene, "--output", "none.yaml") as (process, master):
        process.kill()
        process.wait()
    assert mode(scene) == FLOATING
    scene.watch()
    scene.ros.run_for(2.0)
    scene.assert_no_race(scene.peak, 0.1)
    with teaching(scene, "--output", "none.yaml") as (process, master):
        os.write(master, b" ")
        read_until(master, b"space: end")
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 1 and "nothing was taught: no joint moved by more than" in output, output
    assert mode(scene) == HOLDING


def test_the_hand_is_led_where_it_is_free(leader):
    scene = leader.scene
    with teaching(scene, "--output", "y.yaml", "--free", "y") as (process, master):
        assert mode(scene) == "cartesian_impedance"
        assert list(scene.ros.get_parameter(CONTROLLER, "stiffness"))[:3] == [400.0, 0.0, 400.0]
        before = coordinates(leader.poses[-1].pose.position)
        os.write(master, b" ")
        read_until(master, b"space: end")
        leader.lead_by([0.0, 0.15, 0.0])
        way = coordinates(leader.poses[-1].pose.position) - before
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 0, output
    assert way[1] > 0.1 and np.abs(way[[0, 2]]).max() < 0.02
    assert mode(scene) == HOLDING
    assert list(scene.ros.get_parameter(CONTROLLER, "stiffness"))[1] == 400.0


def write_swing(scene: Scene, **changes) -> None:
    """Write a motion of one joint to and fro, from where the arm is at home."""
    there = scene.home + np.eye(len(scene.home))[0] * 0.5
    points = [
        {"positions": q.tolist(), "velocities": [0.0] * len(q), "time_from_start": time}
        for q, time in ((scene.home, 0.0), (there, 2.0), (scene.home, 4.0))
    ]
    swing = {"joint_names": scene.names, "points": points} | changes
    (scene.ros.folder / "swing.yaml").write_text(json.dumps(swing))


@pytest.mark.parametrize(("signum", "expected"), [(signal.SIGINT, 130), study(signal.SIGTERM, 143)])
def test_a_replay_that_is_ended_leaves_the_arm_held(leader, signum, expected):
    scene = leader.scene
    write_swing(scene)
    process = scene.ros.run([*COMMAND, "replay", "swing.yaml", "--loop"], fork=True)
    scene.ros.wait_for(lambda: scene.speed > 0.15, "motion")
    process.send(signum)
    scene.ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == expected, process.output
    assert "Traceback" not in process.output
    scene.wait_for_rest()
    assert np.abs(scene.q - scene.home).max() > 0.02  # where it was, not at the end


def test_a_replay_that_somebody_else_stops_has_not_come_to_its_end(leader):
    scene = leader.scene
    write_swing(scene)
    text = (scene.ros.folder / "swing.yaml").read_text()
    there = json.loads(text)["points"][:2]
    write_swing(scene, points=there)
    process = scene.ros.run([*COMMAND, "replay", "swing.yaml"], fork=True)
    scene.ros.wait_for(lambda: scene.speed > 0.15, "motion")
    scene.ros.call(Trigger, f"{CONTROLLER}/hold")
    scene.ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 1, process.output
    assert "not come to the end of the trajectory: joint 'panda_joint1' is 0." in process.output


def test_a_single_point_is_gone_to_from_where_the_arm_is(leader):
    scene = leader.scene
    point = {"positions": (scene.q + 0.1).tolist(), "time_from_start": 2.0}
    write_swing(scene, points=[point])
    status, output = run(scene, "replay", "swing.yaml", "--speed", "2")
    assert status == 0, output
    np.testing.assert_allclose(scene.q, point["positions"], atol=0.01)


def test_a_command_that_fails_at_a_mark_ends_the_replay(leader):
    write_swing(leader.scene)
    file = leader.ros.folder / "swing.yaml"
    file.write_text("\n---\n".join([file.read_text()] * 2))
    arguments = ("--at-mark", "false", "--speed", "2")
    status, output = run(leader.scene, "replay", "swing.yaml", *arguments)
    assert status == 1 and "--at-mark false: exit status 1 at mark 1" in output, output
    assert "Traceback" not in output


def test_a_fault_ends_the_replay_with_its_reason(ros):
    with closing(Scene(ros, state_timeout=1.0)) as scene:
        write_swing(scene)
        process = ros.run([*COMMAND, "replay", "swing.yaml"], fork=True)
        ros.wait_for(lambda: scene.speed > 0.15, "motion")
        scene.lie = lambda state: None
        ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 1, process.output
    reason = r"featherstone-ros replay: feedforward_controller: no usable joint state .*: gravity"
    assert re.search(reason, process.output), process.output
    assert "Traceback" not in process.output


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"joint_names": ["a", "b"]}, "swing.yaml, trajectory 1: unknown joint 'a'; the joints"),
        ({"joint_names": None}, "swing.yaml: 'NoneType' object is not iterable"),
        ({"points": []}, "swing.yaml, trajectory 1: no points"),
    ],
)
def test_what_cannot_be_replayed_is_named(leader, changes, reason):
    write_swing(leader.scene, **changes)
    status, output = run(leader.scene, "replay", "swing.yaml")
    assert status == 1 and reason in output and "Traceback" not in output, output


def test_a_controller_that_is_not_there_is_named_beside_those_that_are(leader):
    write_swing(leader.scene)
    status, output = run(leader.scene, "replay", "swing.yaml", "--controller", "nobody")
    assert status == 1 and "Traceback" not in output, output
    assert "no service /nobody/list_parameters within 5 s" in output
    assert "On /diagnostics: " in output


def test_teaching_needs_the_keys_of_a_terminal(leader):
    status, output = run(leader.scene, "teach", "--output", "none.yaml")
    assert status == 1 and "standard input is no terminal" in output, output
    assert mode(leader.scene) == HOLDING


def test_a_controller_with_a_namespace_and_a_described_robot_is_found(ros):
    """The robot description comes on a topic, as from robot_state_publisher."""
    urdf, left = robot_file("ur5e").read_text(), ("-r", "__ns:=/left")
    described = ros.node.create_publisher(String, "/left/robot_description", DESCRIPTION_QOS)
    described.publish(String(data=urdf))
    commands = ("-r", "~/commands:=feedforward_controller/commands")
    twin, heard = {"rate": 200.0, **LOCKSTEP}, ("-r", f"joint_states:={ARM}")
    ros.start("featherstone_ros.digital_twin", twin, *left, *commands, *heard)
    ros.start("featherstone_ros.feedforward_controller", SIMULATED, *left)
    between = Between(ros.context, pace=1.0, states="/left/joint_states")
    states = ros.collect(JointState, ARM, 1)
    ros.wait_for(lambda: states, "a joint state")
    names, home = states[-1].name, np.array(states[-1].position)
    points = [
        {"positions": (home + way).tolist(), "velocities": [0.0] * 6, "time_from_start": time}
        for time, way in ((0.0, 0.1), (2.0, 0.2))
    ]
    motion = {"joint_names": names[::-1], "points": points}
    (ros.folder / "motion.yaml").write_text(json.dumps(motion))
    name = "left/feedforward_controller"
    ros.wait_for_diagnostics(lambda status: status.name == name and "running" in status.message)
    process = ros.run([*COMMAND, "replay", "motion.yaml", "--controller", name], fork=True)
    ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 0, process.output
    there = dict(zip(names[::-1], home + 0.2, strict=True))
    expected = [there[joint] for joint in states[-1].name]
    np.testing.assert_allclose(states[-1].position, expected, atol=0.02)
    between.close()

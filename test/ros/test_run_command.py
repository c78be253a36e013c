"""`featherstone-ros run`: two nodes in one terminal, which connect, and end together."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from support import RUNNING, Ros, children, is_alive, set_priority

from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file

from sensor_msgs.msg import JointState  # isort: skip  (support skips where ROS is missing)
from std_msgs.msg import Float64MultiArray  # isort: skip

JOINTS = Model.from_robot("ur5e").joint_names
CONTROLLER, TWIN = "/feedforward_controller", "/digital_twin"


def start(ros: Ros, *arguments: str):
    process = ros.tool("run", *arguments)
    process.wait_for_output(" mrad ")  # on its line of both nodes' diagnostics
    for node in children(process.pid):
        set_priority(node, RUNNING)
    return process


def write_plan(ros: Ros) -> str:
    plan = ros.folder / "plan.yaml"
    point = {"positions": [0.1] * 6, "velocities": [0.0] * 6, "time_from_start": {"sec": 1}}
    plan.write_text(json.dumps({"joint_names": JOINTS, "points": [point]}))
    return str(plan)


def test_a_trajectory_file_is_followed_whatever_the_diagnostics_warn_of(ros):
    """As after one gap in the joint states; here of a second publisher of commands.

    In a namespace, in which both nodes and all topics are, and by the wall's time. Ctrl-C ends
    them, also if pressed twice.
    """
    namespace = "/cell/left"
    ros.node.create_publisher(Float64MultiArray, f"{namespace}/feedforward_controller/commands", 1)
    states = ros.collect(JointState, f"{namespace}/joint_states", 1)
    patient = ros.folder / "patient.yaml"  # it is sent once, and a busy machine might break it off
    controller = "{ros__parameters: {state_timeout: 10.0, path_tolerance: 0.0}}"
    patient.write_text(
        f"/**/feedforward_controller: {controller}\n"
        "/**/digital_twin: {ros__parameters: {rate: 250.0}}"
    )
    arguments = ("--trajectory", write_plan(ros), "--parameters", str(patient))
    own = ("--namespace", namespace, "--real-time")
    process = start(ros, str(robot_file("ur5e")), *arguments, *own)
    nodes = children(process.pid)
    assert len(nodes) == 2
    assert not ros.get_parameter(f"{namespace}{CONTROLLER}", "use_sim_time")
    commands = [Path(f"/proc/{pid}/cmdline").read_text() for pid in nodes]
    assert any("~/wrench:=digital_twin/external_wrench" in command for command in commands)
    ros.wait_for(
        lambda: states and all(abs(q - 0.1) < 0.01 for q in states[-1].position), "arm at the goal"
    )
    process.send(signal.SIGINT)
    time.sleep(0.3)
    process.send(signal.SIGINT)
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output
    assert process.output.endswith("both nodes have ended\n")
    assert not any(is_alive(pid) for pid in nodes)


def test_time_is_simulated_by_the_wall_and_the_twin_carries_what_nobody_knows_of(ros):
    """And of several parameter files the later one counts. A second run refuses before it starts
    anything. Nodes whose command is killed outlive it by no more than they take to come to rest.
    """
    one, other, own = (ros.folder / f"{name}.yaml" for name in ("one", "other", "own"))
    one.write_text("/**/feedforward_controller: {ros__parameters: {stop_time: 0.5}}")
    other.write_text("/**: {ros__parameters: {stop_time: 0.7}}")
    own.write_text("/**: {ros__parameters: {rate: 250.0}}")
    files = ("--parameters", str(one), "--parameters", str(other), "--twin-parameters", str(own))
    states = ros.collect(JointState, "joint_states", 1)
    began = int(time.time())
    process = start(ros, str(robot_file("ur5e")), *files, "--twin-load", "2")
    assert ros.get_parameter(CONTROLLER, "use_sim_time")
    assert ros.get_parameter(CONTROLLER, "stop_time") == 0.7
    assert ros.get_parameter(CONTROLLER, "payload.mass") == 0.0
    assert ros.get_parameter(TWIN, "payload.mass") == 2.0
    assert ros.get_parameter(TWIN, "payload.link") == "wrist_3_link"
    assert ros.get_parameter(TWIN, "rate") == 250.0
    states.clear()
    stamp = ros.wait_for(lambda: states and states[-1].header.stamp, "joint state")
    assert began <= stamp.sec < time.time() + 1.0  # behind the wall on a busy machine
    status, output = ros.run_tool("run", "panda")
    assert status == 1
    said = output.partition("already in this ROS domain: ")[2]
    assert CONTROLLER in said or TWIN in said, output
    assert "--namespace" in said
    # Its arm would sink: the gravity hold at the end knows no load either.
    assert ros.set_parameters(TWIN, {"payload.mass": 0.0})[0].successful
    nodes = children(process.pid)
    assert len(nodes) == 2
    os.kill(process.pid, signal.SIGKILL)
    ros.wait_for(lambda: not any(is_alive(pid) for pid in nodes), "end of both nodes")


@pytest.mark.study
def test_of_runs_that_start_together_one_goes_on_until_sigterm(ros):
    runs = [ros.tool("run", str(robot_file("ur5e"))) for _ in range(3)]
    ros.wait_for(lambda: sum(run.is_running for run in runs) == 1, "refusals")
    (first,) = (run for run in runs if run.is_running)
    for run in runs:
        if run is not first:
            assert run.wait() == 1
            assert f"{TWIN} and {CONTROLLER}, of another run" in run.output, run.output
            assert "--namespace" in run.output and "Traceback" not in run.output
    first.wait_for_output(" mrad ")
    nodes = children(first.pid)
    first.send(signal.SIGTERM)
    assert first.wait() == 0, first.output
    assert first.output.endswith("both nodes have ended\n") and "Traceback" not in first.output
    assert not any(is_alive(pid) for pid in nodes)


def test_what_a_node_refuses_is_shown(ros):
    file = ros.folder / "wrong.yaml"
    file.write_text("/**/digital_twin: {ros__parameters: {rate: -1.0}}")
    status, output = ros.run_tool("run", "panda", "--parameters", str(file))
    assert status == 1
    assert "digital_twin ended with exit status" in output and "rate" in output

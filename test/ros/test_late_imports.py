"""A node has imported all that it needs before its arm moves: later, files may be out of reach."""

import sys
from pathlib import Path

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.srv import GetAvailableStates, GetAvailableTransitions
from neighbour import CONTROLLER, JOINTS, TWIN
from rcl_interfaces.srv import DescribeParameters, GetParameterTypes, ListParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from test_lifecycle import SLIDER
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from witness import HOME, Pair, end_neighbour, start_neighbour

LATE = str(Path(__file__).with_name("late_imports.py"))


@pytest.fixture
def pair(ros, monkeypatch) -> Pair:
    """Twin and controller, each of which says what it imports late."""

    def run(command, *more, fork=False):
        if "-m" in command:
            at, fork = command.index("-m"), False
            command[at : at + 2] = [LATE, command[at + 1].rpartition(".")[2]]
        return original(command, *more, fork=fork)

    original = ros.run
    monkeypatch.setattr(ros, "run", run)
    return Pair(ros, 200.0)


def exercise_controller(ros: Ros, pair: Pair) -> None:
    """Use all its functions."""
    pair.sway(5.0)
    for values in (
        {"mode": "computed_torque"},
        {"mode": "gravity_compensation"},
        {"mode": "feedforward"},
        {"payload.link": "panda_link7", "payload.mass": 0.5, "payload.com": [0.0, 0.0, 0.05]},
        {"payload.link": "panda_link7", "payload.mass": -0.5},
        {"gravity": [0.0, 0.1, -9.8]},
        {"gains.panda_joint1.p": "high"},
        {"preflight": "reject"},
        {"deadline.cycle_time": 0.01},
        {"no_such": 1.0},
        {"robot_description": "<robot"},
    ):
        ros.set_parameters(CONTROLLER, values)
    reference = ros.publisher(JointTrajectoryPoint, f"{CONTROLLER}/reference")
    for _ in range(5):
        reference.publish(JointTrajectoryPoint(positions=HOME, velocities=[0.0] * 7))
        ros.run_for(0.02)
    trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    far = JointTrajectoryPoint(positions=HOME + 100.0, time_from_start=Duration(sec=1))
    near = JointTrajectoryPoint(positions=HOME + 0.01, time_from_start=Duration(sec=1))
    for points in ([far], [near], [near, near], [JointTrajectoryPoint(positions=[1.0])], []):
        trajectories.publish(JointTrajectory(joint_names=JOINTS, points=points))
        ros.run_for(0.1)
    ros.call(Trigger, f"{CONTROLLER}/hold")


def exercise_twin(ros: Ros) -> None:
    """Likewise."""
    for values in (
        {"noise.position": 1e-6},
        {"integrator": "rk4"},
        {"stops.stiffness": 1e4},
        {"rate": 1e12},
        {"initial_positions.panda_joint1": 0.1},
        {"real_time_factor": 0.9},
    ):
        ros.set_parameters(TWIN, values)
    wrench = ros.publisher(WrenchStamped, f"{TWIN}/external_wrench")
    message = WrenchStamped()
    for frame in ("panda_link7", "nowhere"):
        message.header.frame_id = frame
        wrench.publish(message)
    state = ros.publisher(JointState, f"{TWIN}/set_state")
    state.publish(JointState(name=JOINTS, position=HOME))
    state.publish(JointState(name=["nobody"], position=[0.0]))
    command = ros.publisher(JointState, f"{TWIN}/joint_commands")
    command.publish(JointState(name=["nobody"], effort=[0.0]))
    ros.publisher(Float64MultiArray, f"{CONTROLLER}/commands").publish(
        Float64MultiArray(data=[float("nan")] * 7)
    )
    for paused in (True, False):
        ros.call(SetBool, f"{TWIN}/pause", SetBool.Request(data=paused))
        ros.call(Trigger, f"{TWIN}/step")
    ros.call(Trigger, f"{TWIN}/reset")


def test_nothing_is_imported_while_the_arm_is_at_work(ros, pair):
    exercise_controller(ros, pair)
    exercise_twin(ros)
    for name in (CONTROLLER, TWIN):
        ros.call(ListParameters, f"{name}/list_parameters")
        ros.call(DescribeParameters, f"{name}/describe_parameters")
        ros.call(GetParameterTypes, f"{name}/get_parameter_types")
        ros.call(GetAvailableStates, f"{name}/get_available_states")
        ros.call(GetAvailableTransitions, f"{name}/get_available_transitions")
        ros.change_state(name, "dance")
    for kind in ("garbage", "bytes"):
        neighbour = start_neighbour(ros, kind, 50.0)
        ros.run_for(1.0)
        end_neighbour(neighbour)
    for name in (CONTROLLER, TWIN):
        for transition in ("deactivate", "activate", "deactivate", "cleanup", "configure"):
            assert ros.change_state(name, transition), (name, transition)
    late = {
        f"{name}: {line}"
        for name, node in pair.nodes.items()
        for line in node.output.splitlines()
        if "late import" in line
    }
    assert not late, "\n".join(sorted(late))


def test_a_late_import_would_be_seen(ros):
    """The watch itself works: what a node imports after it has become active is said."""
    program = (
        "import sys; sys.argv[:0] = []\n"
        "import os, threading, time\n"
        "def late():\n"
        "    while not os.path.exists('late'): time.sleep(0.1)\n"
        "    import colorsys\n"
        "threading.Thread(target=late, daemon=True).start()\n"
        f"exec(open({LATE!r}).read())"
    )
    file = ros.folder / "slider.yaml"
    file.write_text(f"/**: {{ros__parameters: {{robot_description: '{SLIDER}'}}}}")
    command = [sys.executable, "-c", program, "digital_twin", "--ros-args"]
    node = ros.run([*command, "--params-file", str(file)])
    node.wait_for_output("activate: done")
    (ros.folder / "late").touch()
    node.wait_for_output("late import: colorsys")

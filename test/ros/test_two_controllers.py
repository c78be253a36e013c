"""Two controllers over DDS, each with joints of its own, in one twin, in lockstep.

What two arms carry together is in test_two_arms.py, in simulated time.
"""

import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import DEEP, LOCKSTEP, PACED, Ros, point, ros_in_free_domain, stamp, status_values

# isort: split
from arm_pair import JOINTS, PAIRS, PANDAS, TIPS
from diagnostic_msgs.msg import DiagnosticStatus
from rig import OWN_CONTROLLER, OWN_TWIN, TWIN
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory

import featherstone_ros as fr
from featherstone_ros.control.cartesian_parameters import tip_of
from featherstone_ros.errors import MessageError
from featherstone_ros.model.robots import robot_file
from featherstone_ros.nodes.motion_input import frame_pose

OK = DiagnosticStatus.OK
UR5E = robot_file("ur5e").read_text()
NAMES = list(fr.Model.from_urdf(UR5E).joint_names)
HOME = dict(zip(NAMES, (0.0, -1.2, 1.4, -1.7, -1.5, 0.3), strict=True))
PARTS = {"left": NAMES[:3], "right": NAMES[3:]}


class Parts:
    """The twin of a UR5e, and two controllers of three joints each."""

    def __init__(self, ros: Ros, twin: dict[str, Any], **both: Any) -> None:
        """Start the nodes, with further parameters of the twin, and of all."""
        both |= {"robot_description": UR5E, "use_sim_time": True}
        both["executor_timeout"] = 0.0  # which is by the computer's clock
        self.ros, self.nodes = ros, {}
        for node, joints in PARTS.items():
            own = {**both, "joints": joints}
            self.nodes[node] = ros.start(OWN_CONTROLLER, own, "-r", f"__node:={node}")
            twin |= {f"command_topic.{joint}": f"{node}/commands" for joint in joints}
        twin |= {f"initial_positions.{joint}": q for joint, q in HOME.items()}
        self.nodes[TWIN.strip("/")] = ros.start(OWN_TWIN, {**both, **twin})


# Bit for bit the same, whatever the machine does.

PERIOD = 0.004  # [s] of the states
START, DURATION, END = 4.0, 0.8, 5.1  # [s] of the motion, of the run
WAY = 0.4  # [rad] of each joint


class Lockstep(Parts):
    """As fast as they go; what the arm did, by the time of its states [ns]."""

    def __init__(self, ros: Ros) -> None:
        own = {"autostart": False, "update_on": "timer", "rate": 1.0 / PERIOD}
        super().__init__(ros, dict(LOCKSTEP), **own)
        self.states: dict[int, JointState] = {}
        ros.node.create_subscription(JointState, "/joint_states", self.note, DEEP)
        goals = {}
        for node in PARTS:
            assert ros.change_state(node, "configure")
            goals[node] = ros.publisher(JointTrajectory, f"{node}/joint_trajectory")
        for transition in ("configure", "activate"):
            assert ros.change_state(TWIN, transition)
        for node in PARTS:
            assert ros.change_state(node, "activate")
        ros.wait_for(lambda: len(self.states) > 20, "states")
        self.nodes[TWIN.strip("/")].send(signal.SIGSTOP)  # so time stands
        for node, joints in PARTS.items():
            begin, still = np.array([HOME[joint] for joint in joints]), [0.0] * len(joints)
            rest = {"velocities": still, "accelerations": still}
            points = [point(0.0, begin, **rest), point(DURATION, begin + WAY, **rest)]
            header = Header(stamp=stamp(START))
            goals[node].publish(JointTrajectory(header=header, joint_names=joints, points=points))
        assert all(goal.wait_for_all_acked() for goal in goals.values())
        ros.run_for(0.1)
        assert max(self.states) < START * 1e9, "the machine was too slow"
        self.nodes[TWIN.strip("/")].send(signal.SIGCONT)

    def note(self, state: JointState) -> None:
        time = state.header.stamp
        self.states.setdefault(time.sec * 10**9 + time.nanosec, state)

    def run(self, stop_at: Sequence[float] = ()) -> np.ndarray:
        """Return all states until the end; each process is stopped for .3 s at these times."""
        for seconds in stop_at:
            self.wait(seconds)
            for process in self.nodes.values():
                process.send(signal.SIGSTOP)
                self.ros.run_for(0.3)
                process.send(signal.SIGCONT)
        self.wait(END)
        for process in self.nodes.values():  # a state that was repeated is nobody's fault
            assert "refused" not in process.output
        times = [round(k * PERIOD * 1e9) for k in range(1, round(END / PERIOD))]
        rows = [self.states[t] for t in times]
        return np.array([[*s.position, *s.velocity, *s.effort] for s in rows])

    def wait(self, seconds: float) -> None:
        self.ros.wait_for(lambda: max(self.states) > seconds * 1e9, f"state at {seconds}")


def lockstep_run(folder: Path, stop_at: Sequence[float] = ()) -> np.ndarray:
    with ros_in_free_domain(folder) as ros:
        return Lockstep(ros).run(stop_at)


def test_lockstep_repeats_bit_for_bit_although_processes_stand_still(tmp_path):
    """Each controller follows where the joints of the other are."""
    undisturbed = lockstep_run(tmp_path)
    moved = undisturbed[-1, : len(HOME)] - list(HOME.values())
    np.testing.assert_allclose(moved, WAY, atol=2e-3)
    again = lockstep_run(tmp_path, (START + 0.2, START + 0.5))
    assert again.tobytes() == undisturbed.tobytes()


# Beside each other.


@pytest.fixture(scope="module")
def pair(shared_ros) -> Parts:
    return Parts(shared_ros, {**PACED, "rate": 125.0})


def test_nobody_takes_the_other_controller_for_a_second_one(pair):
    for node in pair.nodes:
        status = pair.ros.status(node=node, level=OK)
        assert "publishers" not in status.message
    values = status_values(status)
    assert values["brakes"] == "off" and values["command publishers"] == "2"
    for node in pair.nodes.values():
        assert "expected one" not in node.output
    changes = {f"command_topic.{NAMES[0]}": "elsewhere"}
    (result,) = pair.ros.set_parameters(TWIN, changes)
    assert not result.successful
    assert "is fixed until the node is cleaned up and configured" in result.reason


def test_a_second_publisher_of_one_controllers_commands_is_named(pair):
    ros = pair.ros
    intruder = ros.node.create_publisher(Float64MultiArray, "/left/commands", 1)
    for node in ("left", "digital_twin"):
        ros.status("2 publishers", node)
    status = ros.status(node="right")
    assert "publishers" not in status.message
    ros.node.destroy_publisher(intruder)
    for node in ("left", "digital_twin"):
        ros.status(node=node, level=OK)


@pytest.mark.parametrize("which", PAIRS)
def test_a_frame_beyond_joints_of_the_other_arm_is_refused_unless_they_are_known(which):
    pair = PAIRS[which]
    model = fr.Model.from_urdf(pair.urdf, joints=pair.joints["left"])
    place = partial(
        frame_pose,
        tip=pair.tips["left"],
        model=model,
        dynamics=fr.Dynamics(model),
        q=np.zeros(model.n),
        unknown=model.locked_joints,
    )
    assert_array_equal(place(model.base_link), np.eye(4))
    assert place(pair.tips["left"])[0, 3] != 0.0
    assert_array_equal(place(pair.tips["left"], tip=""), place(pair.tips["left"]))
    for tip in (pair.tips["left"], ""):
        with pytest.raises(MessageError, match=r"lies beyond right_.*: not among `joints`"):
            place(pair.tips["right"], tip=tip)
    known = place(pair.tips["right"], unknown=())  # joint_states or parameters tell all of them
    assert_array_equal(known, fr.Dynamics(model).link_pose(np.zeros(model.n), pair.tips["right"]))


def test_the_other_arms_tip_is_refused():
    model = fr.Model.from_urdf(PANDAS, joints=JOINTS["left"])
    values = {"mode": "cartesian_impedance", "tip": TIPS["right"]}
    with pytest.raises(
        ValueError, match=r"tip is 'right_.*', which none of the joints moves: left_"
    ):
        tip_of(values, model)

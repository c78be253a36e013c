"""An arm presses on a plane over DDS: both modes of the hand, by states and by the timer."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from support import Listener, Ros, ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from geometry_msgs.msg import PoseStamped, WrenchStamped
from neighbour import CONTROLLER, JOINTS, TWIN
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from test_admittance_topics import PATIENT, TIP, stamped
from witness import PANDA, Pair

from featherstone_ros import Dynamics, Model

# A plane that another process computes too late is no passive one.
pytestmark = pytest.mark.alone

RATE = 250.0  # [Hz]
STIFFNESS, DAMPING = 1000.0, 20.0  # of the plane [N/m, N s/m]: its process acts a period late
GAP = 0.01  # [m]
FORCE = 20.0  # [N]
SLIDE = 0.03  # [m]
OUTPUTS = {"cartesian_impedance": "effort", "admittance": "joint_state"}


class Plane(Pair):
    """Twin and controller, and a plane that presses the hand as each state tells, and a sensor.

    Attributes:
        height: Of the plane [m].
        force: Of the plane on the hand, for each state [N].
        has_sensor: Whether the force is measured.
    """

    def __init__(self, ros: Ros, mode: str, **parameters: Any) -> None:
        law = {"tip": TIP, "output": OUTPUTS[mode], "force_axes": "z", **PATIENT}
        super().__init__(ros, RATE, wrench_dead_zone=[0.0, 0.0], **law, **parameters)
        self.mode, self.height, self.has_sensor = mode, -np.inf, True
        self.force: list[float] = []
        self._dynamics = Dynamics(Model.from_urdf(PANDA, joints=JOINTS))
        self._pushes = ros.publisher(WrenchStamped, f"{TWIN}/external_wrench")
        self._felt = ros.publisher(WrenchStamped, f"{CONTROLLER}/wrench")
        self._pressed = ros.publisher(WrenchStamped, f"{CONTROLLER}/target_wrench")
        self._targets = ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose")
        self._listener = Listener(
            ros.context, "plane", (JointState, "/joint_states", self._on_state)
        )
        assert ros.set_parameters(CONTROLLER, {"mode": mode})[0].successful
        poses = ros.collect(PoseStamped, f"{CONTROLLER}/current_pose", 1)
        self.wait_for("running")
        ros.wait_for(lambda: poses, "pose of the hand")
        self.target = deepcopy(poses[-1])
        self.target.header.frame_id = ""
        self.height = self.target.pose.position.z - GAP

    def _on_state(self, raw: bytes, _: dict[str, Any]) -> None:
        state = deserialize_message(raw, JointState)
        q, qd = np.array(state.position), np.array(state.velocity)
        pose = self._dynamics.link_pose(q, TIP)
        speed = self._dynamics.link_velocity(q, qd, TIP)[2]
        depth = self.height - pose[2, 3]
        push = max(STIFFNESS * depth - DAMPING * speed, 0.0) if depth > 0.0 else 0.0
        message = stamped(push * pose[2, :3], TIP)
        self._pushes.publish(message)
        if self.has_sensor:
            message.header.stamp = state.header.stamp
            self._felt.publish(message)
        self.force.append(push)

    def close(self) -> None:
        self._listener.close()

    def wait_for(self, text: str) -> None:
        self.ros.wait_for_diagnostics(
            lambda s: s.name == CONTROLLER[1:] and text in s.message, f"diagnostics {text!r}"
        )

    def press(self, by: float = 0.0) -> None:
        """Ask for the force, and for a place along x."""
        self._pressed.publish(stamped((0.0, 0.0, -FORCE), ""))
        if by:
            target = deepcopy(self.target)
            target.pose.position.x += by
            self._targets.publish(target)

    def is_kept(self) -> bool:
        """Return whether the force has been as asked for half a second."""
        self.press()
        last = np.array(self.force[-round(0.5 * RATE) :])
        return bool(np.abs(last - FORCE).max() < 1.0)


@pytest.fixture(
    scope="module",
    params=[("cartesian_impedance", "timer"), ("admittance", "state")],
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def plane(request, tmp_path_factory) -> Iterator[Plane]:
    mode, update_on = request.param
    with ros_in_free_domain(tmp_path_factory.mktemp("contact")) as ros:
        plane = Plane(ros, mode, update_on=update_on)
        yield plane
        plane.close()


def test_force_is_kept_standing_and_sliding(plane):
    plane.ros.wait_for(plane.is_kept, "the force that is asked for")
    begin = len(plane.force)
    steps = 60
    for step in range(1, steps + 1):
        plane.press(step / steps * SLIDE)
        plane.ros.run_for(0.05)
    slid = np.array(plane.force[begin:])
    print(f"{plane.mode}: {slid.min():.2f} to {slid.max():.2f} N while sliding")
    # A stall of this machine, or of the plane's process, is a step of the force.
    assert np.abs(np.percentile(slid, [5, 95]) - FORCE).max() < 2.0
    assert np.abs(slid - FORCE).max() < 8.0


def test_lost_sensor_leads_back_to_the_spring(plane):
    plane.ros.wait_for(plane.is_kept, "the force that is asked for")
    plane.has_sensor = False
    plane.wait_for("no wrench on ~/wrench for")
    begin = len(plane.force)
    for _ in range(30):
        plane.press()
        plane.ros.run_for(0.05)
    # What the spring presses with, or less: a joint that stands under load and feels no contact may
    # be one whose brake is on, so that the target is given up (stuck_joints.pxd).
    force = np.array(plane.force[begin:])
    assert force.max() < FORCE + 3.0
    assert np.ptp(force[-round(0.5 * RATE) :]) < 1.0
    plane.has_sensor = True
    plane.ros.run_for(1.0)  # the force is asked for no more, and then anew
    plane.ros.wait_for(plane.is_kept, "the force that is asked for, again")


def test_hand_stays_where_the_plane_ends(plane):
    plane.ros.wait_for(plane.is_kept, "the force that is asked for")
    plane.height -= 0.5
    plane.ros.run_for(0.3)
    plane.ros.wait_for(lambda: plane.is_kept() or not any(plane.force[-100:]), "no contact")
    assert not any(plane.force[-100:])

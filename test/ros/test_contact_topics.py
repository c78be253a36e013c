"""An arm presses on a plane over DDS: both modes of the hand, by states and by the timer."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from studies import study
from support import Between, Ros, ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
from neighbour import CONTROLLER, JOINTS, TWIN
from sensor_msgs.msg import JointState
from test_admittance_topics import TIP, stamped
from witness import PANDA, Pair

from featherstone_ros import Dynamics, Model

RATE = 250.0  # [Hz]
PACE = 3.0  # times as fast as real time: more takes processors while diagnostics are awaited
STIFFNESS, DAMPING = 1000.0, 20.0  # of the plane [N/m, N s/m]: its process acts a period late
GAP = 0.01  # [m]
FORCE = 20.0  # [N]
SLIDE = 0.03  # [m]
ASKED = 10  # states after which what is asked for is asked again
OUTPUTS = {"cartesian_impedance": "effort", "admittance": "joint_state"}


class Plane(Pair):
    """Twin and controller, and a plane that presses the hand as each state tells, and a sensor.

    In lockstep: a plane that another process computes too late is no passive one.

    Attributes:
        height: Of the plane [m].
        force: Of the plane on the hand, for each state [N].
        has_sensor: Whether the force is measured.
        presses: Whether the hand is asked to press, again and again.
        slide: Where it is asked to be along x, from where it began; from now on, each state [m].
    """

    def __init__(self, ros: Ros, mode: str, **parameters: Any) -> None:
        law = {"tip": TIP, "output": OUTPUTS[mode], "force_axes": "z", "wrench_timeout": 0.5}
        self.mode, self.height, self.has_sensor = mode, -np.inf, True
        self.presses, self.slide = False, iter(())
        self.force: list[float] = []
        self._dynamics = Dynamics(Model.from_urdf(PANDA, joints=JOINTS))
        create = ros.node.create_publisher
        self._pushes = create(WrenchStamped, f"{TWIN}/external_wrench", 10)
        self._felt = create(WrenchStamped, f"{CONTROLLER}/wrench", 10)
        self._pressed = create(WrenchStamped, f"{CONTROLLER}/target_wrench", 10)
        self._targets = create(PoseStamped, f"{CONTROLLER}/target_pose", 10)
        Between(ros, self._on_state, pace=PACE)
        law |= {"wrench_dead_zone": [0.0, 0.0], **parameters}
        super().__init__(ros, RATE, lockstep=True, **law)
        assert ros.set_parameters(CONTROLLER, {"mode": mode})[0].successful
        poses = ros.collect(PoseStamped, f"{CONTROLLER}/current_pose", 1)
        self.wait_for("running")
        ros.wait_for(lambda: poses, "pose of the hand")
        self.target = deepcopy(poses[-1])
        self.target.header.frame_id, self.target.header.stamp = "", Time()
        self.height = self.target.pose.position.z - GAP

    def _on_state(self, time: float, state: JointState) -> None:
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
        if len(self.force) % ASKED == 0:
            self._ask()

    def _ask(self) -> None:
        """Ask for the force, and for the next place along x."""
        if self.presses:
            self._pressed.publish(stamped((0.0, 0.0, -FORCE), ""))
        by = next(self.slide, None)
        if by is not None:
            target = deepcopy(self.target)
            target.pose.position.x += by
            self._targets.publish(target)

    def wait_for(self, text: str) -> None:
        self.ros.wait_for_diagnostics(
            lambda s: s.name == CONTROLLER[1:] and text in s.message, f"diagnostics {text!r}"
        )

    def go_on(self, seconds: float) -> np.ndarray:
        """Return the force during the next seconds of simulated time (N,) [N]."""
        begin, count = len(self.force), round(seconds * RATE)
        self.ros.wait_for(lambda: len(self.force) >= begin + count, f"{seconds} s")
        return np.array(self.force[begin : begin + count])

    def is_kept(self) -> bool:
        """Return whether the force has been as asked for half a second."""
        last = np.array(self.force[-round(0.5 * RATE) :])
        return bool(np.abs(last - FORCE).max() < 1.0)


@pytest.fixture(
    scope="module",
    params=[("cartesian_impedance", "timer"), study(("admittance", "state"))],
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def plane(request, tmp_path_factory) -> Iterator[Plane]:
    mode, update_on = request.param
    with ros_in_free_domain(tmp_path_factory.mktemp("contact")) as ros:
        yield Plane(ros, mode, update_on=update_on)


@pytest.fixture
def pressed(plane: Plane) -> Iterator[Plane]:
    """The hand presses as it is asked to."""
    plane.presses = True
    plane.ros.wait_for(plane.is_kept, "the force that is asked for")
    yield plane
    plane.presses = False


def test_force_is_kept_standing_and_sliding(pressed):
    steps = 75
    pressed.slide = iter(np.arange(1, steps + 1) / steps * SLIDE)
    slid = pressed.go_on(steps * ASKED / RATE)
    print(f"{pressed.mode}: {slid.min():.2f} to {slid.max():.2f} N while sliding")
    assert np.abs(np.percentile(slid, [5, 95]) - FORCE).max() < 2.0
    assert np.abs(slid - FORCE).max() < 8.0


def test_lost_sensor_leads_back_to_the_spring(pressed):
    pressed.has_sensor = False
    pressed.wait_for("no wrench on ~/wrench for")
    # What the spring presses with, or less: a joint that stands under load and feels no contact may
    # be one whose brake is on, so that the target is given up (stuck_joints.pxd).
    force = pressed.go_on(1.5)
    assert force.max() < FORCE + 3.0
    assert np.ptp(force[-round(0.5 * RATE) :]) < 1.0
    pressed.has_sensor, pressed.presses = True, False
    pressed.go_on(1.0)  # the force is asked for no more, and then anew
    pressed.presses = True
    pressed.ros.wait_for(pressed.is_kept, "the force that is asked for, again")


def test_hand_stays_where_the_plane_ends(pressed):
    pressed.height -= 0.5
    pressed.go_on(0.3)
    pressed.ros.wait_for(lambda: pressed.is_kept() or not any(pressed.force[-100:]), "no contact")
    assert not any(pressed.force[-100:])

"""Green only when it is there: the real controller, on arms that do not arrive."""

from __future__ import annotations

from typing import Any

from support import (  # skips this module where ROS is missing
    ARM,
    LOCKSTEP,
    STATES,
    Between,
    Ros,
    point,
)

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from neighbour import CONTROLLER
from sensor_msgs.msg import JointState
from test_feedforward_controller import NAMES, URDF
from trajectory_msgs.msg import JointTrajectory

START = {"shoulder": 0.6, "elbow": 0.5}
GOAL = [1.0, 0.1]
GAINS = {
    **{"gains.shoulder.p": 100.0, "gains.shoulder.d": 10.0},
    **{"gains.elbow.p": 20.0, "gains.elbow.d": 1.0},
}
PACE = 3.0  # times real time


class Arm:
    """Twin and controller as processes, in lockstep, and what they say."""

    def __init__(self, ros: Ros, urdf: str, twin: dict[str, Any], **parameters: Any) -> None:
        self.ros = ros
        Between(ros, pace=PACE)
        twin = {"rate": 200.0, **LOCKSTEP, **twin}
        ros.start_pair(urdf, twin=twin, controller=parameters, states=ARM)
        self.states = ros.collect(JointState, STATES)
        self.errors = ros.collect(JointState, f"{CONTROLLER}/error")
        self.trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        self.status("running: hold")

    def status(self, text: str) -> DiagnosticStatus:
        return self.ros.status(text, CONTROLLER)

    def follow(self, end: list[float], duration: float = 1.0) -> None:
        points = [point(duration, end, velocities=[0.0] * len(end))]
        self.trajectories.publish(JointTrajectory(joint_names=NAMES, points=points))


def test_arm_that_sticks_on_its_way_is_named_until_it_is_asked_for_what_it_can_do(ros):
    # That the controller does not know; what is less than a tenth of the limit, no brakes have.
    friction = {"friction.shoulder.coulomb": 1.5}
    twin = {**friction, **{f"initial_positions.{name}": q for name, q in START.items()}}
    arm = Arm(ros, URDF, twin, path_tolerance=1.0, **GAINS)
    ros.status(gains="for gains.period 2 ms")  # the states come at 200 Hz
    assert ros.set_parameters(CONTROLLER, {"gains.period": 0.005})[0].successful
    ros.status(gains="nothing found")
    arm.follow(GOAL)
    status = arm.status("did not arrive: shoulder")
    assert status.level == DiagnosticStatus.WARN
    told = float(status.message.split("shoulder ")[1].split(" mrad")[0])
    ros.wait_for(
        lambda: arm.errors and abs(1e3 * abs(arm.errors[-1].position[0]) - told) < 0.2,
        f"an error of {told} mrad",
    )
    assert told > 10.0 and arm.errors[-1].name[0] == "shoulder"
    assert f"shoulder {told} mrad (expected 3)" in status.message
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.1})[0].successful
    assert arm.status("running: hold").level == DiagnosticStatus.OK
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.0})[0].successful
    arm.status("did not arrive: shoulder")
    ros.run_for(0.5)  # the last state heard is the present one
    arm.follow(list(arm.states[-1].position), 0.5)
    assert arm.status("running: hold").level == DiagnosticStatus.OK

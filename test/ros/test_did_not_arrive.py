"""Green only when it is there: the real controller, on arms that do not arrive."""

from __future__ import annotations

from support import (  # skips this module where ROS is missing
    PACED,
    STATES,
    point,
)

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from neighbour import CONTROLLER
from sensor_msgs.msg import JointState
from test_feedforward_controller import NAMES, URDF
from trajectory_msgs.msg import JointTrajectory

GOAL = [1.0, 0.1]
GAINS = {
    **{"gains.shoulder.p": 100.0, "gains.shoulder.d": 10.0},
    **{"gains.elbow.p": 20.0, "gains.elbow.d": 1.0},
}
PACE = 3.0  # times real time


def test_arm_that_sticks_on_its_way_is_named_until_it_is_asked_for_what_it_can_do(ros):
    # That the controller does not know; what is less than a tenth of the limit, no brakes have.
    friction = {"friction.shoulder.coulomb": 1.5}
    home = {"initial_positions.shoulder": 0.6, "initial_positions.elbow": 0.5}
    twin = {"rate": 200.0, **PACED, "real_time_factor": PACE, **friction, **home}
    ros.start_pair(URDF, twin=twin, controller={"path_tolerance": 1.0, **GAINS})
    states = ros.collect(JointState, STATES)
    errors = ros.collect(JointState, f"{CONTROLLER}/error")
    trajectories = ros.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")

    def follow(end: list[float], duration: float) -> None:
        points = [point(duration, end, velocities=[0.0] * len(end))]
        trajectories.publish(JointTrajectory(joint_names=NAMES, points=points))

    ros.status("running: hold", CONTROLLER)
    ros.status(gains="for gains.period 2 ms")  # the states come at 200 Hz
    assert ros.set_parameters(CONTROLLER, {"gains.period": 0.005})[0].successful
    ros.status(gains="nothing found")
    follow(GOAL, 1.0)
    status = ros.status("did not arrive: shoulder", CONTROLLER)
    assert status.level == DiagnosticStatus.WARN
    told = float(status.message.split("shoulder ")[1].split(" mrad")[0])
    ros.wait_for(
        lambda: errors and abs(1e3 * abs(errors[-1].position[0]) - told) < 0.2,
        f"an error of {told} mrad",
    )
    assert told > 10.0 and errors[-1].name[0] == "shoulder"
    assert f"shoulder {told} mrad (expected 3)" in status.message
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.1})[0].successful
    assert ros.status("running: hold", CONTROLLER).level == DiagnosticStatus.OK
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.0})[0].successful
    ros.status("did not arrive: shoulder", CONTROLLER)
    ros.run_for(0.5)  # the last state heard is the present one
    follow(list(states[-1].position), 0.5)
    assert ros.status("running: hold", CONTROLLER).level == DiagnosticStatus.OK

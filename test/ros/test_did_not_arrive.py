"""Green only when it is there: the node's diagnostics of an arm that sticks. Of more arms and
motions: test_arrival.py.
"""

from __future__ import annotations

from support import Ros  # skips this module where ROS is missing

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from rig import CONTROLLER, Rig
from test_feedforward_controller import URDF

GAINS = {
    **{"gains.shoulder.p": 100.0, "gains.shoulder.d": 10.0},
    **{"gains.elbow.p": 20.0, "gains.elbow.d": 1.0},
}


def test_arm_that_sticks_on_its_way_is_named_until_that_is_near_enough(ros: Ros) -> None:
    # That the controller does not know; what is less than a tenth of the limit, no brakes have.
    friction = {"friction.shoulder.coulomb": 1.5}
    home = {"initial_positions.shoulder": 0.6, "initial_positions.elbow": 0.5}
    own = {"path_tolerance": 1.0, **GAINS}
    rig = Rig(ros, URDF, pace=3.0, twin={"rate": 200.0, **friction, **home}, controller=own)
    rig.wait_until_held()
    ros.status(gains="for gains.period 2 ms")  # the states come at 200 Hz
    assert ros.set_parameters(CONTROLLER, {"gains.period": 0.005})[0].successful
    ros.status(gains="nothing found")
    rig.lead([1.0, 0.1], within=0.1)
    status = ros.status("did not arrive: shoulder", CONTROLLER)
    assert status.level == DiagnosticStatus.WARN
    off = 1e3 * abs(rig.q[0] - 1.0)
    told = float(status.message.split("shoulder ")[1].split(" mrad")[0])
    assert told > 10.0 and abs(told - off) < 0.2
    assert ros.set_parameters(CONTROLLER, {"constraints.shoulder.goal": 0.1})[0].successful
    assert ros.status("running: hold", CONTROLLER).level == DiagnosticStatus.OK

"""An arm on a torso that somebody else leans: what both nodes hear of it over DDS.

How it is held meanwhile is in test_locked_joints.py and test_carried_arm.py, in simulated time.
"""

import numpy as np
from urdf_text import chain

# isort: split
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import featherstone_ros as fr

CONTROLLER, TWIN = "featherstone_ros.feedforward_controller", "featherstone_ros.digital_twin"
FREE, START, LEAN = ["shoulder", "elbow"], {"waist": 0.0, "shoulder": 0.3, "elbow": -0.8}, 0.6
LIMIT = '<limit lower="-3" upper="3" effort="400" velocity="2"/><dynamics damping="0.5"/>'
URDF = chain("waist", *FREE, axis="0 1 0", inside=LIMIT)


def test_a_controller_bears_its_arm_where_joint_states_say_that_the_torso_is(ros):
    process = ros.start(CONTROLLER, {"robot_description": URDF, "joints": FREE})
    commands = ros.collect(Float64MultiArray, "/feedforward_controller/commands")
    message = JointState(name=[*START], position=[LEAN, *(START[name] for name in FREE)])
    message.velocity = [0.0] * len(START)
    weight = fr.Dynamics(fr.Model.from_urdf(URDF)).gravity(message.position)[1:]
    ros.ask(
        ros.publisher(JointState, "/joint_states"),
        message,
        lambda: commands and np.abs(commands[-1].data - weight).max() < 1e-6,
        "the weight on the torso that leans",
    )
    process.wait_for_output("not among joints: waist at 0")
    ros.status(**{"locked joint waist": "0.6, as joint_states says"})


def test_a_twin_of_the_arm_alone_stands_on_the_torso_that_it_is_told_of(ros):
    """By the parameter, at run time as well, until a joint state tells; what is absurd is not."""
    node = "/digital_twin"
    start = {f"initial_positions.{name}": START[name] for name in FREE}
    own = {"robot_description": URDF, "joints": FREE, "locked.waist": LEAN, "rate": 100.0, **start}
    process = ros.start(TWIN, own)
    states = ros.collect(JointState, "/joint_states")
    whole = fr.Dynamics(fr.Model.from_urdf(URDF))

    def carries(waist: float) -> bool:
        """Whether the brakes carry the arm on a torso that leans so far."""
        weight = whole.gravity([waist, *(START[name] for name in FREE)])[1:]
        mine = [s.effort for s in states if list(s.name) == FREE]  # the torso's are heard, too
        return bool(mine) and np.abs(mine[-1] - weight).max() < 1e-6

    ros.wait_for(lambda: carries(LEAN), "the torso as the parameter has it")
    assert not ros.set_parameters(node, {"locked.waist": 40.0})[0].successful
    assert ros.set_parameters(node, {"locked.waist": -0.2})[0].successful
    ros.wait_for(lambda: carries(-0.2), "the torso as it was set")
    torso = ros.publisher(JointState, "/joint_states")
    ros.ask(
        torso,
        JointState(name=["waist"], position=[0.4]),
        lambda: carries(0.4),
        "the torso as it is published",
    )
    ros.ask(
        torso,
        JointState(name=["waist"], position=[40.0]),
        lambda: "'waist', which is not among joints, at 40" in process.output,
        "a word on what is absurd",
    )
    assert carries(0.4)
    ros.status("", node, **{"locked joint waist": "0.4, as joint_states says"})

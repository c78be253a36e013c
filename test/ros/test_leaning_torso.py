"""An arm on a torso that another controller leans: over DDS, in lockstep."""

import numpy as np
import pytest
from support import LOCKSTEP, Ros, status_values
from unit.urdf_text import joint, link, robot

# isort: split
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import featherstone_ros as fr

CONTROLLER, TWIN = "featherstone_ros.feedforward_controller", "featherstone_ros.digital_twin"
ARM, TORSO, SHADOW = "/arm_controller", "/torso_controller", "/shadow"
FREE, START, LEAN = ["shoulder", "elbow"], {"waist": 0.0, "shoulder": 0.3, "elbow": -0.8}, 0.6
LIMIT = '<limit lower="-3" upper="3" effort="{}" velocity="2"/><dynamics damping="0.5"/>'
PERIOD = 0.002
EVERY = QoSProfile(depth=20_000)
URDF = robot(
    link("pelvis", mass=20.0),
    link("chest", mass=10.0, com="0 0 0.25", inertia=(0.2, 0.2, 0.1)),
    link("upper", mass=2.0, com="0 0 -0.15"),
    link("fore", mass=1.5, com="0 0 -0.12"),
    joint("waist", "pelvis", "chest", axis="0 1 0", inside=LIMIT.format(400)),
    joint("shoulder", "chest", "upper", xyz="0 0.2 0.45", axis="0 1 0", inside=LIMIT.format(40)),
    joint("elbow", "upper", "fore", xyz="0 0 -0.3", axis="0 1 0", inside=LIMIT.format(30)),
)
COMMON = {"robot_description": URDF, "use_sim_time": True}
PATIENT = {"executor_timeout": 0.0, "gains.period": PERIOD, "gains.delay": PERIOD}


class Torso:
    """The robot with a controller for the arm, one for the torso, and a shadow of the arm."""

    def __init__(self, ros: Ros) -> None:
        self.ros, self.states = ros, ros.collect(JointState, "/joint_states", EVERY)
        self.errors = ros.collect(JointState, f"{ARM}/error", EVERY)
        self.poses = ros.collect(PoseStamped, f"{ARM}/current_pose", EVERY)
        self.residuals = ros.collect(JointState, f"{SHADOW}/residual", EVERY)
        parts = {ARM: FREE, TORSO: ["waist"]}
        self.processes = {
            node: ros.start(
                CONTROLLER,
                {**COMMON, **PATIENT, "joints": joints, "autostart": False, "tip": "fore"}
                | ({} if node == ARM else {"tip": ""}),
                *("-r", f"__node:={node[1:]}"),
            )
            for node, joints in parts.items()
        }
        shadow = {**COMMON, "mode": "shadow", "joints": FREE, "autostart": False}
        ros.start(TWIN, shadow, "-r", f"__node:={SHADOW[1:]}")
        ros.start(
            TWIN,
            {
                **COMMON,
                **LOCKSTEP,
                "rate": 1.0 / PERIOD,
                "autostart": False,
                **{f"initial_positions.{name}": q for name, q in START.items()},
                **{f"command_topic.{j}": f"{n}/commands" for n, js in parts.items() for j in js},
            },
        )
        for node in (*parts, SHADOW):
            assert ros.change_state(node, "configure")
        self.goals = ros.publisher(JointTrajectory, f"{TORSO}/joint_trajectory")
        assert ros.change_state(SHADOW, "activate")
        for transition in ("configure", "activate"):
            assert ros.change_state("/digital_twin", transition)
        for node in parts:
            assert ros.change_state(node, "activate")

    def wait(self, seconds: float) -> None:
        end = self.time + seconds
        self.ros.wait_for(lambda: self.time > end, f"{seconds} s of simulated time")

    @property
    def time(self) -> float:
        stamp = self.states[-1].header.stamp if self.states else None
        return stamp.sec + 1e-9 * stamp.nanosec if stamp else 0.0

    @property
    def q(self) -> dict[str, float]:
        return dict(zip(self.states[-1].name, self.states[-1].position, strict=True))


@pytest.fixture
def torso(ros):
    return Torso(ros)


def test_an_arm_is_held_while_another_controller_leans_the_torso(torso):
    """Gravity, pose and shadow are those of the whole robot; the arm stays within 2 mrad."""
    ros, names = torso.ros, [*START]
    torso.wait(1.0)
    begin, first = len(torso.errors), len(torso.states)
    points = [
        JointTrajectoryPoint(
            positions=[LEAN * (10 * s**3 - 15 * s**4 + 6 * s**5)],
            velocities=[LEAN * 30 * s**2 * (1 - s) ** 2 / 2.0],
            accelerations=[LEAN * 60 * s * (1 - s) * (1 - 2 * s) / 4.0],
            time_from_start=Duration(sec=int(2 * s), nanosec=round(2 * s % 1 * 1e9)),
        )
        for s in np.linspace(0.0, 1.0, 21)
    ]
    torso.goals.publish(JointTrajectory(joint_names=["waist"], points=points))
    torso.ros.wait_for(lambda: torso.q["waist"] > LEAN - 0.005, "torso that leans")
    torso.wait(0.5)
    errors = np.array([error.position for error in torso.errors[begin:]])
    assert np.abs(errors).max() < 2e-3
    efforts = np.array([[s.effort[s.name.index(n)] for n in FREE] for s in torso.states[first:]])
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.1
    whole = fr.Dynamics(fr.Model.from_urdf(URDF))
    q = np.array([torso.q[name] for name in names])
    np.testing.assert_allclose(efforts[-1], whole.gravity(q)[1:], atol=0.05)
    ros.wait_for(lambda: torso.poses, "pose")
    position = torso.poses[-1].pose.position
    expected = whole.link_pose(q, "fore")[:3, 3]
    np.testing.assert_allclose([position.x, position.y, position.z], expected, atol=1e-3)
    residuals = np.array([r.effort for r in torso.residuals])
    assert np.abs(residuals[-1]).max() < 0.05  # [N m]
    assert "not among joints: waist at 0" in torso.processes[ARM].output
    status = ros.wait_for_diagnostics(
        lambda s: s.name == ARM[1:] and "joint_states" in status_values(s)["locked joint waist"]
    )
    assert status_values(status)["locked joint waist"].startswith("0.6,")


def test_a_place_that_is_given_is_known_though_it_is_the_default(ros):
    process = ros.start(TWIN, {"robot_description": URDF, "joints": FREE, "locked.waist": 0.0})
    known = "not among joints: waist at 0, as locked.waist says"
    ros.wait_for(lambda: "not among joints" in process.output, "word on the torso")
    assert known in process.output


def test_a_twin_of_the_arm_alone_stands_on_the_torso_that_it_is_told_of(ros):
    """By the parameter, at run time as well, until a joint state tells; what is absurd is not."""
    node = "/digital_twin"
    start = {f"initial_positions.{name}": START[name] for name in FREE}
    own = {"robot_description": URDF, "joints": FREE, "locked.waist": LEAN, **start}
    process = ros.start(TWIN, own)
    states = ros.collect(JointState, "/joint_states")
    whole = fr.Dynamics(fr.Model.from_urdf(URDF))

    def carries(waist: float) -> bool:
        """Whether the brakes carry the arm on a torso that leans so far."""
        weight = whole.gravity([waist, *(START[name] for name in FREE)])[1:]
        mine = [s.effort for s in states[-1:] if list(s.name) == FREE]
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
    status = ros.wait_for_diagnostics(lambda s: s.name == node[1:])
    assert status_values(status)["locked joint waist"] == "0.4, as joint_states says"

r"""An arm simulated by MuJoCo, under the feedforward_controller: joint states out, torques in.

For users who simulate in MuJoCo, and a plant that does not share a line with the digital twin. It
takes armature, friction and first positions from the parameter file of the controller, so that the
controller knows them. MuJoCo's dry friction is soft: a resting joint creeps under any torque.

Brakes hold the arm before the first command, and from 0.1 s after the last one.

With --real-time-factor it publishes /clock, and the controller needs use_sim_time. Factor 0 is
lockstep: each state waits for its command, so that runs are as fast as can be, and all the same.

Examples:
  featherstone-ros setup arm.urdf
  python examples/mujoco_arm.py arm.urdf --parameters arm.yaml
  ros2 run featherstone_ros feedforward_controller --ros-args --params-file arm.yaml \
      -p robot_description:=arm.urdf
  python examples/mujoco_arm.py arm.urdf --parameters arm.yaml --real-time-factor 0
  ros2 run featherstone_ros feedforward_controller --ros-args --params-file arm.yaml \
      -p robot_description:=arm.urdf -p use_sim_time:=true
  featherstone-ros replay arm_motion.yaml
"""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import SubElement, tostring

import numpy as np
from defusedxml import ElementTree

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.model import read_description
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.robots import robot_file

STEP = 0.0005  # [s] of MuJoCo
BRAKES = 0.1  # [s] after the last command
MAX_BEHIND = 0.05  # [s] that a busy machine makes up for
REPEAT = 0.1  # [s] after which a state that has no answer is published again, in lockstep
COMMANDS = "feedforward_controller/commands"


class MujocoArm:
    """A robot description in MuJoCo; arrays (n,) in the model's joint order.

    Attributes:
        torque: What the drives apply [N m or N].
    """

    def __init__(
        self, text: str, model: Model, armature: Floats, coulomb: Floats, viscous: Floats
    ) -> None:
        """Compile it, without shapes: nothing touches anything.

        Args:
            text: URDF text.
            model: The same, with the joints that move; others are fixed at 0.
            armature: Inertia of the drives [kg m^2 or kg].
            coulomb: Coulomb friction [N m or N].
            viscous: Viscous friction [N m s/rad or N s/m].
        """
        import mujoco

        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(_without_shapes(text, model.joint_names))
        self._model.opt.timestep = STEP
        joints = [self._model.joint(name) for name in model.joint_names]
        self._place = np.array([joint.qposadr[0] for joint in joints])
        self._dof = np.array([joint.dofadr[0] for joint in joints])
        self._model.dof_armature[self._dof] = armature
        self._model.dof_frictionloss[self._dof] = coulomb
        self._model.dof_damping[self._dof] = viscous
        self._data = mujoco.MjData(self._model)
        self._limit = model.effort_limit
        self.torque = np.zeros(model.n)

    @property
    def q(self) -> Floats:
        """Position [rad or m]."""
        return np.asarray(self._data.qpos[self._place])

    @property
    def qd(self) -> Floats:
        """Velocity [rad/s or m/s]."""
        return np.asarray(self._data.qvel[self._dof])

    def reset(self, q: Floats) -> None:
        """Put the arm somewhere, at rest."""
        self._data.qpos[self._place] = q
        self._data.qvel[:] = 0.0
        self._mujoco.mj_forward(self._model, self._data)

    def advance(self, steps: int) -> None:
        """Let time pass under the torque, within the effort limits."""
        torque = np.clip(self.torque, -self._limit, self._limit)
        self._data.qfrc_applied[self._dof] = torque
        self._mujoco.mj_step(self._model, self._data, steps)


def _without_shapes(text: str, moving: Sequence[str]) -> str:
    """Return a URDF for MuJoCo: without meshes, other joints fixed, impossible inertias mended."""
    robot = ElementTree.fromstring(text)
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    for joint in robot.findall("joint"):
        if joint.get("name") not in moving:
            joint.set("type", "fixed")
            for mimic in joint.findall("mimic"):
                joint.remove(mimic)
    options = SubElement(robot, "mujoco")
    SubElement(options, "compiler", balanceinertia="true", fusestatic="false")
    return tostring(robot, encoding="unicode")


def load(urdf: str, parameters: Path | None, friction: float) -> tuple[MujocoArm, Model]:
    """Return the arm at its first positions, 0 without parameters, and its model.

    ``friction``: times what the controller is told.
    """
    text = read_description(robot_file(urdf))
    values = read_parameters(parameters)["digital_twin"] if parameters else None
    model = Model.from_urdf(text, joints=values.joints() if values else None)
    zero = np.zeros(model.n)

    def known(pattern: str, default: Floats) -> Floats:
        return values.numbers(pattern, model.joint_names, default) if values else default

    arm = MujocoArm(
        text,
        model,
        known("armature.{}", zero),
        friction * known("friction.{}.coulomb", model.friction),
        friction * known("friction.{}.viscous", model.damping),
    )
    arm.reset(known("initial_positions.{}", zero))
    return arm, model


def run(
    arm: MujocoArm, joints: Sequence[str], rate: float, real_time_factor: float | None = None
) -> None:
    """Publish joint states and take commands, until interrupted.

    ``rate``: of the joint states, in simulated time [Hz]; ``real_time_factor``: simulated time by
    real time, told on /clock; 0: by commands; None: the time is the computer's.
    """
    import rclpy
    from rclpy.duration import Duration
    from rclpy.signals import SignalHandlerOptions
    from rclpy.time import Time
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("mujoco_arm")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    steps = round(1.0 / (rate * STEP))
    elapsed, commanded, answered = 0.0, -np.inf, False  # [s] of simulated time

    def take(message: Float64MultiArray) -> None:
        nonlocal commanded, answered
        arm.torque, commanded, answered = np.array(message.data), elapsed, True

    def wait(until: float) -> None:
        """Take messages until a steady time, or, in lockstep, until a command has come."""
        while not stopping.is_set() and not (answered and real_time_factor == 0.0):
            left = until - time.monotonic()
            rclpy.spin_once(node, timeout_sec=max(left, 0.0))
            if left <= 0.0:
                break

    node.create_subscription(Float64MultiArray, COMMANDS, take, 1)  # the newest counts
    clock = None if real_time_factor is None else node.create_publisher(Clock, "/clock", 10)
    state, due = JointState(name=list(joints)), time.monotonic()
    ahead = node.get_clock().now() - Duration(seconds=due)  # of ROS time before the steady one
    while not stopping.is_set():
        if answered or real_time_factor != 0.0:
            if elapsed - commanded < BRAKES:
                arm.advance(steps)
            else:
                arm.reset(arm.q)
            elapsed += steps * STEP
        stamp = ahead + Duration(seconds=due) if clock is None else Time(seconds=elapsed)
        state.header.stamp = stamp.to_msg()
        state.position, state.velocity = arm.q.tolist(), arm.qd.tolist()
        state.effort = arm.torque.tolist()
        answered = False
        if clock is not None:
            clock.publish(Clock(clock=state.header.stamp))
        publisher.publish(state)
        due = max(due + steps * STEP / (real_time_factor or 1.0), time.monotonic() - MAX_BEHIND)
        wait(due if real_time_factor != 0.0 else time.monotonic() + REPEAT)
    rclpy.shutdown()


def main() -> int:
    """Simulate until Ctrl-C."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urdf", metavar="URDF", help="URDF or xacro file, or panda, ur5e")
    parser.add_argument(
        "--parameters", type=Path, metavar="FILE", help="of the controller, as setup writes them"
    )
    parser.add_argument(
        "--rate", type=float, default=500.0, metavar="HZ", help="of joint states (default: 500)"
    )
    parser.add_argument(
        "--friction",
        type=float,
        default=1.0,
        metavar="F",
        help="times what the controller is told (default: 1)",
    )
    parser.add_argument(
        "--real-time-factor",
        type=float,
        metavar="F",
        help="simulated time by real time, told on /clock; 0: a step for each command",
    )
    args = parser.parse_args()
    arm, model = load(args.urdf, args.parameters, args.friction)
    run(arm, model.joint_names, args.rate, args.real_time_factor)
    return 0


if __name__ == "__main__":
    sys.exit(main())

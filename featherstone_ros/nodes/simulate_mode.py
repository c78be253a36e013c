"""Mode ``simulate`` of the digital twin: topics and services of ``featherstone_ros.simulation``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic
from typing import TypeVar

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.nodes import realtime_path
from featherstone_ros.nodes.diagnostics import ERROR, WARN, Report, Rivals
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.messages import JointMap, field_values, optional_values
from featherstone_ros.nodes.own_wait_set import HotGroup
from featherstone_ros.nodes.parameters import Commit, Setting, Value
from featherstone_ros.nodes.refusals import Refusals
from featherstone_ros.nodes.simulation_cycle import COMMANDS, JOINT_COMMANDS, SimulationCycle
from featherstone_ros.simulation import Noise, Twin, TwinSettings
from featherstone_ros.simulation.run import Run
from featherstone_ros.simulation.twin import NANOSECONDS, home_positions

Answer = TypeVar("Answer", Trigger.Response, SetBool.Response)

QUEUE = QoSProfile(depth=10)  # reliable

SETTINGS = (
    Setting("rate", 1000.0, "states per second of simulation time [Hz]", 1.0, 10_000.0),
    Setting(
        "real_time_factor",
        1.0,
        "simulation time per real time; 0 is as fast as possible",
        0.0,
        1000.0,
    ),
    Setting(
        "lockstep",
        False,
        "advance by one period per command received, whatever the real time",
        read_only=True,
    ),
    Setting("publish_clock", False, "publish simulation time on /clock", read_only=True),
    Setting("hold_until_command", True, "brakes on from the start or a reset to the first command"),
    Setting(
        "command_timeout",
        0.0,
        "brakes on after this real time without a command [s]; 0 is never",
        0.0,
        3600.0,
    ),
    Setting(
        "wrench_timeout",
        0.0,
        "an external wrench ends after this simulation time [s]; 0: the next one ends it",
        0.0,
        3600.0,
    ),
    Setting("steps_per_call", 1, "integration steps per call of ~/step", 1, 10_000_000),
    Setting("saturate_effort", True, "clip commands to the URDF effort limits"),
    Setting(
        "stops.stiffness",
        0.0,
        "of joint stops at the URDF position limits [N m/rad or N/m]; 0 is no stops",
        0.0,
    ),
    Setting("stops.damping", 0.0, "of the joint stops [N m s/rad or N s/m]", 0.0),
    Setting("seed", 0, "of the sensor noise: the same seed, the same noise", 0),
    Setting("noise.position", 0.0, "standard deviation of positions [rad or m]", 0.0),
    Setting("noise.velocity", 0.0, "standard deviation of velocities [rad/s or m/s]", 0.0),
    Setting("noise.effort", 0.0, "standard deviation of efforts [N m or N]", 0.0),
)


def joint_settings(model: Model) -> Iterable[Setting]:
    """Return the initial position of every joint."""
    for joint, position in zip(model.joint_names, home_positions(model), strict=True):
        yield Setting(
            f"initial_positions.{joint}",
            float(position),
            "position at the start and after a reset [rad or m]",
        )


class SimulateMode:
    """Simulates the arm of the robot description and answers like its driver.

    ``joint_states`` has the model's joints only: robot_state_publisher derives mimic followers
    from their leaders itself.
    """

    def __init__(self, node: ModelNode) -> None:
        """Make the twin and the topics it publishes on; the node has a model.

        Raises:
            ValueError: Parameters that the simulator refuses.
        """
        self._node = node
        model = node.model
        self._twin = Twin(model, twin_settings(self._node.parameters, model))
        self._run = Run(self._twin, monotonic())
        self._joints = JointMap(model.joint_names, {*model.mimics, *model.locked})
        self._refusals = Refusals(node)
        self._known_fault = ""
        self._known_overruns = 0
        self._states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._clock_messages = None
        if node.parameters["publish_clock"]:
            self._clock_messages = node.create_publisher(Clock, "/clock", QUEUE)
        self._cycle = SimulationCycle(
            self._run,
            node.get_clock(),
            bool(node.parameters["publish_clock"] or node.parameters["lockstep"]),
            self._states,
            self._clock_messages,
            self._refusals.refuse,
            self._note_fault,
        )
        self._loop: realtime_path.Loop | None = None  # while active
        self._rivals = Rivals(node)
        self._warn_of_odd_limits()

    def _warn_of_odd_limits(self) -> None:
        model, q = self._node.model, self._twin.q
        outside = (q < model.lower) | (q > model.upper)
        for name in np.array(model.joint_names)[outside]:
            self._node.get_logger().warning(f"initial position of {name} is beyond its limits")
        if self._node.parameters["saturate_effort"]:
            for name in np.array(model.joint_names)[model.effort_limit == 0.0]:
                self._node.get_logger().warning(
                    f"{name} cannot be driven: its URDF effort limit is 0"
                )

    def activate(self) -> None:
        """Listen and let time pass."""
        node, cycle, group = self._node, self._cycle, HotGroup()
        self._commanders = [
            node.create_subscription(kind, topic, take, QUEUE, callback_group=group, raw=True)
            for kind, topic, take in (
                (Float64MultiArray, COMMANDS, cycle.take_commands),
                (JointState, JOINT_COMMANDS, cycle.take_joint_commands),
            )
        ]
        self._inputs = [
            node.create_subscription(
                kind, topic, self._refusals.guard(topic, kind, callback), QUEUE, raw=True
            )
            for kind, topic, callback in (
                (WrenchStamped, "~/external_wrench", self._on_wrench),
                (JointState, "~/set_state", self._on_set_state),
            )
        ]
        self._services_made = [
            node.create_service(Trigger, "~/reset", self._on_reset),
            node.create_service(SetBool, "~/pause", self._on_pause),
            node.create_service(Trigger, "~/step", self._on_step),
        ]
        self._run.adopt(self._twin.settings, monotonic())
        self._twin.restart_timeout(monotonic())
        self._cycle.start()
        self._loop = realtime_path.make_loop(
            node, cycle, group, self._commanders, at_once=self._twin.settings.lockstep
        )
        self._loop.start()

    def deactivate(self) -> None:
        """Stop listening; time stands still."""
        self.halt()
        for subscription in (*self._commanders, *self._inputs):
            self._node.destroy_subscription(subscription)
        for service in self._services_made:
            self._node.destroy_service(service)

    def halt(self) -> None:
        """Let time stand still."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def cleanup(self) -> None:
        """Forget the twin."""
        self._node.destroy_publisher(self._states)
        if self._clock_messages is not None:
            self._node.destroy_publisher(self._clock_messages)

    # Parameters.

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the twin for new settings; state, command and time go on."""
        settings = twin_settings(values, self._node.model)
        apply = self._twin.prepare(settings)

        def take() -> None:
            apply()
            self._run.adopt(settings, monotonic())

        return take if self._loop is None else partial(self._loop.apply, take)

    # From the loop's thread.

    def _note_fault(self) -> None:
        if self._twin.fault != self._known_fault:
            self._known_fault = self._twin.fault
            self._node.defer(self._report_fault)

    def _report_fault(self) -> None:
        self._node.get_logger().error(self._known_fault)
        self._node.publish_diagnostics()

    # Messages.

    def _on_wrench(self, message: WrenchStamped) -> None:
        force, torque = message.wrench.force, message.wrench.torque
        wrench = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
        self._loop.call(lambda: self._twin.apply_wrench(message.header.frame_id, wrench))

    def _on_set_state(self, message: JointState) -> None:
        source, joints = self._joints.partial(message.name)
        count = len(message.name)
        position = field_values(message.position, count, "position")[source]
        velocity = optional_values(message.velocity, count, "velocity")
        if velocity is not None:
            velocity = velocity[source]
        self._loop.call(lambda: self._twin.set_state(position, velocity, joints))

    # Services.

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def reset() -> None:
            self._run.reset(monotonic())
            self._known_fault = ""

        return self._answer(response, reset, "at the initial position, time 0")

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        done = "paused" if request.data else "running"
        return self._answer(response, lambda: self._run.pause(request.data, monotonic()), done)

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def step() -> None:
            self._run.step(int(self._node.parameters["steps_per_call"]), monotonic())
            self._cycle.publish()

        self._answer(response, step, "")
        if response.success:
            response.message = f"simulation time {self._twin.time / NANOSECONDS:.6f} s"
        elif self._twin.fault:
            self._note_fault()
        return response

    def _answer(self, response: Answer, action: Callable[[], None], done: str) -> Answer:
        """Have the loop do what a service asks for, and answer."""
        try:
            self._loop.call(action)
        except (FeatherstoneError, TimeoutError) as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, done
        return response

    # Diagnostics.

    def diagnose(self) -> Report:
        """Return fault, refused messages, overruns and too many commanders."""
        twin = self._twin
        publishers = sum(self._node.count_publishers(s.topic_name) for s in self._commanders)
        rivals = self._rivals.among({"command the arm": publishers})
        values = {
            "simulation time [s]": f"{twin.time / NANOSECONDS:.3f}",
            "paused": self._run.paused,
            "brakes": "on" if twin.is_braked else "off",
            "wrenches on": ", ".join(twin.wrenches) or "none",
            "command publishers": publishers,
            **self._cycle.timing.report("commands lost"),
            "commands saturated": twin.saturated,
            "scheduling": self._loop.scheduling,
            **self._refusals.values,
        }
        if twin.fault:
            return Report(ERROR, twin.fault, values)
        problems = rivals
        problems += self._refusals.recent
        if self._run.pace.overruns > self._known_overruns:
            self._known_overruns = self._run.pace.overruns
            problems.append("fell behind real time; what was missed is given up")
        if problems:
            return Report(WARN, "; ".join(problems), values)
        return Report(values=values)


def twin_settings(values: Mapping[str, Value], model: Model) -> TwinSettings:
    """Return a twin's settings from the node's parameters."""

    def per_joint(pattern: str) -> list[Value]:
        return [values[pattern.format(joint)] for joint in model.joint_names]

    return TwinSettings(
        rate=values["rate"],
        time_step=values["time_step"],
        integrator=values["integrator"],
        real_time_factor=values["real_time_factor"],
        lockstep=values["lockstep"],
        initial_positions=per_joint("initial_positions.{}"),
        damping=per_joint("friction.{}.viscous"),
        friction=per_joint("friction.{}.coulomb"),
        armature=per_joint("armature.{}"),
        stop_stiffness=values["stops.stiffness"],
        stop_damping=values["stops.damping"],
        saturate_effort=values["saturate_effort"],
        hold_until_command=values["hold_until_command"],
        command_timeout=values["command_timeout"],
        wrench_timeout=values["wrench_timeout"],
        noise=Noise(
            position=values["noise.position"],
            velocity=values["noise.velocity"],
            effort=values["noise.effort"],
            seed=values["seed"],
        ),
    )

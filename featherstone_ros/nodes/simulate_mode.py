"""Mode ``simulate`` of the digital twin: topics and services of ``featherstone_ros.simulation``.

The twin runs in a compiled loop, which takes its messages and publishes its states; here is what
Python does: parameters and services as requests to the loop, and the log and the diagnostics.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import InvalidTopicNameException
from rclpy.publisher import Publisher
from rclpy.validate_topic_name import validate_topic_name
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from featherstone_ros._twin import INPUTS, RECORDS, REQUESTS, StepRequest
from featherstone_ros.control.armature import require_same_units
from featherstone_ros.control.payload import model_with_payload
from featherstone_ros.message_faults import refusal
from featherstone_ros.message_templates import BaseMessage, odometry, tf_message
from featherstone_ros.model.model import BASES
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.locked_joints import LockedJointsReport
from featherstone_ros.nodes.node_diagnostics import (
    ERROR,
    DuplicatePublishers,
    Report,
)
from featherstone_ros.nodes.parameters import Commit
from featherstone_ros.nodes.realtime_loop import LoopMode, Record
from featherstone_ros.nodes.topics import AHEAD, EVERY, RELIABLE, TRANSFORMS
from featherstone_ros.parameter import Parameter, Value
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.simulation.twin import NANOSECONDS, fault_text, snapshot, twin_settings
from featherstone_ros.text import one_line

Answer = TypeVar("Answer", Trigger.Response, SetBool.Response)

KINDS = {
    "commands": Float64MultiArray,
    "joint_commands": JointState,
    "external_wrench": WrenchStamped,
    "set_state": JointState,
}
WRENCH_LINK = "wrench_link"
TOPICS = {f"~/{name}": KINDS[name] for name in sorted(INPUTS, key=INPUTS.__getitem__)}


class SimulateMode(LoopMode):
    """Simulates the arm of the robot description and answers like its driver.

    ``joint_states`` has the model's joints only: robot_state_publisher derives mimic followers
    from their leaders itself.
    """

    def __init__(self, node: ModelNode) -> None:
        """Make the twin and the topics it publishes on; the node has a model."""
        model = model_with_payload(node.parameters, node.model)
        publish_clock = bool(node.parameters["publish_clock"])
        of_base = base_topics(node)
        self._own = command_topics(node)
        queue = AHEAD if node.parameters["lockstep"] else RELIABLE
        publishers = [node.create_publisher(JointState, "joint_states", queue)]
        if publish_clock:
            publishers.append(node.create_publisher(Clock, "/clock", RELIABLE))
        publishers += [publisher for publisher, _ in of_base]
        sensor, link = (str(node.parameters[name]) for name in ("wrench_sensor", WRENCH_LINK))
        for name, given in (("wrench_sensor", sensor), (WRENCH_LINK, link)):
            if given and given not in model.link_names:
                links = ", ".join(model.link_names)
                raise ValueError(f"{name} is {given!r}, expected one of the links: {links}")
        if sensor:
            publishers.append(node.create_publisher(WrenchStamped, "~/wrench", RELIABLE))
        super().__init__(node, publishers)
        self._twin = Twin(
            model,
            self._settings(node.parameters),
            publish_clock,
            [message for _, message in of_base],
            list(self._own.values()),
            sensor or None,
            link or None,
        )
        self._named = [*model.joint_names, *sorted({*model.mimics, *model.locked})]
        self._locked = LockedJointsReport(node)
        self._known_overruns, self._known_time = 0, -1
        self._duplicates = DuplicatePublishers(node)
        names, log = np.array(model.joint_names), node.get_logger()
        for name in names[(self._twin.q < model.lower) | (self._twin.q > model.upper)]:
            log.warning(f"initial position of {name} is beyond its limits")
        for name in names[(model.effort_limit == 0.0) & bool(node.parameters["saturate_effort"])]:
            log.warning(f"{name} cannot be driven: its URDF effort limit is 0")

    def activate(self) -> None:
        """Listen and let time pass."""
        node, twin = self._node, self._twin
        self._services_made = [
            node.create_service(
                Trigger,
                "~/reset",
                lambda _, it: self._answer(it, "reset", done="at the initial position, time 0"),
            ),
            node.create_service(SetBool, "~/pause", self._on_pause),
            node.create_service(Trigger, "~/step", self._on_step),
        ]
        settings = self._settings(node.parameters)
        begin = 0.0 if settings.follows_ros_time else monotonic()
        twin.use(settings, begin)
        twin.start(begin)
        others = {"joint_states": JointState} if self._locked.joints else {}
        self._run(
            twin,
            TOPICS | dict.fromkeys(self._own, Float64MultiArray) | others,
            RELIABLE,
            {"joint_states": EVERY},
            at_once=twin.settings.lockstep,
            owns_time=twin.settings.owns_time,
        )

    def deactivate(self) -> None:
        """Stop listening; time stands still."""
        super().deactivate()
        for service in self._services_made:
            self._node.destroy_service(service)

    # Parameters.

    def _settings(self, values: Mapping[str, Value]) -> SimulatorSettings:
        settings = twin_settings(values, self._node.model)
        sim_time = self._node.get_clock().ros_time_is_active
        return replace(settings, follows_ros_time=sim_time and not settings.owns_time)

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the twin for new settings or a payload; state, command and time go on."""
        require_same_units(values, self._node.parameters)
        fixed = (f"command_topic.{joint}" for joint in self._node.model.joint_names)
        for name in (WRENCH_LINK, *fixed):
            if values[name] != self._node.parameters[name]:
                raise ValueError(f"{name} is fixed until the node is cleaned up and configured")
        twin, settings = self._twin, self._settings(values)
        model = model_with_payload(values, self._node.model)
        prepared = snapshot(model, settings)

        def take() -> None:
            twin.model = model
            if self._loop is None:
                twin.use(settings, self.now)
                return
            twin.settings = settings
            self._give(REQUESTS["use_settings"], prepared)

        return take

    # Records of the loop.

    def _note(self, record: Record) -> None:
        kind, index, _, value, _ = record
        if kind == RECORDS["refused"]:
            names = [self._named] * len(INPUTS) + [*self._own.values()]
            links = self._node.model.link_names
            self._refuse(*refusal(index, value, names[index & 0xF], links))
        elif kind == RECORDS["fault"]:
            reason = fault_text(int(value[0]), self._node.model, index, *value[1:3])
            self._node.get_logger().error(reason)
            self._node.publish_diagnostics()

    # Services.

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            return self._answer(response, "pause", done="paused")
        return self._answer(response, "resume", done="running")

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        steps = StepRequest(self._node.parameters["steps_per_call"])
        self._answer(response, "step", steps)
        if response.success:
            response.message = f"simulation time {steps.time / NANOSECONDS:.6f} s"
        return response

    def _answer(
        self, response: Answer, request: str, payload: Any = None, done: str = ""
    ) -> Answer:
        """Pass a service's request to the loop, and answer."""
        try:
            reason = self._twin.refusal_of(self._ask(REQUESTS[request], payload))
        except TimeoutError as error:
            reason = str(error)
        response.success, response.message = not reason, reason or done
        return response

    # Diagnostics.

    def diagnose(self) -> Report:
        """Return fault, refused messages, overruns and surplus publishers of commands."""
        twin, node = self._twin, self._node
        counts = [node.count_publishers(s.topic_name) for s in self._inputs]
        of_all = counts[INPUTS["commands"]] + counts[INPUTS["joint_commands"]]
        own = dict(zip(self._own, counts[len(INPUTS) :], strict=False))
        commanders = {f"command the joints of {t}": of_all + count for t, count in own.items()}
        duplicates = self._duplicates.among(commanders or {"command the arm": of_all})
        braked = ", ".join(np.array(node.model.joint_names)[twin.braked])
        waiting = f"no commands, brakes on: {braked}" if braked and not twin.is_braked else ""
        fault = twin.fault
        values = {
            "simulation time [s]": f"{twin.time / NANOSECONDS:.3f}",
            "paused": twin.paused,
            "brakes": "on" if twin.is_braked else braked or "off",
            "base": "held" if twin.base_is_held else "free",
            "wrenches on": ", ".join(twin.wrenches) or "none",
            "command publishers": of_all + sum(own.values()),
            **self.running.timing.report("commands lost"),
            "commands saturated": twin.saturated,
            "refused messages": twin.refused + self.running.runner.counters()["too_large"],
            **self._locked.values(twin.locked, twin.heard_locked, twin.time > 0),
        }
        if fault:
            return self._report(values)._replace(level=ERROR, message=fault)
        behind = twin.overruns > self._known_overruns
        self._known_overruns = twin.overruns
        stands, self._known_time = twin.time == self._known_time, twin.time
        if stands and twin.settings.lockstep and not twin.paused:
            waiting = f"lockstep: time stands at {values['simulation time [s]']} without commands"
        late = "fell behind real time; what was missed is given up" if behind else ""
        return self._report(values, *duplicates, waiting, late)


def topic_parameter(joint: str) -> Parameter:
    """Return the parameter that names a joint's topic."""
    return Parameter(
        f"command_topic.{joint}",
        "",
        "topic beside ~/commands with efforts for this joint and the others that have the same "
        "(std_msgs/Float64MultiArray, in the order of joints); empty: none; fixed while "
        "configured",
        check=topic_fault,
    )


def topic_fault(topic: str) -> str | None:
    """Return why a text is no topic's name; None if it is one, or empty."""
    try:
        if topic:
            validate_topic_name(topic)
    except InvalidTopicNameException as error:
        return one_line(error)
    return None


def command_topics(node: ModelNode) -> dict[str, list[str]]:
    """Return the topics, resolved, that command some of the twin's joints, and which."""
    own = {node.resolve_topic_name(topic): topic for topic in TOPICS}
    topics: dict[str, list[str]] = {}
    for joint in node.model.joint_names:
        if given := str(node.parameters[f"command_topic.{joint}"]):
            if (topic := node.resolve_topic_name(given)) in own:
                raise ValueError(
                    f"command_topic.{joint} is {given!r}, expected another topic than the twin's "
                    + own[topic]
                )
            topics.setdefault(topic, []).append(joint)
    return topics


# The floating base: ``~/odom`` (nav_msgs/Odometry) and the transform on ``/tf`` (tf2_msgs), where
# these packages are installed. Poses are in ``world_frame``, twists in the axes of the base link.

BASE_PARAMETERS = (
    Parameter(
        "base",
        "fixed",
        "fixed: the base link does not move; floating: it is a free body, as a boat or a satellite",
        choices=BASES,
        read_only=True,
    ),
    Parameter("world_frame", "world", "frame in which a floating base moves", read_only=True),
    Parameter(
        "publish_tf",
        True,
        "publish a floating base's transform on /tf, if tf2_msgs is installed",
        read_only=True,
    ),
)


def base_topics(node: ModelNode) -> list[tuple[Publisher, BaseMessage]]:
    """Return the topics of a floating base, each with its message; none where the base is fixed."""
    log, parameters = node.get_logger(), node.parameters
    base, world = node.model.base_link, str(parameters["world_frame"])
    if not node.model.floating:
        for name in parameters:
            if name.startswith("initial_base") and parameters[name] != parameters.default(name):
                log.warning(f"{name} is without effect: the base is fixed")
        return []
    if world in ("", base):
        raise ValueError(
            f"world_frame is {world!r}, expected the name of a frame other than the base link's"
        )
    log.info(
        "the base floats; a controller that assumes a fixed base is wrong: docs/floating_base.md"
    )
    offered = [("nav_msgs", "Odometry", "~/odom", RELIABLE, odometry)]
    if parameters["publish_tf"]:
        offered.append(("tf2_msgs", "TFMessage", "/tf", TRANSFORMS, tf_message))
    topics = []
    for package, kind, topic, qos, message in offered:
        try:
            messages = importlib.import_module(f"{package}.msg")
        except ImportError:
            log.info(f"{package} is not installed: nothing of the base on {topic}")
            continue
        publisher = node.create_publisher(getattr(messages, kind), topic, qos)
        topics.append((publisher, message(world, base)))
    return topics

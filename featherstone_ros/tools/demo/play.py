"""Runs the demo from start to end: sends the motion, sets parameters, records messages.

Recording leaves the processor to the nodes: messages wait in the middleware's queues, are taken out
as bytes now and then, and are decoded after the run. Their time stamps are the middleware's.
"""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import ReliabilityPolicy
from rich.padding import Padding
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from featherstone_ros import Model
from featherstone_ros.control.diagnostics import following, phase_text
from featherstone_ros.control.phases import Phase
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.parameter_files import CONTROLLER, NODES, TWIN, parameter_text
from featherstone_ros.nodes.topics import AHEAD, seconds
from featherstone_ros.tools.demo.picture import animate, draw
from featherstone_ros.tools.demo.report import (
    LAWS,
    DemoRecording,
    DemoReport,
    MeasurementError,
    Run,
    measure,
)
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.motion_client import MotionClient, samples_of
from featherstone_ros.tools.multi_sine import POINT_SPACING, MultiSine, load_share, plan
from featherstone_ros.tools.processes import (
    NodeProcess,
    node_environment,
    own_domain,
    twin_and_controller,
)
from featherstone_ros.tools.progress_bar import delayed_progress
from featherstone_ros.tools.rclpy_calls import decode, take_waiting
from featherstone_ros.tools.result import Console, Result
from featherstone_ros.tools.robot_setup import RobotSetup, load
from featherstone_ros.tools.style import number
from featherstone_ros.tools.trajectory_files import from_arrays

POLL_PERIOD = 0.02  # [s] between two looks at the messages in real time
_STANDSTILL = 20.0  # [s] without a joint state
_LATE = 5.0  # [s] for which desired positions may still come after the states of a motion
_BREATH = 0.002  # [s] in simulated time
_SETTLING = 0.5  # [s] in which the controller takes the arm over
LEAD = 1.0  # [s] from sending a trajectory to its start: time to go there and come to rest
LEADS_TO = {  # a state, by transition
    "configure": "inactive",
    "activate": "active",
    "deactivate": "inactive",
    "cleanup": "unconfigured",
}

Message = tuple[bytes, dict[str, Any]]  # as ``take_waiting`` has it
DISTURBED = 3  # exit status
_ATTEMPTS = 3  # at a run of which the recorder missed messages
_BRAKES_AFTER = 0.2  # [s] without a command, so that the arm does not fall if the controller hangs


class DemoNode(MotionClient):
    """One node that talks to twin and controller in the demo's namespace; a context manager."""

    def __init__(
        self, namespace: str, domain: int, watch: Callable[[], None], simulated: bool
    ) -> None:
        """Join the domain; ``watch`` is called often, and raises if a node has died.

        ``simulated``: time is: no message is to be lost, whatever that costs the nodes.
        """
        self._watch, self._simulated = watch, simulated
        reliability = (ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE)[simulated]
        how = AHEAD.depth, reliability
        with held(until_next=True):
            super().__init__("demo", f"{namespace}/{CONTROLLER}", namespace, domain, *how)
            self._subscriptions = [
                self.states,
                self.queue(Float64MultiArray, f"{CONTROLLER}/commands", *how),
                self.queue(JointState, f"{CONTROLLER}/desired", *how),
            ]
            self._set = self.client(SetParameters, "set_parameters")
            self._change_state, self._get_state = (
                {node: self.client(kind, f"{self.space}/{node}/{service}") for node in NODES}
                for kind, service in ((ChangeState, "change_state"), (GetState, "get_state"))
            )
            self._pause = self.client(SetBool, f"{self.space}/{TWIN}/pause")

    def while_waiting(self) -> None:
        """Look after the nodes."""
        self._watch()

    def take_arm_over(self, law: str) -> None:
        """Begin anew, so that no run depends on the one before: the controller holds the arm.

        In simulated time, while that stands: what the arm does from then on depends on the messages
        alone, not on when they come. ``law``: key of ``LAWS``.
        """
        terms = Parameter("feedforward_terms", value=law).to_parameter_msg()
        self.call(self._set, SetParameters.Request(parameters=[terms]))
        self._collect([[] for _ in self._subscriptions])  # those of before
        self._change(TWIN, "configure", "activate")
        self._change(CONTROLLER, "configure")
        self.until(lambda: take_waiting(self.states), f"message on {self.states.topic_name}")
        self.until(lambda: self.is_connected, "listener to trajectories")
        if self._simulated:
            self.call(self._pause, SetBool.Request(data=True))
        self._change(CONTROLLER, "activate")
        self._await_phase(Phase.HOLDING)
        if not self._simulated:
            self.spin(_SETTLING)

    def give_arm_back(self) -> None:
        """Have both nodes forget the run."""
        self._change(CONTROLLER, "deactivate", "cleanup")
        self._change(TWIN, "deactivate", "cleanup")

    def drive(
        self, model: Model, motion: MultiSine, progress: Callable[[float], None]
    ) -> DemoRecording:
        """Send the motion, in simulated time while that stands; record until it is over.

        It starts ``LEAD`` seconds after the call; ``progress`` is told the time since then [s].
        """
        begin = 0 if self._simulated else self.node.get_clock().now().nanoseconds
        start = begin + round(1e9 * LEAD)
        self.send(from_arrays(model.joint_names, *motion.samples(POINT_SPACING)), start)
        messages: list[list[Message]] = [[] for _ in self._subscriptions]
        if self._simulated:
            self._await_phase(Phase.TRAJECTORY)
            self._collect([[] for _ in messages])  # those of before
            self.call(self._pause, SetBool.Request(data=False))
        states, _, desired = messages
        now, end = 0.0, LEAD + motion.duration
        deadline = time.monotonic() + _STANDSTILL
        while now < end or _newest(desired, begin) < end:
            self._watch()
            self._collect(messages)
            if now < min(heard := _newest(states, begin), end):
                now = heard
                deadline = time.monotonic() + (_STANDSTILL if now < end else _LATE)
            if time.monotonic() > deadline:
                if now >= end:
                    break  # what has not come is lost; the run is judged by the rest
                why = f"no joint state after {now:.3f} s; the nodes' logs say why"
                raise FeatherstoneError(why)
            progress(now)
            time.sleep(_BREATH if self._simulated else POLL_PERIOD)
        return _decode(messages, model, start)

    def _await_phase(self, phase: Phase) -> None:
        """Wait until the controller says that it is in a phase."""
        said = {
            "phase": phase_text(Phase.HOLDING),  # of all that it runs in
            "following": following(phase),
        }

        begun = time.monotonic()

        def is_there() -> bool:
            status = self.status
            return bool(status and status.heard > begun and said.items() <= status.values.items())

        self.until(is_there, f"controller that follows {following(phase)!r}")

    def _change(self, node: str, *transitions: str) -> None:
        for transition in transitions:
            request = ChangeState.Request(transition=Transition(label=transition))
            answer, is_first = self.call(self._change_state[node], request)
            if answer.success:
                continue
            if is_first:
                raise FeatherstoneError(f"{node} refused to {transition}; its log says why")
            self._await_state(node, LEADS_TO[transition])  # the first was carried out, or still is

    def _await_state(self, node: str, label: str) -> None:
        def is_there() -> bool:
            answer, _ = self.call(self._get_state[node], GetState.Request())
            return bool(answer.current_state.label == label)

        self.until(is_there, f"{node} that is {label}")

    def _collect(self, messages: list[list[Message]]) -> None:
        for subscription, taken in zip(self._subscriptions, messages, strict=True):
            taken.extend(take_waiting(subscription))


def _newest(messages: list[Message], begin: int) -> float:
    """Return the last stamp of joint states since ``begin`` [ns], in seconds; 0: there is none."""
    if not messages:
        return 0.0
    return float(seconds(decode(messages[-1][0], JointState).header.stamp) - 1e-9 * begin)


def _decode(messages: list[list[Message]], model: Model, start: int) -> DemoRecording:
    """Turn bytes into arrays, with times since ``start`` [ns].

    A state that a lockstep has repeated is the same to the bit, and counts once.
    """
    states, commands, desired = messages
    states = list({message[0]: message for message in states}.values())
    samples, wanted = samples_of(states, model), samples_of(desired, model)

    def times(messages: list[Message], when: str) -> Any:
        known = np.array([info[when] for _, info in messages], dtype=np.int64)
        return 1e-9 * (known - start).astype(np.float64)

    return DemoRecording(
        stamp=np.array([sample.time for sample in samples]) - 1e-9 * start,
        position=np.reshape([sample.position for sample in samples], (-1, model.n)),
        effort=np.reshape([sample.effort for sample in samples], (-1, model.n)),
        state_sent=times(states, "source_timestamp"),
        command_sent=times(commands, "source_timestamp"),
        command_received=times(commands, "received_timestamp"),
        desired_stamp=np.array([sample.time for sample in wanted]) - 1e-9 * start,
        desired=np.reshape([sample.position for sample in wanted], (-1, model.n)),
    )


def play(options: argparse.Namespace, console: Console) -> Result:
    """Drive the robot three times, and write the result to ``options.output``."""
    logging.basicConfig(format="  note: %(message)s", level=logging.WARNING)
    robot = load(options.robot)
    excess = options.model_error / 100
    domain = own_domain() if options.domain is None else options.domain
    motion = plan(robot.model, robot.inverse_dynamics, robot.start, options.duration)
    namespace = f"featherstone_demo_{os.getpid()}"
    conditions = _conditions(excess, robot, motion)
    console.print(f"[bold]{robot.name}[/bold]: {robot.model.n} joints")
    for line in (*conditions, f"ROS_DOMAIN_ID={domain}, namespace /{namespace}"):
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
    options.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for node in NODES:
        (options.output / f"{node}.log").unlink(missing_ok=True)
    repeated: list[str] = []
    processes: list[NodeProcess] = []
    with tempfile.TemporaryDirectory(prefix="featherstone_demo_") as name:
        folder, logs = Path(name), options.output.resolve()
        environment = node_environment(domain, options.discovery_range, folder)
        # Nor does it share time with another simulation in the same domain.
        remap = ["-r", f"__ns:=/{namespace}", "-r", f"/clock:=/{namespace}/clock"]
        with (
            twin_and_controller(
                node_parameters(robot, excess, options), environment, folder, logs, remap, processes
            ),
            DemoNode(
                namespace, domain, partial(_check, processes), not options.real_time
            ) as session,
        ):
            period = None if options.real_time else 1.0 / options.rate
            drive = partial(_drive, session, robot.model, motion, period, console, repeated)
            runs = [drive(law) for law in LAWS]
    report = DemoReport(robot, motion, runs, options.rate, conditions, excess, repeated)
    head = [f"{robot.name}: what featherstone-ros demo drove it with, as `setup` proposes it."]
    chosen = None if robot.files else options.output / "parameters.yaml"
    files = (
        (options.output / "report.json", report.as_dict()),
        (options.output / "report.png", partial(draw, report)),
        (options.animation, partial(animate, report)),
        (chosen, parameter_text(head, {f"/**/{node}": robot.parameters[node] for node in NODES})),
    )
    shown = report.table(), f"{time.monotonic() - began:.0f} s in all"
    return Result(shown, files, 0 if report.is_fair else DISTURBED)


def node_parameters(
    robot: RobotSetup, excess: float, options: argparse.Namespace
) -> dict[str, dict[str, object]]:
    """Return the parameters of both nodes.

    ``robot``: as the controller knows it. ``excess``: of the twin's masses over it, relative.
    """
    simulated, model = not options.real_time, robot.model
    heavier = model.with_inertial_parameters((1.0 + excess) * model.inertial_parameters)
    own: dict[str, dict[str, object]] = {
        TWIN: {
            "rate": options.rate,
            "command_timeout": _BRAKES_AFTER,
            "robot_description": heavier.to_urdf(robot.text),
            "lockstep": simulated,
            "publish_clock": simulated,
        },
        CONTROLLER: {
            "mode": "feedforward",
            "robot_description": robot.text,
            "path_tolerance": 0.0,
            "use_sim_time": simulated,
            **({"executor_timeout": 0.0} if simulated else {}),  # by this machine's clock
        },
    }
    return {node: {**robot.parameters[node], **own[node], "autostart": False} for node in NODES}


def _drive(
    session: DemoNode,
    model: Model,
    motion: MultiSine,
    period: float | None,
    console: Console,
    repeated: list[str],
    law: str,
) -> Run:
    """Drive the motion with one law; again if messages were lost on the way to the recorder.

    ``period``: of the states in simulated time [s]; None: real time.
    """
    label, total = LAWS[law], round(100 * (LEAD + motion.duration))
    if not console.is_interactive:  # the bar is not drawn
        console.print(f"  driving: {label}")
    for left in reversed(range(_ATTEMPTS)):
        try:
            with delayed_progress(label, console) as report:
                session.take_arm_over(law)
                recording = session.drive(
                    model, motion, lambda time: report(round(100 * time), total)
                )
                session.give_arm_back()
                return measure(law, recording, motion, period)
        except MeasurementError as error:
            if not left:
                raise
            repeated.append(f"{label}: {error}")
            console.print(f"  {label}: {error}; once more")
    raise AssertionError


def _conditions(excess: float, robot: RobotSetup, motion: MultiSine) -> list[str]:
    """Describe the conditions of the measurement."""
    p, d = robot.arm.feedback.gains
    coulomb = robot.drives.coulomb
    _, _, velocity, _ = motion.samples(0.005)
    share = (np.abs(velocity).max(axis=0) / robot.model.velocity_limit).min()
    load = load_share(motion, robot.model, robot.inverse_dynamics)
    knowledge = (
        "all of which the controller knows exactly"
        if excess == 0
        else f"its links {100 * excess:g} % heavier than the controller's model"
    )
    return [
        f"motion: {motion.duration:g} s, all joints, up to {100 * share:.0f} % of every speed "
        f"limit, {100 * load:.0f} % of an effort limit",
        f"gains: P {_list(p)}, D {_list(d)}, the same in all three runs",
        f"twin: rigid links, Coulomb friction {_list(coulomb)} N·m, {_rotors(robot)}; {knowledge}",
    ]


def _rotors(robot: RobotSetup) -> str:
    armature = robot.drives.armature
    if not robot.has_assumed_drives:
        return "rotor inertia" if armature.any() else "no rotor inertia"
    return f"rotor inertia {_list(armature)} kg·m² (assumed: the URDF has none)"


def _list(values: np.ndarray) -> str:
    return " ".join(map(number, values))


def _check(nodes: Sequence[NodeProcess]) -> None:
    """Raise if a node has ended."""
    for node in nodes:
        node.check()

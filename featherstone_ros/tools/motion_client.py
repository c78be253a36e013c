"""Talks to one controller and its arm: hears them, asks them, sends motions; needs rclpy."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.client import Client
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.diagnostics import UNHEARD, phase_text
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import NodeParameters
from featherstone_ros.model.robots import description_text
from featherstone_ros.nodes.topics import LATCHED, seconds
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.node_status import (
    FOLLOWING_MODES,
    MATCHING,
    PATIENCE,
    SILENCE,
    NodeStatus,
    by_joint,
    check_mode,
    check_refusal,
    refused,
)
from featherstone_ros.tools.rclpy_calls import DiagnosticsListener, decode, take_waiting
from featherstone_ros.tools.trajectory_check import trajectory_of
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory, to_message

QUEUE = 5000  # joint states that may wait between two looks at them
LOOK = 0.05  # [s] between two looks at the joint states
LEAD = 0.5  # [s] from sending a trajectory to its start
ARRIVED = 0.05  # [rad or m] from the end; what is less is told on /diagnostics
SETTLING = 0.3  # [s] after its end, in which the arm comes to rest


class Sample(NamedTuple):
    """A joint state, in the order of the model's joints."""

    time: float  # [s]
    position: Floats  # (n,) [rad or m]
    effort: Floats  # (n,) [N m or N], NaN where it is not measured


class MotionClient(DiagnosticsListener):
    """A node that talks to one controller; a context manager.

    Attributes:
        name: Of the controller, with its namespace.
        space: That namespace.
        states: Joint states that wait.
    """

    def __init__(
        self,
        command: str,
        controller: str,
        namespace: str = "",
        domain: int | None = None,
        depth: int = QUEUE,
        reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_EFFORT,
    ) -> None:
        """Join the domain for a command, in a namespace of its own."""
        self.name = controller.strip("/")
        self.space = f"/{self.name}".rpartition("/")[0]
        with held(until_next=True):
            super().__init__(f"featherstone_{command}", namespace, domain)
            self.states = self.queue(JointState, f"{self.space}/joint_states", depth, reliability)
            self._trajectory = self.node.create_publisher(
                JointTrajectory, f"/{self.name}/joint_trajectory", 1
            )

    def client(self, kind: type, service: str) -> Client:
        """Return a client of a service of the controller, or, with /, of another node."""
        name = service if service.startswith("/") else f"/{self.name}/{service}"
        return self.node.create_client(kind, name)

    @property
    def status(self) -> NodeStatus | None:
        """The controller's last diagnostics, None before."""
        return next((node for node in self.table.nodes if node.name == self.name), None)

    @property
    def is_connected(self) -> bool:
        """Whether the controller listens to trajectories."""
        return self._trajectory.get_subscription_count() > 0

    def send(self, trajectory: UncheckedTrajectory, start: int = 0) -> None:
        """Send a trajectory that begins at a time [ns]; 0: now."""
        message = to_message(trajectory)
        message.header.stamp = Time(nanoseconds=start).to_msg()
        with held():
            self._trajectory.publish(message)

    def samples(self, model: Model, of: Subscription | None = None) -> list[Sample]:
        """Return the joint states that wait and have all joints of a model."""
        return samples_of(take_waiting(of or self.states), model)


def samples_of(messages: Iterable[tuple[bytes, dict[str, Any]]], model: Model) -> list[Sample]:
    """Return joint states, as ``take_waiting`` has them, that have all joints of a model."""
    found = []
    for data, info in messages:
        state = decode(data, JointState)
        q, effort = (by_joint(state.name, x, model) for x in (state.position, state.effort))
        if q is not None and np.isfinite(q).all():
            time = seconds(state.header.stamp) or 1e-9 * info["received_timestamp"]
            found.append(Sample(time, q, np.full_like(q, np.nan) if effort is None else effort))
    return found


class HeldByFaultError(FeatherstoneError):
    """A fault has made the controller give up what it was asked to do."""


class ControllerClient(MotionClient):
    """Asks a running controller for what a command needs; a context manager.

    Attributes:
        parameters: Those of the controller at the beginning.
        arm: What it moves.
    """

    def __init__(self, command: str, controller: str) -> None:
        """Join the domain; ``__enter__`` finds the controller."""
        self.arm: ControlledArm
        with held(until_next=True):
            super().__init__(command, controller)
            self.parameters = NodeParameters({}, self.name)
            self._list, self._get, self._set, self._hold = (
                self.client(kind, service)
                for kind, service in (
                    (ListParameters, "list_parameters"),
                    (GetParameters, "get_parameters"),
                    (SetParameters, "set_parameters"),
                    (Trigger, "hold"),
                )
            )

    def __enter__(self) -> ControllerClient:
        """Find the controller and its arm."""
        try:
            self._find()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _find(self) -> None:
        names = self.call(self._list, ListParameters.Request())[0].result.names
        values = self.call(self._get, GetParameters.Request(names=names))[0].values
        read = zip(names, map(parameter_value_to_python, values), strict=True)
        self.parameters = NodeParameters(dict(read), self.name)
        text = description_text(str(self.parameters["robot_description"])) or self._description()
        model = Model.from_urdf(text, joints=self.parameters.joints())
        self.arm = ControlledArm.of(model, self.parameters)
        status = self.until(lambda: self.status, "diagnostics")
        is_heard = lambda: self.status and UNHEARD not in self.status.message  # noqa: E731
        self.until(is_heard, "listener to its commands")
        end = time.monotonic() + PATIENCE
        while status.values.get("phase") == phase_text(Phase.WAITING) and time.monotonic() < end:
            self.wait()
            status = self.status
        self.check()
        self.until(lambda: self.is_connected, "listener to trajectories")
        self.spin(MATCHING)

    def _description(self) -> str:
        """Return what was published on the controller's topic robot_description."""
        heard: list[String] = []
        topic = f"{self.space}/robot_description"
        with held():
            self.node.create_subscription(String, topic, heard.append, LATCHED)
        self.until(lambda: heard, f"message on {topic}")
        return heard[0].data

    # The controller.

    def check(self) -> None:
        """Check that the controller commands the arm as it was asked to."""
        status = self.status
        patience = PATIENCE if self.parameters.get("use_sim_time") else SILENCE
        if status is None or status.is_silent(time.monotonic(), patience):
            raise HeldByFaultError(f"nothing is heard of {self.name} any more")
        if status.state != "active" or status.values.get("phase") != "running":
            raise HeldByFaultError(f"{self.name}: {status.message}")

    def set(self, **values: object) -> None:
        """Set parameters, all or none."""
        messages = [Parameter(name, value=v).to_parameter_msg() for name, v in values.items()]
        (result, *_) = self.call(self._set, SetParameters.Request(parameters=messages))[0].results
        if not result.successful:
            raise FeatherstoneError(f"{self.name} refuses {values}: {result.reason}")

    @contextmanager
    def floating(self, mode: Mode, **values: object) -> Iterator[None]:
        """Let the arm float in a mode; hold it afterwards where it is.

        By the mode before, if that follows trajectories, else by ``feedforward``.
        """
        before = {name: self.parameters[name] for name in values}
        holding = self.parameters["mode"]
        holding = holding if holding in FOLLOWING_MODES else Mode.FEEDFORWARD.value
        try:
            self.set(mode=mode.value, **values)
            yield
        finally:
            try:
                self.set(mode=holding, **before)
            except FeatherstoneError as error:
                raise FeatherstoneError(
                    f"the arm may still float: {error}; ros2 param set /{self.name} mode "
                    f"{holding} holds it"
                ) from None

    @contextmanager
    def held_in_the_end(self) -> Iterator[None]:
        """Have the arm stop and hold if what is done meanwhile fails, unless a fault has."""
        try:
            yield
        except HeldByFaultError:
            raise
        except BaseException:
            self.call(self._hold, Trigger.Request())
            raise

    def follow(
        self, trajectory: UncheckedTrajectory, report: Callable[[float], None]
    ) -> tuple[list[Sample], float]:
        """Have the arm follow a trajectory, until it is at rest at its end.

        ``trajectory``: from where the arm is; its first point is at time 0. ``report``: called with
        the time since its start [s]. Returns the joint states meanwhile, and when it began [s].
        """
        check_mode(self.parameters["mode"])
        before = refused(self.status)
        start = self.look()[-1].time + LEAD
        self.send(trajectory, round(start * 1e9))
        sent, end = time.monotonic(), start + trajectory.points[-1].time + SETTLING
        samples: list[Sample] = []
        heard = sent
        while not samples or samples[-1].time < end or self._heard < heard:
            samples += self.look()
            if samples[-1].time < end:
                heard = time.monotonic()  # of what becomes of it, the end included
                report(max(samples[-1].time - start, 0.0))
            self._check_following(before, sent + LEAD)
        self._check_arrival(trajectory, samples[-1].position)
        return [sample for sample in samples if start <= sample.time <= end - SETTLING], start

    def _check_following(self, before: str, since: float) -> None:
        status = self.status
        if status is None or self._heard < since:
            return
        check_refusal(self.name, status, before)
        if status.has_abandoned:
            raise HeldByFaultError(f"{self.name}: {status.message}")

    def _check_arrival(self, trajectory: UncheckedTrajectory, position: Floats) -> None:
        limits, goal = self.arm.limits, trajectory_of(trajectory, self.arm).state(-1).position
        off = np.abs(limits.shortest(goal - position))
        joint = int(off.argmax())
        if off[joint] > ARRIVED:
            raise FeatherstoneError(
                f"the arm has not come to the end of the trajectory: joint {limits.names[joint]!r} "
                f"is {off[joint]:.3g} {limits.unit(joint, 'position')} from it"
            )

    @property
    def _heard(self) -> float:
        return self.status.heard if self.status else 0.0

    # Joint states.

    def look(self) -> list[Sample]:
        """Return the joint states since the last look, one or more."""
        samples: list[Sample] = []

        def have_come() -> list[Sample]:
            self.check()
            samples.extend(self.samples(self.arm.model))
            return samples

        self.spin(LOOK)
        self.until(have_come, f"state of all joints on {self.space}/joint_states")
        return samples

    # Waiting.

    def tell(self, what: str) -> None:
        """Say what is waited for."""
        print(f"waiting for {self.name}: {what}", file=sys.stderr, flush=True)

    def hint(self) -> str:
        """Return what the controller says, or who else is there."""
        if self.status:
            return f"; {self.name}: {self.status.message}"
        others = ", ".join(node.name for node in self.table.nodes) or "no node of ours"
        return f": is there a controller {self.name!r}? On /diagnostics: {others}"

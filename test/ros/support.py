"""Node processes for the tests: started for real, talked to over DDS, awaited by event.

A test module that imports this is skipped where rclpy is missing.
"""

# ruff: noqa: E402  (the skip has to come before the imports that need ROS)

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import ForkedNode

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: the node tests need ROS 2")

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.client import Client
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import featherstone_ros
from featherstone_ros.realtime.scheduling import BEST_NICE, set_session_niceness

DEADLINE = 90.0  # [s] for anything awaited: reached only when a test fails
MATCHING = 0.1  # [s] in which a discovered subscriber discovers its publisher
TOOL = [sys.executable, "-m", "featherstone_ros.tools.cli"]
RUNNING = 50  # SCHED_FIFO priority of nodes; not while they start, which computes for a second
ASK_AGAIN = 2.0  # [s] after which a service is asked again
BEGINS = {  # lifecycle states in which these transitions are possible
    "configure": "unconfigured",
    "activate": "inactive",
    "deactivate": "active",
    "cleanup": "inactive",
}
ATTEMPT = 5.0  # [s] after which other things are done again
LONGEST = 2 * DEADLINE  # [s] for all times that something is done
REPEATS: Counter[str] = Counter()  # how often something was done again: test/conftest.py prints it
DEEP = QoSProfile(depth=5000)
LOOK = 100_000_000  # [ns] between two looks whether a listener is to end
TERMINAL = {"COLUMNS": "120", "LINES": "40", "TERM": "xterm"}  # what a shell there would say
# Read by Fast DDS when this process and the nodes first join a domain; version 3 renamed it.
PROFILES = "FASTDDS" if hasattr(rclpy, "InitContextManager") else "FASTRTPS"  # since Kilted
os.environ.setdefault(
    f"{PROFILES}_DEFAULT_PROFILES_FILE", str(Path(__file__).with_name("fast_dds.xml"))
)
# Of twin and controller: time goes on only as both do, however busy the machine is.
LOCKSTEP = {"lockstep": True, "publish_clock": True}
PACED = {**LOCKSTEP, "paced": True}  # and no faster than its real_time_factor
NICENESS = 5  # of such a twin: while others wait for real time, it leaves them processors
SIMULATED = {"use_sim_time": True, "executor_timeout": 10.0}
ARM, STATES = "/arm/joint_states", "/joint_states"
SHADOWED = "/shadowed/joint_states"
STAMP = slice(4, 12)  # of a serialised message that begins with it
DOMAINS = range(1, 102)  # Higher domains collide with Linux's ephemeral ports.


@contextlib.contextmanager
def ros_in_free_domain(folder: Path) -> Iterator[Ros]:
    """Join a ROS domain of the test's own; leave it, without a process in it, whatever happens."""
    with free_domain() as domain:
        ros = Ros(domain, folder)
        try:
            yield ros
        finally:
            ros.close()


@contextlib.contextmanager
def free_domain() -> Iterator[int]:
    """Reserve a ROS domain that no other test on this machine uses, in any process."""
    start = os.getpid() % len(DOMAINS)
    for domain in [*DOMAINS[start:], *DOMAINS[:start]]:
        path = Path(tempfile.gettempdir()) / f"featherstone_ros_test_domain_{domain}"
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield domain
            return
    raise RuntimeError("all ROS domains are taken by other tests")


def is_fork_safe() -> bool:
    """Tell whether nodes may be forked: Kilted's crash if they end before they are nodes."""
    try:
        return version("ros-rclpy").startswith("7.")
    except PackageNotFoundError:
        return False


FORKS = is_fork_safe()


def is_python(command: list[str]) -> bool:
    """Tell whether a command is a module or a script of this Python's."""
    return command[0] == sys.executable and (command[1] == "-m" or command[1].endswith(".py"))


# A node's loop raises its session, which is that of the tests. What has a session of its own takes
# the niceness that ours has when it starts: raised later, ours would leave it nothing.
set_session_niceness(os.getpid(), BEST_NICE)


class NodeProcess:
    """One node as a process of its own, with what it has written so far."""

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        folder: Path,
        stdout: int = subprocess.PIPE,
        fork: bool = True,
        has_terminal: bool = False,
    ) -> None:
        """Start the process in ``folder``, which is not the source folder.

        It ends with the thread that starts it, however that ends. A module or script of Python's is
        forked, which is cheaper (see ``forked.py``), unless it need be a process of its own.
        ``has_terminal``: ``stdout`` is one, and its session's: Ctrl-C there becomes a signal.
        """
        is_forked = fork and FORKS and is_python(command)
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._process: subprocess.Popen[str] | ForkedNode
        if is_forked:
            self._process = ForkedNode(command[1:], environment, folder, stdout, has_terminal)
        else:
            if has_terminal:  # a shell opens it, which makes it that of the session
                command = ["sh", "-c", 'exec "$@" <"$0"', os.ttyname(stdout), *command]
            if shutil.which("setpriv"):
                command = ["setpriv", "--pdeathsig", "KILL", *command]
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdout=stdout,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=has_terminal,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def output(self) -> str:
        """Everything written to stdout and stderr so far."""
        return "".join(self._lines)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_for_output(self, text: str, timeout: float = DEADLINE) -> None:
        """Wait until ``text`` has been written."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: text in self.output or not self._reader.is_alive(), timeout
            )
        assert found and text in self.output, f"no {text!r} in the output:\n{self.output}"

    def send(self, signum: int) -> None:
        """Send a signal."""
        self._process.send_signal(signum)

    def wait(self, timeout: float = DEADLINE) -> int:
        """Wait for the end of the process; return its exit status."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {timeout} s:\n{self.output}")
        self._reader.join(timeout)
        return status

    def stop(self, signum: int = signal.SIGINT, timeout: float = DEADLINE) -> None:
        """End the process by a signal and check that it ends cleanly."""
        self.send(signum)
        status = self.wait(timeout)
        assert status == 0, f"exit status {status}:\n{self.output}"
        assert "Traceback" not in self.output, self.output

    def kill(self) -> None:
        """End the process with SIGKILL if it is still there, and what it has started.

        The nodes of ``featherstone-ros run`` outlive it, and would be heard by the next test. Each
        thread has to be scheduled once more to end: beside busy processes that took up to 5.5 s.
        """
        if self.is_running:
            set_priority(self.pid, RUNNING)
            started = children(self.pid)
            self._process.kill()
            for child in started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            self.wait()


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_alive(pid: int) -> bool:
    """Tell whether a process has not ended."""
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


class Probe(Node):
    """A node without DDS's events: to wait for those costs more than to wait for messages."""

    def __init__(self, name: str, context: Context) -> None:
        """Join a domain."""
        super().__init__(name, context=context, start_parameter_services=False)

    def create_subscription(self, *given: Any, **options: Any) -> Any:
        """Subscribe."""
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        return super().create_subscription(*given, event_callbacks=events, **options)

    def create_publisher(self, *given: Any, **options: Any) -> Any:
        """Make a publisher."""
        events = PublisherEventCallbacks(use_default_callbacks=False)
        return super().create_publisher(*given, event_callbacks=events, **options)


class Listener:
    """A node whose thread hands on raw messages at once, with what DDS says about each.

    It waits for those of one topic and then takes all there are: an executor would need five times
    the processor time, most of it to build its wait set.
    """

    def __init__(
        self, ros: Ros, name: str, *topics: tuple[type, str, Callable[[bytes, dict], None]]
    ) -> None:
        """Listen to topics (type, name, callback) until ``ros`` ends; the first wakes it."""
        self.node = Probe(name, ros.context)
        self._taken = [
            (self.node.create_subscription(kind, topic, callback, DEEP, raw=True), callback)
            for kind, topic, callback in topics
        ]
        self._over = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        ros.listeners.append(self)

    def close(self) -> None:
        """End the thread and the node; once more, it does nothing."""
        self._over = True
        self._thread.join()
        self.node.destroy_node()

    def _listen(self) -> None:
        handles = [subscription.handle for subscription, _ in self._taken]
        with contextlib.ExitStack() as used:
            for handle in (self.node.context.handle, *handles):
                used.enter_context(handle)
            wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, self.node.context.handle)
            while not self._over:
                wait_set.clear_entities()
                wait_set.add_subscription(handles[0])
                wait_set.wait(LOOK)
                for subscription, callback in self._taken:
                    take = subscription.handle.take_message
                    while not self._over and (taken := take(bytes, True)) is not None:
                        callback(*taken)


class Between:
    """Hands a twin's joint states on from ``ARM`` to a shadow, and then to the controllers.

    Each when the shadow has answered, so that it loses none, however slow it is. A command may be
    lost on its way to a twin that has not found a new controller yet; it then publishes the state
    once more, and the controller the command. What it has repeated only since this is slow is not
    a question: the second answer would count for the next state, and commands act a period later
    for good.
    """

    AFTER = 500_000_000  # [ns] since the state was handed on: longer than the way of an answer

    def __init__(self, ros: Ros, shadow: str) -> None:
        """Hand on until ``ros`` ends, to a shadow of this name that hears them on ``SHADOWED``."""
        self._waiting, self._handed_on = b"", 0
        create = Listener(ros, "between", (JointState, ARM, self._on_state)).node.create_publisher
        self._out, self._shadowed = (create(JointState, topic, 10) for topic in (STATES, SHADOWED))
        Listener(ros, "answers", (JointState, f"{shadow}/residual", self._on_answer))

    def _on_state(self, raw: bytes, info: dict[str, Any]) -> None:
        is_new = raw[STAMP] != self._waiting[STAMP]
        if not is_new and info["source_timestamp"] <= self._handed_on + self.AFTER:
            return
        self._waiting, self._handed_on = raw, time.time_ns()
        # One that is repeated has not been answered: by a shadow that is not there yet, say.
        (self._shadowed if is_new else self._out).publish(raw)

    def _on_answer(self, raw: bytes, _: dict[str, Any]) -> None:
        if raw[STAMP] == self._waiting[STAMP]:
            self._out.publish(self._waiting)


class Ros:
    """A ROS domain of the test's own, a node in it to talk with, and the processes started.

    Callbacks run only inside ``wait_for`` and what builds on it.
    """

    def __init__(self, domain: int, folder: Path) -> None:
        """Join the domain; ``folder`` is where processes run and parameter files are written."""
        self.domain = domain
        self.folder = folder
        self.environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
            "ROS_LOG_DIR": str(folder / "log"),
            "PYTHONPATH": os.pathsep.join(
                [package_path(), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",  # a crash tells where
        }
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Probe("probe", self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.listeners: list[Listener] = []
        self._processes: list[NodeProcess] = []
        self._diagnostics: list[DiagnosticArray] | None = None
        self._clients: dict[str, Client] = {}

    def close(self) -> None:
        """Leave the domain and kill what still runs.

        In this order: Fast DDS 2.14 may end this process with a segmentation fault when it leaves
        while it renews the shared memory that a killed neighbour has left
        (SharedMemChannelResource::release beside Listener::regenerate_port).
        """
        with contextlib.ExitStack() as at_last:
            for process in self._processes:
                at_last.callback(process.kill)
            for listener in self.listeners:
                listener.close()
            self.executor.shutdown()
            self.node.destroy_node()
            rclpy.shutdown(context=self.context)

    def start(
        self,
        module: str,
        parameters: Mapping[str, Any] | None = None,
        *arguments: str,
        stdout: int = subprocess.PIPE,
        fork: bool = True,
    ) -> NodeProcess:
        """Start ``python -m module --ros-args`` with parameters (a file) and further arguments."""
        command = [sys.executable, "-m", module, *self.arguments(parameters or {}), *arguments]
        process = self.run(command, stdout, fork=fork)
        if (parameters or {}).get("lockstep"):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        return process

    def arguments(self, parameters: Mapping[str, Any]) -> list[str]:
        """Return the arguments of a node that give it parameters, by a file."""
        file = self.folder / f"parameters_{len(self._processes)}.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": dict(parameters)}}))
        return ["--ros-args", *(["--params-file", str(file)] if parameters else [])]

    def run(
        self,
        command: list[str],
        stdout: int = subprocess.PIPE,
        fork: bool = True,
        has_terminal: bool = False,
    ) -> NodeProcess:
        """Start any program in the domain; it is killed at the end, if it still runs then."""
        environment = self.environment | (TERMINAL if has_terminal else {})
        process = NodeProcess(command, environment, self.folder, stdout, fork, has_terminal)
        self._processes.append(process)
        return process

    def run_script(self, text: str) -> NodeProcess:
        """Start a Python script in the domain."""
        script = self.folder / f"script_{len(self._processes)}.py"
        script.write_text(text)
        return self.run([sys.executable, str(script)])

    def tool(self, *arguments: str) -> NodeProcess:
        """Start ``featherstone-ros`` with arguments."""
        return self.run([*TOOL, *arguments])

    def run_tool(self, *arguments: str) -> tuple[int, str]:
        """Run it to its end; return its exit status and output."""
        process = self.tool(*arguments)
        return process.wait(2.0 * DEADLINE), process.output

    def wait_for(
        self,
        condition: Callable[[], Any],
        what: str = "condition",
        timeout: float = DEADLINE,
        period: float = 0.1,
    ) -> Any:
        """Run callbacks until ``condition`` returns something true; return that.

        It is looked at after each callback, or after ``period`` [s] without one: 0 where it has
        run callbacks itself.
        """
        end = time.monotonic() + timeout
        while not (result := condition()):
            remaining = end - time.monotonic()
            if remaining <= 0:
                outputs = "\n".join(process.output for process in self._processes)
                pytest.fail(f"no {what} within {timeout} s; output of the nodes:\n{outputs}")
            self.executor.spin_once(timeout_sec=min(remaining, period))
        return result

    def run_for(self, duration: float) -> None:
        """Run callbacks for a while, to show that something does *not* happen."""
        end = time.monotonic() + duration
        while (remaining := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=remaining)

    def collect(self, kind: type, topic: str, qos: QoSProfile | int = 100) -> list[Any]:
        """Subscribe; return the list to which messages are added."""
        messages: list[Any] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> Publisher:
        """Make a publisher and wait until somebody listens."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.wait_until_heard(publisher)
        return publisher

    def wait_until_heard(self, publisher: Publisher) -> None:
        """Wait until somebody listens to a publisher: a node that is activated begins to."""
        heard = f"subscriber of {publisher.topic_name}"
        self.wait_for(lambda: publisher.get_subscription_count() > 0, heard)
        self.run_for(MATCHING)  # the other side finds this one a little later

    def call(
        self,
        kind: type,
        name: str,
        request: Any = None,
        repeat: bool = True,
        is_done: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Call a service; return its response, None if only that was lost.

        A server may get the request before it has discovered the client, or the other way round,
        and the request or its answer is lost: ``repeat`` asks again, and is only for requests that
        may be carried out twice, or of which ``is_done`` tells whether they have been.
        """
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, name)
        self.wait_for(client.service_is_ready, f"service {name}")
        request = kind.Request() if request is None else request
        futures: list[Any] = []

        def send() -> None:
            if futures and is_done():
                futures[0].set_result(None)
            else:
                futures.append(client.call_async(request))

        def answer() -> Any:
            return next((future for future in futures if future.done()), None)

        period = ASK_AGAIN if repeat else math.inf
        return self.do_until(answer, f"answer of {name}", send, period).result()

    def ask(
        self, publisher: Publisher, message: Any, condition: Callable[[], Any], what: str
    ) -> None:
        """Publish until something is so."""
        self.do_until(condition, what, lambda: publisher.publish(message))

    def do_until(
        self,
        condition: Callable[[], Any],
        what: str,
        action: Callable[[], Any],
        period: float = ATTEMPT,
    ) -> Any:
        """Do something, and again after each period [s], until something is so; return that.

        It was lost where the two sides did not know each other yet; or a busy machine broke off
        what it had begun, by real time (in lockstep: ``Rig``). Nothing else in these tests is tried
        twice, and how often this was the run prints.
        """
        due = -math.inf

        def reached() -> Any:
            nonlocal due
            if time.monotonic() > due:
                REPEATS.update({what: 1} if due > -math.inf else ())
                action()
                due = time.monotonic() + period
            return condition()

        return self.wait_for(reached, what, LONGEST)

    def take_all(self, messages: list[Any]) -> None:
        """Take the messages that are still on their way: until no more come."""
        count = -1
        while count < len(messages):
            count = len(messages)
            self.run_for(0.05)

    # Lifecycle, parameters and diagnostics of a node.

    def state(self, node: str) -> str:
        """Return a node's lifecycle state."""
        return self.call(GetState, f"{node}/get_state").current_state.label

    def change_state(self, node: str, transition: str | int) -> bool:
        """Ask for a lifecycle transition, by label or number; return whether it was made."""
        request, begin = change_request(transition), BEGINS.get(transition, "")
        response = self.call(
            ChangeState,
            f"{node}/change_state",
            request,
            repeat=bool(begin),
            is_done=lambda: self.state(node) != begin,
        )
        return response is None or response.success

    def wait_for_state(self, node: str, state: str) -> None:
        """Wait until a node is in a lifecycle state."""
        self.wait_for(lambda: self.state(node) == state, f"state {state} of {node}")

    def set_parameters(
        self, node: str, values: Mapping[str, Any], atomically: bool = False
    ) -> list[SetParametersResult]:
        """Set parameters in one request; return the results (one if ``atomically``)."""
        messages = [Parameter(name, value=v).to_parameter_msg() for name, v in values.items()]
        if atomically:
            request = SetParametersAtomically.Request(parameters=messages)
            name = f"{node}/set_parameters_atomically"
            return [self.call(SetParametersAtomically, name, request).result]
        request = SetParameters.Request(parameters=messages)
        return list(self.call(SetParameters, f"{node}/set_parameters", request).results)

    def get_parameter(self, node: str, name: str) -> Any:
        """Return a parameter's value, None if there is none."""
        request = GetParameters.Request(names=[name])
        values = self.call(GetParameters, f"{node}/get_parameters", request).values
        return parameter_value_to_python(values[0]) if values else None

    def status(
        self, text: str = "", node: str = "", level: bytes | None = None, **details: str
    ) -> DiagnosticStatus:
        """Wait for a new status on /diagnostics; return it. Of arguments: ``new_status``."""
        what = f"status of {node or 'any node'} with {text!r}, {details or level or ''}"
        return self.wait_for(self.new_status(text, node, level, **details), what)

    def new_status(
        self, text: str = "", node: str = "", level: bytes | None = None, **details: str
    ) -> Callable[[], DiagnosticStatus | None]:
        """Return what finds a status on /diagnostics, from now on.

        Args:
            text: In its message.
            node: Whose, with its namespace; none: of any.
            level: None: of any.
            **details: Texts in what it tells besides, by name.
        """
        if self._diagnostics is None:
            self._diagnostics = self.collect(DiagnosticArray, "/diagnostics")
        arrays = self._diagnostics
        arrays.clear()

        def is_it(status: DiagnosticStatus) -> bool:
            if text not in status.message or level not in (None, status.level):
                return False
            values = status_values(status)
            is_from = not node or status.name == node.removeprefix("/")
            return is_from and all(what in values.get(name, "") for name, what in details.items())

        def search() -> DiagnosticStatus | None:
            found = [status for array in arrays for status in array.status if is_it(status)]
            arrays.clear()
            return found[0] if found else None

        return search


def change_request(transition: str | int) -> ChangeState.Request:
    """Return the request for a lifecycle transition, by label or number."""
    by_number = isinstance(transition, int)
    wanted = Transition(id=transition) if by_number else Transition(label=transition)
    return ChangeState.Request(transition=wanted)


def set_priority(pid: int, priority: int) -> None:
    """Schedule all threads of a process before others, where that is allowed; 0: as all others.

    On a busy machine the loop would have delays that no arm of these gains can bear.
    """
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # also of one that has just ended
            os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))


def stamp(seconds: float) -> Time:
    """Return it as a message."""
    whole, part = divmod(round(seconds * 1e9), 10**9)
    return Time(sec=whole, nanosec=part)


def point(seconds: float, q: Iterable[float], **fields: Any) -> JointTrajectoryPoint:
    """Return a point of a trajectory, at rest where its velocities are told as 0."""
    time = stamp(seconds)
    start = Duration(sec=time.sec, nanosec=time.nanosec)
    return JointTrajectoryPoint(time_from_start=start, positions=list(map(float, q)), **fields)


def swaying(
    names: list[str], home: np.ndarray, size: float, period: float, end: float
) -> JointTrajectory:
    """Return a motion to and fro about ``home`` (n,), from one side on, to rest at its end [s]."""
    rate = 2.0 * math.pi / period
    times = np.arange(period / 4, end, period / 16)
    speed = [np.full(len(home), size * rate * math.cos(rate * t)) for t in times[:-1]]
    points = [
        point(t, home + size * math.sin(rate * t), velocities=qd)
        for t, qd in zip(times, [*speed, 0.0 * home], strict=True)
    ]
    return JointTrajectory(joint_names=names, points=points)


def seconds(stamp: Time) -> float:
    """Return a stamp [s]."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def stamp_of(raw: bytes) -> float:
    """Return the stamp with which a serialised message begins [s]."""
    sec, nanosec = struct.unpack_from("<iI", raw, 4)
    return float(sec + 1e-9 * nanosec)


def status_values(status: DiagnosticStatus) -> dict[str, str]:
    """Return the details of a diagnostic status by name."""
    return {item.key: item.value for item in status.values}


def package_path() -> str:
    """Return the folder from which this process imports the package."""
    return str(Path(featherstone_ros.__file__).resolve().parents[1])

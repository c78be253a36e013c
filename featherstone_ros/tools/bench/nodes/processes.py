"""The processes that are measured: echo nodes, controllers, twins; each can be held still."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from featherstone_ros.tools.bench.nodes.scheduling import (
    FIFO,
    PRIORITY,
    has_fifo_thread,
    processor_time,
    resident_memory,
    schedule,
)
from featherstone_ros.tools.processes import NodeProcess, node_environment, write_parameters
from featherstone_ros.tools.robot_setup import RobotSetup
from featherstone_ros.tools.signals import held

ECHO = "tools.bench.nodes.echo"
RAW_ECHO = "tools.bench.nodes.raw_echo"
FLOOR = "tools.bench.nodes.floor"
BUSY_FLOOR = "tools.bench.nodes.busy_floor"
BUSY_CONTROLLER = "tools.bench.nodes.busy_controller"
RCLCPP_ECHO = "tools.bench.nodes.rclcpp_echo"
REQUESTER = "tools.bench.nodes.requester"
FLOOD = "tools.bench.nodes.flood"
CONTROLLER = "feedforward_controller"
TWIN = "digital_twin"


class Bench:
    """Where the processes run: a ROS domain, a namespace and a folder; a context manager."""

    def __init__(self, domain: int, discovery_range: str) -> None:
        """Choose the namespace.

        Args:
            domain: ROS domain.
            discovery_range: ROS_AUTOMATIC_DISCOVERY_RANGE.
        """
        self.domain = domain
        self.namespace = f"/featherstone_bench_{os.getpid()}"
        self._discovery_range = discovery_range
        self._count = 0

    def __enter__(self) -> "Bench":
        """Make the folder."""
        self._stack = ExitStack()
        folder = TemporaryDirectory(prefix="featherstone_bench_")
        self._folder = Path(self._stack.enter_context(folder))
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs; remove the folder."""
        self._stack.close()

    def new_namespace(self) -> str:
        """Return a namespace that nothing is in yet."""
        self._count += 1
        return f"{self.namespace}/arm{self._count}"

    def start(
        self, module: str, namespace: str, scheduling: str, parameters: Mapping[str, object]
    ) -> "MeasuredProcess":
        """Start a node.

        Args:
            module: Of this package; runs as ``python -m``.
            namespace: The node's.
            scheduling: ``DEFAULT`` or ``FIFO``, see ``MeasuredProcess.settle``.
            parameters: The node's, if it has any.
        """
        folder = Path(self._folder, namespace.strip("/").replace("/", "_"), module)
        folder.mkdir(parents=True)
        arguments = ["-r", f"__ns:={namespace}", "-r", f"__node:={node_name(module)}"]
        if module == TWIN:
            arguments += ["-r", "~/commands:=feedforward_controller/commands"]
        if scheduling == FIFO and parameters:
            parameters = {**parameters, "realtime.priority": PRIORITY}
        if parameters:
            file = folder / "parameters.yaml"
            write_parameters(file, parameters)
            arguments += ["--params-file", str(file)]
        environment = node_environment(self.domain, self._discovery_range, folder)
        with held():  # a process has an owner before it can be left behind
            process = MeasuredProcess(module, arguments, environment, folder, scheduling)
            return self._stack.enter_context(process)


class MeasuredProcess(NodeProcess):
    """A node that can be held still while another one is measured."""

    def __init__(
        self,
        module: str,
        arguments: list[str],
        environment: Mapping[str, str],
        folder: Path,
        scheduling: str,
    ) -> None:
        """Start the process; ``scheduling`` is what ``settle`` will set."""
        super().__init__(module, arguments, environment, folder)
        self._scheduling = scheduling

    def settle(self) -> None:
        """Set the process's scheduling, now that it runs.

        A node with a thread for its loop gives it the priority itself, by its parameters. With all
        other nodes the whole process gets it.
        """
        if self._scheduling == FIFO and not has_fifo_thread(self.pid):
            schedule(self.pid, self._scheduling)

    def hold_still(self) -> None:
        """Stop the process; the middleware does not notice for some seconds."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the process go on."""
        os.kill(self.pid, signal.SIGCONT)

    @contextmanager
    def going(self, run_up: float) -> Iterator[None]:
        """Let the process go on for a while, after ``run_up`` [s] to get going again."""
        self.go_on()
        time.sleep(run_up)
        try:
            yield
        finally:
            self.check()
            self.hold_still()

    @property
    def processor_time(self) -> int:
        """The processor time it took so far [ns]."""
        return processor_time(self.pid)

    @property
    def resident_memory(self) -> int:
        """Its resident set size [bytes]."""
        return resident_memory(self.pid)

    def stop(self) -> int:
        """End the process, also one that is held still; return its exit status."""
        with held():
            if self._process.poll() is None:
                self.go_on()
            return super().stop()


def node_name(module: str) -> str:
    """Return the name that a node gets here."""
    return module.rpartition(".")[2]


def controller_parameters(robot: RobotSetup) -> dict[str, object]:
    """Return a controller's parameters for a robot, in mode feedforward."""
    text = {"robot_description": robot.text, "mode": "feedforward"}
    return {**robot.parameters[CONTROLLER], **text}


def twin_parameters(robot: RobotSetup, rate: float) -> dict[str, object]:
    """Return a twin's parameters for a robot."""
    return {**robot.parameters[TWIN], "robot_description": robot.text, "rate": rate}

"""The processes that are measured; each can be held still while another one has its turn.

Linux only: scheduling by thread, processor clocks of other processes.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.processes import NodeProcess, node_environment, write_parameters
from featherstone_ros.tools.robot_setup import RobotSetup

CONTROLLER, TWIN = "feedforward_controller", "digital_twin"
PRIORITY = 60  # of the nodes, under SCHED_FIFO
DEFAULT, FIFO = "default scheduling", f"SCHED_FIFO {PRIORITY}"


class MeasuredProcess(NodeProcess):
    """A node that can be held still."""

    def settle(self, scheduling: str) -> None:
        """Set the scheduling of all threads, unless the node's loop has its priority already."""
        if scheduling == FIFO and not any(map(_is_fifo, _threads(self.pid))):
            schedule(self.pid, scheduling)

    def hold_still(self) -> None:
        """Stop the process; the middleware forgets it after 20 s."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    @contextmanager
    def going(self, run_up: float) -> Iterator[None]:
        """Let it go on for a while, after ``run_up`` [s] to get going again."""
        self.go_on()
        time.sleep(run_up)
        try:
            yield
        finally:
            self.check()
            self.hold_still()

    @property
    def processor_time(self) -> int:
        """The processor time that all its threads took so far [ns].

        Its clock's number is what clock_getcpuclockid(3) gives.
        """
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def ask_to_end(self) -> None:
        """Send SIGINT, also if it is held still."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self.go_on()

    def stop(self) -> int:
        """End the process, also one that is held still; return its exit status."""
        with held():
            if self._process.poll() is None:
                self.go_on()
            return super().stop()


class Arena(ExitStack[None]):
    """Where the processes run: a domain, a folder, a namespace for each arm; ends them."""

    def __init__(self, domain: int) -> None:
        """Make the folder."""
        super().__init__()
        self._folder = Path(self.enter_context(TemporaryDirectory(prefix="featherstone_bench_")))
        self._domain, self._arms = domain, 0
        self._started: list[MeasuredProcess] = []

    def __exit__(self, *details: Any) -> None:
        """End all processes, at once, and remove the folder."""
        for process in self._started:
            process.ask_to_end()
        super().__exit__(*details)

    def new_namespace(self) -> str:
        """Return a namespace that nothing is in yet."""
        self._arms += 1
        return f"/featherstone_bench_{os.getpid()}/arm{self._arms}"

    def start(
        self,
        name: str,
        program: Sequence[str],
        namespace: str,
        parameters: Mapping[str, object],
        scheduling: str = DEFAULT,
    ) -> MeasuredProcess:
        """Start a node; ``program``: a module and its arguments, or the path of a program."""
        folder = Path(self._folder, namespace.strip("/").replace("/", "_"), name)
        folder.mkdir(parents=True)
        arguments = ["-r", f"__ns:={namespace}", "-r", f"__node:={name}"]
        if name == TWIN:
            arguments += ["-r", f"~/commands:={CONTROLLER}/commands"]
        if scheduling == FIFO and parameters:
            parameters = {**parameters, "realtime.priority": PRIORITY}
        if parameters:
            write_parameters(folder / "parameters.yaml", parameters)
            arguments += ["--params-file", str(folder / "parameters.yaml")]
        environment = node_environment(
            self._domain, os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"], folder
        )
        root = str(Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join([environment.get("PYTHONPATH", root), root])
        command = program if os.sep in program[0] else [sys.executable, "-m", *program]
        with held():  # a process has an owner before it can be left behind
            process = MeasuredProcess(name, arguments, environment, folder, command)
            self._started.append(process)
            return self.enter_context(process)


def controller_parameters(robot: RobotSetup) -> dict[str, object]:
    """Return a controller's parameters for a robot, in mode feedforward."""
    text = {"robot_description": robot.text, "mode": "feedforward"}
    return {**robot.parameters[CONTROLLER], **text}


def twin_parameters(robot: RobotSetup, rate: float) -> dict[str, object]:
    """Return a twin's parameters for a robot."""
    return {**robot.parameters[TWIN], "robot_description": robot.text, "rate": rate}


def may_be_fifo() -> bool:
    """Tell whether this process may use SCHED_FIFO."""
    try:
        with taking_part(FIFO):
            return True
    except PermissionError:
        return False


@contextmanager
def taking_part(scheduling: str, priority: int = PRIORITY) -> Iterator[None]:
    """Schedule this process like those that are measured, for a while."""
    schedule(os.getpid(), scheduling, priority)
    try:
        yield
    finally:
        schedule(os.getpid(), DEFAULT)


def schedule(pid: int, scheduling: str, priority: int = PRIORITY) -> None:
    """Set the scheduling of all threads of a process, and of those that they start."""
    policy, priority = (os.SCHED_FIFO, priority) if scheduling == FIFO else (os.SCHED_OTHER, 0)
    for thread in _threads(pid):
        with suppress(ProcessLookupError):  # it has ended since
            os.sched_setscheduler(thread, policy, os.sched_param(priority))


def _threads(pid: int) -> list[int]:
    return [int(thread) for thread in os.listdir(f"/proc/{pid}/task")]


def _is_fifo(thread: int) -> bool:
    with suppress(ProcessLookupError):
        return os.sched_getscheduler(thread) == os.SCHED_FIFO
    return False

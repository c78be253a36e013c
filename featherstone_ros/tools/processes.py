"""The nodes as processes: started, watched, and stopped whatever happens."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import featherstone_ros
from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.model.parameter_files import CONTROLLER, NODES, TWIN, parameter_text
from featherstone_ros.realtime.scheduling import session_niceness, set_session_niceness
from featherstone_ros.tools.interruption import count, held

_STOP_TIMEOUT = 8.0  # [s] for a clean stop after SIGINT, and again after SIGTERM: longer than a
# node gives an arm to come to rest
_POLL_PERIOD = 0.05  # [s] between two checks for a further signal
_LINES_SHOWN = 15
# The twin takes the controller's torques or positions; what pushes it, the controller measures.
_REMAPPED = {
    TWIN: [
        *("-r", "~/commands:=feedforward_controller/commands"),
        *("-r", "~/joint_commands:=feedforward_controller/joint_commands"),
    ],
    CONTROLLER: ["-r", "~/wrench:=digital_twin/external_wrench"],
}
_NICENESS = -10
HIGHEST_DOMAIN = 101  # above it, Linux gives the ports of a domain to other programs
LAST_DOMAIN = 232  # whose ports are numbers of ports


Process = TypeVar("Process", bound="NodeProcess")


class NodeProcess:
    """One node of this package, ``python -m module``; a context manager that stops it.

    Attributes:
        name: Last part of the module's name.
        was_hurried: Whether another Ctrl-C has cut the end short.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        program: Sequence[str] = (),
    ) -> None:
        """Start the process.

        It gets its own session: Ctrl-C reaches only the command, which then stops its nodes. If the
        command is killed, the kernel sends SIGINT to the process. The process also gets a raised
        priority, like controllers of real arms, if that is allowed. Must be created in the main
        thread, since the kernel takes the end of the creating thread for that of the command.

        ``folder``: working directory; the node's output goes to a file in it. ``program``: what to
        start instead of the module, which then is only a name.
        """
        self.name = module
        self.was_hurried = False
        self._log = folder / f"{module}.log"
        self._log.touch()
        self._read = self._log.stat().st_size  # what new_output has returned, or was there before
        module_of_package = [sys.executable, "-m", f"featherstone_ros.{module}"]
        node = [*(program or module_of_package), "--ros-args", *arguments]
        command = ["setpriv", "--pdeathsig", "INT", *node] if shutil.which("setpriv") else node
        with contextlib.ExitStack() as unless_started:
            # Raised within Popen, an exception would leave a process behind.
            with held(), self._log.open("a") as log:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                unless_started.callback(self.stop)
                raise_priority(self._process.pid)
            unless_started.pop_all()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def last_output(self) -> str:
        """Return the last lines that the node wrote, indented."""
        lines = self._log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:]
        return "\n".join(f"    {line}" for line in lines) or "    (nothing)"

    def new_output(self) -> list[str]:
        """Return the whole lines that the node has written since the last call."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
        self._read += len(whole) + 1 if whole else 0
        return whole.decode(errors="replace").splitlines()

    def check(self) -> None:
        """Raise FeatherstoneError if the process has ended."""
        status = self._process.poll()
        if status is not None:
            raise FeatherstoneError(self.end_text(status))

    def check_end(self) -> None:
        """Raise FeatherstoneError if the process, once stopped, did not end in order by itself.

        Ended by Python's own KeyboardInterrupt, it had not begun: a node has a handler of its own.
        Where Python itself was still starting, that is exit status 1.
        """
        status = self._process.wait()
        interrupted = self.last_output().rstrip().endswith("KeyboardInterrupt")
        if status and status != -signal.SIGINT and not interrupted and not self.was_hurried:
            raise FeatherstoneError(self.end_text(status))

    def end_text(self, status: int) -> str:
        """Return how the process ended."""
        return (
            f"{self.name} ended with exit status {status}; its last output:\n{self.last_output()}"
        )

    def stop(self) -> int:
        """End the process: SIGINT, then SIGTERM, then SIGKILL; return its exit status.

        Another Ctrl-C meanwhile kills it at once.
        """
        before = count()
        with held():
            try:
                for signum in (signal.SIGINT, signal.SIGTERM):
                    end = time.monotonic() + _STOP_TIMEOUT
                    if self._process.poll() is None and count() == before:
                        self._process.send_signal(signum)
                    while time.monotonic() < end and count() == before and self._lives():
                        pass
            finally:
                if self._process.poll() is None:
                    self.was_hurried = count() != before
                    self._process.kill()
            return self._process.wait()

    def _lives(self) -> bool:
        """Tell whether the process still lives after a short while."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_POLL_PERIOD)
        return self._process.poll() is None

    def __enter__(self: Process) -> Process:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the process."""
        self.stop()


@contextlib.contextmanager
def twin_and_controller(
    parameters: Mapping[str, Mapping[str, object]],
    environment: Mapping[str, str],
    folder: Path,
    logs: Path,
    arguments: Sequence[str],
    processes: list[NodeProcess],
) -> Iterator[None]:
    """Start a digital twin and a controller that answer each other; end them afterwards.

    The controller is ended first: it brings the arm to rest.

    ``processes``: filled with them; they can be asked afterwards how they ended.
    """
    with contextlib.ExitStack() as stack:
        for node in NODES:
            file = folder / f"{node}.yaml"
            write_parameters(file, parameters[node], node)
            own = [*arguments, "--params-file", str(file)]
            own += _REMAPPED[node]
            with held():  # a process has an owner before it can be left behind
                process = NodeProcess(node, own, environment, logs)
                processes.append(stack.enter_context(process))
        yield


def raise_priority(pid: int) -> None:
    """Raise a process's priority, if allowed; threads that it starts later inherit it.

    Its session's is not below that of the command's session, which may have been raised as well.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
    set_session_niceness(pid, min(_NICENESS, session_niceness()))


def node_environment(domain: int, discovery_range: str, log_folder: Path) -> dict[str, str]:
    """Return an environment in which the nodes find each other and the package."""
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": discovery_range,
        "ROS_LOG_DIR": str(log_folder),
    }
    package = str(Path(featherstone_ros.__file__).resolve().parents[1])
    if package not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        known = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{package}{os.pathsep}{known}" if known else package
    return environment


def write_parameters(path: Path, parameters: Mapping[str, object], node: str = "") -> None:
    """Write a parameter file for the node named, or for any node."""
    path.write_text(parameter_text((), {f"/**/{node}" if node else "/**": parameters}))


def ask_middleware(environment: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the middleware's identifier, what is wrong with it and the remedy; or "" for nothing.

    Another process asks: where it is not there, rcl ends the one that imports rclpy.
    """
    ask = "import rclpy; print(rclpy.get_rmw_implementation_identifier())"
    command = [sys.executable, "-c", ask]
    answer = subprocess.run(command, capture_output=True, text=True, env=dict(environment))
    if not answer.returncode:
        return answer.stdout.strip(), "", ""
    said = answer.stderr.strip().partition(", exiting")[0] or "rclpy cannot be imported"
    asked = environment.get("RMW_IMPLEMENTATION") if "rmw" in said.lower() else None
    remedy = f"unset RMW_IMPLEMENTATION ({asked}), or install it" if asked else GET_ROS
    return "", f"cannot be used: {said.splitlines()[-1].rpartition(']: ')[2]}", remedy


def domain_number(text: str) -> int | None:
    """Return the domain that a ROS_DOMAIN_ID stands for; None: it is none."""
    return int(text) if text.isdecimal() and int(text) <= LAST_DOMAIN else None


def ros_domain(default: int = 0) -> int:
    """Return ROS_DOMAIN_ID, or what holds where it is not set."""
    text = os.environ.get("ROS_DOMAIN_ID") or str(default)
    domain = domain_number(text)
    if domain is None:
        raise FeatherstoneError(
            f"ROS_DOMAIN_ID is {text[:40]!r}, expected a number up to {HIGHEST_DOMAIN}"
        )
    return domain


def own_domain() -> int:
    """Return ROS_DOMAIN_ID if set, else a domain that others are unlikely to use."""
    return ros_domain(os.getpid() % HIGHEST_DOMAIN + 1)

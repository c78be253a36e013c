"""Starts nodes by fork, from a process that has imported what they need.

Imports are most of what it costs to start a node, and the tests start hundreds. From there on, all
is as with ``python -m``, to the end of the interpreter. Of that process's threads, which a fork
lacks, there are only those of LTTng, which rclpy's tracing waits in.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from math import inf
from pathlib import Path

IMPORTED = (
    "rosidl_generator_py",  # rclpy imports it with the first message
    "featherstone_ros.nodes.digital_twin",
    "featherstone_ros.nodes.feedforward_controller",
    "featherstone_ros.nodes.torque_markers",
    # What nodes import as they start.
    "numpy.ma",
    "numpy.random",
    "service_msgs.msg",
    "type_description_interfaces.msg",
)
# Packages whose messages they send.
MESSAGES = """builtin_interfaces diagnostic_msgs geometry_msgs lifecycle_msgs rcl_interfaces
    sensor_msgs service_msgs std_msgs std_srvs trajectory_msgs type_description_interfaces"""
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36  # linux/prctl.h
LONGEST = 1 << 17  # bytes of a request
LOOK = 0.01  # [s] between two looks whether a process has ended
prctl = ctypes.CDLL(None).prctl


class ForkedNode:
    """A process that runs a module or script, with what tests use of subprocess.Popen."""

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        folder: Path,
        stdout: int = subprocess.PIPE,
    ) -> None:
        """Start it as a child of this process, in ``folder``; it ends with this process.

        ``arguments`` are those of Python: ``["-m", module, ...]`` or ``[script, ...]``.
        """
        reading, output = os.pipe() if stdout == subprocess.PIPE else (None, stdout)
        self.stdout = None if reading is None else open(reading, errors="replace")
        request = json.dumps([arguments, dict(environment), str(folder)])
        try:
            self.pid = Server.of(environment).fork(request.encode(), output)
        finally:
            if reading is not None:
                os.close(output)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise TimeoutExpired if the process still runs."""
        end = time.monotonic() + (inf if timeout is None else timeout)
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("node", timeout or 0.0)
            time.sleep(LOOK)
        return status

    def send_signal(self, signum: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


class Server:
    """The process that forks nodes."""

    running: Server | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Server:
        """Return the one there is, or a new one in ``environment``."""
        cls.running = cls.running or cls(environment)
        return cls.running

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start it."""
        self._requests, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())],
                pass_fds=[there.fileno()],
                env=dict(environment),
            )

    def fork(self, request: bytes, output: int) -> int:
        """Have a node forked that writes to ``output``; return its process id.

        The answer comes by a pipe of its own, which ends with whoever might answer. A server that
        has failed is not asked again.
        """
        reading, answer = os.pipe()
        # Nodes become children of this process; other orphans are none of its business.
        prctl(SET_SUBREAPER, 1)
        try:
            with open(reading) as answers:
                try:
                    socket.send_fds(self._requests, [request], [output, answer])
                finally:
                    os.close(answer)
                if not (said := answers.read()):
                    raise ChildProcessError(f"a node ended before it was one: {request[:200]!r}")
                return int(said)
        except BaseException:
            self.close()
            raise
        finally:
            prctl(SET_SUBREAPER, 0)

    def close(self) -> None:
        """End the process; the next node is forked by another one."""
        Server.running = None
        self._requests.close()
        self.process.kill()
        self.process.wait()


def fork() -> int:
    """Fork, in a process with threads: Python 3.12 and newer warn of that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def serve(requests: socket.socket) -> list[str]:
    """Fork nodes until nobody asks any more; in a node, return Python's arguments."""
    parent = os.getppid()
    while True:
        request, descriptors, *_ = socket.recv_fds(requests, LONGEST, 2)
        if not request:
            sys.exit()
        output, answer = descriptors
        if child := fork():
            os.close(output)
            os.close(answer)
            os.waitpid(child, 0)
            continue
        signal.signal(signal.SIGINT, signal.default_int_handler)
        child = os.getpid()
        if fork():
            os._exit(0)
        while os.getppid() == child:  # until it is a child of whoever asked
            time.sleep(1e-3)
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        requests.close()
        arguments, environment, folder = json.loads(request)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.close(output)
        os.write(answer, str(os.getpid()).encode())
        os.close(answer)
        return arguments


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C concerns whoever asks
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # whoever asks may have a priority
    made = [f"{name}.{name}_s__rosidl_typesupport_c" for name in MESSAGES.split()]
    for name in (*IMPORTED, *made):
        with suppress(ImportError):  # whoever runs it is told
            import_module(name)
    inspect.getframeinfo(sys._getframe())  # finds all files, as rclpy does for its first log line
    gc.freeze()  # what nodes share is no garbage: no collector of theirs has to visit and copy it
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    faulthandler.enable()
    if arguments[0] == "-m":
        sys.argv, sys.path[0] = arguments[1:], os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = arguments, os.path.dirname(arguments[0])
        runpy.run_path(arguments[0], run_name="__main__")

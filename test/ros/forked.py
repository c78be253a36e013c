"""Starts nodes by fork, from a process that has imported what they need.

Imports are most of what it costs to start a node, and the tests start hundreds. From there on, all
is as with ``python -m``, to the end of the interpreter. Of that process's threads, which a fork
lacks, there are only those of LTTng, which rclpy's tracing waits in.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

IMPORTED = (
    "rosidl_generator_py",  # rclpy imports it with the first message
    "featherstone_ros.nodes.digital_twin",
    "featherstone_ros.nodes.feedforward_controller",
    "featherstone_ros.nodes.torque_markers",
)
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36  # linux/prctl.h
LONGEST = 1 << 17  # bytes of a request
prctl = ctypes.CDLL(None).prctl


class ForkedNode:
    """A process that runs a module or script, with what tests use of subprocess.Popen."""

    _server: socket.socket | None = None

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
        server = ForkedNode._server = ForkedNode._server or start_server(environment)
        reading, output = os.pipe() if stdout == subprocess.PIPE else (None, stdout)
        request = json.dumps([arguments, dict(environment), str(folder)])
        socket.send_fds(server, [request.encode()], [output])
        if reading is not None:
            os.close(output)
        self.stdout = None if reading is None else open(reading, errors="replace")
        answer = server.recv(LONGEST)
        assert answer, "the process that forks nodes has ended"
        self.pid = int(answer)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise TimeoutExpired if the process still runs."""
        if self.poll() is None:
            process = os.pidfd_open(self.pid)
            select.select([process], [], [], timeout)
            os.close(process)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("node", timeout or 0.0)
        return status

    def send_signal(self, signum: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


def start_server(environment: Mapping[str, str]) -> socket.socket:
    """Start the process that forks nodes; return where to ask it for one."""
    prctl(SET_SUBREAPER, 1)  # so that nodes become children of this process
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, __file__, str(there.fileno())],
        pass_fds=[there.fileno()],
        env=dict(environment),
    )
    there.close()
    return here


def serve(requests: socket.socket) -> list[str]:
    """Fork nodes until nobody asks any more; in a node, return Python's arguments."""
    parent = os.getppid()
    while True:
        request, output, *_ = socket.recv_fds(requests, LONGEST, 1)
        if not request:
            sys.exit()
        if child := os.fork():
            os.waitpid(child, 0)
            os.close(output[0])
            continue
        child = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == child:  # until it is a child of whoever asked
            time.sleep(1e-3)
        prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        arguments, environment, folder = json.loads(request)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(output[0], stream)
        os.close(output[0])
        requests.send(str(os.getpid()).encode())
        requests.close()
        return arguments


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C concerns whoever asks
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # whoever asks may have a priority
    from featherstone_ros.nodes.execution import limit_allocations

    limit_allocations()  # before any library of ROS is loaded
    for name in IMPORTED:
        with suppress(ImportError):  # whoever runs it is told
            import_module(name)
    inspect.getframeinfo(sys._getframe())  # finds all files, as rclpy does for its first log line
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if arguments[0] == "-m":
        sys.argv, sys.path[0] = arguments[1:], os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = arguments, os.path.dirname(arguments[0])
        runpy.run_path(arguments[0], run_name="__main__")

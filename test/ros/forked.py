"""Starts nodes by fork, from a process that has imported what they need (``preloaded.py``).

Imports are most of what it costs to start a node, and the tests start hundreds. From there on, all
is as with ``python -m``, to the end of the interpreter. Of that process's threads, which a fork
lacks, there are only those of LTTng, which rclpy's tracing waits in.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import gc
import os
import runpy
import signal
import subprocess
import sys
import termios
import traceback
from collections.abc import Mapping
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.forkserver import ensure_running
from pathlib import Path

SET_DEATH_SIGNAL = 1  # linux/prctl.h
FORKING = get_context("forkserver")
FORKING.set_forkserver_preload(["preloaded"])


class ForkedNode:
    """A process that runs a module or script, with what tests use of subprocess.Popen."""

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        folder: Path,
        stdout: int = subprocess.PIPE,
        has_terminal: bool = False,
    ) -> None:
        """Start it in ``folder``; it ends with this process.

        ``arguments`` are those of Python: ``["-m", module, ...]`` or ``[script, ...]``.
        ``has_terminal``: ``stdout`` is one, and becomes that of the process's own session.
        """
        start_server()
        is_piped = stdout == subprocess.PIPE
        reading, output = os.pipe() if is_piped else (None, os.dup(stdout))
        self.stdout = None if reading is None else open(reading, errors="replace")
        here, there = FORKING.Pipe(duplex=False)
        with here, Connection(output, readable=False) as handed_on:
            what = arguments, dict(environment), str(folder), handed_on, has_terminal, there
            self._process = FORKING.Process(target=run, args=what, daemon=True)
            with there:
                self._process.start()
            here.recv()  # it is itself from here on: EOFError if it ended before
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, None while the process runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise TimeoutExpired if the process still runs."""
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired("node", timeout or 0.0)
        return status

    def send_signal(self, signum: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


@cache
def start_server() -> None:
    """Start the process that forks, which only its environment tells where to import from."""
    kept = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ensure_running()
    os.environ["PYTHONPATH"] = kept


def run(
    arguments: list[str],
    environment: Mapping[str, str],
    folder: str,
    output: Connection,
    has_terminal: bool,
    ready: Connection,
) -> None:
    """Be Python with these arguments, to its end."""
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # the tests may have a priority
    if has_terminal:
        os.setsid()
        fcntl.ioctl(output.fileno(), termios.TIOCSCTTY, 0)
        os.dup2(output.fileno(), 0)
        sys.stdin = open(0, closefd=False)
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    ready.send(None)
    ready.close()
    output.close()
    gc.freeze()  # what nodes share is no garbage: no collector of theirs has to visit and copy it
    faulthandler.enable()
    status: object = 0
    try:
        if arguments[0] == "-m":
            sys.argv, sys.path[0] = arguments[1:], folder
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = arguments, os.path.dirname(arguments[0])
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    ctypes.pythonapi.Py_Exit(status)

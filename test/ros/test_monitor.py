"""featherstone-ros monitor beside the real nodes, with and without a terminal."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from support import (  # skips this module where ROS is missing
    DEADLINE,
    NodeProcess,
    Ros,
)

# isort: split
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from featherstone_ros.model.robots import robot_file
from featherstone_ros.realtime.scheduling import session_niceness, set_session_niceness

COMMAND = [sys.executable, "-m", "featherstone_ros.tools.cli", "monitor"]
TWIN = {"robot_description": robot_file("ur5e").read_text(), "rate": 100.0}


def monitor(ros: Ros, *options: str) -> NodeProcess:
    ros.environment["COLUMNS"] = "140"
    return ros.run([*COMMAND, *options], fork=True)


def start_twins(ros: Ros) -> None:
    for namespace in ("left", "right"):
        ros.start("featherstone_ros.digital_twin", TWIN, "-r", f"__ns:=/{namespace}")


def test_once_shows_every_namespace(ros):
    start_twins(ros)
    for side in ("left", "right"):
        ros.wait_for_state(f"/{side}/digital_twin", "active")
    process = monitor(ros, "--once", "--timeout", "40")
    assert process.wait() == 0, process.output
    for name in ("left/digital_twin", "right/digital_twin"):
        assert re.search(rf"{name}\s+active", process.output), process.output


def test_once_fails_if_nobody_is_heard(ros):
    process = monitor(ros, "--once", "--timeout", "0.5")
    assert process.wait() == 1
    assert "no featherstone_ros node" in process.output and "Traceback" not in process.output


def test_once_fails_if_a_node_has_an_error(ros):
    publisher = ros.node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    status = DiagnosticStatus(name="arm/feedforward_controller", level=DiagnosticStatus.ERROR)
    status.message = "no usable joint states"
    status.values = [KeyValue(key="state", value="active")]
    process = monitor(ros, "--once", "--timeout", "40")
    ros.wait_for(
        lambda: publisher.publish(DiagnosticArray(status=[status])) or not process.is_running,
        "end of the monitor",
        DEADLINE,
    )
    assert process.wait() == 1
    assert "no usable joint states" in process.output


def test_lines_without_a_terminal(ros):
    start_twins(ros)
    process = monitor(ros)
    process.wait_for_output("OK     left/digital_twin | active | ")
    process.wait_for_output("OK     right/digital_twin | active | ")
    process.stop(signal.SIGINT)
    assert "\x1b" not in process.output


@pytest.mark.parametrize("end", [b"q", b"\x03"], ids=["q", "Ctrl-C"])
def test_terminal_view_ends_on_a_key_and_leaves_the_terminal_as_it_was(ros, end):
    start_twins(ros)
    with in_terminal(ros, *COMMAND) as (process, master, terminal):
        before = termios.tcgetattr(terminal)
        seen = read_until(master, b"right/digital_twin", b"active")
        os.write(master, end)
        seen += read_until_end(master, process)
        assert process.wait(DEADLINE) == 0, seen.decode(errors="replace")
        assert b"Traceback" not in seen
        assert termios.tcgetattr(terminal) == before


@contextlib.contextmanager
def in_terminal(ros: Ros, *command: str) -> Iterator[tuple[subprocess.Popen, int, int]]:
    """Run a command in a terminal of its own; yield it, and both ends of the terminal.

    A shell opens the terminal, which thus becomes that of its session, so that Ctrl-C becomes a
    signal.
    """
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$@" <"$0"', os.ttyname(terminal), *command],
        cwd=ros.folder,
        env={**ros.environment, "COLUMNS": "120", "LINES": "40", "TERM": "xterm"},
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    set_session_niceness(process.pid, session_niceness())  # else it may get what is left over
    try:
        yield process, master, terminal
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        with contextlib.suppress(OSError):  # a test may have closed it
            os.close(master)


def read_until(master: int, *words: bytes) -> bytes:
    """Read what is shown until all the words have been."""
    os.set_blocking(master, False)
    seen, deadline = b"", time.monotonic() + DEADLINE
    while not all(word in seen for word in words):
        assert time.monotonic() < deadline, seen.decode(errors="replace")
        seen += read(master)
    return seen


def read_until_end(master: int, process: subprocess.Popen) -> bytes:
    """Read what is shown until the process has ended, so that it never waits to write."""
    seen, deadline = b"", time.monotonic() + DEADLINE
    while process.poll() is None and time.monotonic() < deadline:
        seen += read(master)
    return seen


def read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except BlockingIOError:
        time.sleep(0.05)
        return b""

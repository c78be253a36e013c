"""A terminal in which a command runs, and what is seen and typed there."""

import contextlib
import os
import pty
import subprocess
import time
from collections.abc import Iterator

from support import DEADLINE, Ros

from featherstone_ros.realtime.scheduling import session_niceness, set_session_niceness


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

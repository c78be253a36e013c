"""A terminal in which a command runs, and what is seen and typed there."""

import contextlib
import os
import pty
import time
from collections.abc import Iterator

from support import DEADLINE, NodeProcess, Ros

from featherstone_ros.realtime.scheduling import session_niceness, set_session_niceness


@contextlib.contextmanager
def in_terminal(ros: Ros, *command: str) -> Iterator[tuple[NodeProcess, int, int]]:
    """Run a command in a terminal of its own; yield it, and both ends of the terminal."""
    master, terminal = pty.openpty()
    process = ros.run(list(command), terminal, has_terminal=True)
    set_session_niceness(process.pid, session_niceness())  # else it may get what is left over
    try:
        yield process, master, terminal
    finally:
        process.kill()
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


def read_until_end(master: int, process: NodeProcess) -> bytes:
    """Read what is shown until the process has ended, so that it never waits to write."""
    seen, deadline = b"", time.monotonic() + DEADLINE
    while process.is_running and time.monotonic() < deadline:
        seen += read(master)
    return seen


def read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except BlockingIOError:
        time.sleep(0.05)
        return b""

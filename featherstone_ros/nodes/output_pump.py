"""Output that never blocks: a process writes to a pipe, and a helper process waits in its place.

A stopped terminal (Ctrl-S), or a pipe that nobody reads, blocks its writers. Log lines are written
in C while holding the interpreter lock, so the whole node would hang, Ctrl-C included.
So the node writes to a pump, a small process of this file, which takes everything at once, keeps
``CAPACITY`` bytes while they cannot be written, and then reports how many lines it dropped. It
outlives the node until all is written, so that the last lines are not lost, however the node ends.

As a program it imports only the standard library, to start within milliseconds.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CAPACITY = 1_000_000  # [byte] that may wait for the terminal
PIPE = 1 << 20  # [byte] that may wait for the pump, as far as the system allows
DRAIN_TIMEOUT = 10.0  # [s] that the pump waits for a stopped terminal when the node has ended
FLUSH_TIMEOUT = 1.0  # [s] that the node waits for the pump at its end


@contextmanager
def nonblocking_output() -> Iterator[None]:
    """Keep standard output and error from blocking this process while the context lasts."""
    fill_standard_descriptors()
    if sys.stderr is not None and sys.stderr.isatty():
        os.environ.setdefault("RCUTILS_COLORIZED_OUTPUT", "1")  # what rcutils cannot see any more
    originals = {fd: os.dup(fd) for fd in (1, 2) if can_block(fd)}
    try:
        pumps = start_pumps(originals)
    except OSError:  # no process or memory for one: go on without pumps
        pumps = []
    try:
        yield
    finally:
        flush()
        for fd, original in originals.items():
            os.dup2(original, fd)  # closes the pump's last writer, so that it ends
            os.close(original)
        for pump in pumps:
            with suppress(subprocess.TimeoutExpired):
                pump.wait(FLUSH_TIMEOUT)


def fill_standard_descriptors() -> None:
    """Open 0, 1 and 2 if closed: otherwise the next file or pipe would get the logs."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


def can_block(fd: int) -> bool:
    """Tell whether writing to a file descriptor may wait for somebody to read."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def start_pumps(targets: dict[int, int]) -> list[subprocess.Popen[bytes]]:
    """Start a pump for each different file among the targets; return the pumps.

    Args:
        targets: File descriptors to replace, with duplicates of their files.
    """
    inlets: dict[tuple[int, int], int] = {}
    pumps = []
    for fd, target in targets.items():
        status = os.fstat(target)
        file = (status.st_dev, status.st_ino)
        if file not in inlets:
            outlet, inlets[file] = os.pipe()
            widen(inlets[file])
            command = [sys.executable, "-I", "-S", __file__]
            pumps.append(subprocess.Popen(command, stdin=outlet, stdout=target, stderr=target))
            os.close(outlet)
        os.dup2(inlets[file], fd)
    for inlet in inlets.values():
        os.close(inlet)
    return pumps


def widen(inlet: int) -> None:
    """Enlarge a pipe and make writing non-blocking, since the pump itself may be stopped."""
    os.set_blocking(inlet, False)
    with suppress(AttributeError, OSError):  # not everywhere; not more than the system allows
        fcntl.fcntl(inlet, fcntl.F_SETPIPE_SZ, PIPE)


def flush() -> None:
    """Flush Python's own buffers."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # the other side is gone, or it is closed
                stream.flush()


class Backlog:
    """Lines waiting to be written; if there are too many, the newest are dropped and counted."""

    def __init__(self, most: int) -> None:
        """Begin empty; keep ``most`` bytes."""
        self._most = most
        self._lines: deque[bytes] = deque()
        self._size = self._dropped = 0
        self._rest = b""  # of a line that has not ended yet
        self._ended = False
        self._changed = threading.Condition()

    def put(self, data: bytes) -> None:
        """Add bytes; empty bytes mean the end."""
        *lines, rest = (self._rest + data).splitlines(keepends=True) or [b""]
        if rest.endswith(b"\n") or not data or len(rest) > self._most:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        with self._changed:
            for line in filter(None, lines):
                if self._size + len(line) > self._most:
                    self._dropped += 1
                else:
                    self._keep(line)
            self._ended = not data
            self._changed.notify()

    def _keep(self, line: bytes) -> None:
        if self._dropped:
            note = b"%d log lines were dropped while the terminal was stopped\n" % self._dropped
            self._lines.append(note)
            self._size += len(note)
            self._dropped = 0
        self._lines.append(line)
        self._size += len(line)

    def take(self) -> bytes:
        """Wait for lines and return about a page of them; empty bytes mean the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._dropped or self._ended)
            if not self._lines and self._dropped:
                self._keep(b"")
            taken = bytearray()
            while self._lines and len(taken) < 4096:
                taken += self._lines.popleft()
            self._size -= len(taken)
            return bytes(taken)


def write_all(backlog: Backlog, fd: int) -> None:
    """Write all lines, however long it takes; drop them if writing fails."""
    while left := backlog.take():
        try:
            while left:
                left = left[os.write(fd, left) :]
        except OSError:
            continue  # nobody will ever read it; the node goes on


def pump() -> None:
    """Copy standard input to standard output until the input ends."""
    for signum in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):  # the pump ends with the node, and only then
            signal.signal(signum, signal.SIG_IGN)
    backlog = Backlog(CAPACITY)
    writer = threading.Thread(target=write_all, args=(backlog, 1), daemon=True)
    writer.start()
    while data := os.read(0, 1 << 16):
        backlog.put(data)
    backlog.put(b"")
    writer.join(DRAIN_TIMEOUT)
    os._exit(0)


if __name__ == "__main__":
    pump()

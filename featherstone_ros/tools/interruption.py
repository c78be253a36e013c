"""Ctrl-C, SIGTERM and SIGHUP end a command alike, but never within a call of rclpy's.

Python handles a signal between any two of its instructions. Where compiled code has called Python,
as rclpy's does to make a message, the exception is lost or becomes another one: ``RuntimeError:
Unable to convert call argument``, say. What calls rclpy therefore does so within ``held()``, and
briefly: a signal that comes meanwhile raises its exception at the end of the block.

Of several signals the first one counts. While its exception is on its way, and nodes are stopped,
the others raise nothing: a process could be left behind. ``count`` tells of them.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption(KeyboardInterrupt):
    """Of any of these signals, as a supervisor's SIGTERM asks for no less than Ctrl-C does.

    Attributes:
        status: The exit status of a command that they have kept from its end.
    """

    def __init__(self, signum: int) -> None:
        """Remember which signal it was."""
        super().__init__()
        self.status = 128 + signum


class _State:
    """What is known of signals; of the main thread, the only one that Python handles them in.

    Attributes:
        depth: Number of blocks that hold them, one within the other.
        waiting: The first one that came meanwhile; 0: none.
        count: Number of those that have come.
        raised: The exception of the last one that raised any, while it exists.
    """

    def __init__(self) -> None:
        self.depth = self.waiting = self.count = 0
        self.raised: weakref.ref[BaseException] | None = None


_state = _State()


def count() -> int:
    """Return how many signals have come."""
    return _state.count


@contextmanager
def ended_by_signals(for_good: bool = False) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP (the terminal is lost) raise an Interruption.

    Within ``held()`` they wait. A SIGINT or SIGHUP that is ignored, or has a handler, stays so.

    ``for_good``: whether the process ends afterwards. SIGINT is then ignored, which would print a
    traceback; SIGTERM still ends a process that hangs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    _state.waiting, _state.raised = 0, None
    handled = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handled.append(signal.SIGINT)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        handled.append(signal.SIGHUP)
    before = {signum: signal.signal(signum, _handle) for signum in handled}
    try:
        yield
    finally:
        with held():
            for signum, handler in before.items():
                ignored = for_good and signum == signal.SIGINT
                signal.signal(signum, signal.SIG_IGN if ignored else handler)


class held:
    """Let signals wait for the end of a ``with`` block; only those of ``ended_by_signals`` do."""

    def __init__(self, until_next: bool = False) -> None:
        """Prepare.

        ``until_next``: wait for the end of the next such block: the first one makes what a ``with``
        statement will clean up.
        """
        self._until_next = until_next
        self._counts = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        """Hold them."""
        _state.depth += self._counts

    def __exit__(self, *_: object) -> None:
        """Raise what came meanwhile."""
        _state.depth -= self._counts
        if self._counts and _state.waiting and not _state.depth and not self._until_next:
            _raise(_state.waiting)


def _handle(signum: int, _: FrameType | None) -> None:
    _state.count += 1
    if _state.depth:
        _state.waiting = _state.waiting or signum
    else:
        _raise(signum)


def _raise(signum: int) -> None:
    _state.waiting = 0
    if _state.raised is not None and _state.raised() is not None:
        return
    error = Interruption(signum)
    _state.raised = weakref.ref(error)
    try:
        raise error
    finally:
        del error  # what has been caught and forgotten must not live on in its own traceback

"""Signals as requests to end in order.

A signal only writes its number into a pipe (``signal.set_wakeup_fd``), which a thread waits on: no
KeyboardInterrupt can strike half-way through an import or a callback, and the context is still
alive when the node shuts down. Forked children have the default actions.

========================================  =======================================================
SIGINT, SIGTERM, SIGHUP (terminal lost)   end in order, exit status 0, or that of an arm that still
                                          moves (``execution``); SIGHUP not under ``nohup``
others that end a process: SIGQUIT,       end in order, exit status 128 + number
SIGUSR1, SIGALRM, real-time ones, ...
SIGTSTP (Ctrl-Z), SIGTTIN, SIGTTOU        ignored: a stopped process cannot hold an arm
SIGPIPE, SIGXFSZ                          ignored, as everywhere in Python
SIGSEGV, SIGABRT, SIGTRAP, SIGSYS and     not caught: the process dies at once, as by SIGKILL.
their like                                What the memory holds then is not to be trusted with an
                                          arm. For these and for SIGKILL and SIGSTOP there is the
                                          drives' own command time-out.
========================================  =======================================================
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

CLEAN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
OTHERS = (
    *("SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU"),
    *("SIGIO", "SIGPWR", "SIGSTKFLT"),
)
FATAL = tuple(getattr(signal, name) for name in OTHERS if hasattr(signal, name)) + tuple(
    range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
)


class Signals:
    """Catches signals from its creation on.

    Attributes:
        caught: The first one that asked for the end, 0 before.
    """

    def __init__(self) -> None:
        """Catch them; to be called in the main thread."""
        self.caught = 0
        self._readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for signum in [*CLEAN, *FATAL]:
            if signum != signal.SIGHUP or not ignored:
                with suppress(OSError):  # some are the C library's own
                    signal.signal(signum, lambda *_: None)
        for signum in JOB_CONTROL:
            signal.signal(signum, signal.SIG_IGN)
        os.register_at_fork(after_in_child=release)

    def watch(self, wait: Callable[[int], int], end: Callable[[], None]) -> None:
        """From now on wait for the first signal, in a thread of its own, then call ``end``.

        ``wait`` returns the first signal's number, given the file descriptor that it comes by.
        """

        def wait_and_end() -> None:
            self.caught = wait(self._readable)
            end()

        threading.Thread(target=wait_and_end, name="signals", daemon=True).start()

    @property
    def exit_status(self) -> int:
        """The exit status of a process after an orderly end."""
        return 0 if self.caught in (0, *CLEAN) else 128 + self.caught

    def ignore(self) -> None:
        """Let no signal disturb the end.

        Who stops a process may signal twice, and Python at its end restores the default actions.
        """
        for signum in [*CLEAN, *FATAL]:
            with suppress(OSError):
                signal.signal(signum, signal.SIG_IGN)


def release() -> None:
    """Give signals their default actions again: in a child, they are none of its parent's."""
    signal.set_wakeup_fd(-1)
    for signum in [*CLEAN, *FATAL, *JOB_CONTROL]:
        with suppress(OSError):
            signal.signal(signum, signal.SIG_DFL)

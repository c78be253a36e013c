"""The thread that owns a loop, and what the interpreter must not do to it meanwhile."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any, TypeVar

from featherstone_ros.realtime.mailbox import Mailbox
from featherstone_ros.realtime.scheduling import Scheduling

Result = TypeVar("Result")

PATIENCE = 1.0  # [s] that another thread waits for the loop
SWITCH_INTERVAL = 5e-5  # [s] after which a thread that wants the interpreter gets it; Python: 5e-3


class LoopThread:
    """Runs a loop in a thread of its own, and between two rounds what others ask for.

    Attributes:
        scheduling: The thread's scheduling in words.
    """

    def __init__(
        self,
        turn: Callable[[], None],
        scheduling: Scheduling,
        warn: Callable[[str], None],
        fail: Callable[[Exception], bool],
    ) -> None:
        """Prepare a loop.

        Args:
            turn: One round: waits, for some 10 ms at most, and does what is due then.
            scheduling: The thread's.
            warn: Called in the thread with what the scheduling lacks.
            fail: Called in the thread with what ``turn`` raises; returns whether to go on.
        """
        self.scheduling = ""
        self._turn = turn
        self._wanted = scheduling
        self._warn = warn
        self._fail = fail
        self._mailbox = Mailbox()
        self._stopping = False
        self._interpreter = ExitStack()
        self._thread = Thread(target=self._run, name="loop", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._interpreter.enter_context(punctual_interpreter())
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its round; what was asked for before is still done."""
        self._stopping = True
        if self._thread.is_alive():
            self._thread.join()
        self._interpreter.close()
        self._mailbox.run()

    def call(self, action: Callable[[], Result]) -> Result:
        """Have an action done between two rounds, return its result or raise what it raises.

        Raises:
            TimeoutError: The loop has no time for it; it is given up.
        """
        if self._thread.is_alive():
            try:
                return self._mailbox.call(action, PATIENCE)
            except TimeoutError:
                if self._thread.is_alive():
                    raise
        self._mailbox.run()
        return action()

    def apply(self, action: Callable[[], Any]) -> None:
        """Have an action done between two rounds for certain, now or as soon as there is time.

        It must not raise.
        """
        self._mailbox.post(action)
        with suppress(TimeoutError):
            self.call(do_nothing)

    def _run(self) -> None:
        for problem in self._wanted.enter():
            self._warn(problem)
        self.scheduling = self._wanted.in_force()
        while not self._stopping:
            try:
                self._turn()
                self._mailbox.run()
            except Exception as error:
                if not self._fail(error):
                    return


def do_nothing() -> None:
    """Do nothing."""


@contextmanager
def punctual_interpreter() -> Iterator[None]:
    """Keep the interpreter from holding one thread up for another or for the garbage collector.

    Garbage has to be collected by hand meanwhile, see ``collect_garbage``.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        sys.setswitchinterval(interval)


def collect_garbage() -> None:
    """Collect the garbage of late; to be called about once a second from a thread that can wait."""
    if not gc.isenabled():
        gc.collect()

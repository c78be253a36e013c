"""Objects at work in another thread."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(call: Callable[[], object]) -> Iterator[None]:
    """Have another thread make a call again and again, while the context lasts."""
    enough = threading.Event()

    def work() -> None:
        while not enough.is_set():
            call()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        enough.set()
        worker.join()


class Interrupted(Exception):
    """What Ctrl-C raises while an object is at work."""


@contextmanager
def interrupted(is_at_work: Callable[[], bool]) -> Iterator[None]:
    """Press Ctrl-C again and again, until it finds an object at work and ends the block."""
    enough = threading.Event()

    def handler(*_: object) -> None:
        if is_at_work():
            raise Interrupted

    def press() -> None:
        while not enough.wait(0.01):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        yield
    except Interrupted:
        return
    finally:
        enough.set()
        pressing.join()
        signal.signal(signal.SIGINT, before)
    raise AssertionError("nothing has ended the block")


def is_refused(call: Callable[[], object]) -> bool:
    """Tell whether a call finds its object at work: not while the GIL is held."""
    try:
        call()
    except RuntimeError as error:
        assert "at work in another thread" in str(error)
        return True
    return False

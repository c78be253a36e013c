"""Objects at work in another thread."""

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


def is_refused(call: Callable[[], object]) -> bool:
    """Tell whether a call finds its object at work: not while the GIL is held."""
    try:
        call()
    except RuntimeError as error:
        assert "at work in another thread" in str(error)
        return True
    return False

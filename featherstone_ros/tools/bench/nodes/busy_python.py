"""A thread of Python that never rests, beside a node in the same process."""

import threading


def never_rest() -> None:
    """Start to build dictionaries, for ever."""
    threading.Thread(target=_build, name="busy", daemon=True).start()


def _build() -> None:
    while True:
        {number: str(number) for number in range(100)}

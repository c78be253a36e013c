"""What calls leave behind in memory."""

import tracemalloc
from collections.abc import Callable


def growth(calls: Callable[[int], None], first: int, then: int) -> int:
    """Return how much memory ``then`` calls leave behind [bytes], after ``first`` ones.

    ``calls`` makes as many as it is told.
    """
    tracemalloc.start()
    try:
        calls(first)
        before, _ = tracemalloc.get_traced_memory()
        calls(then)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before

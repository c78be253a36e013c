"""How much memory calls leave allocated."""

import tracemalloc
from collections.abc import Callable


def growth(calls: Callable[[int], None], first: int, then: int) -> int:
    """Return how much memory ``then`` calls leave behind [bytes], after ``first`` ones.

    ``calls`` makes as many as it is told. Of three times it is the least: what another thread, or a
    cache, keeps meanwhile is no leak.
    """
    tracemalloc.start()
    try:
        calls(first)
        left = []
        for _ in range(3):
            before, _ = tracemalloc.get_traced_memory()
            calls(then)
            left.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    return min(left)

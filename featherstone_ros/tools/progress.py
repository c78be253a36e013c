"""A progress bar that appears only if the work takes long; elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

DELAY = 2.0  # [s] before the bar is shown
INTERVAL = 10.0  # [s] between two lines where there is no terminal
FEW = 2000  # steps of which each is drawn


@contextmanager
def delayed_progress(
    description: str, console: Console, delay: float = DELAY
) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable for progress (done, total) that shows a bar once ``delay`` [s] has passed.

    Without a terminal it writes lines to stderr, for stdout may be read by a program.
    """
    bar, due = Progress(console=console, transient=True), time.monotonic() + delay
    task = bar.add_task(description)

    def report(done: int, total: int) -> None:
        nonlocal due
        is_due = time.monotonic() >= due
        if not console.is_terminal:
            if is_due:
                share = done / max(total, 1)
                print(f"{description}: {share:.0%}", file=sys.stderr, flush=True)
                due = time.monotonic() + INTERVAL
            return
        if is_due:
            bar.start()  # once
            if total < FEW or done % 256 == 0 or done == total:
                bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()

"""A progress bar that appears only if the work takes long; elsewhere a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bar

from featherstone_ros.progress import Progress

DELAY = 1.5  # [s] before the bar is shown: two, with the start of Python
INTERVAL = 10.0  # [s] between two lines where there is no terminal
FEW = 2000  # steps of which each is drawn


@contextmanager
def delayed_progress(
    description: str, console: Console, delay: float = DELAY
) -> Iterator[Progress]:
    """Yield a callable for progress (done, total) that shows a bar once ``delay`` [s] has passed.

    Without a terminal it writes lines to stderr, for stdout may be read by a program. Both appear
    in time also where the work tells nothing for long: a thread sees to it.
    """
    bar, due = Bar(console=console, transient=True), time.monotonic() + delay
    task, share = bar.add_task(description), 0.0
    ended, lock = threading.Event(), threading.Lock()

    def show() -> None:
        nonlocal due
        with lock:
            if time.monotonic() < due:
                return
            if console.is_terminal:
                bar.start()  # once; it draws itself from then on
            else:
                print(f"{description}: {share:.0%}", file=sys.stderr, flush=True)
                due = time.monotonic() + INTERVAL

    def watch() -> None:
        while not ended.wait(max(due - time.monotonic(), 0.0)):
            show()
            if console.is_terminal and bar.live.is_started:
                return

    def report(done: int, total: int) -> None:
        nonlocal share
        done = min(done, total)  # what is measured may go on beyond its end
        share = done / max(total, 1)
        show()
        if bar.live.is_started and (total < FEW or done % 256 == 0 or done == total):
            bar.update(task, completed=done, total=total)

    watcher = threading.Thread(target=watch, name="progress", daemon=True)
    watcher.start()
    try:
        yield report
    finally:
        ended.set()
        watcher.join()
        if bar.live.is_started:
            bar.stop()

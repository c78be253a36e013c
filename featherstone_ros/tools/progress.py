"""A progress bar that appears only if the work takes long; elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import Progress

DELAY = 2.0  # [s] before the bar is shown
APART = 10.0  # [s] between two lines where there is no terminal
FEW = 2000  # steps of which each is drawn


class DelayedProgress:
    """A callable for progress (done, total) that shows a bar once ``delay`` has passed.

    Without a terminal it writes lines to stderr, for stdout may be read by a program.
    """

    def __init__(self, description: str, console: Console, delay: float = DELAY) -> None:
        """Start the clock.

        Args:
            description: Text before the bar.
            console: Where the bar is drawn while the context lasts.
            delay: Time before the bar is shown [s].
        """
        self._description = description
        self._has_bar = console.is_terminal
        self._progress = Progress(console=console, transient=True)
        self._task = self._progress.add_task(description)
        self._due = time.monotonic() + delay
        self.is_shown = False

    def __call__(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are done."""
        now = time.monotonic()
        if not self._has_bar:
            if now >= self._due:
                print(
                    f"{self._description}: {done / max(total, 1):.0%}", file=sys.stderr, flush=True
                )
                self._due = now + APART
            return
        if not self.is_shown and now >= self._due:
            self._progress.start()
            self.is_shown = True
        if self.is_shown and (total < FEW or done % 256 == 0 or done == total):
            self._progress.update(self._task, completed=done, total=total)

    def __enter__(self) -> DelayedProgress:
        """Return the callable."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        if self.is_shown:
            self._progress.stop()

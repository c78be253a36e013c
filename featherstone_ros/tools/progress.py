"""A progress bar that appears only if the work takes long."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import Progress

DELAY = 2.0  # [s] before the bar is shown
FEW = 2000  # steps of which each is drawn


class DelayedProgress:
    """A callable for progress (done, total) that shows a bar once ``delay`` has passed."""

    def __init__(self, description: str, console: Console, delay: float = DELAY) -> None:
        """Start the clock.

        Args:
            description: Text before the bar.
            console: Where the bar is drawn while the context lasts.
            delay: Time before the bar is shown [s].
        """
        self._progress = Progress(console=console, transient=True)
        self._task = self._progress.add_task(description)
        self._due = time.monotonic() + delay
        self.is_shown = False

    def __call__(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are done."""
        if not self.is_shown and time.monotonic() >= self._due:
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

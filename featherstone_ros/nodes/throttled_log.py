"""A log that does not repeat messages too often.

rclpy throttles per place in the code: a complaint from the same place about another joint would be
lost. Here the text counts, without its figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from rclpy.impl.rcutils_logger import RcutilsLogger

LOG_INTERVAL = 5.0  # [s] between two equal warnings in the log
AT_ONCE = 20  # different ones in that time
FIGURE = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?")  # not joint_1's


@dataclass
class Line:
    """A line that has been logged.

    Attributes:
        time: When it was last logged [s].
        kept_back: How often it has been suppressed since.
    """

    time: float
    kept_back: int = 0


class ThrottledLog:
    """Says each line at most every ``LOG_INTERVAL``, and ``AT_ONCE`` different ones in that time.

    The next line of a kind says how many were suppressed. A kind is a text, or what the caller
    names, where the text depends on what others send. For one thread.
    """

    def __init__(self, logger: RcutilsLogger, clock: Callable[[], float] = monotonic) -> None:
        """Write to a node's logger."""
        self._logger = logger
        self._clock = clock
        self._said: dict[str, Line] = {}

    def info(self, text: str, kind: str = "") -> None:
        """Log normal events."""
        if line := self._line(text, kind):
            self._logger.info(line)

    def warning(self, text: str, kind: str = "") -> None:
        """Log possible problems."""
        if line := self._line(text, kind):
            self._logger.warning(line)

    def error(self, text: str, kind: str = "") -> None:
        """Log errors."""
        if line := self._line(text, kind):
            self._logger.error(line)

    def _line(self, text: str, kind: str) -> str:
        """Return the line to log now, empty for nothing."""
        now, kind = self._clock(), kind or FIGURE.sub("#", text)
        last = self._said.pop(kind, None)
        if last is not None and now - last.time < LOG_INTERVAL:
            self._said[kind] = Line(last.time, last.kept_back + 1)
            return ""
        self._forget(now)
        if len(self._said) >= AT_ONCE:
            return ""
        self._said[kind] = Line(now)
        if last is None or not last.kept_back:
            return text
        return f"{text} ({last.kept_back} more such lines in {now - last.time:.0f} s)"

    def _forget(self, now: float) -> None:
        """Forget old lines, sooner those that have not been suppressed since."""
        for kind, line in list(self._said.items()):
            age = now - line.time
            if age > 2.0 * LOG_INTERVAL or (age > LOG_INTERVAL and not line.kept_back):
                del self._said[kind]

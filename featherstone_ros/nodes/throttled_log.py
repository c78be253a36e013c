"""A log that does not repeat messages too often.

rclpy throttles per place in the code: a complaint from the same place about another joint would be
lost. Here the text counts, without its figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

from rclpy.impl.rcutils_logger import RcutilsLogger

LOG_INTERVAL = 5.0  # [s] between two equal lines in the log
MAX_LINES = 20  # different ones in that time
FIGURE = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?")  # not joint_1's


class ThrottledLog:
    """Says each line at most every ``LOG_INTERVAL``, and ``MAX_LINES`` different ones in that time.

    Lines are equal if their texts are, or what the caller names, where the text depends on what
    others send. For one thread.
    """

    def __init__(self, logger: RcutilsLogger, clock: Callable[[], float] = monotonic) -> None:
        """Write to a node's logger."""
        self._logger = logger
        self._clock = clock
        self._said: dict[str, float] = {}  # when, of the last interval's lines

    def warning(self, text: str, kind: str = "") -> None:
        """Log possible problems."""
        if self._is_due(kind or text):
            self._logger.warning(text)

    def error(self, text: str, kind: str = "") -> None:
        """Log errors."""
        if self._is_due(kind or text):
            self._logger.error(text)

    def _is_due(self, text: str) -> bool:
        """Tell whether a line is to be logged; if so, not again for ``LOG_INTERVAL``."""
        now, kind = self._clock(), FIGURE.sub("#", text)
        self._said = {k: time for k, time in self._said.items() if now - time < LOG_INTERVAL}
        if kind in self._said or len(self._said) >= MAX_LINES:
            return False
        self._said[kind] = now
        return True

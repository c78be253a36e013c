"""A log that does not repeat messages too often.

rclpy throttles per place in the code: a complaint from the same place about another joint would be
lost. Here the text counts, without its figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

from rclpy.impl.rcutils_logger import RcutilsLogger

LOG_INTERVAL = 5.0  # [s] in which as many equal lines are logged as are allowed
MAX_LINES = 20  # different ones in that time
FIGURE = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?")  # not joint_1's


class ThrottledLog:
    """Says each line at most so often in ``LOG_INTERVAL``, and ``MAX_LINES`` lines in that time.

    How often is once, or what the caller allows: what a person sends by hand is answered each time,
    a stream is not. Lines are equal if their texts are, or what the caller names, where the text
    depends on what others send. For one thread.
    """

    def __init__(self, logger: RcutilsLogger, clock: Callable[[], float] = monotonic) -> None:
        """Write to a node's logger."""
        self._logger = logger
        self._clock = clock
        self._said: list[tuple[str, float]] = []  # what and when, of the last interval's lines

    def warning(self, text: str, kind: str = "", often: int = 1) -> None:
        """Log possible problems."""
        if self._is_due(kind or text, often):
            self._logger.warning(text)

    def error(self, text: str, kind: str = "", often: int = 1) -> None:
        """Log errors."""
        if self._is_due(kind or text, often):
            self._logger.error(text)

    def _is_due(self, text: str, often: int) -> bool:
        """Tell whether a line is to be logged, up to ``often`` times in ``LOG_INTERVAL``."""
        now, kind = self._clock(), FIGURE.sub("#", text)
        self._said = [(said, time) for said, time in self._said if now - time < LOG_INTERVAL]
        before = sum(said == kind for said, _ in self._said)
        if before >= often or len(self._said) >= MAX_LINES:
            return False
        self._said.append((kind, now))
        return True

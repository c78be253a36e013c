"""Single keys from the terminal, without Return."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def single_keys(with_earlier: bool = False) -> Iterator[Callable[[], str]]:
    """Read keys without Return and without echo while the context lasts; Ctrl-C works as usual.

    ``with_earlier``: return what was typed before, too, while the command was starting. Yields a
    function that returns what has been typed since the last call; always "" where standard input is
    not a terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        yield lambda: ""
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def typed() -> str:
        is_ready = select.select([terminal], [], [], 0.0)[0]
        return os.read(terminal, 64).decode(errors="replace") if is_ready else ""

    tty.setcbreak(terminal, termios.TCSADRAIN if with_earlier else termios.TCSAFLUSH)
    try:
        yield typed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)

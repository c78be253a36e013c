"""Is everything in its place? One screen about this machine and the ROS domain.

Looks at the processor, libraries, control_msgs, the ROS domain and its middleware, real-time rights
and the clock; then, for some seconds, at the other nodes: who publishes joint states, commands and
/clock, whether that is one alone, and whether commands are heard. What is not well has a line below
it that says what to do.

Green is well; yellow will do for some purposes; red will not do.

Exit status: 0; 1 if something is red.

Examples:
  featherstone-ros doctor
  ROS_DOMAIN_ID=42 featherstone-ros doctor      another domain
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.tools.result import Console, Result

if TYPE_CHECKING:
    from rich.text import Text

    from featherstone_ros.tools.doctor.checks import Line

WIDTH = 14  # of what the lines are about


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: there are none."""


def run(_: argparse.Namespace, console: Console) -> Result:
    """Look, and print what is found as it is found."""
    from featherstone_ros.control.diagnostics import DiagnosticLevel

    worst = DiagnosticLevel.OK
    for line in _lines(console):
        console.print(in_words(line), soft_wrap=True)
        worst = max(worst, line.level)
    return Result(status=1 if worst >= DiagnosticLevel.ERROR else 0)


def _lines(console: Console) -> Iterator[Line]:
    import os
    import sys

    from featherstone_ros import __file__ as place
    from featherstone_ros import __version__
    from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
    from featherstone_ros.tools.doctor.checks import (
        Line,
        check_machine,
        check_neighbours,
        domain,
        middleware,
    )

    ros = middleware()
    if max(ros.level, domain(os.environ).level) < Level.ERROR:
        import rclpy  # noqa: F401  before the first line: ROS's wheels may restart Python
    python = ".".join(map(str, sys.version_info[:3]))
    folder = place.rpartition("/")[0]
    yield Line("version", f"{__version__} in {folder}, Python {python}")
    worst = Level.OK
    for line in check_machine(ros):
        yield line
        worst = max(worst, line.level)
    if worst >= Level.ERROR:  # no ROS, or no domain: there are no neighbours
        return
    from featherstone_ros.tools.progress_bar import delayed_progress

    try:
        with delayed_progress("looking for other nodes", console):
            found = [*check_neighbours()]
        yield from found
    except FeatherstoneError as error:  # cannot take part: no keys, no middleware
        yield Line("domain", str(error), Level.ERROR, GET_ROS)


def in_words(line: Line) -> Text:
    """Return a line, with what to do below it."""
    from rich.text import Text

    from featherstone_ros.tools.style import LEVEL_STYLES

    text = Text.assemble(("● ", LEVEL_STYLES[line.level]), (f"{line.subject:{WIDTH}} ", "bold"))
    text.append(line.text)
    if line.remedy:
        text.append(f"\n  {'':{WIDTH}} → {line.remedy}", LEVEL_STYLES[line.level])
    return text

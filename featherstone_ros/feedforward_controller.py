"""The controller node as a program: ``python -m featherstone_ros.feedforward_controller``.

The node itself is ``featherstone_ros.nodes.feedforward_controller.FeedforwardController``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros.nodes.execution import run
from featherstone_ros.nodes.usage import CONTROLLER, answer


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, or explain it; return the exit status."""
    text = answer(CONTROLLER, args)
    if text is not None:
        print(text, end="")
        return 0
    return run("featherstone_ros.nodes.feedforward_controller:FeedforwardController", args)


if __name__ == "__main__":
    sys.exit(main())

"""The digital twin node as a program: ``python -m featherstone_ros.digital_twin --ros-args ...``.

The node itself is ``featherstone_ros.nodes.digital_twin.DigitalTwin``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros.nodes.execution import run
from featherstone_ros.nodes.usage import TWIN, answer


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, or explain it; return the exit status."""
    text = answer(TWIN, args)
    if text is not None:
        print(text, end="")
        return 0
    return run("featherstone_ros.nodes.digital_twin:DigitalTwin", args)


if __name__ == "__main__":
    sys.exit(main())

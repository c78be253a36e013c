"""The marker node as a program: ``python -m featherstone_ros.torque_markers``.

The node itself is ``featherstone_ros.nodes.torque_markers.TorqueMarkers``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from featherstone_ros.nodes.execution import run


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; return the exit status."""
    return run("featherstone_ros.nodes.torque_markers:TorqueMarkers", args)


if __name__ == "__main__":
    sys.exit(main())

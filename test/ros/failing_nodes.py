"""Either node with a fault built into its loop, as the environment says.

FAILING_NODE is the node. From the thirtieth message on, FAILURES messages in a row raise an
exception that nobody expects.
"""

import importlib
import itertools
import os
import sys
from typing import Any

from featherstone_ros.nodes.control_cycle import ControlCycle
from featherstone_ros.nodes.simulation_cycle import SimulationCycle

FIRST = 30


def break_later(kind: type, method: str, failures: int) -> None:
    """Replace a method of a class by one that fails for a while."""
    sound = getattr(kind, method)
    count = itertools.count(1)

    def broken(self: Any, message: bytes, info: Any) -> None:
        if FIRST <= next(count) < FIRST + failures:
            raise ZeroDivisionError("built in by the test")
        sound(self, message, info)

    setattr(kind, method, broken)


if __name__ == "__main__":
    failures = int(os.environ["FAILURES"])
    break_later(ControlCycle, "take_state", failures)
    break_later(SimulationCycle, "take_commands", failures)
    node = importlib.import_module(f"featherstone_ros.{os.environ['FAILING_NODE']}")
    sys.exit(node.main())

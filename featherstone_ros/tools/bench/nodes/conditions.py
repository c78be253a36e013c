"""What runs beside the measured nodes, and the controller's targets then."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from featherstone_ros.tools.bench.nodes.processes import (
    BUSY_CONTROLLER,
    BUSY_FLOOR,
    CONTROLLER,
    ECHO,
    FLOOD,
    FLOOR,
    RAW_ECHO,
    RCLCPP_ECHO,
    REQUESTER,
)
from featherstone_ros.tools.bench.nodes.rclcpp_echo import VARIABLE
from featherstone_ros.tools.bench.results import Target

OWN_WAIT_SET, EXECUTOR = "own_wait_set", "executor"  # choices of realtime.path
MEDIAN, P99, LONGEST = "reaction, median", "reaction, p99", "reaction, longest"
COST = "processor time"
LOST = "states lost"
OURS = f"controller, {OWN_WAIT_SET}"
NO_BOUNDS: Mapping[str, Target] = {}
AGAINST_ECHO = dict.fromkeys((MEDIAN, P99, COST), Target(0.5))
AGAINST_RCLCPP = dict.fromkeys((MEDIAN, COST), Target(1.0))


@dataclass(frozen=True)
class Entry:
    """A node that takes part.

    Attributes:
        name: For tables.
        module: What is started.
        path: ``realtime.path``, of a controller.
    """

    name: str
    module: str
    path: str = ""

    @property
    def is_controller(self) -> bool:
        """Whether it is a controller."""
        return bool(self.path)


@dataclass(frozen=True)
class Condition:
    """What runs beside the measured nodes.

    Attributes:
        name: For tables; empty if nothing runs.
        entries: Who takes part.
        bounds: Who is compared with whom, and the bounds on the ratios.
        companion: Module of a process that runs beside each of them; empty for none.
        settings: The companion's parameters.
    """

    name: str
    entries: tuple[Entry, ...]
    bounds: Mapping[tuple[str, str], Mapping[str, Target]]
    companion: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)


def _quiet() -> Condition:
    entries = [
        Entry("echo", ECHO),
        Entry("raw echo", RAW_ECHO),
        Entry("floor", FLOOR),
        Entry(OURS, CONTROLLER, OWN_WAIT_SET),
        Entry(f"controller, {EXECUTOR}", CONTROLLER, EXECUTOR),
    ]
    bounds = {(entry.name, "echo"): NO_BOUNDS for entry in entries[1:]}
    bounds[OURS, "echo"] = AGAINST_ECHO
    bounds[OURS, "floor"] = {MEDIAN: Target(1.25)}
    if os.environ.get(VARIABLE):
        entries.append(Entry("rclcpp echo", RCLCPP_ECHO))
        bounds["rclcpp echo", "floor"] = NO_BOUNDS
        bounds[OURS, "rclcpp echo"] = AGAINST_RCLCPP
    return Condition("", tuple(entries), bounds)


def _beside(size: int, rate: float, name: str) -> Condition:
    return Condition(
        name,
        (Entry("floor", FLOOR), Entry(OURS, CONTROLLER, OWN_WAIT_SET)),
        {(OURS, "floor"): {P99: Target(2.0)}},
        FLOOD,
        {"size": size, "rate": rate},
    )


def conditions(quick: bool) -> tuple[Condition, ...]:
    """Return what the reaction is measured under; ``quick``: fewer of them."""
    busy = Condition(
        "busy interpreter",
        (Entry("floor", BUSY_FLOOR), Entry(OURS, BUSY_CONTROLLER, OWN_WAIT_SET)),
        {(OURS, "floor"): {MEDIAN: Target(1.35), P99: Target(1.5), LOST: Target(0.0)}},
        REQUESTER,
    )
    many = _beside(2_000, 2000.0, "beside 2000 messages a second")
    large = _beside(1_000_000, 50.0, "beside 50 MB a second")
    return (_quiet(), busy, many) if quick else (_quiet(), busy, many, large)

"""The parameters ``realtime.*`` of both nodes: the loop's thread and its scheduling."""

from __future__ import annotations

from collections.abc import Mapping

from featherstone_ros.parameter import Parameter, Value
from featherstone_ros.realtime.scheduling import Scheduling, refuse_missing_cpus

PARAMETERS = (
    Parameter(
        "realtime.priority",
        0,
        "SCHED_FIFO priority of the loop's thread; 0: the scheduling of the process",
        0,
        99,
        read_only=True,
    ),
    Parameter(
        "realtime.cpu_affinity",
        [],
        "processors on which that thread may run; empty: all",
        kind=int,
        check=refuse_missing_cpus,
        read_only=True,
    ),
    Parameter(
        "realtime.lock_memory",
        False,
        "keep the memory of the process in RAM",
        read_only=True,
    ),
)


def scheduling(values: Mapping[str, Value]) -> Scheduling:
    """Return what the parameters say about the loop's scheduling."""
    return Scheduling(
        values["realtime.priority"],
        tuple(map(int, values["realtime.cpu_affinity"])),
        bool(values["realtime.lock_memory"]),
    )

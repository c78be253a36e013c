"""Runs under callgrind: some repetitions of each call, between two marks.

A mark is a call of getppid, which callgrind is told to dump its counts at; nothing else calls it.
``python -m featherstone_ros.tools.bench.callgrind_child '{"robots": null}'`` writes a line of JSON
for each call: dump number 2 k + 2 has the instructions of the k-th.
"""

import json
import os
import sys
from collections.abc import Sequence

from featherstone_ros.tools.bench.child import protocol
from featherstone_ros.tools.bench.instruction_sets import in_use
from featherstone_ros.tools.bench.robots import chosen_robot, standard_robots
from featherstone_ros.tools.bench.sections import SECTIONS, Workload

SECTIONS_COUNTED = ("single", "kept", "further", "batch", "simulation")
CALLS = 100
BATCH = 256


def main(order: str) -> None:
    """Run all calls, in the order of their cases."""
    chosen: Sequence[str] | None = json.loads(order)["robots"]
    robots = [chosen_robot(name) for name in chosen] if chosen else standard_robots()
    setting = Workload(robots, batch=BATCH, instruction_set=in_use())
    with protocol() as out:
        for section in SECTIONS_COUNTED:
            if SECTIONS[section].lacks:
                continue
            for case in SECTIONS[section].cases(setting):
                case.check()
                for who, timed_call in zip(("ours", "theirs"), case.timed_calls, strict=True):
                    calls = CALLS if timed_call.units == 1 else 1
                    timed_call.timer.timeit(1)
                    os.getppid()
                    timed_call.timer.timeit(calls)
                    os.getppid()
                    line = {
                        "section": section,
                        "case": case.name,
                        "who": who,
                        "units": calls * timed_call.units,
                        "instruction_set": in_use(),
                    }
                    print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

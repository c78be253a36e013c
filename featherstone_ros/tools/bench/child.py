"""One process of the benchmark: races all cases of some sections on one instruction set.

``python -m featherstone_ros.tools.bench.child ORDER``, see ``main``, writes JSON to its standard
output: a line when it has loaded and a line per case. What libraries print goes to standard error.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from featherstone_ros.tools.bench.case import Case, DisagreementError
from featherstone_ros.tools.bench.instruction_sets import in_use
from featherstone_ros.tools.bench.race import RacePlan, race
from featherstone_ros.tools.bench.robots import chosen_robot, example_robots, standard_robots
from featherstone_ros.tools.bench.sections import SECTIONS, Workload

PLAN = RacePlan(block=5e-4, duration=0.8, rounds=7)
PLANS = {
    "robots": RacePlan(block=5e-4, duration=0.2, rounds=7),  # many races
    "threads": RacePlan(block=5e-4, duration=3.0, rounds=7),  # one quiet round is needed
}
QUICK = RacePlan(block=2e-4, duration=0.0, rounds=3)
QUICK_ROBOTS = 3  # of example-robot-data


def main(order: str) -> None:
    """Race.

    Args:
        order: JSON: "instruction_set", which the core must use; "sections", names of
            ``sections.SECTIONS``; "robots", names or paths, or null for those that the targets are
            about; "quick", whether a few rounds will do.
    """
    with protocol() as out:
        run(**json.loads(order), out=out)


def run(
    instruction_set: str,
    sections: Sequence[str],
    robots: Sequence[str] | None,
    quick: bool,
    out: TextIO,
) -> None:
    """Race all cases of the sections, and write a line for each."""
    if in_use() != instruction_set:
        sys.exit(f"the core that was imported is compiled for {in_use()}")
    setting = _setting("robots" in sections, robots, quick)
    cases = [(name, case) for name in sections for case in SECTIONS[name].cases(setting)]
    _write(out, {"cases": len(cases)})
    for section, case in cases:
        plan = QUICK if quick else PLANS.get(section, PLAN)
        _write(out, {"case": case.name} | _outcome(case, plan))


def _setting(is_about_all: bool, chosen: Sequence[str] | None, quick: bool) -> Workload:
    raced = [chosen_robot(name) for name in chosen] if chosen else standard_robots()
    others = example_robots() if is_about_all else []
    if quick:
        return Workload(raced[:1], others[:QUICK_ROBOTS], 64, 256, in_use())
    return Workload(raced, others, instruction_set=in_use())


def _outcome(case: Case, plan: RacePlan) -> dict[str, Any]:
    try:
        case.check()
    except DisagreementError as error:
        return {"disagreement": str(error)}
    results = case.judge(race(case.timed_calls, plan))
    return {"results": [result.as_dict() | {"instruction_set": in_use()} for result in results]}


def protocol() -> TextIO:
    """Return the standard output, and send to standard error what libraries print there."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def _write(out: TextIO, line: dict[str, Any]) -> None:
    print(json.dumps(line), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

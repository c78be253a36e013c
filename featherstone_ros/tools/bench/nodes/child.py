"""The process that measures nodes: starts them, one question after the other, and reports.

``python -m featherstone_ros.tools.bench.nodes.child ORDER``, see ``main``, writes JSON to its
standard output: a line when it has loaded, and a line per step, most of them empty.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.tools.bench.chain import chain
from featherstone_ros.tools.bench.child import protocol
from featherstone_ros.tools.bench.instruction_sets import in_use
from featherstone_ros.tools.bench.nodes import control_cycle, jitter, loops, reaction
from featherstone_ros.tools.bench.nodes.conditions import conditions
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.judgement import BlockPlan
from featherstone_ros.tools.bench.nodes.loop import Loop
from featherstone_ros.tools.bench.nodes.processes import FLOOD, Bench
from featherstone_ros.tools.bench.nodes.scheduling import DEFAULT, FIFO, may_be_fifo
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.processes import own_domain, raise_priority
from featherstone_ros.tools.robot_setup import RobotSetup, chosen_parameters, load
from featherstone_ros.tools.signals import ended_by_signals

PLAN = BlockPlan(block=2.0, rounds=8)
QUICK = BlockPlan(block=0.3, rounds=1)
SOAK_RATE, CROWD_RATE = 1000.0, 200.0  # [Hz]
CROWD_DURATION = 10.0  # [s]
Measurement = Iterator[tuple[list[Result], list[Distribution]]]
JOINTS, EFFORT = 32, 2000.0  # of a long arm, and what its drives need to hold it [N m]


def main(order: str) -> None:
    """Measure.

    Args:
        order: JSON: "quick", whether a moment of each will do, and "minutes" of the closed loop.
    """
    # The parent answers Ctrl-C by SIGTERM; the nodes would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    _be_scheduled_as_the_nodes_are()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    logging.disable(logging.WARNING)  # oddities of the descriptions
    with ended_by_signals(for_good=True), protocol() as out:
        for line in run(**json.loads(order)):
            print(json.dumps(line), file=out, flush=True)


def run(quick: bool, minutes: float) -> Iterator[dict[str, Any]]:
    """Yield the lines."""
    block_plan = QUICK if quick else PLAN
    schedulings = (DEFAULT, FIFO) if may_be_fifo() else (DEFAULT,)
    raced = schedulings[-1:] if quick else schedulings
    plans = list(_plans(quick, 60 * minutes, schedulings[-1]))
    reactions = [
        (condition, how)
        for condition in conditions(quick)
        for how in (raced[-1:] if condition.companion == FLOOD else raced)
    ]
    races: list[tuple[Callable[..., Measurement], str, int]] = [
        (partial(reaction.race, condition=condition), how, reaction.steps(block_plan, condition))
        for condition, how in reactions
    ]
    races += [(jitter.race, how, jitter.steps(block_plan)) for how in raced]
    races += [(control_cycle.race, DEFAULT, control_cycle.steps(block_plan))]
    count = sum(steps for *_, steps in races) + sum(map(loops.steps, plans))
    yield {"cases": count + len(races) + len(plans), "schedulings": schedulings}
    robot = load("panda")
    context = Context()
    domain = own_domain()
    rclpy.init(context=context, domain_id=domain)
    node = Node("bench", context=context, enable_rosout=False, start_parameter_services=False)
    with Bench(domain, os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"]) as bench:
        for race, scheduling, _ in races:
            measurement = race(bench, node, robot, scheduling, block_plan)
            yield from _lines(f"nodes, {scheduling}", map(_race_line, measurement))
        for plan in plans:
            yield from _lines(plan.title, map(_loops_line, loops.watch(bench, node, plan)))
    node.destroy_node()
    rclpy.shutdown(context=context)


def _lines(what: str, lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines; if the measurement fails, one that says so: the others go on."""
    try:
        yield from lines
    except FeatherstoneError as error:
        yield {"disagreement": f"{what}: {error}"}


def _race_line(found: tuple[list[Result], list[Distribution]]) -> dict[str, Any]:
    results, distributions = found
    return {
        "results": [result.as_dict() | {"instruction_set": in_use()} for result in results],
        "distributions": [distribution.as_dict() for distribution in distributions],
    }


def _loops_line(seen: list[Loop]) -> dict[str, Any]:
    return {"loops": [loop.as_dict() for loop in seen]}


def _be_scheduled_as_the_nodes_are() -> None:
    """Start a new session: Linux shares processors by session, not by process (autogroup).

    Else the floor of the jitter would share its processor time with who started the benchmark.
    """
    with suppress(PermissionError):  # it has one already
        os.setsid()
    raise_priority(os.getpid())


def _plans(quick: bool, soak: float, scheduling: str) -> Iterator[loops.LoopPlan]:
    """Yield what runs in closed loops.

    What may need more processors than there are does not get SCHED_FIFO: nothing else would run.
    """
    panda = load("panda")
    if quick:
        yield loops.LoopPlan("one arm", panda, 1, SOAK_RATE, 2.0, scheduling)
        return
    yield loops.LoopPlan("one arm", panda, 1, SOAK_RATE, soak, scheduling)
    crowd = partial(loops.LoopPlan, rate=CROWD_RATE, duration=CROWD_DURATION, scheduling=DEFAULT)
    yield crowd("4 arms", panda, 4)
    yield crowd("one long arm", _long_arm(), 1, speed=0.1)
    yield crowd("4 long arms", _long_arm(), 4, speed=0.1)


def _long_arm() -> RobotSetup:
    text = chain(JOINTS, EFFORT)
    model = Model.from_urdf(text)
    return RobotSetup(model.name, text, model, chosen_parameters(model))


if __name__ == "__main__":
    main(sys.argv[1])

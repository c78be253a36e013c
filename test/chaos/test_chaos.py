"""A few episodes with the real nodes; `make chaos` runs hundreds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from support import free_domain  # skips this module where ROS is missing

# isort: split
from arm import arm
from bench import STARVED, Bench
from episodes import KINDS, draw

pytestmark = pytest.mark.ros

SEEDS = {  # of short episodes, in which the arm moves
    "drop commands": 551,
    "reorder states": 1156,
    "corrupt states": 9283,
    "corrupt commands": 9309,
    "garbage states": 1185,
    "freeze states": 1362,
    "freeze commands": 138,
    "spike, then freeze": 317,
    "ROS time backward": 193,
    "stop controller": 994,
    "kill controller": 221,
}


SPOILING = {"corrupt states", "corrupt commands", "garbage states", "spike, then freeze"}
RARELY = 0.05  # probability of a fault beside which the arm is still led


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with (
        free_domain() as domain,
        closing(Bench(arm("panda"), domain, tmp_path_factory.mktemp("chaos"))) as bench,
    ):
        yield bench


@pytest.mark.alone
@pytest.mark.parametrize("kind", SEEDS)
def test_arm_stays_safe_and_recovers(bench, kind):
    episode = draw(SEEDS[kind], bench.arm.model, bench.arm.home)
    assert episode.fault.kind == kind == list(KINDS)[SEEDS[kind] % len(KINDS)]
    outcome, traffic = bench.judged(episode)
    if outcome.figures.faults and bench.starved > STARVED:
        pytest.skip(f"the machine is too busy for it: {outcome.figures.faults}")
    assert outcome.figures.faults == []
    assert (traffic.spoiled > 0) == (kind in SPOILING)
    if kind.startswith("corrupt"):
        assert episode.fault.probability == RARELY and not episode.at_rest
        begin, end = traffic.fault_begin, traffic.fault_end
        commands = np.count_nonzero(
            (begin <= traffic.command_index) & (traffic.command_index < end)
        )
        print(f"{traffic.spoiled} spoiled, {commands} commands, {end - begin} states")
        assert traffic.spoiled < 0.2 * (end - begin)
        assert commands > 0.8 * (end - begin)

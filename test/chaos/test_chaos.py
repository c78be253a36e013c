"""A few episodes with the real nodes; `make chaos` runs hundreds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest
from support import free_domain  # skips this module where ROS is missing

# isort: split
import campaign
from arm import arm
from bench import Bench
from campaign import outcome_of
from episodes import KINDS, draw

pytestmark = pytest.mark.ros

SEEDS = {  # of short episodes, in which the arm moves
    "drop commands": 551,
    "reorder states": 1156,
    "corrupt states": 758,
    "corrupt commands": 1484,
    "garbage states": 1185,
    "freeze states": 1362,
    "freeze commands": 138,
    "spike, then freeze": 317,
    "ROS time backward": 193,
    "stop controller": 994,
    "kill controller": 221,
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with free_domain() as domain:
        bench = Bench(arm("panda"), domain, tmp_path_factory.mktemp("chaos"))
        yield bench
        bench.close()


@pytest.mark.alone
@pytest.mark.parametrize("kind", SEEDS)
def test_arm_stays_safe_and_recovers(bench, kind):
    episode = draw(SEEDS[kind], bench.arm.model, bench.arm.home)
    assert episode.fault.kind == kind == list(KINDS)[SEEDS[kind] % len(KINDS)]
    outcome, _ = outcome_of(bench, episode)
    if outcome.figures.starved:
        pytest.skip(f"the machine is too busy for it: {outcome.figures.starved}")
    assert outcome.figures.faults == []


def test_episode_that_does_not_end_gets_a_verdict_and_leaves_no_process(monkeypatch):
    monkeypatch.setattr(campaign, "LONGEST", 1.0)  # in which no nodes have come yet
    outcomes = list(campaign.run("panda", [0, 1], 1, None))
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    for outcome in outcomes:
        assert "no verdict" in outcome.figures.faults[0]
    assert multiprocessing.active_children() == []

"""A few episodes with the real nodes; `make chaos` runs hundreds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import free_domain  # skips this module where ROS is missing

# isort: split
from arm import arm
from bench import Bench, StarvationError
from checks import judge
from episodes import KINDS, draw

pytestmark = [pytest.mark.ros, pytest.mark.alone]

ATTEMPTS = 3
SEEDS = {
    "drop commands": 1,
    "reorder states": 6,
    "corrupt states": 8,
    "corrupt commands": 9,
    "garbage states": 10,
    "freeze states": 37,
    "freeze commands": 13,
    "spike, then freeze": 17,
    "ROS time backward": 18,
    "stop controller": 19,
    "kill controller": 21,
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with free_domain() as domain:
        bench = Bench(arm("panda"), domain, tmp_path_factory.mktemp("chaos"))
        yield bench
        bench.close()


@pytest.mark.parametrize("kind", SEEDS)
def test_arm_stays_safe_and_recovers(bench, kind):
    episode = draw(SEEDS[kind], bench.arm.model, bench.arm.home)
    assert episode.fault.kind == kind == list(KINDS)[SEEDS[kind] % len(KINDS)]
    for _ in range(ATTEMPTS):
        try:
            traffic = bench.run(episode)
        except StarvationError as error:
            reason = str(error)
            continue
        at_rest = (episode.start == episode.target).all()
        fault = episode.fault
        arm_led = bench.arm.led(episode.by_hand)
        figures = judge(traffic, arm_led, at_rest, fault.is_lie, fault.loses_commands)
        assert figures.faults == []
        return
    pytest.skip(f"the machine is too busy for it: {reason}")

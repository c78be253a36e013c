"""What a hostile neighbour sends makes nothing unsafe; `make hostile` prints what it does."""

from collections.abc import Iterator

import pytest
from support import ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from neighbour import KINDS
from witness import SWAY, Pair, Witness, end_neighbour, start_neighbour

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),  # whole seconds of patience add up on a busy machine
]

RATE = 200.0  # [Hz]: the arm is to be held on a busy machine, too
SECONDS = 0.3  # of flood, after a first one
DEVIATION = SWAY + 0.05  # [rad] that the arm may be from the middle of its motion
MEMORY = 100.0  # [MB] that messages of a megabyte may take while they wait
LINES = 60  # that both nodes may log meanwhile


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Iterator[Pair]:
    with ros_in_free_domain(tmp_path_factory.mktemp("pair")) as ros:
        yield Pair(ros, RATE)


def attack(pair: Pair, kind: str, seconds: float = SECONDS) -> Witness:
    """Let a neighbour flood for a while; return what was witnessed."""
    witness = Witness(pair.ros)
    pair.ros.do_until(lambda: witness.worst_step > 0.0, "motion", pair.sway)
    neighbour = start_neighbour(pair.ros, kind)
    try:
        pair.ros.run_for(seconds)
    finally:
        end_neighbour(neighbour)
    seen = witness.commands
    pair.ros.wait_for(lambda: witness.commands > seen + 10, "commands after the attack")
    witness.stop()
    return witness


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_unsafe_happens_beside(kind, pair):
    memory, lines = pair.memory(), pair.lines()
    witness = attack(pair, kind)
    print(
        f"{kind}: {100 * witness.worst_step:.0f} % of the allowed step, moved "
        f"{1e3 * witness.deviation:.0f} mrad, {pair.memory() - memory:.0f} MB"
    )
    for name, node in pair.nodes.items():
        assert node.is_running, f"{name} ended:\n{node.output[-3000:]}"
    assert witness.not_finite == 0
    assert 0.0 < witness.worst_step <= 1.0
    assert 0.0 < witness.deviation < DEVIATION
    assert pair.memory() - memory < MEMORY
    logged = pair.lines() - lines
    assert logged < LINES, "\n".join(node.output[-3000:] for node in pair.nodes.values())
    pair.wait_until_well(without_refusals=False)

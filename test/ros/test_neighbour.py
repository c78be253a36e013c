"""What a hostile neighbour sends makes nothing unsafe; `make hostile` prints what it does."""

import signal
import sys
from pathlib import Path

import pytest
import support  # noqa: F401  (skips this module where ROS is missing

# isort: split
import neighbour
from diagnostic_msgs.msg import DiagnosticStatus
from rig import CONTROLLER, TWIN, Rig

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),  # whole seconds of patience add up on a busy machine
]

RATE = 200.0  # [Hz]: the arm is to be held on a busy machine, too
SECONDS = 0.3  # of flood, after a first one
SWAY, PERIOD = 0.1, 4.0  # [rad], [s]
DEVIATION = SWAY + 0.05  # [rad] that the arm may be from the middle of its motion
MEMORY = 100.0  # [MB] that messages of a megabyte may take while they wait
LINES = 60  # that both nodes may log meanwhile


@pytest.fixture(scope="module")
def rig(shared_ros) -> Rig:
    rig = Rig(shared_ros, "panda", twin={"rate": RATE})
    rig.wait_until_held()
    return rig


def attack(rig: Rig, kind: str) -> None:
    """Let the arm move and a neighbour flood for a while."""
    ros, motion = rig.ros, rig.trajectory(SWAY, PERIOD)
    ros.ask(rig.trajectories, motion, lambda: rig.deviation > SWAY / 2, "motion")
    rig.watch()
    process = ros.run([sys.executable, neighbour.__file__, kind])
    process.wait_for_output("sent ")
    ros.run_for(SECONDS)
    # In order: who writes into the shared memory of a killed reader waits for a second. That is
    # Fast DDS's ``healthy_check_timeout``, and nothing a node could do about.
    process.send(signal.SIGTERM)
    process.wait()
    rig.wait_for_commands(10)


def memory(rig: Rig) -> float:
    """Return what both nodes keep in memory [MB]."""
    statm = (Path(f"/proc/{node.pid}/statm").read_text() for node in rig.nodes.values())
    return sum(int(text.split()[1]) for text in statm) * 4096 / 1e6


def lines(rig: Rig) -> int:
    """Return how many lines both have logged.

    One is not ours: the generated C of Fast DDS's type support prints it to standard error.
    """
    said = [line for node in rig.nodes.values() for line in node.output.splitlines()]
    return len(said) - said.count("sequence size exceeds remaining buffer")


@pytest.mark.parametrize("kind", neighbour.KINDS)
def test_nothing_unsafe_happens_beside(kind, rig):
    kept, logged = memory(rig), lines(rig)
    attack(rig, kind)
    kept, logged = memory(rig) - kept, lines(rig) - logged
    print(
        f"{kind}: {100 * rig.worst_step:.0f} % of the allowed step, moved "
        f"{1e3 * rig.deviation:.0f} mrad, {kept:.0f} MB"
    )
    for name, node in rig.nodes.items():
        assert node.is_running, f"{name} ended:\n{node.output[-3000:]}"
    assert rig.is_finite
    assert 0.0 < rig.worst_step <= 1.0
    assert 0.0 < rig.deviation < DEVIATION
    assert kept < MEMORY
    assert logged < LINES, "\n".join(node.output[-3000:] for node in rig.nodes.values())
    rig.wait_until_held()
    for node in (CONTROLLER, TWIN):
        rig.ros.wait_for(
            lambda node=node: rig.ros.status(node=node).level < DiagnosticStatus.ERROR,
            f"{node} without an error",
        )

"""Nodes that are forked are as those that are started, and what fails in one concerns no other."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support import (  # skips this module where ROS is missing
    FORKS,
    NodeProcess,
    Ros,
)

# isort: split

pytestmark = pytest.mark.skipif(not FORKS, reason="nodes are not forked here")

WHO = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
NOBODY = "ended before it was one"


def start(ros: Ros, program: str = WHO) -> NodeProcess:
    script = ros.folder / "script.py"
    script.write_text(program)
    return ros.run(["python", str(script)], fork=True)


def assert_is_itself(node: NodeProcess) -> None:
    """What is known as its process id is its own."""
    node.wait_for_output("\n")
    assert node.output.split() == [str(node.pid)]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_node_that_ends_before_it_answers_is_an_error_at_once_and_the_next_one_starts(ros):
    ros.folder, there = ros.folder / "nowhere", ros.folder
    with pytest.raises(ChildProcessError, match=NOBODY):
        ros.run(["python", "script.py"], fork=True)
    ros.folder = there
    assert_is_itself(start(ros))


def test_a_node_can_be_interrupted_from_the_beginning(ros):
    node = start(ros)
    node.send(signal.SIGINT)
    assert node.wait() == -signal.SIGINT
    assert "KeyboardInterrupt" in node.output


def test_a_node_is_a_child_of_the_test_and_other_orphans_are_not(ros):
    assert parent(start(ros).pid) == os.getpid()
    shell = ["sh", "-c", "sleep 60 > /dev/null 2>&1 & echo $!"]
    orphan = int(subprocess.run(shell, capture_output=True, check=True).stdout)
    try:
        assert parent(orphan) != os.getpid()
    finally:
        os.kill(orphan, signal.SIGKILL)

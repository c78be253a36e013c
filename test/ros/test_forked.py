"""Nodes that are forked end as those that are started."""

import signal

import pytest
from support import FORKS  # skips this module where ROS is missing

pytestmark = pytest.mark.skipif(not FORKS, reason="nodes are not forked here")

WHO = "import atexit, os, sys, time; atexit.register(print, 'the end'); print(os.getpid()); "


@pytest.mark.parametrize(
    ("program", "status"),
    [("pass", 0), ("sys.exit(5)", 5), ("sys.exit('why')", 1), ("1 / 0", 1)],
)
def test_a_node_ends_as_its_interpreter_does_with_what_it_has_written(ros, program, status):
    node = ros.run_script(WHO + program)
    assert node.wait() == status
    assert node.output.startswith(f"{node.pid}\n") and "the end\n" in node.output
    assert ("Traceback" in node.output) == ("/" in program)
    assert ("why\n" in node.output) == ("why" in program)


def test_a_node_can_be_interrupted_from_the_beginning_and_killed(ros):
    node = ros.run_script(WHO + "time.sleep(60)")
    node.send(signal.SIGINT)
    assert node.wait() == 1
    assert "KeyboardInterrupt" in node.output
    node = ros.run_script(WHO + "time.sleep(60)")
    node.kill()
    assert node.wait() == -signal.SIGKILL

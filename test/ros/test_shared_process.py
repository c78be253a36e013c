"""What happens to Python in a node's process ends no commands while the arm moves.

Other code in the process shuts ROS down, forks, or never returns; nobody reads the node's output.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import support  # noqa: F401  (skips this module where ROS is missing

# isort: split
from rig import CONTROLLER, FAST, STANDING, Rig, held_panda
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

STUCK = 4  # exit status of a process that did not end by itself
# Forks, and how the child ends; sys.exit ends a thread, and with it the child.
ENDS = {
    "fork in thread, return": 0,
    "fork in callback, return": 0,
    "fork in thread, exit": 0,
    "fork in callback, exit": 7,
    "fork in thread, signal": -signal.SIGTERM,
    "fork in callback, signal": -signal.SIGTERM,
}


@pytest.fixture(scope="module")
def shared(shared_ros) -> Rig:
    """A Panda, with other code in its controller's process; in lockstep, as forks take time."""
    shared_ros.environment["PYTHONPATH"] += f":{Path(__file__).parent}"
    own = {"program": "shared_process", "fork": False}  # forked, it crashes at the end of ROS
    return held_panda(shared_ros, 1.0, 100.0, **own)


@pytest.fixture
def rig(shared: Rig) -> Rig:
    """The arm in fast motion."""
    shared.recover()
    shared.move()
    return shared


def have(rig: Rig, what: str) -> None:
    """Have the other code in the controller's process act."""
    order = rig.ros.folder / "order"
    order.write_text(what)
    order.rename(rig.ros.folder / "now")


def let_executor_be_silent(rig: Rig, seconds: float) -> None:
    """For so long the controller is to bear that; else for longer than it takes to fork."""
    (result,) = rig.ros.set_parameters(CONTROLLER, {"executor_timeout": seconds})
    assert result.successful


def assert_stood_at_last_command(rig: Rig) -> None:
    """The arm stood when the commands ended, and it never raced."""
    assert rig.speed_at_last_command < STANDING
    rig.assert_no_race()


@pytest.mark.alone  # a message lost meanwhile would let the lockstep stand
def test_the_end_of_a_forked_child_ends_nothing(rig):
    ended = re.compile(r"the child \d+ ended with (-?\d+)\n")
    for number, what in enumerate(ENDS, 1):
        have(rig, what)
        rig.ros.wait_for(
            lambda number=number: len(ended.findall(rig.controller.output)) == number, what
        )
        rig.wait_for_commands(100)  # for a second
        assert rig.speed > 0.0
        rig.assert_no_race()
    assert list(map(int, ended.findall(rig.controller.output))) == list(ENDS.values())


def test_a_callback_that_never_returns_keeps_no_signal_from_bringing_the_arm_to_rest(rig):
    let_executor_be_silent(rig, 60.0)
    have(rig, "hang")
    rig.controller.wait_for_output("hangs")
    rig.controller.send(signal.SIGTERM)
    begin = rig.now
    rig.wait_for_rest()
    assert rig.now - begin < 5.0
    rig.controller.kill()  # it would end as in the last of these tests
    assert_stood_at_last_command(rig)


def test_a_trajectory_that_took_long_to_check_is_followed_until_ros_is_shut_down(shared):
    """The motion before it is abandoned meanwhile, since nobody could have asked for a stop.

    By the shutdown the arm comes to rest before the commands end.
    """
    rig = shared
    rig.recover()
    let_executor_be_silent(rig, 2.0)
    have(rig, "think")
    rig.controller.wait_for_output("thinks longer")
    rig.trajectories.publish(rig.trajectory())
    rig.wait_for_motion(FAST)
    rig.watch()
    have(rig, "shutdown")
    assert rig.controller.wait() == 0
    assert_stood_at_last_command(rig)
    assert "Traceback" not in rig.controller.output


class Pipe:
    """A pipe that nobody reads."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()

    def fill(self) -> None:
        """Write until nothing more goes in."""
        # Opened anew, since who else writes is not to be told that the pipe is full.
        filling = os.open(f"/proc/self/fd/{self.writing}", os.O_WRONLY | os.O_NONBLOCK)
        for size in (4096, 1):
            with pytest.raises(BlockingIOError):
                while True:
                    os.write(filling, bytes(size))
        os.close(filling)

    def close(self) -> None:
        os.close(self._reading)
        os.close(self.writing)


@pytest.fixture
def unread(shared: Rig) -> Iterator[Rig]:
    """The arm in fast motion; Python in the controller waits for somebody to read its output."""
    shared.controller.kill()
    with closing(Pipe()) as pipe:
        shared.recover(stdout=pipe.writing)
        shared.move()
        let_executor_be_silent(shared, 2.0)
        pipe.fill()
        # The log says that this is refused.
        shared.trajectories.publish(JointTrajectory(joint_names=["nobody"]))
        yield shared


def test_output_that_nobody_reads_brings_the_arm_to_rest_and_ctrl_c_ends_the_process(unread):
    unread.ros.run_for(2.5)
    unread.wait_for_rest()
    unread.wait_for_commands(100)
    unread.controller.send(signal.SIGINT)
    assert unread.controller.wait() == STUCK
    assert_stood_at_last_command(unread)

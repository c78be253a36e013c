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
from typing import Any

import pytest
from support import NodeProcess, ros_in_free_domain  # skips this module where ROS is missing

# isort: split
from neighbour import CONTROLLER
from scene import FAST, STANDING, Scene
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

PROGRAM = str(Path(__file__).with_name("shared_process.py"))
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
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A Panda, with other code in its controller's process; in lockstep, as forks take time."""
    with (
        ros_in_free_domain(tmp_path_factory.mktemp("scene")) as ros,
        pytest.MonkeyPatch.context() as patch,
    ):
        run = ros.run

        def run_shared(command: list[str], *more: Any, fork: bool = False) -> NodeProcess:
            if "featherstone_ros.feedforward_controller" in command:
                at, fork = command.index("-m"), False
                command[at] = PROGRAM
            return run(command, *more, fork=fork)

        patch.setattr(ros, "run", run_shared)
        yield Scene(ros, pace=1.0, executor_timeout=2.0)


@pytest.fixture
def scene(shared: Scene) -> Scene:
    """The arm in fast motion."""
    shared.recover()
    shared.move()
    return shared


def have(scene: Scene, what: str) -> None:
    """Have the other code in the controller's process act."""
    order = scene.ros.folder / "order"
    order.write_text(what)
    order.rename(scene.ros.folder / "now")


def assert_stood_at_last_command(scene: Scene) -> None:
    """The arm stood when the commands ended, and it never raced."""
    assert scene.speed_at_last_command < STANDING
    scene.assert_no_race()


@pytest.mark.alone  # a message lost meanwhile would let the lockstep stand
def test_the_end_of_a_forked_child_ends_nothing(scene):
    # On a busy machine it may take seconds to fork, in which Python gives no sign of life.
    patience = lambda seconds: scene.ros.set_parameters(CONTROLLER, {"executor_timeout": seconds})  # noqa: E731
    assert patience(10.0)[0].successful
    ended = re.compile(r"the child \d+ ended with (-?\d+)\n")
    for number, what in enumerate(ENDS, 1):
        have(scene, what)
        scene.ros.wait_for(
            lambda number=number: len(ended.findall(scene.controller.output)) == number, what
        )
        scene.ros.wait_for(
            lambda count=scene.commands: scene.commands > count + 200, "commands for a second"
        )
        assert scene.speed > 0.0
        scene.assert_no_race()
    assert list(map(int, ended.findall(scene.controller.output))) == list(ENDS.values())
    assert patience(2.0)[0].successful


def test_shutdown_of_ros_brings_the_arm_to_rest_before_the_commands_end(scene):
    have(scene, "shutdown")
    assert scene.controller.wait() == 0
    assert_stood_at_last_command(scene)
    assert "Traceback" not in scene.controller.output


def test_a_callback_that_never_returns_keeps_neither_the_arm_from_rest_nor_the_process_from_its_end(
    scene,
):
    have(scene, "hang")
    scene.controller.send(signal.SIGTERM)
    assert scene.controller.wait() == STUCK
    assert_stood_at_last_command(scene)


def test_a_trajectory_that_took_long_to_check_is_followed(shared):
    """The motion before it is abandoned meanwhile, since nobody could have asked for a stop."""
    shared.recover()
    have(shared, "think")
    shared.ros.run_for(0.5)
    shared.trajectories.publish(shared.trajectory())
    shared.ros.wait_for(lambda: shared.speed > FAST, "the motion")
    shared.controller.kill()  # and the slow check with it


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
def unread(shared: Scene) -> Iterator[Scene]:
    """The arm in fast motion; Python in the controller waits for somebody to read its output."""
    shared.controller.kill()
    with closing(Pipe()) as pipe:
        shared.recover(stdout=pipe.writing)
        shared.move()
        pipe.fill()
        # The log says that this is refused.
        shared.trajectories.publish(JointTrajectory(joint_names=["nobody"]))
        yield shared


def test_output_that_nobody_reads_brings_the_arm_to_rest_and_ctrl_c_ends_the_process(unread):
    unread.ros.run_for(2.5)  # executor_timeout is 2 s
    unread.wait_for_rest()
    count = unread.commands
    unread.ros.wait_for(lambda: unread.commands > count + 100, "commands that hold the arm")
    unread.controller.send(signal.SIGINT)
    assert unread.controller.wait() == STUCK
    assert_stood_at_last_command(unread)

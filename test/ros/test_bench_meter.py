"""What the benchmark's meter counts of a node that answers late, or not at all."""

import threading
import time
from contextlib import contextmanager

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros.tools.bench.nodes.meter import Meter
from featherstone_ros.tools.bench.nodes.recorder import take
from featherstone_ros.tools.robot_setup import load

COMMAND = serialize_message(Float64MultiArray(data=[0.0] * 7))
RATE, DURATION = 50.0, 1.0  # [Hz], [s]
LATE = 0.15  # [s]
ATTEMPTS = 5  # a machine that stands still for a second loses more


class Answerer(Node):
    """Answers states but for some of them, some late; each by its place since ``begin``."""

    def __init__(self, ros: Ros) -> None:
        super().__init__("answerer", context=ros.context)
        self._states = self.create_subscription(
            JointState, "joint_states", lambda _: None, 10, raw=True
        )
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", 10)
        self._end = threading.Event()
        self.begin()

    def begin(self, skipped: tuple[int, ...] = (), late: tuple[int, ...] = ()) -> None:
        self._skipped, self._late, self._count = skipped, late, 0

    @contextmanager
    def answering(self):
        thread = threading.Thread(target=self._answer)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _answer(self) -> None:
        while not self._end.wait(0.001):
            for _ in take(self._states):
                if self._count in self._late:
                    time.sleep(LATE)
                if self._count not in self._skipped:
                    self._commands.publish(COMMAND)
                self._count += 1


class Alive:
    """Stands for the process of a node that is in this one."""

    def check(self) -> None:
        """Never ends."""


@pytest.mark.parametrize(
    ("skipped", "late"), [((), ()), ((2,), ()), ((2, 3, 5), ()), ((), (4,)), ((1,), (4,))]
)
def test_a_state_that_nobody_answers_is_lost_and_a_late_one_is_not(ros, skipped, late):
    answerer = Answerer(ros)
    node = Node("meter", context=ros.context)
    meter = Meter(node, "", "/answerer", load("panda"))
    with answerer.answering():
        meter.wait_until_answered(Alive())
        for _ in range(ATTEMPTS):
            answerer.begin(skipped, late)
            answers = meter.run(DURATION, RATE)
            if answers.lost == len(skipped):
                break
    assert answers.lost == len(skipped)
    assert answers.late >= len(late)
    assert 0 < len(answers.latency) <= round(DURATION * RATE) - len(skipped) - len(late)
    node.destroy_node()
    answerer.destroy_node()

"""use_sim_time: all of a node's time is ROS time, so that nothing hangs on the machine's speed.

That lockstep repeats itself: test_two_controllers.py.
"""

import signal
import time
from typing import Any

import numpy as np
import pytest
from control_arm import URDF, Q
from support import DEADLINE, Ros, point, stamp

# isort: split
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from test_feedforward_controller import GRAVITY, NODE, ScriptedArm, gravity_at

from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.topics import CLOCK_PERIOD

TWIN = "featherstone_ros.digital_twin"
EVERY = QoSProfile(depth=20_000)  # a listener that is held up misses none


def time_of(state: JointState) -> int:
    return state.header.stamp.sec * 10**9 + state.header.stamp.nanosec


# An arm that says where it is when the test says so: the test owns the time.

GOAL = Q + 0.05
SILENT = "no usable joint state for"


def pull(goal: np.ndarray) -> np.ndarray:
    """Return the torque of a goal on the arm."""
    return gravity_at(goal) + 100.0 * (goal - Q)


class TimedArm(ScriptedArm):
    """The scripted arm with use_sim_time; its clock goes with its states, 10 ms each."""

    clock: Publisher | None = None
    said = 0  # length of the output before a test

    def __init__(self, ros: Ros) -> None:
        super().__init__(ros, use_sim_time=True, path_tolerance=0.1)

    def hear_clock(self) -> None:
        """Have a clock."""
        self.clock = self.ros.publisher(Clock, "/clock")

    def has_said(self, text: str) -> bool:
        """Tell whether it has in this test."""
        return text in self.process.output[self.said :]

    def tell(self) -> None:
        """Publish the time, where there is a clock."""
        if self.clock is not None:
            self.clock.publish(Clock(clock=stamp(self.time)))

    def message(self, *where: Any, **fields: Any) -> JointState:
        message = super().message(*where, **fields)
        self.tell()
        return message

    def begin(self) -> None:
        """Have the controller hold the arm, whatever has been lost before it was found."""
        count = len(self.commands)
        self.ros.wait_for(
            lambda: self.states.publish(self.message()) or len(self.commands) > count + 3,
            "commands",
            period=0.01,
        )
        self.ros.take_all(self.commands)

    def go(self, goal: np.ndarray = GOAL, duration: float = 0.6) -> None:
        """Begin a motion, and move for a third of it."""
        self.follow([point(duration, goal)])
        for _ in range(round(duration / 0.03)):
            command = self.answer()
        assert np.abs(command - pull(goal)).max() > 1.0, "it is under way"


def test_states_tell_the_time_until_a_clock_comes_whose_standing_ends_but_the_process(ros):
    arm = TimedArm(ros)
    ros.status("use_sim_time is true, but no time has come on /clock", NODE)
    arm.begin()
    for has_clock, goal in ((False, GOAL), (True, Q)):
        if has_clock:
            arm.hear_clock()
        arm.go(goal)
        command = arm.answer()
        ros.run_for(0.4)  # four times state_timeout, by the wall
        if has_clock:
            ros.status(f"simulated time stands at {arm.time:.3f}", NODE)
        assert np.abs(arm.answer() - command).max() < 1.0, "it is where it was"
        arm.settle(pull(goal))
    assert SILENT not in arm.process.output
    ros.node.create_publisher(Clock, "/clock", 1)
    ros.status("2 publishers on /clock, expected one", NODE)
    arm.process.send(signal.SIGINT)
    while arm.process.is_running:
        arm.states.publish(arm.message())
        ros.run_for(0.005)
    assert arm.process.wait() == 0


@pytest.fixture(scope="module")
def shared(shared_ros) -> TimedArm:
    """A controller that goes by a clock."""
    arm = TimedArm(shared_ros)
    arm.hear_clock()
    return arm


@pytest.fixture
def arm(shared: TimedArm) -> TimedArm:
    """The same, holding the arm at Q, that has said nothing yet."""
    shared.begin()
    shared.ros.call(Trigger, f"{NODE}/hold")  # ends a fault
    shared.begin()
    shared.follow([point(0.3, Q)])
    shared.settle(GRAVITY)
    shared.said = len(shared.process.output)
    return shared


def test_states_that_stop_while_the_clock_goes_on_are_a_silence_of_its_time(arm):
    """Within state_timeout of simulated time, however slow, commands go on by the model."""
    arm.go()
    count = len(arm.commands)
    for _ in range(9):
        arm.time += 0.01
        arm.tell()
        arm.ros.run_for(0.03)
    assert not arm.has_said(SILENT)
    assert len(arm.commands) > count

    def is_told() -> bool:
        arm.time += 0.01
        arm.tell()
        return arm.has_said(SILENT)

    arm.ros.wait_for(is_told, SILENT, period=0.01)


def test_a_clock_that_is_set_back_ends_no_commands(arm):
    """Nor does it throw the arm: test_loop_clock.py."""
    arm.go()
    arm.time = 12.0
    arm.begin()
    arm.follow([point(0.3, Q)])  # and it moves again
    arm.settle(GRAVITY)
    assert not arm.has_said("abandoned") and not arm.has_said(SILENT)


def test_use_sim_time_changes_while_the_arm_moves(arm):
    patience = {"state_timeout": 5.0}  # half of it is in real time, on a busy machine
    assert arm.ros.set_parameters(NODE, patience)[0].successful
    arm.go(duration=2.0)
    for simulated in (False, True):
        (result,) = arm.ros.set_parameters(NODE, {"use_sim_time": simulated})
        assert result.successful
        for _ in range(30):
            arm.answer()
            arm.ros.run_for(0.01)
    arm.settle(pull(GOAL))
    assert not arm.has_said(SILENT)


def test_the_twin_goes_by_the_clock_of_another_simulation(ros):
    period = 0.01
    states = ros.collect(JointState, "/joint_states", EVERY)
    ros.start(TWIN, {"robot_description": URDF, "use_sim_time": True, "rate": 500.0})
    clock = ros.publisher(Clock, "/clock")
    ros.wait_for_state("/digital_twin", "active")
    ros.wait_for(lambda: clock.get_subscription_count() == 2, "the node and its loop")
    for k in range(100):  # slower than the wall
        clock.publish(Clock(clock=stamp(7.0 + k * period)))
        ros.run_for(1.5 * period)
    end = 7.0 + 99 * period
    ros.wait_for(lambda: states and time_of(states[-1]) >= 1e9 * (end - 0.002), "the last state")
    ros.run_for(0.3)  # the clock stands
    times = np.array([time_of(state) for state in states]) * 1e-9
    assert 500.0 * (99 - 20) * period < len(times) <= 500.0 * 100 * period
    assert np.all(np.diff(times) > 0.0)
    assert 7.0 <= times[0] < times[-1] <= end


def test_python_is_woken_by_few_messages_of_the_clock(ros):
    """Each costs it a millisecond: a simulation at 1 kHz would have all of a processor."""
    node = ModelNode("timed", [], context=ros.context)
    executor = SingleThreadedExecutor(context=ros.context)
    executor.add_node(node)
    node.set_parameters([Parameter("use_sim_time", value=True)])
    publisher, served = ros.publisher(Clock, "/clock"), []
    ros.wait_for(lambda: publisher.get_subscription_count() > 0, "a listener")
    (clock,) = (s for s in node.subscriptions if s.topic_name == "/clock")
    take = clock.callback
    clock.callback = lambda message: served.append(take(message))
    begin = time.monotonic()
    for k in range(1, 101):
        publisher.publish(Clock(clock=stamp(k * 0.01)))
        executor.spin_once(timeout_sec=0.003)
    assert 0 < len(served) <= 1 + (time.monotonic() - begin) / CLOCK_PERIOD
    while node.get_clock().now().nanoseconds < 1e9:  # the newest comes all the same
        executor.spin_once(timeout_sec=CLOCK_PERIOD)
        assert time.monotonic() - begin < DEADLINE
    executor.shutdown()
    node.destroy_node()

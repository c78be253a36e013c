"""use_sim_time: all of a node's time is ROS time, so that nothing hangs on the machine's speed.

That lockstep repeats itself: test_two_controllers.py.
"""

import signal
import time
from typing import Any

import numpy as np
from control_arm import URDF, Q
from support import DEADLINE, Ros, point, stamp

# isort: split
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from test_feedforward_controller import GRAVITY, NODE, ScriptedArm

import featherstone_ros as fr
from featherstone_ros.nodes.callback_groups import CLOCK_PERIOD
from featherstone_ros.nodes.lifecycle import ModelNode

TWIN = "featherstone_ros.digital_twin"
EVERY = QoSProfile(depth=20_000)  # a listener that is held up misses none


def time_of(state: JointState) -> int:
    return state.header.stamp.sec * 10**9 + state.header.stamp.nanosec


# An arm that says where it is when the test says so: the test owns the time.

GOAL = Q + 0.05
PULL = fr.Dynamics(fr.Model.from_urdf(URDF)).gravity(GOAL) + 100.0 * (GOAL - Q)  # of it on the arm
SILENT = "no usable joint state for"


class TimedArm(ScriptedArm):
    """The scripted arm with use_sim_time; its clock goes with its states, 10 ms each."""

    def __init__(self, ros: Ros, clock: bool = True, **parameters: Any) -> None:
        super().__init__(ros, use_sim_time=True, path_tolerance=0.1, **parameters)
        self.clock = ros.publisher(Clock, "/clock") if clock else None

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

    def go(self, duration: float = 0.6) -> None:
        """Begin a motion, and move for a third of it."""
        self.follow([point(duration, GOAL)])
        for _ in range(round(duration / 0.03)):
            command = self.answer()
        assert np.abs(command - PULL).max() > 1.0, "it is under way"


def test_where_the_clock_stands_nothing_times_out_but_the_end_of_the_process(ros):
    arm = TimedArm(ros)
    arm.begin()
    arm.go()
    ros.run_for(0.4)  # four times state_timeout, by the wall
    ros.status(f"simulated time stands at {arm.time:.3f}", NODE)
    assert np.abs(arm.answer() - PULL).max() > 1.0, "it is where it was"
    arm.settle(PULL)
    assert SILENT not in arm.process.output
    ros.node.create_publisher(Clock, "/clock", 1)
    ros.status("2 publishers on /clock, expected one", NODE)
    arm.process.send(signal.SIGINT)
    while arm.process.is_running:
        arm.states.publish(arm.message())
        ros.run_for(0.005)
    assert arm.process.wait() == 0


def test_without_a_clock_the_stamps_of_the_states_tell_the_time(ros):
    arm = TimedArm(ros, clock=False)
    ros.status("use_sim_time is true, but no time has come on /clock", NODE)
    arm.begin()
    arm.go()
    ros.run_for(0.4)
    assert np.abs(arm.answer() - PULL).max() > 1.0
    arm.settle(PULL)


def test_states_that_stop_while_the_clock_goes_on_are_a_silence_of_its_time(ros):
    """Within state_timeout of simulated time, however slow, commands go on by the model."""
    arm = TimedArm(ros, state_timeout=0.1)
    arm.begin()
    arm.go()
    count = len(arm.commands)
    for _ in range(9):
        arm.time += 0.01
        arm.tell()
        ros.run_for(0.03)
    assert SILENT not in arm.process.output
    assert len(arm.commands) > count

    def has_said_it() -> bool:
        arm.time += 0.01
        arm.tell()
        return SILENT in arm.process.output

    ros.wait_for(has_said_it, SILENT, period=0.01)


def test_a_clock_that_is_set_back_ends_no_commands(ros):
    """Nor does it throw the arm: test_loop_clock.py."""
    arm = TimedArm(ros)
    arm.begin()
    arm.go()
    arm.time = 12.0
    arm.begin()
    arm.follow([point(0.3, Q)])  # and it moves again
    arm.settle(GRAVITY)
    assert "abandoned" not in arm.process.output and SILENT not in arm.process.output


def test_use_sim_time_changes_while_the_arm_moves(ros):
    arm = TimedArm(ros, state_timeout=5.0)  # half of it is in real time, on a busy machine
    arm.begin()
    arm.go(2.0)
    for simulated in (False, True):
        (result,) = ros.set_parameters(NODE, {"use_sim_time": simulated})
        assert result.successful
        for _ in range(30):
            arm.answer()
            ros.run_for(0.01)
    arm.settle(PULL)
    assert SILENT not in arm.process.output


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
    ros.wait_for(lambda: time_of(states[-1]) >= 1e9 * (end - 0.002), "the state at the end")
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

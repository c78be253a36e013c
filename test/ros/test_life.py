"""A node's life as a process: exceptions, signals, closed output; the arm rests first."""

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import (  # skips this module where ROS is missing
    DEADLINE,
    MATCHING,
    NodeProcess,
    Ros,
    change_request,
)

# isort: split
from lifecycle_msgs.srv import ChangeState
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_lifecycle import SLIDER

RESTLESS = str(Path(__file__).with_name("restless_node.py"))
GONE = "cleanup, stands: True"


def restless(ros: Ros, stand: float = 0.5, patience: float | str = "", left: str = ""):
    """Start the restless node, active; its arm stands after that time, and it waits for so long."""
    ros.environment |= {"STAND": str(stand), "PATIENCE": str(patience), "LEFT": left}
    arguments = ros.arguments({"robot_description": SLIDER})
    node = ros.run([sys.executable, RESTLESS, *arguments])
    node.wait_for_output("activate: done")
    return node


def test_an_older_control_msgs_costs_what_it_lacks_not_the_node(ros):
    messages = ros.folder / "older" / "control_msgs"
    for folder in (messages / "msg", messages / "action"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (messages / "__init__.py").touch()
    path = str(messages.parent)
    ros.environment["PYTHONPATH"] = path + os.pathsep + ros.environment["PYTHONPATH"]
    node = ros.start(
        "featherstone_ros.feedforward_controller", {"robot_description": SLIDER}, fork=False
    )
    node.wait_for_output("no action or no ~/controller_state: cannot import name")
    ros.wait_for_state("feedforward_controller", "active")


# Exceptions.


@pytest.fixture(scope="module")
def shared(shared_ros) -> Iterator[tuple[Ros, NodeProcess]]:
    """A restless node that stays active, whatever happens; in the end it stops in order."""
    node = restless(shared_ros)
    yield shared_ros, node
    node.send(signal.SIGINT)
    assert node.wait() == 0


def test_exception_in_a_callback_is_told_and_survived(shared):
    ros, node = shared
    before = node.output.count("unexpected exception")
    orders = ros.publisher(String, "/restless/order")
    for _ in range(50):
        orders.publish(String(data="nonsense"))
    node.wait_for_output("built into the callback: nonsense")
    assert "unexpected exception in a callback" in node.output
    assert ros.call(Trigger, "/restless/question").success
    assert node.output.count("unexpected exception") - before < 5  # of fifty: throttled
    ros.status("unexpected exception", "restless")  # in the diagnosis, too


def test_clock_before_time_began_is_survived(ros):
    process = ros.start(
        "featherstone_ros.digital_twin", {"robot_description": SLIDER, "use_sim_time": True}
    )
    process.wait_for_output("activate: done")
    clock = ros.publisher(Clock, "/clock")
    message = Clock()
    message.clock.sec = -1
    text = "unexpected exception in a callback"
    ros.ask(clock, message, lambda: text in process.output, text)  # two of the node listen
    message.clock.sec = 5
    clock.publish(message)
    assert ros.state("/digital_twin") == "active"


# Signals.


@pytest.mark.parametrize("signum", [signal.SIGHUP, signal.SIGQUIT])
def test_signal_ends_a_node_when_its_arm_stands(ros, signum):
    node = restless(ros)
    node.send(signum)
    assert node.wait() == (0 if signum == signal.SIGHUP else 128 + signum)
    node.wait_for_output(GONE)


def test_signal_that_would_only_hinder_is_ignored(shared):
    ros, node = shared
    for signum in (signal.SIGTSTP, signal.SIGPIPE):
        node.send(signum)
        ros.run_for(0.3)
        assert ros.call(Trigger, "/restless/question").success


def test_end_does_not_wait_for_ever_and_an_arm_that_moves_then_is_in_log_and_exit_status(ros):
    node = restless(ros, stand=1e6, patience=1.0, left="elbow at 3.1 rad/s")
    node.send(signal.SIGINT)
    assert node.wait() == 5
    assert "no rest within 1 s" in node.output
    assert "the commands have ended while the arm moves: elbow at 3.1 rad/s" in node.output


# Lifecycle.


def test_shutdown_from_active_waits_for_the_arm_and_services_answer_meanwhile(ros):
    node = restless(ros, stand=1e6, patience=DEADLINE)
    change = ros.node.create_client(ChangeState, "/restless/change_state")
    ros.wait_for(change.service_is_ready, "service")
    ros.run_for(MATCHING)
    made = change.call_async(change_request(7))
    node.wait_for_output("deactivate: done")
    for _ in range(2):
        assert ros.call(Trigger, "/restless/question").success
    assert not made.done()
    assert ros.call(Trigger, "/restless/stand").success
    assert ros.wait_for(lambda: made.done() and made, "the end of it").result().success
    node.wait_for_output(GONE)
    assert ros.state("/restless") == "finalized"


def test_cleanup_right_after_deactivate_waits_for_the_arm(ros):
    node = restless(ros)
    assert ros.change_state("/restless", "deactivate")
    assert ros.change_state("/restless", "cleanup")
    node.wait_for_output(GONE)
    assert ros.change_state("/restless", "configure")


# Output.


def test_closed_output_at_the_start_is_no_signal(ros):
    python = shlex.quote(sys.executable)
    process = ros.run(["sh", "-c", f"exec {python} -m featherstone_ros.digital_twin >&- 2>&-"])
    ros.wait_for_state("/digital_twin", "unconfigured")
    for _ in range(5):
        assert not ros.change_state("/digital_twin", "configure")  # and says why, if it could
    assert process.is_running
    process.send(signal.SIGTERM)
    assert process.wait() == 0

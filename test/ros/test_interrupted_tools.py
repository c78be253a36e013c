"""Ctrl-C that comes within rclpy, where an exception would get lost or become another one."""

import signal
import threading
import time

import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from featherstone_ros.tools.interruption import ended_by_signals
from featherstone_ros.tools.rclpy_calls import LONGEST_HOLD, decode, spin, take_waiting


@pytest.fixture
def interrupting(monkeypatch):
    """Have every message that is made raise the signal."""
    make = String.__init__

    def make_and_interrupt(self, **fields):
        make(self, **fields)
        signal.raise_signal(signal.SIGINT)

    def begin():
        monkeypatch.setattr(String, "__init__", make_and_interrupt)

    return begin


def test_message_is_handed_on_before_the_signal_is_raised(ros, interrupting):
    messages = ros.collect(String, "words")
    ros.publisher(String, "words").publish(String(data="last words"))
    interrupting()
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        spin(ros.executor, 10.0)
    assert [message.data for message in messages] == ["last words"]


def test_decoding_is_not_interrupted(ros, interrupting):
    qos = QoSProfile(depth=10)
    subscription = ros.node.create_subscription(String, "words", lambda _: None, qos, raw=True)
    ros.executor.remove_node(ros.node)  # nothing else takes the message
    publisher = ros.node.create_publisher(String, "words", qos)
    ros.wait_for(publisher.get_subscription_count)
    publisher.publish(String(data="last words"))
    taken = ros.wait_for(lambda: take_waiting(subscription))
    interrupting()
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        decode(taken[0][0], String)


def test_signal_is_answered_at_once_though_nothing_comes(ros):
    sent = []

    def send():
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(0.3, send)
    timer.start()
    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        spin(ros.executor, 60.0)
    assert time.monotonic() - sent[0] < LONGEST_HOLD + 20.0  # the machine may be busy
    timer.join()

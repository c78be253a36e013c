"""Replies of a node's services to clients that are discovered late, or not at all."""

import pytest
from support import Ros  # skips this module where ROS is missing

# isort: split
from rclpy.node import Node
from std_srvs.srv import Trigger

from featherstone_ros.nodes import replies
from featherstone_ros.nodes.replies import Replies

SERVICE = "/question"


@pytest.fixture
def asked(ros: Ros):
    """Return (replies of a service of the probe's, those that were sent)."""
    service = ros.node.create_service(Trigger, SERVICE, lambda request, response: response)
    sent = []
    return Replies(ros.node, service, lambda *reply: sent.append(reply)), sent


def test_reply_waits_for_its_client_to_be_discovered(ros, asked):
    answers, sent = asked
    answers.send("first", 1)
    answers.send("second", 2)
    ros.run_for(0.3)
    assert not sent
    other = Node("asker", context=ros.context)
    other.create_client(Trigger, SERVICE)
    ros.wait_for(lambda: len(sent) == 2, "replies")
    assert sent == [("first", 1), ("second", 2)]
    answers.send("third", 3)
    assert sent[2:] == [("third", 3)]  # at once
    assert not list(ros.node.timers)
    other.destroy_node()


def test_reply_to_a_client_that_never_comes_is_given_up(ros, asked, monkeypatch):
    monkeypatch.setattr(replies, "DISCOVERY", 0.1)
    answers, sent = asked
    for number in range(2 * replies.MOST_WAITING):
        answers.send("nobody asked", number)
    assert list(ros.node.timers)
    ros.wait_for(lambda: not list(ros.node.timers), "end of the waiting")
    assert not sent

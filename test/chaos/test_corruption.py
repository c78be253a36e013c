"""Corrupted messages are what their damage says."""

import numpy as np
import pytest
from support import rclpy  # skips this module where ROS is missing

# isort: split
from corruption import Corruption, shifted
from episodes import COMMAND_DAMAGE, STATE_DAMAGE
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

serialize, deserialize = (
    rclpy.serialization.serialize_message,
    rclpy.serialization.deserialize_message,
)
STATE = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[0.0, 0.0], effort=[0.0, 0.0])
STATE.header.stamp.sec = 5


@pytest.fixture
def corruption() -> Corruption:
    return Corruption(np.random.default_rng(1))


@pytest.mark.parametrize("damage", STATE_DAMAGE)
def test_damaged_state_is_a_message_that_says_something_else(corruption, damage):
    damaged = deserialize(corruption.state(serialize(STATE), damage), JointState)
    assert damaged != STATE
    values = np.array([*damaged.position, *damaged.velocity])
    assert np.isfinite(values).all() == (damage not in ("nan", "inf"))


@pytest.mark.parametrize("damage", COMMAND_DAMAGE)
def test_damaged_command_is_a_message_that_says_something_else(corruption, damage):
    command = Float64MultiArray(data=[1.0, 2.0])
    damaged = deserialize(corruption.command(serialize(command), damage), Float64MultiArray)
    assert damaged != command


@pytest.mark.parametrize("damage", ["noise", "truncated", "bits flipped"])
def test_garbage_keeps_the_encoding_and_little_else(corruption, damage):
    payload = serialize(STATE)
    garbage = corruption.state(payload, damage)
    assert garbage != payload
    assert garbage[:4] == payload[:4]


def test_shifted_stamp():
    assert deserialize(shifted(serialize(STATE), -1.5), JointState).header.stamp.sec == 3
    assert deserialize(shifted(serialize(STATE), -9.0), JointState).header.stamp.sec == 0

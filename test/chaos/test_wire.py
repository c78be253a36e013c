"""What broken messages say, and how those of the nodes are read."""

import numpy as np
import pytest
import rclpy.serialization  # skips this module where ROS is missing

# isort: split
from episodes import COMMAND_DAMAGE, STATE_DAMAGE
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from wire import WireCorruption, rows_of, shifted

serialize, deserialize = (
    rclpy.serialization.serialize_message,
    rclpy.serialization.deserialize_message,
)
STATE = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[3.0, 4.0], effort=[5.0, 6.0])
STATE.header.stamp.sec = 5
RAW = ["noise", "truncated", "bits flipped"]


@pytest.mark.parametrize("damage", [*STATE_DAMAGE, *RAW])
def test_a_damaged_state_says_something_else(damage):
    payload = serialize(STATE)
    damaged = WireCorruption(np.random.default_rng(1)).state(payload, damage)
    assert damaged != payload and damaged[:4] == payload[:4]
    if damage not in RAW:
        message = deserialize(damaged, JointState)
        assert message != STATE
        values = np.array([*message.position, *message.velocity])
        assert np.isfinite(values).all() == (damage not in ("nan", "inf"))


@pytest.mark.parametrize("damage", COMMAND_DAMAGE)
def test_a_damaged_command_says_something_else(damage):
    command = Float64MultiArray(data=[1.0, 2.0])
    damaged = WireCorruption(np.random.default_rng(1)).command(serialize(command), damage)
    assert deserialize(damaged, Float64MultiArray) != command


def test_numbers_and_stamps_are_read_and_moved():
    np.testing.assert_array_equal(rows_of(serialize(STATE), 2), [[1, 2], [3, 4], [5, 6]])
    for offset, second in ((-1.5, 3), (-9.0, 0)):
        assert deserialize(shifted(serialize(STATE), offset), JointState).header.stamp.sec == second

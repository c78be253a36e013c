"""What `featherstone-ros record` writes, read by those that read recordings; no ROS."""

from pathlib import Path
from types import SimpleNamespace

import bag_writer  # skips this module where rosbags is missing
import numpy as np
import pytest

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.identification.bags import read_joint_states, read_trajectories
from featherstone_ros.tools.record import Bag, RecordedTopic, concluded
from featherstone_ros.tools.result import conclude
from featherstone_ros.tools.style import new_console

JOINTS = ("shoulder", "elbow")
STATES = RecordedTopic("/left/joint_states", bag_writer.JOINT_STATE, is_reliable=True)


def content(message) -> bytes:
    return bytes(bag_writer.store().serialize_cdr(message, message.__msgtype__))


def states(count: int):
    for k in range(count):
        state = bag_writer.joint_state(10**9 + k, JOINTS, (k, -k), (1.0, 2.0), (3.0, 4.0))
        yield 2 * 10**9 + k, STATES, content(state)


def test_what_is_recorded_is_read(tmp_path):
    plan = RecordedTopic(
        "/left/feedforward_controller/joint_trajectory", bag_writer.JOINT_TRAJECTORY
    )
    points = [{"time": 0, "positions": [0.0, 0.0]}, {"time": 10**9, "positions": [1.0, 2.0]}]
    bag = Bag(tmp_path / "swing")
    bag.write([(10**9, plan, content(bag_writer.joint_trajectory(JOINTS, points)))])
    bag.write(states(9000))  # more than a chunk of the file
    bag.close()
    (read,) = read_joint_states(tmp_path / "swing")
    assert read.topic == STATES.name and read.joint_names == JOINTS
    assert np.array_equal(read.stamp, 10**9 + np.arange(9000))
    assert np.array_equal(read.received, 2 * 10**9 + np.arange(9000))
    assert np.array_equal(read.position[:, 1], -np.arange(9000.0))
    (trajectory,) = read_trajectories(tmp_path / "swing" / "swing.mcap")
    assert [p.positions.tolist() for p in trajectory.points] == [[0.0, 0.0], [1.0, 2.0]]


def test_a_bag_says_how_its_topics_are_to_be_played(tmp_path):
    latched = RecordedTopic(
        "/robot_description", bag_writer.STRING, is_reliable=True, is_latched=True
    )
    bag = Bag(tmp_path / "swing")
    bag.write([(1, latched, content(bag_writer.message(bag_writer.STRING, "<robot/>")))])
    bag.write(states(1))
    bag.close()
    from rosbags.rosbag2 import Reader

    with Reader(tmp_path / "swing") as reader:
        offered = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}
        definitions = {c.msgtype: c.msgdef.data for c in reader.connections}
    assert offered["/robot_description"].durability.name == "TRANSIENT_LOCAL"
    assert offered[STATES.name].durability.name == "VOLATILE"
    assert "float64[] effort" in definitions[bag_writer.JOINT_STATE]


def test_where_nothing_came_there_is_no_bag(tmp_path):
    bag = Bag(tmp_path / "swing")
    bag.write([])
    bag.close()
    assert not (tmp_path / "swing").exists()


def test_a_bag_that_is_there_is_kept(tmp_path):
    with pytest.raises(FeatherstoneError, match="is there already: --output"):
        Bag(tmp_path)


def test_a_disk_that_is_full_is_named(tmp_path):
    bag = Bag(tmp_path / "swing")
    assert not bag.is_full()
    assert Bag(Path("/proc/swing")).is_full()
    bag.write(states(1))
    bag._writer.storage.bio = open("/dev/full", "wb")
    with pytest.raises(FeatherstoneError, match=r"swing cannot be written: No space left.*recover"):
        bag.close()


def test_a_recording_that_lost_messages_says_so_at_its_end(capsys):
    lossy = RecordedTopic("/left/joint_states", bag_writer.JOINT_STATE, is_reliable=False)
    lossy.count, lossy.lost = 3700, 13000
    listener = SimpleNamespace(heard=[lossy], published=[lossy.name], left_out={})
    bag = SimpleNamespace(folder="swing")
    assert conclude(concluded(listener, bag, [], ""), new_console()) == 0
    assert "13000 of 16700 of /left/joint_states" in " ".join(capsys.readouterr().out.split())

"""Conversion of messages and checks of single parameters, which need ROS but no process."""

import numpy as np
import pytest
from support import Ros  # noqa: F401  (skips this module where ROS is missing)

# isort: split
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros.nodes.messages import (
    JointMap,
    MessageError,
    decode,
    joint_state,
    require_whole,
    whole,
)
from featherstone_ros.nodes.parameters import Setting
from featherstone_ros.nodes.throttled_log import AT_ONCE, LOG_INTERVAL, ThrottledLog

NAMES = ["a", "b", "c"]


def message(**arrays) -> JointState:
    return JointState(**{"name": ["b", "x", "c", "a"], "position": [2.0, 9.0, 3.0, 1.0], **arrays})


def test_state_is_in_joint_order_whatever_the_messages():
    joints = JointMap(NAMES)
    for _ in range(2):
        q, qd, effort = joints.state(message(effort=[20.0, 90.0, 30.0, 10.0]))
        np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])
        assert qd is None
        np.testing.assert_array_equal(effort, [10.0, 20.0, 30.0])
    q, _, _ = joints.state(JointState(name=["c", "b", "a"], position=[3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message(name=["b", "x", "c", "y"]), "joints missing: a"),
        (message(name=["b", "a", "c", "a"]), "joints named twice: a"),
        (message(position=[1.0]), "position has 1 values, expected 4"),
        (message(velocity=[1.0, 2.0]), "velocity has 2 values, expected 4"),
        (JointState(), "joints missing: a, b, c"),
    ],
)
def test_state_raises_if_a_joint_or_a_value_is_missing(bad, reason):
    with pytest.raises(MessageError, match=reason):
        JointMap(NAMES).state(bad)


def test_a_bad_message_does_not_spoil_the_next_one():
    joints = JointMap(NAMES)
    with pytest.raises(MessageError):
        joints.state(JointState(name=["a"], position=[1.0]))
    np.testing.assert_array_equal(joints.state(message())[0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("number", [0.1, -87.3, 1e-9, 1e300])
def test_a_number_that_was_cut_off_is_refused(number, cut):
    """What arrives of a message that is 1 to 3 bytes short: the transport fills up with zeros."""
    sent = np.array([3.0, number]).tobytes()
    values = np.frombuffer(sent[:-cut] + bytes(cut)).copy()
    with pytest.raises(MessageError, match=r"data ends in \S+: a number that was cut off"):
        require_whole(values, "data")
    require_whole(whole(values), "data")
    np.testing.assert_array_equal(values, [3.0, 0.0])


@pytest.mark.parametrize("values", [[], [1e-310, 0.0], [1.0, -1e-310], [-0.0], [1e-300]])
def test_numbers_that_are_whole_are_taken(values):
    require_whole(np.array(values), "data")


def test_names_changed_in_place_are_noticed():
    joints = JointMap(["a", "b"])
    names = ["a", "b"]
    joints.complete(names)
    names.reverse()
    np.testing.assert_array_equal(joints.complete(names), [1, 0])


def test_partial_finds_some_joints_and_passes_over_the_robots_others():
    source, target = JointMap(NAMES, ["gripper"]).partial(["gripper", "c", "a"])
    np.testing.assert_array_equal(source, [1, 2])
    np.testing.assert_array_equal(target, [2, 0])


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a", "z"], "unknown joints: z; valid names: a, b, c"),
        (["a", "a"], "joints named twice: a"),
        ([], "no joint named"),
        (["gripper"], "no joint named"),
    ],
)
def test_partial_raises_if_a_name_is_no_joint(names, reason):
    with pytest.raises(MessageError, match=reason):
        JointMap(NAMES, ["gripper"]).partial(names)


def test_joint_state_sends_what_its_arrays_hold():
    state, position, velocity, effort = joint_state(NAMES)
    position[:] = [1.0, 2.0, 3.0]
    effort[1] = 5.0
    assert list(state.position) == [1.0, 2.0, 3.0]
    assert list(state.velocity) == list(velocity) == [0.0, 0.0, 0.0]
    assert list(state.effort) == [0.0, 5.0, 0.0]


@pytest.mark.parametrize(
    ("setting", "value", "accepted"),
    [
        (Setting("rate", 1.0, ""), 3, 3.0),
        (Setting("count", 1, "", minimum=0), 0, 0),
        (Setting("joints", [], ""), [""], []),
        (Setting("joints", [], ""), None, []),
        (Setting("com", [0.0, 0.0], ""), [1, 2.5], [1.0, 2.5]),
        (Setting("on", True, ""), False, False),
    ],
)
def test_setting_accepts(setting, value, accepted):
    result = setting.accept(value)
    assert result == accepted
    assert type(result) is type(accepted)


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        (Setting("rate", 1.0, ""), "x", "rate is 'x', expected type double"),
        (Setting("rate", 1.0, ""), True, "rate is True, expected type double"),
        (Setting("rate", 1.0, ""), float("nan"), "rate is nan, expected a finite number"),
        (Setting("rate", 1.0, "", minimum=0.0), -1.0, "rate is -1.0, expected 0.0 to inf"),
        (Setting("rate", 1.0, "", 0.0, 5.0), 6.0, "rate is 6.0, expected 0.0 to 5.0"),
        (Setting("count", 1, ""), 1.5, "count is 1.5, expected type integer"),
        (Setting("on", True, ""), 1, "on is 1, expected type bool"),
        (Setting("joints", [], ""), ["a", 1], "joints is 1, expected type array of string"),
        (Setting("com", [0.0], "", minimum=0.0), [1.0, -1.0], "com is -1.0"),
        (Setting("kind", "a", "", choices=("a", "b")), "c", "kind is 'c', expected one of a, b"),
        (Setting("odd", 1, "", check=lambda v: None if v % 2 else "even"), 2, "odd is 2: even"),
    ],
)
def test_setting_raises_if_a_value_is_refused(setting, value, reason):
    with pytest.raises(ValueError, match=reason):
        setting.accept(value)


def trajectory(points: int) -> JointTrajectory:
    point = JointTrajectoryPoint(
        positions=[0.0] * 7, velocities=[0.0] * 7, accelerations=[0.0] * 7, effort=[0.0] * 7
    )
    return JointTrajectory(
        joint_names=[f"panda_joint{i}" for i in range(7)], points=[point] * points
    )


def test_trajectory_of_ten_thousand_points_is_read_and_one_of_8_MB_refused_by_its_size():
    few, many = (serialize_message(trajectory(n)) for n in (10_000, 35_000))
    assert len(decode(JointTrajectory, few).points) == 10_000
    assert len(many) > 8_000_000
    with pytest.raises(MessageError, match=rf"JointTrajectory of {len(many)} bytes, expected at"):
        decode(JointTrajectory, many)


def test_large_joint_state_is_refused_by_its_size():
    with pytest.raises(MessageError, match="a JointState of 1000000 bytes, expected at most"):
        decode(JointState, bytes(1_000_000))


# The log.


class Recorder:
    """What a logger is given."""

    def __init__(self):
        self.lines = []
        self.info = self.warning = self.error = self.lines.append


@pytest.fixture
def log():
    recorder = Recorder()
    recorder.now = 0.0
    recorder.log = ThrottledLog(recorder, lambda: recorder.now)
    return recorder


def test_each_text_is_throttled_for_itself_whatever_its_figures(log):
    for count in range(100):
        log.now = 0.01 * count
        log.log.warning(f"joint_1 is {1.5 * count} rad off")
        log.log.warning(f"joint_2 is {-1e-3 * count} rad off")
    assert log.lines == ["joint_1 is 0.0 rad off", "joint_2 is -0.0 rad off"]


def test_what_was_kept_back_is_counted_with_the_next_line(log):
    for time in (0.0, 1.0, 2.0, LOG_INTERVAL + 0.5):
        log.now = time
        log.log.error("a fault")
    assert log.lines == ["a fault", "a fault (2 more such lines in 6 s)"]


def test_ever_new_texts_cannot_flood_the_log_nor_the_memory(log):
    for count in range(10_000):
        log.now = 1e-3 * count
        log.log.warning(f"no joint x{count}y")
    assert AT_ONCE <= len(log.lines) <= 3 * AT_ONCE
    assert len(log.log._said) <= AT_ONCE

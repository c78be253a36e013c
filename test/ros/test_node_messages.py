"""Conversion of messages and checks of single parameters, which need ROS but no process."""

from types import SimpleNamespace

import pytest
from support import Ros  # noqa: F401  (skips this module where ROS is missing)

# isort: split
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from featherstone_ros.errors import MessageError
from featherstone_ros.nodes.throttled_log import LOG_INTERVAL, MAX_LINES, ThrottledLog
from featherstone_ros.nodes.topics import decode
from featherstone_ros.parameter import Parameter


@pytest.mark.parametrize(
    ("setting", "value", "accepted"),
    [
        (Parameter("rate", 1.0, ""), 3, 3.0),
        (Parameter("count", 1, "", minimum=0), 0, 0),
        (Parameter("joints", [], ""), [""], []),
        (Parameter("joints", [], ""), None, []),
        (Parameter("com", [0.0, 0.0], ""), [1, 2.5], [1.0, 2.5]),
        (Parameter("on", True, ""), False, False),
    ],
)
def test_setting_accepts(setting, value, accepted):
    result = setting.accept(value)
    assert result == accepted
    assert type(result) is type(accepted)


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        (Parameter("rate", 1.0, ""), "x", "rate is 'x', expected type double"),
        (Parameter("rate", 1.0, ""), True, "rate is True, expected type double"),
        (Parameter("rate", 1.0, ""), float("nan"), "rate is nan, expected a finite number"),
        (Parameter("rate", 1.0, "", minimum=0.0), -1.0, "rate is -1.0, expected 0.0 to inf"),
        (Parameter("rate", 1.0, "", 0.0, 5.0), 6.0, "rate is 6.0, expected 0.0 to 5.0"),
        (Parameter("count", 1, ""), 1.5, "count is 1.5, expected type integer"),
        (Parameter("on", True, ""), 1, "on is 1, expected type bool"),
        (Parameter("joints", [], ""), ["a", 1], "joints is 1, expected type array of string"),
        (Parameter("com", [0.0], "", minimum=0.0), [1.0, -1.0], "com is -1.0"),
        (Parameter("kind", "a", "", choices=("a", "b")), "c", "kind is 'c', expected one of a, b"),
        (Parameter("odd", 1, "", check=lambda v: None if v % 2 else "even"), 2, "odd is 2: even"),
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


@pytest.fixture
def log():
    """What a logger is given, by which, and the time."""
    lines = []
    recorder = SimpleNamespace(lines=lines, now=0.0)
    logger = SimpleNamespace(info=lines.append, warning=lines.append, error=lines.append)
    recorder.log = ThrottledLog(logger, lambda: recorder.now)
    return recorder


def test_each_text_is_throttled_for_itself_whatever_its_figures(log):
    for count in range(100):
        log.now = 0.01 * count
        log.log.warning(f"joint_1 is {1.5 * count} rad off")
        log.log.warning(f"joint_2 is {-1e-3 * count} rad off")
    assert log.lines == ["joint_1 is 0.0 rad off", "joint_2 is -0.0 rad off"]


@pytest.mark.parametrize("often", [1, 3])
def test_a_line_is_said_as_often_as_it_may_be_and_again_after_the_interval(log, often):
    for count in range(12):
        log.now = 4 / 12 * count
        log.log.error(f"refused {count}", often=often)
    assert log.lines == [f"refused {count}" for count in range(often)]
    log.now = LOG_INTERVAL + 0.1
    log.log.error("refused 12", often=often)
    assert log.lines[often:] == ["refused 12"]


def test_ever_new_texts_cannot_flood_the_log_nor_the_memory(log):
    for count in range(10_000):
        log.now = 1e-3 * count
        log.log.warning(f"no joint x{count}y")
    assert MAX_LINES <= len(log.lines) <= 3 * MAX_LINES
    assert len(log.log._said) <= MAX_LINES

"""Which joints of a simulated arm a topic beside ``~/commands`` commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rclpy.exceptions import InvalidTopicNameException
from rclpy.validate_topic_name import validate_topic_name

from featherstone_ros.nodes.execution import one_line
from featherstone_ros.parameter import Parameter, Value


def topic_parameter(joint: str) -> Parameter:
    """Return the parameter that names a joint's topic."""
    return Parameter(
        f"command_topic.{joint}",
        "",
        "topic beside ~/commands with efforts for this joint and the others that have the same "
        "(std_msgs/Float64MultiArray, in the order of joints); empty: none; fixed while "
        "configured",
        check=topic_fault,
    )


def topic_fault(topic: str) -> str | None:
    """Return why a text is no topic's name; None if it is one, or empty."""
    try:
        if topic:
            validate_topic_name(topic)
    except InvalidTopicNameException as error:
        return one_line(error)
    return None


def command_topics(
    values: Mapping[str, Value],
    joints: Sequence[str],
    taken: Iterable[str],
    resolve: Callable[[str], str],
) -> dict[str, list[str]]:
    """Return the topics, resolved, that command some of the twin's joints, and which."""
    own = {resolve(topic): topic for topic in taken}
    topics: dict[str, list[str]] = {}
    for joint in joints:
        if given := str(values[f"command_topic.{joint}"]):
            if (topic := resolve(given)) in own:
                raise ValueError(
                    f"command_topic.{joint} is {given!r}, expected another topic than the twin's "
                    + own[topic]
                )
            topics.setdefault(topic, []).append(joint)
    return topics

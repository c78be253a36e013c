"""Parameters of the digital twin's mode ``simulate``, and the settings made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rclpy.exceptions import InvalidTopicNameException
from rclpy.validate_topic_name import validate_topic_name

from featherstone_ros.control.drive_parameters import drives_of
from featherstone_ros.model import Model
from featherstone_ros.nodes.execution import one_line
from featherstone_ros.parameter import (
    Parameter,
    Value,
    joint_parameters_of,
    parameters_of,
    per_joint,
    values_of,
)
from featherstone_ros.simulation import Noise, TwinSettings
from featherstone_ros.simulation.drive_gains import drive_gains
from featherstone_ros.simulation.twin import home_positions

PARAMETERS = (
    *parameters_of(TwinSettings),
    Parameter("publish_clock", False, "publish simulation time on /clock", read_only=True),
    Parameter(
        "wrench_sensor",
        "",
        "link whose external wrench a simulated force-torque sensor publishes on ~/wrench, with "
        "each joint state; empty: none",
        read_only=True,
    ),
    Parameter("steps_per_call", 1, "integration steps per call of ~/step", 1, 10_000_000),
    *parameters_of(Noise),
)

SIMULATED = ("viscous", "coulomb", "load", "thinning", "offset", "armature")  # of the drives


def joint_parameters(model: Model, values: Mapping[str, Value]) -> Iterable[Parameter]:
    """Return every joint's initial position, the gains of its drive, and who commands it.

    Args:
        model: The arm.
        values: Has each joint's ``armature``.
    """
    armature = per_joint(values, "armature.{}", model.joint_names)
    p, d = drive_gains(model, armature)
    for joint, q, p_joint, d_joint in zip(
        model.joint_names, home_positions(model), p, d, strict=True
    ):
        yield from joint_parameters_of(
            TwinSettings, joint, initial_positions=q, drive_p=p_joint, drive_d=d_joint
        )
        yield Parameter(
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
    """Return the topics that command some joints, resolved, and which.

    Args:
        values: The parameters.
        joints: The twin's.
        taken: Its other topics.
        resolve: Resolves a topic's name.

    Raises:
        ValueError: A topic is one of ``taken`` (named with its joint).
    """
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


def twin_settings(values: Mapping[str, Value], model: Model) -> TwinSettings:
    """Return a twin's settings from the node's parameters."""
    drives = drives_of(values, model)
    return TwinSettings(
        **values_of(TwinSettings, values, model.joint_names),
        **{name: drives[name] for name in SIMULATED},
        initial_base_position=values["initial_base.position"],
        initial_base_orientation=values["initial_base.orientation"],
        noise=Noise(**values_of(Noise, values)),
        simulation_stamps=values["publish_clock"],
    )

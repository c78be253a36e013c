"""Planar joints: each becomes three joints with one axis."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from featherstone_ros.model.robot_description import Joint, Link, RobotDescription, assemble
from featherstone_ros.model.rotations import unit_vector

UPRIGHT = 0.9  # cosine: an axis closer to the plane's normal is a poor direction in the plane


def split_planar_joints(robot: RobotDescription) -> RobotDescription:
    """Replace each planar joint ``j`` by three joints with massless links between them.

    They are ``j/x`` and ``j/y`` (prismatic) and ``j/theta`` (continuous); the links are ``j/x`` and
    ``j/y``.
    """
    planar = [joint for joint in robot.joints if joint.type == "planar"]
    if not planar:
        return robot
    frames = (Link(f"{joint.name}/{part}", None) for joint in planar for part in "xy")
    parts = (part for joint in robot.joints for part in _split(joint))
    return assemble(robot.name, (*robot.links, *frames), tuple(parts), robot.oddities)


def _split(joint: Joint) -> Iterable[Joint]:
    """Yield the three single joints that make up a planar joint; any other joint as it is."""
    if joint.type != "planar":
        yield joint
        return
    normal = joint.axis
    x = np.array([1.0, 0.0, 0.0] if abs(normal[0]) < UPRIGHT else [0.0, 1.0, 0.0])
    x = unit_vector(x - (x @ normal) * normal)
    x_link, y_link = f"{joint.name}/x", f"{joint.name}/y"
    yield replace(joint, name=x_link, type="prismatic", child=x_link, axis=x)
    joint = replace(joint, rotation=np.eye(3), translation=np.zeros(3))
    y = np.cross(normal, x)
    yield replace(joint, name=y_link, type="prismatic", parent=x_link, child=y_link, axis=y)
    yield replace(joint, name=f"{joint.name}/theta", type="continuous", parent=y_link)

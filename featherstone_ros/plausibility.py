"""What no rigid body can have, yet vendors ship: found and named, never changed."""

from collections.abc import Sequence

import numpy as np

from featherstone_ros.coordinates import orphans
from featherstone_ros.urdf import Link, Robot, name_list

TRIANGLE_TOLERANCE = 1e-6  # of the trace: figures are written with few digits


def oddities(robot: Robot, idle: Sequence[str] = ()) -> str:
    """Return what is odd about the robot, links and joints by name; empty if nothing is.

    Args:
        robot: The checked URDF.
        idle: Joints that were locked because they move no inertia.
    """
    found = {
        "these links have mass 0": [
            link.name for link in robot.links if link.inertial and link.inertial.mass == 0
        ],
        **_odd_inertias([link for link in robot.links if link.inertial]),
        "these joints mimic a joint that does not exist and move on their own": orphans(robot),
        "these joints move no mass and no inertia and are locked at 0": idle,
    }
    return "; ".join(f"{what}: {name_list(names)}" for what, names in found.items() if names)


def _odd_inertias(links: list[Link]) -> dict[str, list[str]]:
    inertias = np.array([link.inertial.inertia for link in links]).reshape(-1, 3, 3)
    moments = np.linalg.eigvalsh(inertias)  # ascending
    least, middle, greatest = moments.T
    massive = np.array([link.inertial.mass > 0 for link in links], dtype=bool)
    indefinite = (least < 0) | (massive & (least == 0))
    broken = ~indefinite & (least + middle - greatest < -TRIANGLE_TOLERANCE * moments.sum(axis=1))
    names = np.array([link.name for link in links], dtype=object)
    return {
        "these have an inertia that is not positive definite": list(names[indefinite]),
        "these have an inertia that breaks the triangle inequality": list(names[broken]),
    }

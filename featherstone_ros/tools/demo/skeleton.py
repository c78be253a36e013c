"""The arm as lines between its joints, for the picture."""

import numpy as np
from numpy.typing import ArrayLike

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats


def segments(model: Model, positions: ArrayLike) -> Floats:
    """Return straight lines that represent the arm.

    Args:
        model: The arm.
        positions: (K, n) joint positions [rad or m].

    Returns:
        (K, S, 2, 3) ends of S lines in the base frame [m]: from each body's origin to that of the
        body it is jointed to (or the base), and from each body's origin to its other links.
    """
    dynamics, tree = Dynamics(model), model.tree
    poses = {
        name: np.array([dynamics.link_pose(q, name)[:3, 3] for q in np.asarray(positions, float)])
        for name in tree.link_names
    }
    owner = dict(zip(tree.link_names, tree.link_body, strict=True))
    lines = [(tree.body_names[p + 1], tree.body_names[i + 1]) for i, p in enumerate(tree.parent)]
    lines += [(tree.body_names[body + 1], link) for link, body in owner.items() if body >= 0]
    return np.array([(poses[a], poses[b]) for a, b in lines]).transpose(2, 0, 1, 3)


def seen_from(points: Floats, azimuth: float = -60.0, elevation: float = 18.0) -> Floats:
    """Return the parallel projection of (..., 3) points to (..., 2): right and up for an observer.

    Args:
        points: [m], z up.
        azimuth: Of the observer about z from the x axis [deg].
        elevation: Of the observer above the horizon [deg].
    """
    a, e = np.radians(azimuth), np.radians(elevation)
    right = (-np.sin(a), np.cos(a), 0.0)
    up = (-np.cos(a) * np.sin(e), -np.sin(a) * np.sin(e), np.cos(e))
    return points @ np.array([right, up]).T

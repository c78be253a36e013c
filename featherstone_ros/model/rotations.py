"""Rotations and directions."""

import math
from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Floats:
    """Return Rz(yaw) Ry(pitch) Rx(roll), (3, 3): turns about fixed axes, roll first [rad]."""
    sr, cr = math.sin(roll), math.cos(roll)
    sp, cp = math.sin(pitch), math.cos(pitch)
    sy, cy = math.sin(yaw), math.cos(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_from_quaternion(x: float, y: float, z: float, w: float) -> Floats:
    """Return the rotation (3, 3) of a quaternion that is not zero, of any length."""
    x, y, z, w = (np.array([x, y, z, w]) / max(map(abs, (x, y, z, w)))).tolist()
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    return np.array(
        [
            [ww + xx - yy - zz, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), ww - xx + yy - zz, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), ww - xx - yy + zz],
        ]
    ) / (xx + yy + zz + ww)


def unit_vector(direction: Sequence[float] | Floats) -> Floats:
    """Return the vector of length 1 along a vector that is not zero."""
    scaled = np.array(direction) / max(map(abs, direction))  # avoids under- and overflow
    return scaled / math.hypot(*scaled)


def rotation_about(axis: Sequence[float] | Floats, angle: float) -> Floats:
    """Return the rotation (3, 3) about a unit vector by an angle [rad] (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross

"""A scene whose arm is led by its hand, over DDS."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from neighbour import CONTROLLER
from scene import Scene

TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
IMPEDANCE = {
    "mode": "cartesian_impedance",
    "stiffness": [400.0] * 3 + [30.0] * 3,
    "free_damping": [0.0] * 6,
    "max_force": 60.0,
    "walls": [0.0, 0.0, 1.0, -10.0, 100.0, 1.0],  # far away
    "inertia_shaping": False,
}


class Led:
    """The scene, led by its hand.

    Attributes:
        home: The hand's pose at ``begin``.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.ros = scene, scene.ros
        self.poses = self.ros.collect(PoseStamped, f"{CONTROLLER}/current_pose", 1)
        self.targets = self.ros.publisher(PoseStamped, f"{CONTROLLER}/target_pose", 5000)

    def begin(self) -> None:
        """Bring the arm home and give its hand back its spring."""
        self.scene.recover()
        self.set(**IMPEDANCE)
        self.poses.clear()
        self.ros.wait_for(lambda: self.poses, "pose of the hand")
        self.home = deepcopy(self.poses[-1].pose)
        self.scene.watch()

    def set(self, **parameters) -> None:
        """Set parameters one by one."""
        for result in self.ros.set_parameters(CONTROLLER, parameters):
            assert result.successful, result.reason

    def lead(self, by, frame: str = "", orientation: Quaternion | None = None) -> None:
        """Ask for the pose where it began, moved."""
        message = PoseStamped(pose=deepcopy(self.home))
        message.header.frame_id = frame
        at = coordinates(self.home.position) + by
        message.pose.position = Point(**dict(zip("xyz", map(float, at), strict=True)))
        message.pose.orientation = orientation or message.pose.orientation
        self.targets.publish(message)

    def lead_until(self, by, condition: Callable[[], object], what: str) -> None:
        """Ask until it is so: one is refused in an open-loop stop, after the machine paused."""
        self.ros.do_until(condition, what, lambda: self.lead(by), 1.0)

    def moved(self) -> np.ndarray:
        """Return how far the hand is from where it began, (3,) [m]."""
        return coordinates(self.poses[-1].pose.position) - coordinates(self.home.position)


def coordinates(message) -> np.ndarray:
    """Return x, y, z (3,)."""
    return np.array([message.x, message.y, message.z])

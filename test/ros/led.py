"""A scene whose arm is led by its hand over DDS, by the twin's ``~/external_wrench``."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from geometry_msgs.msg import PoseStamped, Vector3, Wrench, WrenchStamped
from neighbour import CONTROLLER, TWIN
from scene import Scene
from scipy.spatial.transform import Rotation

TIPS = {"panda": "panda_hand", "ur5e": "tool0"}
STIFFNESS = np.array([1000.0] * 3 + [100.0] * 3)  # [N/m, N m/rad]
DAMPING = np.array([60.0] * 3 + [8.0] * 3)  # [N s/m, N m s/rad] of free axes
IMPEDANCE = {
    "mode": "cartesian_impedance",
    "stiffness": [400.0] * 3 + [30.0] * 3,
    "free_damping": [0.0] * 6,
    "max_force": 60.0,
    "walls": [0.0, 0.0, 1.0, -10.0, 100.0, 1.0],  # far away
    "inertia_shaping": False,
}


class Led:
    """The scene, led by its hand, which is pushed.

    Attributes:
        home: The hand's pose at ``begin``.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.ros = scene, scene.ros
        self.poses = self.ros.collect(PoseStamped, f"{CONTROLLER}/current_pose", 1)
        self.pushes = self.ros.publisher(WrenchStamped, f"{TWIN}/external_wrench")

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

    def moved(self) -> np.ndarray:
        """Return how far the hand is from where it began, (3,) [m]."""
        return coordinates(self.poses[-1].pose.position) - coordinates(self.home.position)

    def free(self, *axes: int) -> None:
        """Let the hand go along these axes, 0 to 5."""
        stiffness, damping = STIFFNESS.copy(), np.zeros(6)
        stiffness[list(axes)], damping[list(axes)] = 0.0, DAMPING[list(axes)]
        self.set(stiffness=stiffness.tolist(), free_damping=damping.tolist())
        self.ros.run_for(0.3)

    def turned(self) -> np.ndarray:
        """Return the rotation vector of the hand from where it began, (3,) [rad]."""
        return (orientation(self.poses[-1].pose) * orientation(self.home).inv()).as_rotvec()

    def way(self) -> np.ndarray:
        """Return by how much the hand has moved and turned, (6,) [m, rad]."""
        return np.concatenate([self.moved(), self.turned()])

    def push(self, wrench) -> None:
        """Push the hand once; base axes (6,). The twin keeps that for its ``wrench_timeout``."""
        axes = orientation(self.poses[-1].pose).inv()
        force, moment = axes.apply(wrench[:3]), axes.apply(wrench[3:])
        message = WrenchStamped(wrench=Wrench(force=vector(force), torque=vector(moment)))
        message.header.frame_id = TIPS[self.scene.arm]
        self.pushes.publish(message)

    def push_until(self, wrench, condition, what: str) -> None:
        """Push the hand until it is somewhere, and let it go."""

        def pushed():
            self.push(wrench)
            return condition()

        self.ros.wait_for(pushed, what)
        self.push(np.zeros(6))


def coordinates(message) -> np.ndarray:
    """Return x, y, z (3,)."""
    return np.array([message.x, message.y, message.z])


def orientation(pose) -> Rotation:
    """Return that of a pose."""
    return Rotation.from_quat([*coordinates(pose.orientation), pose.orientation.w])


def vector(x) -> Vector3:
    """Return it as a message."""
    return Vector3(**dict(zip("xyz", map(float, x), strict=True)))

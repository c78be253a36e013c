"""Two arms on one base: URDFs made of that of one arm, Baxter, and a bar between the hands."""

from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from example_robots import ROBOTS

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.robot_setup import load

ARMS = ("left", "right")
PLACES = {"left": (-0.65, 0.0), "right": (0.65, np.pi)}  # [m] along x, [rad] about z: face to face
NAMES = {
    "link": ("name",),
    "joint": ("name",),
    "parent": ("link",),
    "child": ("link",),
    "mimic": ("joint",),
}


def joined(urdf: str, root: str, places: dict[str, tuple[float, float]]) -> str:
    """Return the URDF of some arms on a link ``base``.

    Args:
        urdf: Of one arm.
        root: Its base link.
        places: Prefix of an arm's names to its place along x [m] and its turn about z [rad].
    """
    robot = ElementTree.Element("robot", name="arms")
    ElementTree.SubElement(robot, "link", name="base")
    for prefix, (x, turn) in places.items():
        arm = ElementTree.fromstring(urdf)
        for element in arm.iter():
            for attribute in NAMES.get(element.tag, ()):
                if attribute in element.keys():
                    element.set(attribute, f"{prefix}_{element.get(attribute)}")
        robot.extend(element for element in arm if element.tag in ("link", "joint"))
        mount = ElementTree.SubElement(robot, "joint", name=f"{prefix}_mount", type="fixed")
        ElementTree.SubElement(mount, "parent", link="base")
        ElementTree.SubElement(mount, "child", link=f"{prefix}_{root}")
        ElementTree.SubElement(mount, "origin", xyz=f"{x} 0 0", rpy=f"0 0 {turn}")
    return ElementTree.tostring(robot, encoding="unicode")


class ArmPair(NamedTuple):
    """Two arms on one URDF.

    Attributes:
        urdf: Its text.
        joints: Of each arm.
        tips: The link of each arm's end effector.
        start: Where some joints begin [rad]; the others at 0, or as near as their limits allow.
    """

    urdf: str
    joints: dict[str, list[str]]
    tips: dict[str, str]
    start: dict[str, float]

    @classmethod
    def of(cls, robot: str, tip: str) -> "ArmPair":
        """Return two of the package's own robots, face to face."""
        one = load(robot).model
        return cls(
            joined(robot_file(robot).read_text(), one.base_link, PLACES),
            {arm: [f"{arm}_{joint}" for joint in one.joint_names] for arm in ARMS},
            {arm: f"{arm}_{tip}" for arm in ARMS},
            {},
        )


PANDA = load("panda")
PAIRS = {"pandas": ArmPair.of("panda", "panda_hand_tcp"), "ur5es": ArmPair.of("ur5e", "tool0")}
PANDAS, JOINTS, TIPS, _ = PAIRS["pandas"]
TUCKED = {"s1": -1.2, "e1": 2.2, "w1": 0.5}  # stretched out, Baxter's limits cannot hold its arms
PAIRS |= {
    path.stem: ArmPair(
        path.read_text(),
        {arm: [f"{arm}_{joint}" for joint in "s0 s1 e0 e1 w0 w1 w2".split()] for arm in ARMS},
        {arm: f"{arm}_gripper" for arm in ARMS},
        {f"{arm}_{joint}": q for arm in ARMS for joint, q in TUCKED.items()},
    )
    for path in ROBOTS
    if path.stem == "baxter"
}


class Bar:
    """A bar without mass between the hands, on ball joints: a spring and a damper along it."""

    def __init__(self, stiffness: float, damping: float) -> None:
        """Fit it between the Pandas where they start.

        Args:
            stiffness: [N/m].
            damping: [N s/m].
        """
        self.model = fr.Model.from_urdf(PANDAS, joints=[j for arm in ARMS for j in JOINTS[arm]])
        self.stiffness, self.damping = stiffness, damping
        self._dynamics = fr.Dynamics(self.model)
        self.start = np.tile(PANDA.start, 2)
        ends = self.poses(self.start)[:, :3, 3]
        self.length = float(np.linalg.norm(ends[1] - ends[0]))

    def poses(self, q: Floats) -> Floats:
        """Return the poses (2, 4, 4) of both hands."""
        return np.array([self._dynamics.link_pose(q, TIPS[arm]) for arm in ARMS])

    def press(self, q: Floats, qd: Floats) -> tuple[float, dict[str, Floats]]:
        """Return the force in the bar [N], positive where it is pressed, and what it does.

        That is a wrench (6,) by link, in the link's axes, as ``f_ext``.
        """
        poses = self.poses(q)
        way = poses[1, :3, 3] - poses[0, :3, 3]
        distance = float(np.linalg.norm(way))
        along = way / distance
        speeds = [self._dynamics.link_velocity(q, qd, TIPS[arm])[:3] for arm in ARMS]
        closing = along @ (speeds[0] - speeds[1])
        force = float(self.stiffness * (self.length - distance) + self.damping * closing)
        wrenches = {
            TIPS[arm]: np.r_[sign * force * pose[:3, :3].T @ along, np.zeros(3)]
            for arm, sign, pose in zip(ARMS, (-1.0, 1.0), poses, strict=True)
        }
        return force, wrenches

"""The link that carries a load unless another is named."""

from featherstone_ros import Model
from featherstone_ros.observer.settings import default_link

LINK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
JOINT = (
    '<joint name="j{0}" type="continuous"><parent link="l{1}"/><child link="l{0}"/>'
    '<axis xyz="0 1 0"/></joint>'
)


def test_the_tip_is_found_in_a_file_that_lists_joints_from_the_tip_on():
    """On the SO-101 it was the shoulder, whose load no joint feels."""
    links = "".join(f'<link name="l{i}">{LINK}</link>' for i in range(4))
    for order in (1, 2, 3), (3, 2, 1):
        joints = "".join(JOINT.format(i, i - 1) for i in order)
        assert default_link(Model.from_urdf(f'<robot name="r">{links}{joints}</robot>')) == "l3"

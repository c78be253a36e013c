"""A chain of any number of links, all alike: to see how the time grows with the number."""


def chain(links: int, effort: float = 99) -> str:
    """Return the URDF of a serial chain of revolute joints in general position.

    Args:
        links: How many.
        effort: Effort limit of the drives [N m].
    """
    inside = "".join(_joint_and_link(k, effort) for k in range(1, links + 1))
    return f'<robot name="chain of {links}"><link name="link0"/>{inside}</robot>'


def _joint_and_link(k: int, effort: float) -> str:
    return (
        f'<joint name="joint{k}" type="revolute"><parent link="link{k - 1}"/>'
        f'<child link="link{k}"/><origin xyz="0.1 0.05 0.2" rpy="0.4 -0.3 0.9"/>'
        '<axis xyz="0 0 1"/>'
        f'<limit lower="-3" upper="3" effort="{effort:g}" velocity="3"/></joint>'
        f'<link name="link{k}"><inertial><origin xyz="0.02 -0.03 0.1"/><mass value="1.5"/>'
        '<inertia ixx="0.02" iyy="0.018" izz="0.008" ixy="0.001" ixz="-0.002" iyz="0.0005"/>'
        "</inertial></link>"
    )

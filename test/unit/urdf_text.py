"""Writes small URDFs for the tests."""


def link(name, mass=1.0, com="0 0 0.1", inertia=(0.02, 0.03, 0.04), rpy="0 0 0"):
    """Return a <link>; a mere frame if ``mass`` is None."""
    if mass is None:
        return f'<link name="{name}"/>'
    ixx, iyy, izz, ixy, ixz, iyz = (*inertia, 0, 0, 0)[:6]
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="{ixy}" ixz="{ixz}" iyz="{iyz}"/>'
        "</inertial></link>"
    )


def joint(
    name, parent, child, kind="revolute", inside="", xyz="0 0 0.3", rpy="0 0 0", axis="0 0 1"
):
    """Return a <joint>; ``axis`` None leaves the element out."""
    direction = "" if axis is None else f'<axis xyz="{axis}"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{direction}{inside}</joint>'
    )


def robot(*parts):
    """Return a whole URDF."""
    return f'<robot name="test">{"".join(parts)}</robot>'


def chain(*joint_names, **of_every_joint):
    """Return a URDF of links base, link1, link2, ... with these joints between them."""
    names = ["base", *(f"link{k + 1}" for k in range(len(joint_names)))]
    steps = zip(joint_names, names, names[1:], strict=False)
    return robot(*map(link, names), *(joint(*step, **of_every_joint) for step in steps))


def geared_arm():
    """Return an arm that cannot be held without inertia of the drives.

    As a Kinova Gen3 with its gripper: its axes are in line, with next to nothing between them,
    which is all that moves where its joints turn against each other.
    """
    limit = '<limit lower="-2" upper="2" velocity="2" effort="60"/>'
    return robot(
        link("base"),
        link("light", mass=0.01, com="0 0 0", inertia=(1e-5, 1e-5, 1e-5)),
        link("heavy", mass=4.0, com="0 0 0.3", inertia=(0.1, 0.1, 0.02)),
        joint("inner", "base", "light", axis="0 1 0", inside=limit),
        joint("outer", "light", "heavy", axis="0 1 0", inside=limit, xyz="0 0 0"),
    )


def folding(distance, most=3):
    """Return an upper arm and a forearm that can fold back on it, with boxes around its links."""
    box = '<collision><geometry><box size="0.05 0.05 0.3"/></geometry></collision>'
    limit = f'<limit lower="-{most}" upper="{most}" velocity="2" effort="99"/>'
    arm = chain("j1", "j2", "j3", xyz=f"0 0 {distance}", axis="0 1 0", inside=limit)
    return arm.replace("</link>", f"{box}</link>")


def limited(most):
    """Return a <limit>: lower, upper, effort and velocity."""
    lower, upper, effort, velocity = most.split()
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'


LIFT = robot(
    link("column", None),
    link("carriage", 8, "0 0 0", (0.1, 0.1, 0.1)),
    link("beam", 4, "0.2 0 0", (0.02, 0.05, 0.05)),
    joint("lift", "column", "carriage", "prismatic", limited("0 0.5 500 0.5"), "0 0 0"),
    joint("arm", "carriage", "beam", inside=limited("-2 2 50 3"), xyz="0 0 0", axis="0 1 0"),
)


def scara(effort=100):
    """Return an arm whose third joint lifts 1.5 kg with that effort [N]; no other feels weight."""
    return robot(
        link("base", None),
        link("upper", 6, "0.2 0 0", (0.02, 0.1, 0.1)),
        link("fore", 3, "0.15 0 0", (0.01, 0.04, 0.04)),
        link("quill", 1, "0 0 0", (0.004, 0.004, 0.001)),
        link("flange", 0.5, "0.02 0 -0.03", (0.002, 0.002, 0.001)),
        joint("shoulder", "base", "upper", inside=limited("-2.5 2.5 80 4"), xyz="0 0 0"),
        joint("elbow", "upper", "fore", inside=limited("-2.5 2.5 40 5"), xyz="0.4 0 0"),
        joint("z", "fore", "quill", "prismatic", limited(f"-0.3 0 {effort} 0.8"), "0.3 0 0"),
        joint("turn", "quill", "flange", inside=limited("-3 3 5 8"), xyz="0 0 0"),
    )

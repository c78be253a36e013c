"""Arms of many kinds press on a plane: with prismatic joints, with a gripper, with few joints."""

from itertools import cycle, pairwise, product

import numpy as np
import pytest
import urdf_text
from contact_bench import HOME, Arm, ContactBench, settings
from example_robots import example_robot
from studies import few_or_all
from test_force_axes import FORCE, MODES, press

from featherstone_ros import Model
from featherstone_ros.control.phases import Phase

TURNS = '<limit lower="-2.9" upper="2.9" velocity="3" effort="200"/>'
SLIDES = '<limit lower="-1" upper="1" velocity="1" effort="500"/>'
PANDA_JOINTS = [f"panda_joint{k}" for k in range(1, 8)]


def loaded(stem, tip, home, joints=None):
    return Arm(Model.from_file(example_robot(stem), joints=joints), tip, np.array(home))


def scara():
    """Return four joints, which move along x, y, z and about z."""
    slider = {"kind": "prismatic", "inside": SLIDES}
    text = urdf_text.robot(
        *map(urdf_text.link, ("base", "upper", "fore", "rod", "hand")),
        urdf_text.joint("shoulder", "base", "upper", inside=TURNS),
        urdf_text.joint("elbow", "upper", "fore", inside=TURNS, xyz="0.3 0 0"),
        urdf_text.joint("lift", "fore", "rod", xyz="0.3 0 0", **slider),
        urdf_text.joint("wrist", "rod", "hand", inside=TURNS, xyz="0 0 -0.1"),
    )
    return Arm(Model.from_urdf(text), "hand", np.array([0.4, 0.8, -0.1, 0.2]))


def gantry():
    """Return three prismatic joints."""
    links = ("base", "bridge", "cart", "hand")
    axes = ("1 0 0", "0 1 0", "0 0 1")
    joints = (
        urdf_text.joint(f"along_{axis}", *pair, kind="prismatic", inside=SLIDES, axis=direction)
        for axis, pair, direction in zip("xyz", pairwise(links), axes, strict=True)
    )
    return Arm(
        Model.from_urdf(urdf_text.robot(*map(urdf_text.link, links), *joints)), "hand", np.zeros(3)
    )


ARMS = {
    "kinova": lambda: loaded("kinova", "j2s6s200_end_effector", [0.3, 2.9, 1.3, 4.2, 1.4, 0.5]),
    "xarm7": lambda: loaded("xarm7", "link_eef", [0.0, -0.3, 0.0, 0.8, 0.0, 1.1, 0.0]),
    "tiago": lambda: loaded(
        "tiago",
        "arm_tool_link",
        [0.15, 0.4, -0.5, -1.5, 1.6, 0.3, 0.4, 0.2],
        ["torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))],
    ),
    "panda with its gripper": lambda: loaded(
        "panda", "panda_hand", [*HOME, 0.02], [*PANDA_JOINTS, "panda_finger_joint1"]
    ),
    "so100": lambda: loaded(
        "so100",
        "gripper",
        [0.1, 1.5, -1.5, 0.2, 0.1],
        ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"],
    ),
    "scara": scara,
    "gantry": gantry,
}


@pytest.mark.parametrize(
    ("name", "mode"), few_or_all(list(zip(ARMS, cycle(MODES), strict=False)), product(ARMS, MODES))
)
def test_force_is_kept_on_a_plane(name, mode):
    arm = ARMS[name]()
    bench = ContactBench(
        settings(mode=mode, force_axes="z", dead_zone=0.0, arm=arm, model=arm.model), arm=arm
    )
    bench.stiffness, bench.height = 1e4, bench.pose[2, 3] - 0.001
    force = press(bench, 2.0)
    assert force[np.argmax(force > 0.0) :].min() > 0.0  # contact is not lost
    assert force.max() < 1.1 * FORCE
    np.testing.assert_allclose(force[-50:], FORCE, atol=0.5)
    assert bench.phase in (Phase.HOLDING, Phase.REFERENCE)


@pytest.mark.parametrize("make", [scara, gantry])
def test_few_joints_yield_along_what_they_can_do_and_nowhere_else(make):
    bench = ContactBench(arm=make(), dead_zone=0.0, contact_stiffness=(100.0, 1.0))
    start = bench.pose
    bench.run(0.5, [0.0, 0.0, 0.0, 3.0, 3.0, 0.0])
    np.testing.assert_allclose(bench.pose, start, atol=1e-6)
    bench.run(2.0, [0.0, 0.0, 8.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose((bench.led - start)[:3, 3], [0.0, 0.0, 8.0 / 400.0], atol=1e-3)

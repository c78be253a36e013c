"""Force control along an axis: 20 N on a plane of unknown height, standing and sliding."""

from itertools import cycle, pairwise, product

import numpy as np
import pytest
import urdf_text
from contact_bench import FORCE, HOME, MODEL, STEP, Arm, ContactBench, press, settings, wanted
from control_arm import with_changes
from example_robots import example_robot
from refusals import refusals
from studies import few_or_all, study

from featherstone_ros import Model
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode

COULOMB = np.array([0.273, 0.436, 0.320, 0.640, 0.420, 0.152, 0.282])  # [N m] of a Panda
MODES = (Mode.CARTESIAN_IMPEDANCE, Mode.ADMITTANCE)
NORMALS = {"x": [-1.0, 0.0, 0.0], "y": [0.0, -1.0, 0.0], "z": [0.0, 0.0, 1.0]}  # of planes
RUBS = 0.2  # coefficient of friction of the plane


def pressing(mode, gap=0.01, stiffness=1e4, sensor=True, friction=0.0, axis="z", **changes):
    """Return a bench that is ``gap`` [m] away from the plane that it is to press along an axis."""
    delay = 0.01 if sensor else 0.06
    chosen = settings(delay, mode=mode, force_axes=axis, dead_zone=0.0, **changes)
    chosen = with_changes(chosen, coulomb=friction)
    bench = ContactBench(chosen, sensor=sensor, friction=friction)
    bench.normal = np.array(NORMALS[axis])
    bench.stiffness, bench.height = stiffness, bench.normal @ bench.pose[:3, 3] - gap
    bench.rubs = RUBS
    bench.run(0.3)
    bench.forces.clear()
    return bench


@pytest.mark.parametrize(
    ("mode", "stiffness"),
    few_or_all([(MODES[0], 1e4), (MODES[1], 1e3)], product(MODES, [1e3, 1e4])),
)
def test_force_is_kept_standing_and_sliding(mode, stiffness):
    bench = pressing(mode, stiffness=stiffness)
    force = press(bench, 5.0)
    assert force.max() < 1.1 * FORCE
    np.testing.assert_allclose(force[-200:], FORCE, atol=0.1)
    begin = bench.pose[0, 3]
    np.testing.assert_allclose(press(bench, 4.0, along=0.01), FORCE, atol=1.0)
    # Friction of the plane stretches the spring by a quarter of that way.
    assert bench.pose[0, 3] - begin > 0.9 * (0.04 - RUBS * FORCE / 400.0)


@pytest.mark.parametrize(
    ("mode", "axis", "known"),
    few_or_all(
        [(MODES[1], "y", 0.7)],
        product(MODES, NORMALS, [None, 1.0, 0.7]),
    ),
)
def test_force_is_kept_with_friction_from_the_begin_of_sliding(mode, axis, known):
    """The estimate knows that share of the joints' friction; None: there is a sensor."""
    bench = pressing(mode, sensor=known is None, friction=COULOMB, axis=axis)
    if known is not None:
        bench.shadow.use(bench.shadow.prepare(bench.known_friction(known * COULOMB)))
    press(bench, 4.5 if known is None else 2.5)
    standing, sliding = press(bench, 0.5), press(bench, 1.5, along=0.01)
    bound = 1.0 if known is None else 3.0
    assert np.abs(standing - FORCE).max() < bound
    # As the hand begins to slide, plane and joints stick and let go one after the other.
    assert np.abs(sliding[:250] - FORCE).max() < max(bound, 1.3)
    assert np.abs(sliding[250:] - FORCE).max() < bound


@pytest.mark.parametrize("mode", [MODES[0], study(MODES[1])])
def test_without_contact_the_speed_is_bounded(mode):
    bench = pressing(mode, gap=1.0, contact_speed=0.02)
    press(bench, 4.0)  # the virtual arm of mode admittance lags by D / K, a second
    begin = bench.pose[2, 3]
    press(bench, 1.0)
    assert bench.pose[2, 3] - begin == pytest.approx(-0.02, rel=0.1)


@pytest.mark.parametrize("mode", [MODES[0], study(MODES[1])])
def test_lost_contact_leads_back_to_the_spring(mode):
    bench = pressing(mode)
    press(bench, 3.0)
    bench.height = 0.0  # an edge
    press(bench, 4.0)
    place = bench.pose[2, 3]
    assert place > bench.heights[0] - 0.1  # what the spring had been stretched by
    press(bench, 1.0)
    assert abs(bench.pose[2, 3] - place) < 1e-3
    bench.run(0.5)  # the force is asked for no more, and then anew
    press(bench, 1.0)
    assert bench.pose[2, 3] < place - 0.01


@pytest.mark.parametrize("mode", MODES)
def test_lost_sensor_leads_back_to_the_spring(mode):
    bench = pressing(mode, target_timeout=2.0)
    press(bench, 3.0)
    bench.controller.set_target(bench.now, wrench=wanted(bench, 2.0 * FORCE))  # and never felt
    bench.run(1.0, sensor=False)
    assert bench.phase in (Phase.HOLDING, Phase.REFERENCE)
    assert max(bench.forces) < 1.1 * FORCE


def test_in_mode_admittance_a_sensor_of_the_wrong_sign_is_a_fault():
    """Drives that do not follow are held by something that it should have felt."""
    bench = pressing(Mode.ADMITTANCE, path_tolerance=0.02)
    press(bench, 3.0)
    bench.controller.set_target(bench.now, wrench=wanted(bench))
    for _ in range(1000):
        force = bench.pose[2, :3] * -bench.forces[-1]
        bench.run(STEP, felt=[*force, 0.0, 0.0, 0.0])
    assert bench.phase is Phase.FAULT
    assert "away from where it should be" in bench.controller.hold_reason
    assert bench.forces[-1] < FORCE


@pytest.mark.parametrize("mode", [MODES[0], study(MODES[1])])
def test_pose_leads_along_the_other_axes_alone(mode):
    """While a force leads along z, a target's z counts for nothing."""
    bench = pressing(mode)
    bench.rubs = 0.0
    press(bench, 3.0)
    target = bench.pose
    target[:3, 3] += [0.0, 0.03, 0.2]
    for _ in range(30):
        bench.controller.set_target(bench.now, pose=target, wrench=wanted(bench))
        bench.run(0.1)
    assert bench.pose[1, 3] == pytest.approx(target[1, 3], abs=3e-3)
    assert bench.forces[-1] == pytest.approx(FORCE, abs=0.2)


def test_force_that_cannot_be_reached_does_not_wind_up():
    bench = pressing(Mode.CARTESIAN_IMPEDANCE, max_force=15.0)
    force = press(bench, 4.0)
    assert force[-1] == pytest.approx(15.0, abs=0.5)
    bench.controller.set_target(bench.now, wrench=wanted(bench, 0.25 * FORCE))
    bench.run(0.15)
    for _ in range(15):
        bench.controller.set_target(bench.now, wrench=wanted(bench, 0.25 * FORCE))
        bench.run(0.1)
    assert bench.forces[-1] == pytest.approx(0.25 * FORCE, abs=0.5)


def test_a_wrong_wrench_does_not_accuse_an_arm_that_stands():
    """A wrench may explain why a joint stays where it is, never alone that it should have moved."""
    for axis in range(3):
        bench = ContactBench(mode=Mode.CARTESIAN_IMPEDANCE)
        bench.run(1.0, felt=15.0 * np.eye(6)[axis])
        assert bench.phase is Phase.HOLDING, bench.controller.hold_reason
        assert not bench.controller.refused


test_refusals_name_the_setting = refusals(
    ("force_axes: expected some of x, y, z, got 'w'", {"force_axes": "w"}),
    ("force_axes: expected some of x, y, z, got 'zz'", {"force_axes": "zz"}),
    ("the stiffness along z is 0", {"force_axes": "z", "stiffness": (1, 1, 0, 1, 1, 1)}),
    ("contact_speed", {"contact_speed": 0.0}),
    error=ValueError, of=lambda **changes: prepared(CartesianSettings(**changes), MODEL),
)  # fmt: skip


# Arms of many kinds: with prismatic joints, with a gripper, with few joints.


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

UNLIKE_ARMS = [name for name in ARMS if name not in ("kinova", "xarm7")]


@pytest.mark.parametrize(
    ("name", "mode"),
    few_or_all(list(zip(UNLIKE_ARMS, cycle(MODES), strict=False)), product(ARMS, MODES)),
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

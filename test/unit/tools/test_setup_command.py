"""`featherstone-ros setup` on arms that are new to it: its files are usable and correct."""

import re
import time
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
import urdf_text
import yaml
from example_robots import ROBOTS, example_robot
from studies import few_or_all

from featherstone_ros import Dynamics, Model
from featherstone_ros.control.armature import min_armature
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import (
    DAMPING_RATIO,
    ChosenGains,
    SampledLoop,
    Timing,
    choose,
)
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.robots import robot_file
from featherstone_ros.model.ros2_control import manager_parameters, with_twin
from featherstone_ros.tools import cli, progress_bar, trajectory_files
from featherstone_ros.tools.proposal import EASY, gravity_load, propose, start_posture, tool_link
from featherstone_ros.tools.setup.files import _key, _number, parameter_file, paths
from featherstone_ros.tools.setup.report import _near, summary
from featherstone_ros.tools.trial_drive import HEAVIER, drive, first_motion

ARMS = ("kinova", "so100", "tiago_no_hand")
PATHS = [
    *map(robot_file, ("panda", "ur5e")),
    *(path for path in ROBOTS if path.stem in ARMS),
]
LIMITED = '<limit lower="-1" upper="1" velocity="2" effort="{}"/>'
FOLLOWS = 0.01  # [rad or m] of error where the controller knows the arm


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Leave the picture out, which takes as long as all else, but where a test asks for it."""
    if "pictured" not in request.fixturenames:
        monkeypatch.setattr("featherstone_ros.tools.setup.report.draw", lambda *drawn: None)


@pytest.fixture
def pictured():
    """Draw the picture."""
    pytest.importorskip("matplotlib")


@pytest.fixture
def set_up(tmp_path, tool):
    """Run setup on a robot, or on its text; return what it says, and its parameter file."""

    def run(arm, *options):
        if str(arm).startswith("<"):
            arm, text = tmp_path / "arm.urdf", arm
            arm.write_text(text)
        output = tmp_path / "arm.yaml"
        return tool("setup", arm, "--output", output, *options), output

    return run


@pytest.mark.parametrize(
    "path", few_or_all([path for path in PATHS if path.stem == "so100"], PATHS)
)
def test_every_arm_gets_a_file_with_which_it_follows(path, tmp_path, tool):
    output = tmp_path / "new" / "arm.yaml"
    shown = tool("setup", path, "--output", output).out
    proposal = propose(path)
    model = proposal.model
    parameters = read_parameters(output)
    controller, twin = parameters["feedforward_controller"], parameters["digital_twin"]
    assert controller["joints"] == twin["joints"] == list(model.joint_names)
    p, d = (np.array([controller[f"gains.{j}.{k}"] for j in model.joint_names]) for k in "pd")
    assert SampledLoop(model).is_stable(p, d)
    start = np.array([twin[f"initial_positions.{joint}"] for joint in model.joint_names])
    assert np.all(start >= model.lower) and np.all(start <= model.upper)
    assert np.all(np.abs(Dynamics(model).gravity(start)) < model.effort_limit)
    assert controller.get("tip", model.link_names[0]) in model.link_names
    assert (
        drive(proposal.arm, proposal.start, first_motion(model, proposal.start)).peak.max()
        < FOLLOWS
    )
    for step in ("featherstone-ros run", "featherstone-ros replay", "ros2 launch", "ros2 control"):
        assert step in shown
    assert ("control_msgs is missing" in shown) == (find_spec("control_msgs") is None)
    (motion,) = trajectory_files.read(str(tmp_path / "new/arm_motion.yaml"))
    goal, back = motion.points
    assert back.time > goal.time and back.positions == pytest.approx(proposal.start)
    assert motion.names == model.joint_names
    assert np.all(np.array(goal.positions) <= model.upper)
    assert np.abs(goal.positions - proposal.start).max() == pytest.approx(0.2)
    moveit = yaml.safe_load((tmp_path / "new/arm_moveit_controllers.yaml").read_text())
    plugin = "moveit_simple_controller_manager/MoveItSimpleControllerManager"
    assert moveit["moveit_controller_manager"] == plugin
    assert moveit["moveit_simple_controller_manager"] == {
        "controller_names": ["feedforward_controller"],
        "feedforward_controller": {
            "type": "FollowJointTrajectory",
            "action_ns": "follow_joint_trajectory",
            "default": True,
            "joints": list(model.joint_names),
        },
    }
    ros2_control = yaml.safe_load((tmp_path / "new/arm_ros2_control.yaml").read_text())
    forward = ros2_control["/**/effort_controller"]["ros__parameters"]
    assert forward["joints"] == list(model.joint_names)


def test_progress_is_shown_from_the_beginning_on(tmp_path, capsys, monkeypatch):
    """Also of the choice of gains, which takes longest; a pipe gets what it gets otherwise."""
    at_once = partial(progress_bar.delayed_progress, delay=0.0)
    monkeypatch.setattr(progress_bar, "delayed_progress", at_once)
    model = tmp_path / "arm.urdf"
    model.write_text(robot_file("ur5e").read_text())
    seen = []

    def choose(*arguments):
        seen.append(written_to_stderr(capsys))
        return min_armature(*arguments)

    monkeypatch.setattr("featherstone_ros.tools.proposal.min_armature", choose)
    assert cli.main(["setup", str(model), "--output", str(tmp_path / "arm.yaml")]) == 0
    assert seen == ["setting up arm.urdf: 0%\n"]
    assert "setting up" not in capsys.readouterr().out


def written_to_stderr(capsys, patience=60.0):
    """Return it as soon as there is something."""
    text, end = "", time.monotonic() + patience
    while not text and time.monotonic() < end:
        text = capsys.readouterr().err
    return text


@pytest.fixture(scope="module")
def panda():
    return propose(robot_file("panda"))


def test_the_motion_stays_within_half_the_room_and_the_speed(panda):
    slow = replace(panda.model, velocity_limit=np.full(panda.model.n, 0.1))
    for model in (panda.model, slow):
        goal = first_motion(model, panda.start)
        way = np.array(goal.positions) - panda.start
        assert np.all(way <= 0.5 * (model.upper - panda.start))
        assert np.all(1.5 * way / goal.time <= 0.5 * model.velocity_limit * (1 + 1e-9))
        assert np.all(way > 0.015)  # half of the fingers' range


def test_what_the_model_does_not_know_shows_in_the_second_drive(panda):
    goal = first_motion(panda.model, panda.start)
    exact, heavier = (
        drive(panda.arm, panda.start, goal),
        drive(panda.arm, panda.start, goal, HEAVIER),
    )
    assert not exact.trouble and not heavier.trouble
    assert heavier.peak.max() > 3 * exact.peak.max()


def test_a_drive_that_fails_says_why(panda):
    wrong = replace(panda, gains=ChosenGains(100.0 * panda.gains.p, 100.0 * panda.gains.d, {}))
    failed = drive(wrong.arm, wrong.start, first_motion(panda.model, panda.start))
    assert failed.trouble
    assert f"it failed: {failed.trouble}" in parameter_file(wrong, [failed])


@pytest.mark.parametrize(
    ("friction", "upper", "is_named"), [(20, 0.04, True), (20, 0.4, False), (0, 0.04, False)]
)
def test_a_joint_that_friction_holds_up_is_named_by_its_range(friction, upper, is_named, set_up):
    limits = f'<limit lower="0" upper="{upper}" velocity="0.1" effort="30"/>'
    inside = f'{limits}<dynamics friction="{friction}"/>'
    said, _ = set_up(urdf_text.chain("finger", kind="prismatic", axis="1 0 0", inside=inside))
    named = re.search(r"Friction is .*this far off \[rad, m\]: finger [\d.]+\. Its drive", said)
    assert (named is not None) is is_named is ("this far off" in said)
    free = "Coulomb friction is 0: every joint. If that is true, an arm without brakes"
    assert (free in said) is ("Coulomb friction is 0" in said) is (friction == 0)
    assert "test: 1 joint " in said


NARROW = urdf_text.folding(0.145, most=0.9)  # its first link meets its third whichever way it goes


@pytest.mark.parametrize("arm", [*(p for p in ROBOTS if p.stem == "ur10_robot"), NARROW])
def test_the_first_motion_goes_where_less_meets_and_tells_what_does(arm, tmp_path):
    """A UR10 would go into the table."""
    path = arm
    if arm is NARROW:
        path = tmp_path / "arm.urdf"
        path.write_text(arm)
    proposal = propose(path)
    up, down = (first_motion(proposal.model, proposal.start, sign) for sign in (1, -1))
    least = [proposal.clearance.min_distance(proposal.way(goal)) for goal in (up, down)]
    assert least[0] < 0.0 and proposal.goal == (down if least[1] > least[0] else up)
    assert ("overlap by" in _near(proposal)) is (max(least) < 0.0) is (arm is NARROW)


def test_the_armature_of_which_the_file_tells_reduces_no_gain(panda):
    loop = SampledLoop(panda.model, panda.rotors)
    gains = choose(loop, panda.asked, DAMPING_RATIO, panda.model.friction)
    assert panda.gains.reduced and not gains.reduced


def test_the_file_has_the_gains_that_drive_and_what_wrong_friction_leaves_at_each_joint(panda):
    np.testing.assert_array_equal(panda.arm.settings.p, panda.gains.p)
    np.testing.assert_array_equal(panda.arm.settings.d, panda.gains.d)
    text = parameter_file(panda, [])
    for joint, c, p in zip(
        panda.model.joint_names, panda.model.friction, panda.gains.p, strict=True
    ):
        (line,) = (line for line in text.splitlines() if line.strip().startswith(f"{joint}: {{p"))
        assert f", {300.0 * c / p:.2g} mrad" in line


@pytest.mark.usefixtures("pictured")
def test_a_heavier_arm_that_fails_is_said_at_the_end(set_up):
    said, output = set_up(urdf_text.scara(effort=15))
    assert "Careful: 10 % heavier: it failed: joint 'z'" in said[-400:]
    assert paths(output)["picture"].read_bytes().startswith(b"\x89PNG")


def test_nothing_that_is_there_is_overwritten_without_being_asked(tmp_path, tool):
    path, output = tmp_path / "kit.urdf", tmp_path / "kit.yaml"
    path.write_text(urdf_text.scara())
    (tmp_path / "kit.urdf.xacro").write_text(urdf_text.scara())
    tool("setup", path, "--output", output)
    output.write_text("mine")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for urdf in (path, tmp_path / "kit.urdf.xacro"):
        error = tool("setup", urdf, "--output", output, status=1).err
        assert str(output) in error and "--force" in error and "--output" in error
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    tool("setup", path, "--output", output, "--force")
    assert "ros__parameters" in output.read_text()


def test_chosen_joints_are_those_of_every_file(set_up, tmp_path):
    chosen = ["wrist_1_joint", "elbow_joint"]
    shown, output = set_up("ur5e", "--joints", *chosen)
    assert "ur5e: 2 joints" in shown and "shoulder" not in shown
    assert read_parameters(output)["digital_twin"]["joints"] == chosen
    assert list(trajectory_files.read(str(tmp_path / "arm_motion.yaml"))[0].names) == chosen
    for name in ("arm_ros2_control.yaml", "arm_moveit_controllers.yaml"):
        written = (tmp_path / name).read_text()
        assert re.search(rf"- {chosen[0]}\n +- {chosen[1]}\n", written), name
        assert "shoulder" not in written


def test_an_arm_that_is_stable_with_drives_alone_gets_as_little_of_them_as_will_do(tmp_path):
    proposal = propose(robot_file("panda"), timing=Timing(0.005, 0.01))
    armature, gains = proposal.armature, proposal.gains
    bare = SampledLoop(proposal.model, timing=proposal.loop.timing)
    shares = armature[armature > 0.0] / bare.heaviest[armature > 0.0]
    np.testing.assert_allclose(shares, 0.02)
    assert not bare.is_stable(gains.p, gains.d)
    for more in (1.0, 3.0, 30.0):  # real drives may have more
        loop = SampledLoop(proposal.model, more * armature, proposal.loop.timing)
        assert loop.is_stable(gains.p, gains.d)
    driven = drive(proposal.arm, proposal.start, first_motion(proposal.model, proposal.start))
    assert not driven.trouble and driven.peak.max() < 4.0 * FOLLOWS  # with 12.5 ms of latency
    path = tmp_path / "panda.yaml"
    path.write_text(parameter_file(proposal, [driven]))
    for parameters in read_parameters(path).values():
        written = [parameters[f"armature.{joint}"] for joint in proposal.model.joint_names]
        np.testing.assert_allclose(written, armature, rtol=1e-3)
    assert "Assumed: armature.panda_joint" in " ".join(path.read_text().replace("#", "").split())
    assert "Put in your arm's" in str(summary(proposal, [driven]).renderables[2])


def test_a_loop_too_slow_for_the_arm_is_refused_with_a_remedy(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf_text.chain("hip", "knee", axis="0 1 0", inside=LIMITED.format(50)))
    with pytest.raises(
        FeatherstoneError, match=r"no gains .* there would be with period"
    ) as refused:
        propose(path, timing=Timing(0.1, 0.1))
    period, delay = re.search(r"period (\S+) ms, delay (\S+) ms$", str(refused.value)).groups()
    assert propose(path, timing=Timing(float(period) / 1e3, float(delay) / 1e3))


def test_a_weak_arm_begins_where_it_is_light(tmp_path):
    path = tmp_path / "tired.urdf"
    text = urdf_text.chain("hip", axis="0 1 0", rpy="0 1.57 0", inside=LIMITED)
    path.write_text(text.format(1e6))
    strong = propose(path)
    weight = np.abs(Dynamics(strong.model).gravity(strong.start))[0]
    path.write_text(text.format(1.2 * weight))
    tired = propose(path)
    assert strong.start == 0.0  # the middle of the range, with the link stretched out
    assert np.abs(Dynamics(tired.model).gravity(tired.start))[0] < 0.9 * weight


def test_the_tool_is_found_by_its_name_and_of_two_hands_left_open():
    assert tool_link(Model.from_file(example_robot("ur5_robot"))) == "tool0"
    assert tool_link(Model.from_file(example_robot("baxter"))) == ""


@pytest.mark.parametrize("others", [("wheel",), ("shoulder", "wrist", "claw")])
def test_joints_of_wheels_or_of_another_arm_are_named_with_how_to_lock_them(others, set_up):
    pairs = {"lift": ("base", "arm"), "elbow": ("arm", "hand"), "thumb": ("hand", "tip")}
    pairs |= dict(zip(others, pairwise(("base", "link1", "link2", "link3")), strict=False))
    parts = [urdf_text.link(child) for _, child in pairs.values()]
    parts += [
        urdf_text.joint(name, *pair, axis="0 1 0", inside=LIMITED.format(90))
        for name, pair in pairs.items()
    ]
    text = urdf_text.robot(urdf_text.link("base"), *parts)
    said, _ = set_up(text)
    lock = "--joints lift elbow thumb"
    named = f"to tip, but commanded, too: {', '.join(others)}. To lock them: {lock} "
    assert named in said
    said, _ = set_up(text, *lock.split(), "--force")
    assert "commanded, too" not in said


def test_the_file_says_where_its_end_effector_is_softer_and_what_helps():
    proposal = propose(example_robot("xarm7"))
    assert proposal.tip == "link_eef"
    said = " ".join(parameter_file(proposal, []).replace("\n    #", "").split())
    assert "set armature.<joint>, rotor times gear ratio squared (0 of all joints)" in said
    assert "times the stiffness is kept everywhere" in said


def seven_joints(*more, kinds=("revolute", "revolute"), inside=None):
    """Return an arm whose joints are along one line, their axes in turn across and along it."""
    inside = inside or 2 * ('<limit lower="-2" upper="2" velocity="3" effort="200"/>',)
    links = ("base", *(f"link{k}" for k in range(1, 8)))
    joints = (
        urdf_text.joint(
            f"joint{k}", *pair, kind=kinds[k % 2], inside=inside[k % 2],
            axis=("0 0 1", "0 1 0")[k % 2],
        )
        for k, pair in enumerate(pairwise(links))
    )  # fmt: skip
    return Model.from_urdf(urdf_text.robot(*map(urdf_text.link, links), *joints, *more))


def least_singular_value(model, q, tip):
    return np.linalg.svd(Dynamics(model).jacobian(q, tip), compute_uv=False)[-1]


def test_the_tool_of_an_arm_whose_fingers_turn_is_its_hand():
    """A Gen3 with its gripper was to begin stretched out: its tool was not known."""
    limits = '<limit lower="-2" upper="2" velocity="3" effort="200"/>'
    fingers = [f'<mimic joint="finger0" multiplier="{sign}"/>' * k for k, sign in ((0, 1), (1, -1))]
    model = seven_joints(
        urdf_text.link("tip0"), urdf_text.link("tip1"), urdf_text.link("tcp", mass=None),
        urdf_text.joint("to_tcp", "link7", "tcp", kind="fixed"),
        *(
            urdf_text.joint(f"finger{k}", "link7", f"tip{k}", inside=limits + mimic, axis="0 1 0")
            for k, mimic in enumerate(fingers)
        ),
        kinds=("continuous", "revolute"), inside=('<limit velocity="3" effort="200"/>', limits),
    )  # fmt: skip
    assert tool_link(model) == "tcp"
    assert least_singular_value(model, start_posture(model, "tcp"), "tcp") > 0.1


def test_numbers_are_doubles_for_yaml_and_joints_names():
    for value in (0.0, 1e-5, 2.5e-7, 1.0, 123456.0, 1e20, -3.2):
        read = yaml.safe_load(_number(value))
        assert isinstance(read, float) and read == pytest.approx(value, rel=1e-3)
    for name in ("1", "1e3", "08", "0x1F", "y", "No", ".inf", "1_0", "a: b"):
        assert _key(name).startswith('"') and yaml.safe_load(_key(name)) == name
    assert _key("left_arm/joint_1") == "left_arm/joint_1"


@pytest.mark.parametrize(("density", "real"), [(1.0, True), (1000.0, False)])
def test_a_urdf_with_errors_gets_no_commands_for_a_real_arm(density, real, set_up):
    inertia = tuple(density * moment for moment in (0.02, 0.03, 0.04))
    tip = urdf_text.link("tip", com="0.1 0 0", inertia=inertia)
    turn = urdf_text.joint("turn", "base", "tip", axis="0 1 0", inside=LIMITED.format(90))
    said, _ = set_up(urdf_text.robot(urdf_text.link("base"), tip, turn), "--force")
    assert ("feedforward_controller.launch.py" in said) == real
    assert ("Not for the real arm" in said) != real


def test_arm_begins_near_the_middle_of_its_range_where_its_tool_moves_in_every_direction():
    """Seven joints along one line stand upright in the middle, as an iiwa's."""
    model = seven_joints()
    start = start_posture(model, "link7")
    assert least_singular_value(model, np.zeros(7), "link7") < 1e-9
    assert least_singular_value(model, start, "link7") > 0.1
    assert gravity_load(model, start[None])[0] <= EASY
    assert (np.abs(start) <= 0.6 * 2.0).all()
    assert (start == 0.0).sum() >= 3  # what is not needed stays in the middle


@pytest.mark.parametrize(("interface", "is_servo"), [("position", True), ("effort", False)])
def test_an_arm_of_servos_is_told_positions_and_its_reductions_are_named(
    interface, is_servo, set_up, tmp_path
):
    """Where ros2_control takes no efforts, torques reach nothing."""
    more = (
        '<transmission name="t"><joint name="hip"><mechanicalReduction>288.35</mechanicalReduction>'
        '</joint><actuator name="a"/></transmission>'
        f'<ros2_control name="s" type="system"><joint name="hip"><command_interface '
        f'name="{interface}"/></joint></ros2_control></robot>'
    )
    text = urdf_text.chain("hip", axis="0 1 0", inside=LIMITED.format(50))
    said, output = set_up(text.replace("</robot>", more))
    assert ("Its hardware takes positions" in said) == is_servo
    given = read_parameters(output)["feedforward_controller"]
    assert (given.get("output") == "joint_state") == is_servo
    written = output.read_text()
    assert ("hip: {command: position, stiffness: ..., damping: 0.0}" in written) == is_servo
    assert "drives.hip.gear_ratio: 288.4" in written
    assert ControlledArm.of(tmp_path / "arm.urdf", output).sends_joints == is_servo


def test_an_arm_whose_transmissions_name_positions_is_asked_whether_it_has_servos(set_up, tmp_path):
    more = (
        '<transmission name="t"><joint name="hip"><hardwareInterface>'
        "hardware_interface/PositionJointInterface</hardwareInterface></joint>"
        '<actuator name="a"/></transmission></robot>'
    )
    text = urdf_text.chain("hip", axis="0 1 0", inside=LIMITED.format(50))
    said, output = set_up(text.replace("</robot>", more))
    assert "are its drives servos? Then docs/servos.md" in said
    written = output.read_text()
    assert "# output: joint_state" in written and "{command: position, stiffness: ..." in written
    assert ControlledArm.of(tmp_path / "arm.urdf", output).sends_joints is False


# The twin as the robot of ros2_control: what the URDF and the parameter file say.


TEXT = robot_file("ur5e").read_text()
JOINTS = Model.from_urdf(TEXT).joint_names
PLUGIN = "topic_based_ros2_control/TopicBasedSystem"
START = {joint: 0.1 * k - 0.2 for k, joint in enumerate(JOINTS)}


def test_the_hardware_is_the_twin_and_nothing_else():
    real = "<ros2_control name='real' type='system'><joint name='elbow_joint'/></ros2_control>"
    text = TEXT.replace("</robot>", f"{real}</robot>")
    robot = ElementTree.fromstring(with_twin(text, PLUGIN, "/arm/digital_twin", "effort", START))
    (system,) = robot.findall("ros2_control")
    hardware = {p.get("name"): p.text for p in system.findall("hardware/param")}
    assert system.findtext("hardware/plugin") == PLUGIN
    assert hardware["joint_commands_topic"] == "/arm/digital_twin/joint_commands"
    assert hardware["joint_states_topic"] == "/arm/digital_twin/joint_states"
    assert float(hardware["trigger_joint_command_threshold"]) < 0.0
    for joint in system.findall("joint"):
        (command,) = joint.findall("command_interface")
        assert command.get("name") == "effort"
        (initial,) = joint.findall("state_interface[@name='position']/param")
        assert initial.get("name") == "initial_value"
        assert float(initial.text) == START[joint.get("name")]
    assert [joint.get("name") for joint in system.findall("joint")] == list(JOINTS)


@pytest.mark.parametrize("interface", ["effort", "position"])
def test_the_arm_is_the_same_with_the_twin_as_its_hardware(interface):
    text = with_twin(TEXT, PLUGIN, "/digital_twin", interface, START)
    assert Model.from_urdf(text).joint_names == JOINTS
    assert (
        Model.from_urdf(text).inertial_parameters == Model.from_urdf(TEXT).inertial_parameters
    ).all()


@pytest.mark.parametrize(
    ("interface", "name"),
    [("effort", "effort_controller"), ("position", "joint_trajectory_controller")],
)
def test_the_manager_knows_the_controller_of_the_interface(interface, name):
    file = manager_parameters(JOINTS, interface, 500)
    manager = file["/**/controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == 500
    assert manager[name]["type"].split("/")[0] in ("forward_command_controller", name)
    own = file[f"/**/{name}"]["ros__parameters"]
    assert own["joints"] == list(JOINTS)
    assert own.get("interface_name", "position") == interface

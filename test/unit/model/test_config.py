"""The robots in config/ are the published ones."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from example_robots import EMPTY, MASSLESS_JOINTS, ROBOTS, UNLIKE_ROBOTS
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros import Model
from featherstone_ros.errors import ModelError
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.robots import robot_file, robot_names, robot_parameters, share_directory
from featherstone_ros.tools.robot_setup import load

CONFIG = share_directory() / "config"
FER = Path(__file__).resolve().parents[2] / "recordings" / "panda_fer_hand.urdf"
NAMES = ["panda", "ur5e"]
HALF = np.pi / 2

# Universal Robots' documentation, classical convention: a, d, alpha, mass, centre of mass.
UR5E_DH = [
    (0, 0.1625, HALF, 3.761, (0, -0.02561, 0.00193)),
    (-0.425, 0, 0, 8.058, (0.2125, 0, 0.11336)),
    (-0.3922, 0, 0, 2.846, (0.15, 0, 0.0265)),
    (0, 0.1333, HALF, 1.37, (0, -0.0018, 0.01634)),
    (0, 0.0997, -HALF, 1.3, (0, 0.0018, 0.01634)),
    (0, 0.0996, 0, 0.365, (0, 0, -0.001159)),
]


def screw(axis, angle, along):
    """Return the pose after a turn about one axis, 0 to 2, and a way along it."""
    pose, others = np.eye(4), [(axis + 1) % 3, (axis + 2) % 3]
    c, s = np.cos(angle), np.sin(angle)
    pose[np.ix_(others, others)] = [[c, -s], [s, c]]
    pose[axis, 3] = along
    return pose


def random_states(model, count=20):
    rng = np.random.default_rng(7)
    q = rng.uniform(model.lower, model.upper, (count, model.n))
    return q, *rng.normal(size=(2, count, model.n))


@pytest.fixture(params=NAMES)
def model(request):
    return load(request.param).model


def test_ur5e_kinematics_and_masses_are_the_published_table():
    model = load("ur5e").model
    dynamics = fr.Dynamics(model)
    base = dynamics.link_pose(np.zeros(6), "base")
    for q in random_states(model)[0]:
        pose, moment = base, 4.0 * np.array([0, 0, 0.025])
        for (a, d, alpha, mass, centre), angle in zip(UR5E_DH, q, strict=True):
            pose = pose @ screw(2, angle, d) @ screw(0, alpha, a)
            moment = moment + mass * (pose @ [*centre, 1])[:3]
        np.testing.assert_allclose(dynamics.link_pose(q, "tool0"), pose, atol=1e-9)
        total = 4.0 + sum(row[3] for row in UR5E_DH)
        np.testing.assert_allclose(dynamics.centre_of_mass(q), moment / total, atol=1e-9)


def test_limits_are_the_published_ones():
    model = load("panda").model
    assert model.lower.tolist() == [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    assert model.upper.tolist() == [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    assert model.velocity_limit.tolist() == [2.175] * 4 + [2.61] * 3
    assert model.effort_limit.tolist() == [87.0] * 4 + [12.0] * 3
    model = load("ur5e").model
    np.testing.assert_allclose(model.upper, np.radians([360, 360, 180, 360, 360, 360]))
    np.testing.assert_allclose(model.lower, -model.upper)
    np.testing.assert_allclose(model.velocity_limit, np.pi)
    assert model.effort_limit.tolist() == [150.0] * 3 + [28.0] * 3


def test_panda_is_dynamically_the_manufacturers():
    model = load("panda").model
    other = fr.Model.from_file(FER, joints=[f"fer_joint{i}" for i in range(1, 8)])
    states = random_states(model)
    ours, theirs = fr.Dynamics(model), fr.Dynamics(other)
    np.testing.assert_allclose(ours.rnea(*states), theirs.rnea(*states), rtol=1e-9, atol=1e-9)
    links = [f"link{i}" for i in range(9)] + ["hand", "hand_tcp", "leftfinger", "rightfinger"]
    for q in states[0]:
        for link in links:
            pose = theirs.link_pose(q, f"fer_{link}")
            np.testing.assert_allclose(ours.link_pose(q, f"panda_{link}"), pose, atol=1e-9)


def test_robots_are_drawn_without_meshes(model):
    robot = ElementTree.parse(CONFIG / f"{model.name}.urdf")
    assert not list(robot.iter("mesh"))
    heavy = [link for link in robot.iter("link") if link.find("inertial") is not None]
    assert heavy and all(link.find("visual/geometry") is not None for link in heavy)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_cover_every_joint_and_no_other(name):
    robot = load(name)
    joints = set(robot.model.joint_names)
    for node, own in (("digital_twin", "initial_positions"), ("feedforward_controller", "gains")):
        for group in ("friction", "armature", own):
            named = {
                key.split(".")[1] for key in robot.parameters[node] if key.startswith(f"{group}.")
            }
            assert named == joints, (node, group)


def test_panda_friction_in_urdf_and_parameters_is_the_same():
    robot = load("panda")
    model = robot.model
    coulomb = robot.by_joint("digital_twin", "friction.{}.coulomb")
    viscous = robot.by_joint("digital_twin", "friction.{}.viscous")
    np.testing.assert_array_equal(coulomb, model.friction)
    np.testing.assert_array_equal(viscous, model.damping)


@pytest.mark.parametrize("name", NAMES)
def test_parameter_files_have_keys_for_nodes_in_any_namespace(name):
    content = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    assert set(content) == {"/**", "/**/digital_twin", "/**/feedforward_controller"}
    twin = read_parameters(CONFIG / f"{name}.yaml")["digital_twin"]
    assert twin["joints"] == list(load(name).model.joint_names)


@pytest.mark.parametrize("name", NAMES)
def test_robot_can_be_given_on_the_command_line(name):
    """What ``-p robot_description:="$(cat panda.urdf)"`` gives is read as YAML by ROS."""
    text = (CONFIG / f"{name}.urdf").read_text()
    assert fr.Model.from_urdf(yaml.safe_load(text)).n == load(name).model.n


# Robots are found by name or by path.


@pytest.mark.parametrize("robot", robot_names())
def test_model_of_our_robot_is_made_in_any_folder_without_a_warning(
    robot, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    model = Model.from_robot(robot, gravity=(0, 0, 1))
    assert not caplog.records
    same = Model.from_file(robot_file(robot))
    assert np.array_equal(model.inertial_parameters, same.inertial_parameters)
    assert model.gravity.tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", [str, Path])
def test_model_of_a_path_is_that_of_the_file_with_its_warnings(kind, caplog):
    model = Model.from_robot(kind(robot_file("panda")))
    assert model.joint_names == Model.from_robot("panda").joint_names
    assert "panda_link4" in caplog.text


def test_robot_file_of_a_path_is_absolute(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").touch()
    monkeypatch.chdir(tmp_path)
    assert robot_file("arm.urdf") == tmp_path / "arm.urdf"
    assert robot_parameters("arm.urdf") is None


# All robots of example-robot-data load; those joints that move nothing are locked.


if not ROBOTS:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)


@pytest.mark.parametrize(
    "path", few_or_all(UNLIKE_ROBOTS, [path for path in ROBOTS if path.name != EMPTY])
)
def test_loads_with_the_joints_of_the_document(path):
    root = ElementTree.parse(path).getroot()
    by_name = {joint.get("name"): joint for joint in root.findall("joint")}

    def is_free(joint):
        mimic = joint.find("mimic")
        follows = mimic is not None and mimic.get("joint") in by_name
        locked = joint.get("name") in MASSLESS_JOINTS.get(path.name, ())
        return joint.get("type") != "fixed" and not follows and not locked

    model = Model.from_file(path, locked=MASSLESS_JOINTS.get(path.name))
    assert list(model.joint_names) == [name for name, joint in by_name.items() if is_free(joint)]
    assert list(model.link_names) == [link.get("name") for link in root.findall("link")]


with_idle_fingers = pytest.mark.parametrize(
    "path", [p for p in ROBOTS if p.name in MASSLESS_JOINTS]
)


@with_idle_fingers
def test_fingers_without_any_inertia_are_locked_with_a_warning(path, caplog):
    idle = MASSLESS_JOINTS[path.name]
    model = Model.from_file(path)
    assert idle.keys() <= model.locked.keys()
    assert all(model.locked[name] == 0 for name in idle)
    (record,) = caplog.records
    assert all(name in record.message.split("locked at 0")[1] for name in idle)


@with_idle_fingers
def test_raises_if_fingers_without_any_inertia_are_asked_for(path):
    first = next(iter(MASSLESS_JOINTS[path.name]))
    names = (*Model.from_file(path).joint_names, first)
    with pytest.raises(ModelError, match=re.escape(f"{path}: joint '{first}' moves no mass")):
        Model.from_file(path, joints=names)

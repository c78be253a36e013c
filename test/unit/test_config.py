"""The robots in config/ are the published ones."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import featherstone_ros as fr
from featherstone_ros.model.parameter_files import read_parameters
from featherstone_ros.model.share import share_directory
from featherstone_ros.tools.robot_setup import load

CONFIG = share_directory() / "config"
FER = Path(__file__).resolve().parents[1] / "recordings" / "panda_fer_hand.urdf"
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


def about_x(angle, along):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, along], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def about_z(angle, along):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, along], [0, 0, 0, 1]])


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
            pose = pose @ about_z(angle, d) @ about_x(alpha, a)
            moment = moment + mass * (pose @ [*centre, 1])[:3]
        np.testing.assert_allclose(dynamics.link_pose(q, "tool0"), pose, atol=1e-9)
        total = 4.0 + sum(row[3] for row in UR5E_DH)
        np.testing.assert_allclose(dynamics.centre_of_mass(q), moment / total, atol=1e-9)


def test_panda_limits_are_the_published_ones():
    model = load("panda").model
    assert model.lower.tolist() == [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    assert model.upper.tolist() == [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    assert model.velocity_limit.tolist() == [2.175] * 4 + [2.61] * 3
    assert model.effort_limit.tolist() == [87.0] * 4 + [12.0] * 3


def test_ur5e_limits_are_the_published_ones():
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


def test_initial_positions_are_within_the_limits(model):
    robot = load(model.name)
    assert np.all(robot.start > model.lower) and np.all(robot.start < model.upper)


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

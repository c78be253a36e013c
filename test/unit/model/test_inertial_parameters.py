"""A model with other inertial parameters, and the URDF written from it."""

import re

import numpy as np
import pytest
import urdf_text
from refusals import refusals

import featherstone_ros as fr
from featherstone_ros.model.primitives import inertial_parameters, pseudo_inertia
from featherstone_ros.model.robots import robot_file, robot_names

ROBOTS = robot_names()
AWKWARD = """\
<?xml version='1.0' encoding="utf-8"?>
<!-- made by xacro: <link name="a"> in a comment -->
<robot name="ärm" xmlns:xacro="http://ros.org/wiki/xacro">
  <link name="base"/>
  <link name='a'>
    <visual><geometry><mesh filename="package://x/a>b.stl"/></geometry></visual>
    <inertial> <!-- <mass value="7"/> -->
      <inertia izz='3e-2' ixx='2e-2'   iyy='3e-2' />
      <mass
         value="1.5" ><!-- kg --></mass>
    </inertial>
  </link>
  <link name="frame"></link>
  <link name="tool" ><inertial><origin rpy="0.1 0.2 0.3" xyz="0 0 .1"/><mass value="0.5"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    <limit effort="9" lower="-2" upper="2" velocity="3"/></joint>
  <joint name="f" type="fixed"><parent link="a"/><child link="frame"/></joint>
  <joint name="k" type="revolute"><parent link="frame"/><child link="tool"/>
    <origin xyz="0 0 .3"/><limit effort="9" lower="-2" upper="2" velocity="3"/>
    <mimic joint="j" multiplier="-0.5"/></joint>
  <gazebo reference="a"><inertial><mass value="99"/></inertial></gazebo>
</robot>
"""


def text_of(name):
    return AWKWARD if name == "awkward" else robot_file(name).read_text()


def deformed(model, seed=1):
    """Return parameters of other bodies: every link's density stretched and moved."""
    J = pseudo_inertia(model.inertial_parameters.reshape(-1, 10))
    A = np.eye(4) + 0.2 * np.triu(np.random.default_rng(seed).normal(size=(len(J), 4, 4)))
    return inertial_parameters(A @ J @ np.swapaxes(A, 1, 2)).ravel()


@pytest.mark.parametrize("name", [*ROBOTS, "awkward"])
def test_torque_is_the_regressor_times_the_new_parameters(name):
    model = fr.Model.from_urdf(text_of(name))
    vector = deformed(model)
    changed = model.with_inertial_parameters(vector)
    np.testing.assert_array_equal(changed.inertial_parameters, vector)
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 50, model.n))
    Y = fr.Dynamics(model).regressor(q, qd, qdd)
    torque = fr.Dynamics(changed).rnea(q, qd, qdd)
    np.testing.assert_allclose(torque, Y @ vector, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [*ROBOTS, "awkward"])
def test_the_urdf_written_reads_as_the_same_model(name):
    text = text_of(name)
    model = fr.Model.from_urdf(text)
    changed = model.with_inertial_parameters(deformed(model))
    read = fr.Model.from_urdf(changed.to_urdf(text))
    np.testing.assert_allclose(read.inertial_parameters, changed.inertial_parameters, atol=1e-14)


@pytest.mark.parametrize("name", [*ROBOTS, "awkward"])
def test_the_models_own_urdf_comes_back_byte_for_byte(name):
    text = text_of(name)
    model = fr.Model.from_urdf(text)
    assert model.to_urdf(text) == text
    assert model.to_urdf(text.encode()) == text


def test_all_but_the_figures_stays_as_it_was():
    model = fr.Model.from_urdf(AWKWARD)
    written = model.with_inertial_parameters(deformed(model)).to_urdf(AWKWARD)
    number = r"-?\d*\.?\d+(?:e-?\d+)?"
    figures = rf"""(?<=['"])(?:{number} ?){{1,3}}(?=['"])"""
    links, joints = (re.sub(figures, "#", t).split("<joint", 1) for t in (AWKWARD, written))
    assert joints[1] == links[1]
    added = {'<origin xyz="#" rpy="#"/>', ' ixy="#"', ' ixz="#"', ' iyz="#"'}
    for text in added:
        joints[0] = joints[0].replace(text, "", joints[0].count(text) - links[0].count(text))
    assert joints[0] == links[0]
    assert '<mass value="99"/>' in written and '<!-- <mass value="7"/> -->' in written


def test_a_payload_is_written_into_a_link_without_inertial():
    model = fr.Model.from_urdf(AWKWARD).with_payload("frame", 0.7, [0.0, 0.1, 0.2], np.eye(3) / 100)
    written = model.to_urdf(AWKWARD)
    assert '<link name="frame">\n    <inertial><origin' in written
    read = fr.Model.from_urdf(written)
    np.testing.assert_allclose(read.inertial_parameters, model.inertial_parameters, atol=1e-15)
    text = AWKWARD.replace('<link name="frame"></link>', '<link name="frame" />')
    assert fr.Model.from_urdf(model.to_urdf(text)).inertial_parameters[20] == 0.7


def test_locked_joints_change_nothing_in_what_is_written():
    text = text_of("panda")
    model = fr.Model.from_urdf(text, locked={"panda_joint4": -1.0})
    assert model.to_urdf(text) == text


TEXT = urdf_text.chain("j")
J = fr.Model.from_urdf(TEXT)
POINTS = np.r_[np.zeros(10), [0, 1, 0, 0, 1, 0, 0, 1, 0, 1]]


def written(vector=J.inertial_parameters, text=TEXT):
    return J.with_inertial_parameters(vector).to_urdf(text)


test_what_cannot_be_written_is_refused = refusals(
    (fr.ModelError, "'link1'", {"text": TEXT.replace("link1", "flange")}),
    (fr.ModelError, "link 'link1' has mass 0 kg and first moment", {"vector": POINTS}),
    *((ValueError, "vector", {"vector": vector})
      for vector in (np.zeros(19), np.zeros((2, 10)), [np.nan] * 20)),
    of=written,
)  # fmt: skip

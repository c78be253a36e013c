"""What speaks against a result is said: of offsets, scores, friction, places and masses."""

from dataclasses import replace

import numpy as np
import pytest
import urdf_text

import featherstone_ros as fr
from featherstone_ros.identification import explanation
from featherstone_ros.identification.explanation import RIGID, explain
from featherstone_ros.model.drives import Drives

JOINTS = ("lift", "arm")
LIFT = """<robot name="lift"><link name="base"/>
<link name="carriage"><inertial><mass value="8"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="beam"><inertial><origin xyz="0.2 0 0"/><mass value="4"/>
<inertia ixx=".02" iyy=".05" izz=".05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.5" effort="500" velocity="0.5"/></joint>
<joint name="arm" type="revolute"><parent link="carriage"/><child link="beam"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="50" velocity="3"/></joint></robot>"""


def drives(**changed):
    some = Drives(np.zeros(2), np.array([1.0, 0.5]), np.array([2.0, 1.0]))
    return replace(some, **{name: np.array(values) for name, values in changed.items()})


@pytest.fixture(scope="module")
def lift(tmp_path_factory):
    """Return a description and a recording of a lift whose driver omits all of its weight."""
    folder = tmp_path_factory.mktemp("lift")
    urdf, table = folder / "lift.urdf", folder / "lift.npz"
    urdf.write_text(LIFT)
    model = fr.Model.from_urdf(LIFT)
    t = np.arange(0.0, 25.0, 0.02)
    size, omega = (
        np.array([[0.1, 0.8], [0.05, 0.4]]),
        2 * np.pi * np.array([[0.11, 0.17], [0.37, 0.41]]),
    )
    angle = omega * t[:, None, None] + [[0.0, 0.3], [1.0, 2.0]]
    shapes = np.sin(angle), omega * np.cos(angle), -(omega**2) * np.sin(angle)
    q, qd, qdd = ((size * shape).sum(axis=1) for shape in shapes)
    q += np.array([0.25, 0.0])
    tau = fr.Dynamics(model).rnea(q, qd, qdd) + np.tanh(qd / 0.002) * [5.0, 1.0] + qd * [20.0, 0.5]
    tau += 0.02 * np.random.default_rng(0).normal(size=q.shape) - [12 * 9.81, 0.0]
    np.savez(table, joint_names=JOINTS, time=t, position=q, velocity=qd, effort=tau)
    return str(urdf), str(table)


def test_a_weight_that_the_driver_omits_is_not_written_as_an_offset(lift, tmp_path, tool):
    urdf, table = lift
    output = tmp_path / "found.urdf"
    said = tool("identify", table, "--urdf", urdf, "--output", output, status=1)
    assert "lift: its constant torque of -117" in said and "Nothing is written" in said
    assert not output.exists()


def test_evaluate_says_that_the_model_explains_less_than_a_constant(lift, tmp_path, tool):
    urdf, table = lift
    said = tool("evaluate", table, "--urdf", urdf)
    assert "A constant would explain the effort better than the model: lift (R² -2" in said
    friction = str(tmp_path / "friction.yaml")
    assert "of the size of the weight" in tool(
        "evaluate", table, "--urdf", urdf, "--parameters", friction
    )


def test_an_offset_is_compared_with_the_weight_that_its_joint_bears():
    gravity = np.array([[10.0, 0.0], [10.0, 0.0]])
    assert explanation.weights_as_offsets(JOINTS, drives(offset=[2.0, 3.0]), gravity) == []
    (text,) = explanation.weights_as_offsets(JOINTS, drives(offset=[-7.0, 3.0]), gravity)
    assert text.startswith("lift: its constant torque of -7 ")


def test_links_alone_are_not_blamed_for_friction():
    torque = np.random.default_rng(0).normal(size=(1000, 2))
    some, none = explain(RIGID, torque, [1.0, -0.2] * torque), explain("", torque, -0.2 * torque)
    assert explanation.unexplained(JOINTS, some) == []
    assert "lift (R² -0.44" in explanation.unexplained(JOINTS, none)[0]


def test_friction_at_its_bound_is_named():
    assert explanation.frictionless(JOINTS, drives()) == []
    (text,) = explanation.frictionless(JOINTS, drives(viscous=[1.0, 0.0], coulomb=[2.0, 0.0]))
    assert text.endswith("bound: arm.")


def test_a_factor_that_all_links_have_is_told():
    torque = np.random.default_rng(2).normal(size=(100, 3)) * [5.0, 2.0, 1.0]
    assert explanation.common_factor(0.83 * torque, torque) == pytest.approx(0.83)
    assert explanation.common_factor(torque * [1.2, 0.9, 1.0], torque) == 1.0
    assert explanation.common_factor(1.03 * torque, torque) == 1.0


def test_a_centre_of_mass_outside_of_its_link_is_named():
    model = fr.Model.from_urdf(urdf_text.chain("a", "b", axis="0 1 0"))
    link = model.link_names[-1]
    c = model.tree.link_parameters[-1][1:4] / model.tree.link_parameters[-1][0]
    boxes = {link: (c - 0.05, c + 0.05)}
    assert explanation.outside(model, model, boxes) == []
    moved = model.with_payload(link, 9.0, c + np.array([0.0, 0.0, 0.5]))
    (text,) = explanation.outside(moved, model, boxes)
    assert text.startswith(f"{link}: its centre of mass came out")

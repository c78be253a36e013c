"""Armature from what robot descriptions say of their drives, and what uses it."""

import json
import logging

import numpy as np
import pytest
from refusals import refusals
from urdf_text import geared_arm, joint, link, robot

from featherstone_ros import Dynamics, Model, ModelError, Simulator
from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.tools import cli
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.setup.files import parameter_file

LIMIT = '<limit lower="-2" upper="2" velocity="2" effort="60"/>'
DRAKE = (
    '<transmission xmlns:drake="http://drake.mit.edu"><type>SimpleTransmission</type>'
    '<joint name="inner"/><actuator name="motor">{}</actuator></transmission>'
)
CONTROL = '<ros2_control name="arm" type="system"><joint name="inner">{}</joint>{}</ros2_control>'
REDUCED = (
    '<transmission><joint name="inner"><mechanical_reduction>-20</mechanical_reduction></joint>'
    "<actuator/></transmission>"
)
PARAM = '<param name="{}">{}</param>'
ROTOR = PARAM.format("rotor_inertia", "2e-5")
# What a description says, and the armature that it means.
MODIFIED = '<modify_element type="{}" name="{}" armature="{}"/>'
GEARED = '<drake:rotor_inertia value="2e-5"/><drake:gear_ratio value="100"/>'
MOTOR = "<mechanicalReduction>50</mechanicalReduction><motorInertia> 4e-5 </motorInertia>"
RATIO, GIVEN = PARAM.format("gear_ratio", 100), PARAM.format("armature", 0.4)
SAID = {
    "drake": (DRAKE.format(GEARED), 0.2),
    "drake without gear": (DRAKE.format('<drake:rotor_inertia value="2e-5"/>'), 2e-5),
    "motorInertia": (DRAKE.format(MOTOR), 0.1),
    "a reduction alone": (DRAKE.format("<mechanicalReduction>50</mechanicalReduction>"), 0.0),
    "a reduction that nothing needs": (DRAKE.format("<mechanicalReduction/>"), 0.0),
    "mujoco": (f"<mujoco_inputs>{MODIFIED.format('joint', 'inner', 0.3)}</mujoco_inputs>", 0.3),
    "params": (CONTROL.format(ROTOR + RATIO, ""), 0.2),
    "param and transmission": (CONTROL.format(ROTOR, REDUCED), 0.008),
    "param before transmission": (CONTROL.format(ROTOR + RATIO, REDUCED), 0.2),
    "armature": (CONTROL.format(GIVEN, ""), 0.4),
    "two": (CONTROL.format(GIVEN, "") + MODIFIED.format("joint", "inner", 0.3), 0.3),
    "a differential": (
        '<transmission><joint name="inner"/><joint name="outer"/>'
        '<actuator><rotor_inertia value="1"/></actuator></transmission>', 0.0,
    ),
    "a geometry": (MODIFIED.format("geom", "inner", 0.3), 0.0),
    "another joint": (MODIFIED.format("joint", "other", 0.3), 0.0),
}  # fmt: skip


def with_drives(extension, arm=None):
    return (arm or geared_arm()).replace("</robot>", f"{extension}</robot>")


@pytest.mark.parametrize(("extension", "expected"), SAID.values(), ids=SAID)
def test_armature_is_what_the_description_says(extension, expected):
    model = Model.from_urdf(with_drives(extension))
    np.testing.assert_allclose(model.armature, [expected, 0.0])
    assert not model.armature.flags.writeable


INERTIA = '<rotor_inertia value="1"/>{}'
test_what_is_no_inertia_is_refused_by_name = refusals(
    *((f"joint 'inner': .*{said}", lambda text=text: Model.from_urdf(with_drives(text)))
      for said, text in (
        ("rotor_inertia is '-1', expected .* >= 0", DRAKE.format('<rotor_inertia value="-1"/>')),
        ("rotor_inertia is 'heavy'", DRAKE.format('<rotor_inertia value="heavy"/>')),
        ("motorInertia is ''", DRAKE.format("<motorInertia/>")),
        ("gear_ratio is 'nan', expected a finite number$",
         DRAKE.format(INERTIA.format('<gear_ratio value="nan"/>'))),
        ("is inf", DRAKE.format(INERTIA.format('<gear_ratio value="1e200"/>'))),
        ("armature is 'inf'", CONTROL.format(PARAM.format("armature", "inf"), "")),
        ("mechanical reduction is 'twenty'",
         CONTROL.format(ROTOR, REDUCED.replace("-20", "twenty"))))),
    error=ModelError,
)  # fmt: skip


def test_it_is_told(caplog):
    with caplog.at_level(logging.INFO):
        Model.from_urdf(with_drives(SAID["drake"][0]))
    assert "armature from its transmissions: inner 0.2" in caplog.text


def test_a_leader_bears_the_drives_of_its_followers():
    mimic = LIMIT + '<mimic joint="a" multiplier="-3"/>'
    arm = robot(
        *map(link, ("base", "one", "two")),
        joint("a", "base", "one", inside=LIMIT),
        joint("b", "one", "two", inside=mimic),
    )
    text = "".join(
        MODIFIED.format("joint", name, value) for name, value in (("a", 0.1), ("b", 0.2))
    )
    np.testing.assert_allclose(Model.from_urdf(with_drives(text, arm)).armature, [0.1 + 9 * 0.2])


def test_a_simulator_takes_it_as_it_takes_friction():
    model = Model.from_urdf(with_drives(SAID["mujoco"][0]), gravity=(0, 0, 0))
    simulator, q, tau = Simulator(model), np.array([0.1, 0.4]), np.array([1.0, -2.0])
    simulator.reset(q)
    simulator.step(tau)
    H = Dynamics(model).crba(q) + np.diag([0.3, 0.0])
    np.testing.assert_allclose(simulator.qdd, np.linalg.solve(H, tau), rtol=1e-9)
    assert not Simulator(model, armature=0.0).armature.any()


def test_what_is_known_takes_the_place_of_what_would_be_assumed():
    bare = Model.from_urdf(geared_arm())
    assert assumed_armature(bare)[0] > 0.0
    known = Model.from_urdf(with_drives(SAID["mujoco"][0]))
    np.testing.assert_array_equal(assumed_armature(known), [0.3, 0.0])
    little = SAID["mujoco"][0].replace("inner", "outer").replace("0.3", "1e-6")
    kept = assumed_armature(Model.from_urdf(with_drives(little)))
    assert kept[1] == 1e-6 and kept[0] == pytest.approx(assumed_armature(bare)[0], rel=1e-3)


def test_setup_and_inspect_do_not_call_it_assumed(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(with_drives(SAID["mujoco"][0]))
    proposal = propose(path)
    np.testing.assert_array_equal(proposal.armature, [0.3, 0.0])
    assert not proposal.assumed_armature.any()
    written = parameter_file(proposal, [])
    assert "the URDF's transmissions" in written and "Assumed" not in written
    assert cli.main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["assumed_armature"] == {}
    assert cli.main(["inspect", str(path)]) == 0
    said = capsys.readouterr().out
    assert "assumed" not in said and "armature" in said and "0.3" in said

"""Unit errors in parameters are refused by name; values of real arms are not."""

import numpy as np
import pytest

from featherstone_ros.control.parameter_plausibility import check_plausible, reach
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_names
from featherstone_ros.tools.robot_setup import load

ARMS = {name: load(name) for name in robot_names()}
PAYLOAD = {
    "payload.link": "",
    "payload.mass": 2.0,
    "payload.com": [0.0, 0.0, 0.05],
    "payload.inertia": [0.004, 0.0, 0.0, 0.004, 0.0, 0.002],
}


@pytest.fixture(params=ARMS)
def robot(request):
    return ARMS[request.param]


def refusal(values, model: Model) -> str:
    with pytest.raises(ValueError, match="expected") as error:
        check_plausible(values, model)
    return str(error.value)


def test_the_shipped_parameters_and_a_usual_payload_are_plausible(robot):
    check_plausible(robot.parameters["feedforward_controller"], robot.model)
    check_plausible(robot.parameters["digital_twin"], robot.model)
    check_plausible(PAYLOAD, robot.model)


def test_reach_is_about_what_the_data_sheets_say():
    # Panda 0.855 m, UR5e 0.85 m from the first axis; shoulder and wrist lie beside the line.
    for robot in ARMS.values():
        assert 0.85 < reach(robot.model) < 2.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payload.com", [0.0, 0.0, 50.0]),  # mm
        ("payload.inertia", [4000.0, 0.0, 0.0, 4000.0, 0.0, 2000.0]),  # kg mm^2
        ("payload.inertia", [1.0, 0.0, 0.0, 0.001, 0.0, 0.001]),
        ("payload.inertia", [100.0, 0.0, 0.0, 100.0, 0.0, 100.0]),
    ],
)
def test_payload_that_no_arm_carries_is_refused_by_name(robot, name, value):
    text = refusal({**PAYLOAD, name: value}, robot.model)
    assert text.startswith(name)


@pytest.mark.parametrize(
    ("name", "value"), [("torque_rate", 1e-6), ("armature", 1e308), ("armature", 1e5)]
)
def test_joint_figures_of_another_unit_are_refused_by_name_and_value(robot, name, value):
    for joint in robot.model.joint_names:
        text = refusal({f"{name}.{joint}": value}, robot.model)
        assert text.startswith(f"{name}.{joint} is {value:g}")


def test_figures_are_held_against_bounds_where_a_joint_has_no_limits():
    model = Model.from_urdf(
        """<robot name="free"><link name="base"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint>
        </robot>"""
    )
    check_plausible({"torque_rate.turn": 5000.0, "armature.turn": 10.0}, model)
    assert "armature.turn" in refusal({"armature.turn": 1e308}, model)
    assert "torque_rate.turn" in refusal({"torque_rate.turn": 1e-6}, model)


def test_inertia_with_the_errors_of_identification_passes(robot):
    inertia = np.diag([0.0040, 0.0021, 0.0018])  # 0.1 beyond what is possible, of 7.9
    values = {**PAYLOAD, "payload.inertia": inertia.ravel().tolist()}
    check_plausible(values, robot.model)


def test_a_payload_without_mass_is_none_whatever_its_other_figures(robot):
    check_plausible({**PAYLOAD, "payload.mass": 0.0, "payload.com": [0, 0, 50.0]}, robot.model)

"""Unit errors in parameters are refused by name; values of real arms are not."""

import numpy as np
import pytest
import urdf_text

from featherstone_ros.control.armature import max_armature
from featherstone_ros.control.joint_space import default_torque_rate, min_torque_rate
from featherstone_ros.control.payload import model_with_payload, reach
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_names
from featherstone_ros.tools.robot_setup import load

ARMS = {name: load(name) for name in robot_names()}
PAYLOAD = {
    "gravity": [0.0, 0.0, -9.81],
    "payload.mass": 2.0,
    "payload.com": [0.0, 0.0, 0.05],
    "payload.inertia": [0.004, 0.0, 0.0, 0.004, 0.0, 0.002],
}


@pytest.fixture(params=ARMS)
def robot(request):
    return ARMS[request.param]


def loaded(model: Model, **changes) -> Model:
    values = {**PAYLOAD, "payload.link": model.link_names[-1]}
    return model_with_payload(values | {f"payload.{k}": v for k, v in changes.items()}, model)


def refusal(model: Model, **changes) -> str:
    with pytest.raises(ValueError, match="expected") as error:
        loaded(model, **changes)
    return str(error.value)


def test_the_shipped_parameters_and_a_usual_payload_are_plausible(robot):
    most, least = max_armature(robot.model), min_torque_rate(robot.model.effort_limit)
    for values in robot.parameters.values():
        for joint, bound, rate in zip(robot.model.joint_names, most, least, strict=True):
            assert values.get(f"armature.{joint}", 0.0) < bound
            assert values.get(f"torque_rate.{joint}", np.inf) > rate
    assert loaded(robot.model).inertial_parameters[-10] > robot.model.inertial_parameters[-10]


def test_reach_is_about_what_the_data_sheets_say():
    # Panda 0.855 m, UR5e 0.85 m from the first axis; shoulder and wrist lie beside the line.
    for robot in ARMS.values():
        assert 0.85 < reach(robot.model) < 2.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("com", [0.0, 0.0, 50.0]),  # mm
        ("com", [0.0, 0.05]),
        ("mass", np.nan),
        ("inertia", [0.004, 0.0]),
        ("inertia", "heavy"),
        ("inertia", [0.004, 1e-3, 0.0, 0.0, 0.004, 0.0, 0.0, 0.0, 0.002]),  # not symmetric
        ("inertia", [-0.004, 0.0, 0.0, 0.004, 0.0, 0.002]),
        ("inertia", [4000.0, 0.0, 0.0, 4000.0, 0.0, 2000.0]),  # kg mm^2
        ("inertia", [1.0, 0.0, 0.0, 0.001, 0.0, 0.001]),
        ("inertia", [100.0, 0.0, 0.0, 100.0, 0.0, 100.0]),
    ],
)
def test_payload_that_no_arm_carries_is_refused_by_name(robot, name, value):
    assert refusal(robot.model, **{name: value}).startswith(f"payload.{name} ")


def test_bounds_of_joint_figures_follow_the_limits_where_there_are_any():
    model = Model.from_urdf(urdf_text.chain("turn", kind="continuous"))
    assert max_armature(model).tolist() == [1e4]
    assert min_torque_rate(model.effort_limit).tolist() == [1e-3]
    for robot in ARMS.values():
        effort, speed = robot.model.effort_limit, robot.model.velocity_limit
        np.testing.assert_allclose(max_armature(robot.model), 30.0 * effort / speed)
        np.testing.assert_allclose(min_torque_rate(effort), effort / 0.5)
        assert (default_torque_rate(effort) > min_torque_rate(effort)).all()


def test_inertia_with_the_errors_of_identification_passes(robot):
    inertia = np.diag([0.0040, 0.0021, 0.0018])  # 0.1 beyond what is possible, of 7.9
    loaded(robot.model, inertia=inertia.ravel().tolist())


def test_a_payload_without_mass_is_none_whatever_its_other_figures(robot):
    empty = loaded(robot.model, mass=0.0, com=[0, 0, 50.0])
    np.testing.assert_array_equal(empty.inertial_parameters, robot.model.inertial_parameters)

"""Arms that MuJoCo moves, as their URDFs say, are accused of nothing."""

import numpy as np
import pytest
from arm_scene import MujocoArm
from example_robots import example_robot
from test_not_accused import faults, load, moved

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.identification.recording import Recording
from featherstone_ros.model.robots import robot_file, robot_names

pytest.importorskip("mujoco")
pytest.importorskip("scipy")
PERIOD, STEPS = 0.005, 5  # [s] of the loop, and MuJoCo's steps in it
STIFFNESS, DAMPING = 400.0, 40.0  # [1/s^2], [1/s]
ROTOR = 0.01  # [kg m^2]


def recorded(arm):
    """Return the model of an arm, and what its sensors give where it follows sums of sines."""
    file = robot_file(arm) if arm in robot_names() else example_robot(arm)
    model = load(arm)
    t, q, qd, qdd = moved(model, "sines")
    dynamics = fr.Dynamics(model)
    size = np.abs(dynamics.rnea(q, qd, qdd)).max(axis=0)
    size = np.maximum(size, 0.02 * size.max())
    known = {}
    for name, torque in zip(model.joint_names, size.tolist(), strict=True):
        terms = {"coulomb": 0.2 * torque, "viscous": 0.1 * torque}
        known |= {f"friction.{name}.{term}": value for term, value in terms.items()}
        known[f"armature.{name}"] = ROTOR
    controlled = ControlledArm.from_robot(str(file)).with_parameters(known)
    drives = controlled.drives
    plant = MujocoArm(file.read_text(), controlled, q[0], PERIOD / STEPS).simulator
    plant.set_state(q[0], qd[0])
    forward = drives.viscous * qd + drives.coulomb * np.tanh(qd / 0.01) + ROTOR * qdd
    states = []
    for k in range(len(t)):
        at, speed = plant.q, plant.qd
        pull = qdd[k] + STIFFNESS * (q[k] - at) + DAMPING * (qd[k] - speed)
        tau = dynamics.rnea(at, speed, pull) + forward[k]
        states.append((at, speed, tau))
        plant.step(tau, STEPS)
    position, velocity, effort = (np.array(rows) for rows in zip(*states, strict=True))
    assert np.abs(position - q).max() < 0.02  # [rad]
    return model, Recording("", model.joint_names, t, position, velocity, effort)


@pytest.mark.parametrize("arm", ["ur5e", "panda", "z1"])
def test_an_arm_that_mujoco_moves_is_accused_of_nothing(arm):
    model, recording = recorded(arm)
    found = faults(model, recording)
    assert found.texts == () and not found.offsets.any() and found.delay == 0.0

"""Arms whose drives take currents, duty cycles or positions: both nodes, in lockstep."""

from __future__ import annotations

import numpy as np
from support import LOCKSTEP  # skips this module where ROS is missing

# isort: split
from rig import CONTROLLER, Rig

import featherstone_ros as fr
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.robots import robot_file

MODEL = fr.Model.from_robot("panda")
NAMES = list(MODEL.joint_names)
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
WAY = np.array([0.4, 0.3, -0.4, 0.5, 0.4, -0.4, 0.4])
RATE = 500.0
MOTOR = {"torque_constant": 0.1, "gear_ratio": 100.0, "direction": -1.0, "effort": "current"}
DUTY = MOTOR | {"command": "duty", "resistance": 0.5, "supply_voltage": 48.0}
SERVO = {"command": "position", "stiffness": 2000.0, "damping": 100.0, "effort": "percent"}
SERVO |= {"rated_effort": 50.0}


def drives(*each: dict[str, object]) -> dict[str, object]:
    """Return parameters of drives, the last of which are the others' too."""
    every = [*each, *[each[-1]] * (len(NAMES) - len(each))]
    return {
        f"drives.{j}.{k}": v for j, one in zip(NAMES, every, strict=True) for k, v in one.items()
    }


MIXED = drives(SERVO, SERVO, DUTY, DUTY, MOTOR | {"command": "current"}, {})


def test_an_arm_follows_and_units_stay_as_they_are(ros):
    """That its drives are told no step: test_drive_borders.py, test_position_governor.py."""
    rotors = {f"armature.{name}": 0.1 for name in NAMES} | MIXED
    home = {f"initial_positions.{j}": float(q) for j, q in zip(NAMES, START, strict=True)}
    timing = {"gains.period": 1.0 / RATE, "gains.delay": 1.0 / RATE}
    text = robot_file("panda").read_text()
    twin = {**rotors, **home, **LOCKSTEP, "rate": RATE}
    rig = Rig(ros, text, twin=twin, controller=rotors | timing)
    rig.wait_until_held()
    assert rig.names == NAMES

    gravity = fr.Dynamics(MODEL).gravity(START)
    torque = DriveUnits.of(MIXED, NAMES).measured_torque(rig.effort, gravity)
    np.testing.assert_allclose(torque, gravity, atol=0.3)
    rig.lead(START + WAY, 2.0, within=0.02)
    end = rig.now + 1.0
    ros.wait_for(lambda: rig.now > end, "a second")
    assert np.abs(rig.q - START - WAY).max() < 2e-3
    result = ros.set_parameters(CONTROLLER, {"drives.panda_joint4.torque_constant": 0.2})[0]
    assert not result.successful
    assert "drives.panda_joint4.torque_constant is fixed until the node is cleaned" in result.reason

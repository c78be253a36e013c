"""Arms whose drives take currents, duty cycles or positions: both nodes, in lockstep."""

from __future__ import annotations

import numpy as np
from support import LOCKSTEP  # skips this module where ROS is missing

# isort: split
from rig import CONTROLLER, Rig
from test_feedforward_controller import GRAVITY, NAMES, PARAMETERS, STABLE, URDF, Q

from featherstone_ros.model.drive_units import DriveUnits

MOTOR = {"torque_constant": 0.1, "gear_ratio": 100.0, "direction": -1.0, "effort": "current"}
DUTY = MOTOR | {"command": "duty", "resistance": 0.5, "supply_voltage": 48.0}
SERVO = {"command": "position", "stiffness": 200.0, "damping": 10.0, "effort": "percent"}
DRIVES = {
    f"drives.{name}.{key}": value
    for name, drive in zip(NAMES, (DUTY, SERVO | {"rated_effort": 50.0}), strict=True)
    for key, value in drive.items()
}


def test_an_arm_follows_and_units_stay_as_they_are(ros):
    """What its drives are told: test_drive_borders.py; of more arms: test_servos.py."""
    home = {f"initial_positions.{j}": float(q) for j, q in zip(NAMES, Q, strict=True)}
    twin = {**DRIVES, **home, **LOCKSTEP, "rate": 250.0}
    rig = Rig(ros, URDF, twin=twin, controller={**PARAMETERS, **STABLE, **DRIVES})
    rig.wait_until_held()
    torque = DriveUnits.of(DRIVES, NAMES).measured_torque(rig.effort, GRAVITY)
    np.testing.assert_allclose(torque, GRAVITY, atol=0.3)
    rig.lead(Q + 0.3, 0.5, within=2e-3)
    (result,) = ros.set_parameters(CONTROLLER, {"drives.shoulder.torque_constant": 0.2})
    assert not result.successful
    assert "drives.shoulder.torque_constant is fixed until the node is cleaned" in result.reason

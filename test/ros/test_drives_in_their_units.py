"""Arms whose drives take currents, duty cycles or positions: both nodes, in lockstep."""

from __future__ import annotations

import numpy as np
from support import DEEP, LOCKSTEP, Ros, seconds

# isort: split
from sensor_msgs.msg import JointState

import featherstone_ros as fr
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.robots import robot_file

NODE = "/feedforward_controller"
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


class Controlled:
    """Both nodes in lockstep, what drives are told, and where the arm is."""

    def __init__(self, ros: Ros, real: dict[str, object], known: dict[str, object]) -> None:
        self.ros, self.units = ros, DriveUnits.of(known, NAMES)
        rotors = {f"armature.{name}": 0.1 for name in NAMES}
        home = {f"initial_positions.{j}": float(q) for j, q in zip(NAMES, START, strict=True)}
        timing = {"gains.period": 1.0 / RATE, "gains.delay": 1.0 / RATE}
        self.states = ros.collect(JointState, "joint_states", DEEP)
        ros.start_pair(
            robot_file("panda").read_text(),
            twin={**rotors, **home, **LOCKSTEP, "rate": RATE, **real},
            controller={**rotors, **timing, **known},
        )
        self.run_until(0.5)

    def run_until(self, end: float) -> None:
        """Let simulated time pass [s]."""

        def is_over() -> bool:
            return bool(self.states) and seconds(self.states[-1].header.stamp) > end

        self.ros.wait_for(is_over, f"simulated time {end:.2f}")

    def of_state(self, field: str) -> np.ndarray:
        state = self.states[-1]
        values = dict(zip(state.name, getattr(state, field), strict=True))
        return np.array([values[name] for name in NAMES])


def test_an_arm_follows_and_units_stay_as_they_are(ros):
    """That its drives are told no step: test_drive_borders.py, test_position_governor.py."""
    arm = Controlled(ros, MIXED, MIXED)
    torque = arm.units.measured_torque(arm.of_state("effort"), fr.Dynamics(MODEL).gravity(START))
    np.testing.assert_allclose(torque, fr.Dynamics(MODEL).gravity(START), atol=0.3)
    there = ros.move(NAMES, START + WAY, 2.0, within=0.02)
    arm.run_until(seconds(there.header.stamp) + 1.0)
    assert np.abs(arm.of_state("position") - START - WAY).max() < 2e-3
    result = ros.set_parameters(NODE, {"drives.panda_joint4.torque_constant": 0.2})[0]
    assert not result.successful
    assert "drives.panda_joint4.torque_constant is fixed until the node is cleaned" in result.reason

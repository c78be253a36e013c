"""A servo arm under a controller in plain Python: your loop, your bus, no ROS.

    python examples/servo_arm.py my_arm.urdf     # a chain of hobby servos; without a file, a Panda

``bus`` is where your servos are read and written; here they are simulated. The loop keeps its own
time, 50 to 500 times a second.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from driven_arm import DrivenArm

import featherstone_ros as fr
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation.closed_loop import ClosedLoop

RATE = 100.0  # [Hz]
ROTOR = 0.03  # [kg m^2] behind the gears
SERVO = {"command": "position", "stiffness": 2000.0, "damping": 120.0}  # of its position loop


def main(
    duration: float = 4.0,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Floats:
    """Swing each joint by .2 rad; print how far it was off at most, after the first second."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("urdf", nargs="?", help="of a chain of servos; without it, a Panda")
    urdf = parser.parse_args().urdf
    model = fr.Model.from_file(urdf) if urdf else fr.Model.from_robot("panda")
    joints, start = model.joint_names, np.clip(0.0, model.lower + 0.3, model.upper - 0.3)
    parameters: dict[str, object] = {f"armature.{joint}": ROTOR for joint in joints}
    parameters |= {"output": "joint_state", "gains.period": 1 / RATE, "gains.delay": 1 / RATE}
    arm = ControlledArm.of(model, parameters)
    drives = {f"drives.{joint}.{name}": SERVO[name] for joint in joints for name in SERVO}
    servos = DriveUnits.of(drives, joints)
    bus = DrivenArm(model, servos, ROTOR, q=start, time_step=1e-3)  # yours: units, read, write
    loop = ClosedLoop(arm, bus)
    begin, samples = now(), []
    for k in range(round(RATE * duration)):
        sleep(max(begin + k / RATE - now(), 0.0))  # your own timing
        samples.append(loop.step(now() - begin))
        if k == 20:  # the arm is taken over
            ends = [Point(1.5, start + 0.2, 0.0 * start), Point(3.0, start, 0.0 * start)]
            loop.controller.set_trajectory(loop.now, joints, ends)
    worst: Floats = np.abs([one.error for one in samples[round(RATE) :]]).max(axis=0)
    for joint, error in zip(joints, worst, strict=True):
        print(f"{joint}: {1e3 * error:.1f} mrad")
    return worst


if __name__ == "__main__":
    main()

"""A servo arm under a controller in plain Python: your loop, your bus, no ROS.

    python examples/servo_arm.py my_arm.urdf     # a chain of hobby servos; without a file, a Panda

``Bus`` is where your servos are read and written; here they are simulated. The loop keeps its own
time, 50 to 500 times a second.
"""

import sys
import time

import numpy as np

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.simulation import DrivenArm
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.drive_bus import DriveBus

RATE = 100.0  # [Hz]
ROTOR = 0.03  # [kg m^2] behind the gears
STIFFNESS, DAMPING = 2000.0, 120.0  # [N m/rad, N m s/rad] of the servos' position loops


def main(duration=4.0, now=time.monotonic, sleep=time.sleep):
    """Swing each joint by .2 rad; print how far it was off at most, after the first second."""
    model = fr.Model.from_file(sys.argv[1]) if sys.argv[1:] else fr.Model.from_robot("panda")
    joints, start = model.joint_names, np.clip(0.0, model.lower + 0.3, model.upper - 0.3)
    timing = {"gains.period": 1.0 / RATE, "gains.delay": 1.0 / RATE}
    rotors = {f"armature.{joint}": ROTOR for joint in joints}
    arm = ControlledArm.of(model, {"output": "joint_state"} | timing | rotors)
    servos = DriveUnits(joints, "position", stiffness=STIFFNESS, damping=DAMPING)
    bus = DrivenArm(model, servos, ROTOR, q=start, time_step=1e-3)  # yours: read(now), write(at, q)
    loop = ClosedLoop(arm, DriveBus(model, servos, bus))
    begin, samples = now(), []
    for k in range(round(RATE * duration)):
        sleep(max(begin + k / RATE - now(), 0.0))  # your own timing
        samples.append(loop.step(now() - begin))
        if k == 20:  # the arm is taken over
            ends = [Point(1.5, start + 0.2, 0.0 * start), Point(3.0, start, 0.0 * start)]
            loop.controller.set_trajectory(loop.now, joints, ends)
    worst = np.abs([one.error for one in samples[round(RATE) :]]).max(axis=0)
    for joint, error in zip(joints, worst, strict=True):
        print(f"{joint}: {1e3 * error:.1f} mrad")
    return worst


if __name__ == "__main__":
    main()

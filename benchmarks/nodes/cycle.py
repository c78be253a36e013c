"""Time of a control cycle, from a joint state's bytes to a command's, without the middleware.

The controller follows a trajectory by the model and PD. In a tight loop everything is in the
caches; after a sleep, as between the states of a real arm, hardly anything is. It is called from
Python, whose share (one call, and a list of what is published) is in the figures.
"""

import struct
import time

import numpy as np

from benchmarks.nodes.meter import standing_arm
from benchmarks.nodes.reaction import slow_motion
from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import TEXTS, Phase
from featherstone_ros.control.trajectory import Point
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.multi_sine import POINT_SPACING
from featherstone_ros.tools.robot_setup import RobotSetup

PAUSES = {"tight loop": 0.0, "after 2 ms of sleep": 2e-3}  # [s] before each cycle
_COUNTS = {0.0: 2000, 2e-3: 200}
_PERIOD = 1_000_000  # [ns] between the stamps of two states
_STAMP = 4  # offset of the stamp in a serialised state [bytes]


def durations(robot: RobotSetup, pause: float) -> Floats:
    """Return how long some cycles took [s], all of them on the trajectory."""
    controller = robot.arm.controller()
    controller.activate(time.monotonic())
    controller.accept_state(time.monotonic(), robot.start, np.zeros(robot.model.n), stamp=1.0)
    samples = zip(*slow_motion(robot).samples(POINT_SPACING), strict=True)
    points = [Point(*sample) for sample in samples]
    controller.set_trajectory(time.monotonic(), robot.model.joint_names, points)
    states = [bytearray(state) for state in standing_arm(robot)]
    found = np.empty(_COUNTS[pause])
    for k in range(len(found)):
        stamp, state = 1_000_000_000 + (k + 1) * _PERIOD, states[k % 2]
        struct.pack_into("<iI", state, _STAMP, stamp // 1_000_000_000, stamp % 1_000_000_000)
        message = bytes(state)
        if pause:
            time.sleep(pause)
        begin = time.monotonic_ns()
        controller.compiled.message(0, message, begin)
        found[k] = 1e-9 * (time.monotonic_ns() - begin)
    if controller.phase != Phase.TRAJECTORY:
        raise FeatherstoneError(f"the controller ended in phase {TEXTS[controller.phase]!r}")
    return found

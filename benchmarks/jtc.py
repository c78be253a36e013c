"""The real joint_trajectory_controller of ros2_controllers, called as its own unit tests call it.

FEATHERSTONE_JTC names a shared library that exports

  void * jtc_create(int n, const char ** joints, double rate, const double * q);
  void jtc_chunk(void *, double stamp, int points, const double * times, const double * positions);
  int jtc_update(void *, double time, double period, const double * q, const double * qd,
                 double * reference);

of a JointTrajectoryController that is active with these joints at q, with position and velocity
interfaces, interpolate_from_desired_state and positions_upsampling.enable: its topic_callback with
positions (points, n), and its update() with the reference (3, n) of the state that it publishes.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats

DAY = 86400.0  # [s] it refuses what ended before its node's clock: begin later
FLOATS = np.ctypeslib.ndpointer(np.float64, flags="C")
HANDLE, DOUBLE = ctypes.c_void_p, ctypes.c_double


class JointTrajectoryController:
    """One that is active; times are the caller's [s], from 0."""

    def __init__(self, joints: Sequence[str], start: Floats, rate: float) -> None:
        """Activate one whose arm stands at a position (n,), for so many updates per second.

        Raises:
            RuntimeError: It does not become active.
        """
        self._library, n = ctypes.CDLL(os.environ["FEATHERSTONE_JTC"]), len(joints)
        names = (ctypes.c_char_p * n)(*(joint.encode() for joint in joints))
        self._library.jtc_create.restype = HANDLE
        self._library.jtc_create.argtypes = (ctypes.c_int, type(names), DOUBLE, FLOATS)
        self._library.jtc_chunk.argtypes = (HANDLE, DOUBLE, ctypes.c_int, FLOATS, FLOATS)
        self._library.jtc_update.argtypes = (HANDLE, DOUBLE, DOUBLE, FLOATS, FLOATS, FLOATS)
        self._epoch, self._period = float(round(time.time() + DAY)), 1.0 / rate
        self._reference = np.zeros((3, n))
        self._object = self._library.jtc_create(n, names, rate, start)
        if not self._object:
            raise RuntimeError("joint_trajectory_controller did not become active")

    def accept(self, stamp: float | None, times: Floats, positions: Floats) -> None:
        """Take points (K, n) that arrive now, at times (K,) from the stamp; None: from now on."""
        by_its_clock = 0.0 if stamp is None else self._epoch + stamp
        self._library.jtc_chunk(self._object, by_its_clock, len(times), times, positions)

    def step(self, now: float, q: Floats, qd: Floats) -> Floats:
        """Return position, velocity and acceleration that are asked for (3, n)."""
        moment = self._epoch + now
        self._library.jtc_update(self._object, moment, self._period, q, qd, self._reference)
        return self._reference.copy()

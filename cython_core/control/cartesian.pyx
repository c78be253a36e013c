"""Cartesian impedance control for callers in Python: owns the memory for cartesian_impedance.pxd.

featherstone_ros.control.CartesianImpedance checks the settings and says what they mean.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.string cimport memcpy

from control.cartesian_impedance cimport cartesian_impedance
from control.hand_kinematics cimport add_armature, hand_kinematics
from control.impedance_modes cimport delay_margin
from control.impedance_state cimport (WALLS, Hand, Impedance, ImpedanceSettings, Wall, lay_out,
                                      memory_size, start_impedance)
from dynamics_interface cimport DynamicsInterface

import numpy as np

cnp.import_array()

most_walls = WALLS

include "impedance_settings.pxi"


cdef class Law:
    """One hand's state, settings and scratch; arrays are C-contiguous float64 and checked by the
    caller.

    Args:
        bound: A ``BoundDynamics`` that nobody else uses.
        link: Index in ``model.link_names``.
        offset: (4, 4) pose of the hand's frame in the link's.
    """

    cdef Impedance state
    cdef ImpedanceSettings settings
    cdef Hand hand
    cdef const DynamicsInterface* arm
    cdef object bound
    cdef Py_ssize_t link
    cdef double[16] offset
    cdef double[6] velocity
    cdef double[16] pose
    cdef double[::1] memory
    cdef double* Minv
    cdef double* J
    cdef double* armature

    def __cinit__(self, bound, Py_ssize_t link, double[:, ::1] offset):
        cdef Py_ssize_t n
        self.bound, self.link = bound, link
        self.arm = <const DynamicsInterface*> PyCapsule_GetPointer(
            bound.capsule, "featherstone_ros.DynamicsInterface")
        n = self.arm.n
        memcpy(self.offset, &offset[0, 0], 16 * sizeof(double))
        self.memory = np.zeros(memory_size(n) + n * n + 7 * n + 1)
        lay_out(&self.state, &self.settings, n, &self.memory[0])
        self.Minv = &self.memory[0] + memory_size(n)
        self.J = self.Minv + n * n
        self.armature = self.J + 6 * n
        self.hand.pose, self.hand.J, self.hand.velocity, self.hand.Minv = (
            self.pose, self.J, self.velocity, self.Minv)
        start_impedance(&self.state, &self.settings, self.offset)

    def configure(self, s):
        """Take settings, a mapping from the names of ``ImpedanceSettings`` to arrays; the stiffness
        is led there.
        """
        memcpy(self.state.old_stiffness, self.state.stiffness, 6 * sizeof(double))
        self.state.elapsed = 0.0
        fill_settings(&self.settings, self.state.n, s)

    def set_armature(self, const double[::1] armature):
        """Take the rotors' inertia (n,) that the law is to know of."""
        fill(self.armature, armature, self.state.n)

    cdef void update_kinematics(self, const double* q, const double* qd) noexcept nogil:
        """What the model says of the hand."""
        hand_kinematics(self.arm, self.link, self.offset, q, qd, self.pose, self.J, self.velocity)

    def start(self, const double[::1] q, const double[::1] qd):
        """Begin at rest: the target is where the hand is, the posture as set."""
        self.update_kinematics(&q[0], &qd[0])
        start_impedance(&self.state, &self.settings, self.pose)

    def target(self, const double[:, ::1] pose, const double[::1] velocity,
               const double[::1] wrench):
        """Set the target's pose and velocity, and the feed-forward wrench."""
        memcpy(self.state.target, &pose[0, 0], 16 * sizeof(double))
        fill(self.state.target_velocity, velocity, 6)
        fill(self.state.feedforward, wrench, 6)

    def torque(self, const double[::1] q, const double[::1] qd, double dt, double[::1] gravity,
               double[::1] out):
        """The law's torque after a step of time dt, and gravity's; without the GIL.

        Returns:
            1 + the index of a joint that moves no inertia, or 0.
        """
        cdef Py_ssize_t failure
        with nogil:
            self.update_kinematics(&q[0], &qd[0])
            failure = self.arm.minv(self.arm.self, &q[0], self.Minv)
            if not failure:
                add_armature(self.Minv, self.state.n, self.armature, self.state.x)
                cartesian_impedance(&self.state, &self.settings, &self.hand, &q[0], &qd[0], dt,
                                    &out[0])
                self.arm.gravity(self.arm.self, &q[0], &gravity[0])
        return failure

    def report(self):
        """What the last step saw and did, copies:
        featherstone_ros.control.CartesianImpedance.report.
        """
        cdef Py_ssize_t n = self.state.n
        return {
            "pose": np.array(<double[:16]> self.pose).reshape(4, 4),
            "velocity": np.array(<double[:6]> self.velocity),
            "desired": np.array(<double[:16]> self.state.desired).reshape(4, 4),
            "desired_velocity": np.array(<double[:6]> self.state.desired_velocity),
            "error": np.array(<double[:6]> self.state.error),
            "wrench": np.array(<double[:6]> self.state.wrench),
            "jacobian": np.array(<double[:6, :n]> self.J),
            "stiffness": np.array(<double[:6]> self.state.stiffness),
            "frequencies": np.array(<double[:6]> self.state.mode_frequency),
            "delay_margin": delay_margin(&self.state),
            "tank": self.state.tank,
        }

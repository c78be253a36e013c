"""Poses: the error between two of them, and the joint positions that reach one.

featherstone_ros.kinematics checks arguments.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport fabs

from dynamics_interface cimport DynamicsInterface
from inverse_kinematics cimport Attempt, Goal, inverse_kinematics
from task_space.pose cimport add_cross_product, pose_error, pose_error_derivative, rotation_of

import numpy as np

cnp.import_array()


def pose_errors(const double[:, :, ::1] poses, const double[:, :, ::1] targets, last,
                double[:, ::1] out):
    """out, (B, 6): the errors of poses (B, 4, 4) and targets (B, 4, 4).

    last: rotation vectors (B, 3), or None.
    """
    cdef const double[:, ::1] before = np.zeros((1, 3)) if last is None else last
    cdef bint continued = last is not None
    cdef Py_ssize_t k
    with nogil:
        for k in range(out.shape[0]):
            pose_error(&poses[k, 0, 0], &targets[k, 0, 0], &before[k, 0] if continued else NULL,
                       &out[k, 0])


def pose_error_derivatives(const double[:, ::1] errors, const double[:, ::1] velocities,
                           const double[:, ::1] target_velocities, double[:, ::1] out):
    """out, (B, 6): the derivatives of errors (B, 6) under velocities (B, 6) of the link and of its
    target.
    """
    cdef Py_ssize_t k
    with nogil:
        for k in range(out.shape[0]):
            pose_error_derivative(&errors[k, 0], &velocities[k, 0], &target_velocities[k, 0],
                                  &out[k, 0])


def improper(const double[:, :, ::1] poses, double tolerance):
    """What makes one of poses (B, 4, 4) no homogeneous transform: 1 its rotation, 2 its last row, 0
    nothing.
    """
    cdef double[3] normal
    cdef const double* T
    cdef double product
    cdef Py_ssize_t b, i, j, k
    for b in range(poses.shape[0]):
        T = &poses[b, 0, 0]
        for i in range(3):
            normal[i] = 0.0
            for j in range(3):
                product = -1.0 if i == j else 0.0
                for k in range(3):
                    product += T[4 * k + i] * T[4 * k + j]
                if not fabs(product) <= tolerance:
                    return 1
        add_cross_product(1.0, T, T + 4, normal)
        if not normal[0] * T[8] + normal[1] * T[9] + normal[2] * T[10] > 0.0:
            return 1
        if T[12] != 0.0 or T[13] != 0.0 or T[14] != 0.0 or T[15] != 1.0:
            return 2
    return 0


def transforms(const double[:, ::1] poses, double[:, :, ::1] out):
    """out, (B, 4, 4), of positions and quaternions x y z w, (B, 7)."""
    cdef Py_ssize_t k, i
    with nogil:
        for k in range(out.shape[0]):
            rotation_of(&poses[k, 3], &out[k, 0, 0], 4)
            for i in range(3):
                out[k, i, 3] = poses[k, i]
                out[k, 3, i] = 0.0
            out[k, 3, 3] = 1.0


def solve(bound, Py_ssize_t link, const double[:, :, ::1] targets, const double[:, ::1] limits,
          weights, tolerances, Py_ssize_t iterations, double[:, ::1] q):
    """Inverse kinematics of B targets (B, 4, 4), from q (B, n) on, which becomes the result;
    without the GIL.

    Args:
        bound: A ``BoundDynamics`` that nobody else uses.
        link: Index in ``model.link_names``.
        targets: (B, 4, 4).
        limits: (2, n) lower, upper.
        weights: (6,) of the rows of the error, 0 for one that does not matter.
        tolerances: (2,) what is near enough [m, rad].
        iterations: Per target, at most.
        q: (B, n) initial guess, and result.

    Returns:
        (B, 6) the errors that are left, (B,) an ``Outcome`` each, (B,) numbers of iterations.
    """
    cdef const DynamicsInterface* arm = <const DynamicsInterface*> PyCapsule_GetPointer(
        bound.capsule, "featherstone_ros.DynamicsInterface")
    cdef Py_ssize_t n = arm.n, count = q.shape[0], k
    cdef double[:, ::1] errors = np.empty((count, 6))
    cdef Py_ssize_t[::1] outcomes = np.zeros(count, np.intp), counts = np.zeros(count, np.intp)
    cdef double[::1] memory = np.empty(6 * n + n * n + 3 * n + 1)
    cdef double* at = &memory[0]
    cdef Goal goal
    cdef Attempt attempt
    goal.link, goal.max_iterations = link, iterations
    goal.position_tolerance, goal.orientation_tolerance = tolerances
    goal.lower, goal.upper = &limits[0, 0], &limits[1, 0]
    for k in range(6):
        goal.weight[k] = weights[k]
    attempt.J, attempt.A, attempt.g = at, at + 6 * n, at + 6 * n + n * n
    attempt.step, attempt.trial = attempt.g + n, attempt.g + 2 * n
    with nogil:
        for k in range(count):
            outcomes[k] = inverse_kinematics(arm, &goal, &targets[k, 0, 0], &q[k, 0], &attempt,
                                             &errors[k, 0], &counts[k])
    return np.asarray(errors), np.asarray(outcomes), np.asarray(counts)

# The inertia that each joint of q carries, (6, 6): the composite one, of all beyond the joint as
# one rigid body (R of Rodriguez and Jain, I^c of RBDA Table 6.2), or the articulated one, with the
# joints beyond free (P, I^A of Table 7.1). Here both are given as wrenches are in the API: in the
# frame of the joint's child link, at its origin, linear part first.

from system cimport System, Workspace
from spatial cimport put, real
from aba cimport unpack
from crba cimport composite_inertias
from joint_wrenches cimport wrench_at_link
from minv cimport gains


cdef inline void unpack_rigid(const real* I, real* A) noexcept nogil:
    """A, (6, 6) row by row, of the ten numbers of a rigid body's inertia (crba.pxd)."""
    cdef const real* h = I + 6
    cdef Py_ssize_t i, j, k = 0
    for i in range(36):
        put(0.0, &A[i])
    for i in range(3):
        for j in range(i, 3):
            A[6 * i + j] = A[6 * j + i] = I[k]
            k += 1
        A[21 + 7 * i] = I[9]
    A[5 * 6 + 1] = A[1 * 6 + 5] = -h[0]                         # [h]x
    A[4 * 6 + 2] = A[2 * 6 + 4] = h[0]
    A[3 * 6 + 2] = A[2 * 6 + 3] = -h[1]
    A[5 * 6 + 0] = A[0 * 6 + 5] = h[1]
    A[4 * 6 + 0] = A[0 * 6 + 4] = -h[2]
    A[3 * 6 + 1] = A[1 * 6 + 3] = h[2]


cdef inline void at_joint(const System* system, Py_ssize_t joint, const real* A,
                          real* out) noexcept nogil:
    """out, (6, 6), of A, the inertia of the joint's body in the body's frame: X* A X^-1."""
    cdef const double* E = system.link_pose + 12 * system.joint_link[joint]
    cdef real[36] B
    cdef real[6] column
    cdef Py_ssize_t i, k
    for i in range(6):                                          # the first X*: of rows, as A = A^T
        wrench_at_link[real](E, A + 6 * i, B + 6 * i)
    for k in range(6):
        for i in range(6):
            column[i] = B[6 * i + k]
        wrench_at_link[real](E, column, out + 36 * joint + 6 * k)


cdef inline void composite_link_inertias(const System* system, Workspace* work,
                                         real* out) noexcept nogil:
    """(joints, 6, 6), after jcalc."""
    cdef real[36] A
    cdef Py_ssize_t i, slot
    composite_inertias[real](system, work, <real*> work.inertia)
    for i in range(system.n - 6 if system.floating else system.n):
        slot = system.link_slot[system.joint_link[i]]
        unpack_rigid[real](<real*> work.inertia + 10 * slot, A)
        at_joint(system, i, A, out)


cdef inline Py_ssize_t articulated_link_inertias(const System* system, Workspace* work,
                                                 real* out) noexcept nogil:
    """(joints, 6, 6), after base_axes; no mimic joints."""
    cdef real[36] A
    cdef Py_ssize_t i, slot, failure
    failure = gains(system, work, True, <real*> work.force_set, <real*> work.D)
    if failure:
        return failure
    for i in range(system.n - 6 if system.floating else system.n):
        slot = system.link_slot[system.joint_link[i]]
        unpack[real](<real*> work.inertia + 21 * slot, A)
        at_joint(system, i, A, out)
    return 0

# What Cartesian impedance control needs of the arm: pose, Jacobian and velocity of a frame fixed to
# a link, and the inverse inertia of links and drives together.

from libc.string cimport memcpy

from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport add_cross_product


cdef inline void add_armature(double* Minv, Py_ssize_t n, const double* armature,
                              double* column) noexcept nogil:
    """Minv, (n, n), becomes (M + diag(armature))^-1, joint by joint (Sherman and Morrison).

    column: (n,) scratch.
    """
    cdef double share
    cdef Py_ssize_t i, j, k
    for i in range(n):
        if armature[i] == 0.0:
            continue
        share = armature[i] / (1.0 + armature[i] * Minv[i * (n + 1)])
        memcpy(column, Minv + i * n, n * sizeof(double))
        for j in range(n):
            for k in range(n):
                Minv[j * n + k] -= share * column[j] * column[k]


cdef inline void move_to_point(const double* point, Py_ssize_t n, double* pose,
                               double* J) noexcept nogil:
    """Make pose (16) and J (6, n) of a link those of a frame fixed to it: its pose (16) in the
    link's frame.
    """
    cdef double[16] T
    cdef double[3] arm, column
    cdef Py_ssize_t i, j, k
    for i in range(3):
        arm[i] = pose[4 * i] * point[3] + pose[4 * i + 1] * point[7] + pose[4 * i + 2] * point[11]
        for j in range(4):
            T[4 * i + j] = (pose[4 * i] * point[j] + pose[4 * i + 1] * point[4 + j]
                            + pose[4 * i + 2] * point[8 + j])
        T[4 * i + 3] += pose[4 * i + 3]
    memcpy(pose, T, 12 * sizeof(double))
    for k in range(n):
        for i in range(3):
            column[i] = J[(3 + i) * n + k]
            T[i] = J[i * n + k]
        add_cross_product(1.0, column, arm, T)
        for i in range(3):
            J[i * n + k] = T[i]


cdef inline void hand_kinematics(const DynamicsInterface* arm, Py_ssize_t link, const double* point,
                                 const double* q, const double* qd, double* pose, double* J,
                                 double* velocity) noexcept nogil:
    """Find pose (16), Jacobian (6, n) and velocity (6) of a frame fixed to a link: its pose (16) in
    the link's frame.
    """
    cdef Py_ssize_t n = arm.n, i, k
    arm.link_pose(arm.self, link, q, pose)
    arm.jacobian(arm.self, link, q, J)
    move_to_point(point, n, pose, J)
    for i in range(6):
        velocity[i] = 0.0
        for k in range(n):
            velocity[i] += J[i * n + k] * qd[k]

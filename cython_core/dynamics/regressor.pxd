# The regressor Y of tau = Y phi, phi holding m, m c and the inertia I about the origin of every
# link, in its own axes.
#
# How the coded lines follow:
# 1. By virtual work tau_i = integral d . r'' dm over all points. Those of a link move by d = l + z
#    x r per unit of q_i, [z; l] being S_i seen from the link's origin, and accelerate with r'' = a
#    + U r, U = [w']x + [w]x [w]x (rnea.pxd, note 2), a the acceleration of the origin, gravity
#    included.
# 2. Multiplied out, with integral r dm = m c, and I w' + w x I w the moment of what turns about the
#    origin:
#        tau_i = m (l . a) + m c . (U^T l + a x z) + z . I w' + (z x w) . I w.
# 3. z . I w' is a sum over the entries of I, the off-diagonal ones counted for both of their
#    places.
# 4. All this is taken in the link's axes. S, V and A are seen from the point O of
#    base_coordinates.pxd; a body's point o, seen from there, accelerates with
#    A_l + A_a x o + V_a x (V_l + V_a x o) (RBDA section 2.11).

from libc.string cimport memset

from system cimport Body, System, Workspace
from spatial cimport add_cross, copy, real, unlikely
from base_coordinates cimport base_acceleration_of, base_freedom, cross, velocities
from rnea cimport acceleration_matrix


cdef inline void to_link(const real* E, const real* x, real* out) noexcept nogil:
    """out = E^T x."""
    cdef Py_ssize_t k
    for k in range(3):
        out[k] = E[k] * x[0] + E[3 + k] * x[1] + E[6 + k] * x[2]


cdef inline void link_frame(const System* system, const Workspace* work, Py_ssize_t link, real* E,
                            real* o) noexcept nogil:
    """Orientation E (its columns are the axes) and origin of a link, after poses."""
    cdef const double* pose = system.link_pose + 12 * link
    cdef const real* R = <real*> work.R + 9 * system.link_slot[link]
    cdef Py_ssize_t j, k
    for j in range(3):
        for k in range(3):
            E[3 * j + k] = (R[3 * j] * pose[k] + R[3 * j + 1] * pose[3 + k]
                            + R[3 * j + 2] * pose[6 + k])
        o[j] = (<real*> work.r)[3 * system.link_slot[link] + j] \
            + R[3 * j] * pose[9] + R[3 * j + 1] * pose[10] + R[3 * j + 2] * pose[11]


cdef inline void point_motion(const real* M, const real* o, real* x) noexcept nogil:
    """x = M_l + M_a x o, the linear part of a motion vector at the point o."""
    cdef Py_ssize_t k
    copy(M + 3, 3, x)
    add_cross(M, o, x)


cdef inline void add_row(const real* S, const real* E, const real* o, const real* w,
                         const real* w_dot, const real* a, const real* U, real* y) noexcept nogil:
    """y, (10,), += the torque along S that each of a link's parameters gives (notes 2, 3)."""
    cdef real[3] t, z, l, zw
    cdef Py_ssize_t k
    point_motion[real](S, o, t)
    to_link[real](E, S, z)
    to_link[real](E, t, l)
    cross[real](z, w, zw)
    y[0] += l[0] * a[0] + l[1] * a[1] + l[2] * a[2]
    for k in range(3):
        y[1 + k] += U[k] * l[0] + U[3 + k] * l[1] + U[6 + k] * l[2]
    add_cross[real](a, z, y + 1)
    y[4] += z[0] * w_dot[0] + zw[0] * w[0]
    y[5] += z[0] * w_dot[1] + z[1] * w_dot[0] + zw[0] * w[1] + zw[1] * w[0]
    y[6] += z[0] * w_dot[2] + z[2] * w_dot[0] + zw[0] * w[2] + zw[2] * w[0]
    y[7] += z[1] * w_dot[1] + zw[1] * w[1]
    y[8] += z[1] * w_dot[2] + z[2] * w_dot[1] + zw[1] * w[2] + zw[2] * w[1]
    y[9] += z[2] * w_dot[2] + zw[2] * w[2]


cdef inline void regressor(const System* system, Workspace* work, const real* qd, const real* qdd,
                           real* Y) noexcept nogil:
    """Y, (n, 10 links), per link m, m c, I xx xy xz yy yz zz; after base_coordinates."""
    cdef const Body* b
    cdef real* A
    cdef real[9] E, U
    cdef real[6] S
    cdef real[3] o, t, w, w_dot, a, l
    cdef Py_ssize_t columns = 10 * system.links, i, j, k, link

    velocities(system, work, qd)
    if unlikely(system.floating):
        base_acceleration_of(system, work, qdd)
    for i in range(1, system.N + 1):
        b = &system.body[i]
        A = <real*> work.acceleration + 6 * i
        for k in range(6):
            A[k] = ((<real*> work.acceleration)[6 * b.parent + k]
                    + (<real*> work.S)[6 * i + k] * qdd[b.dof]
                    + (<real*> work.Psi_dot)[6 * i + k] * qd[b.dof])
    memset(Y, 0, system.n * columns * sizeof(real))
    for link in range(system.links):
        i = system.link_slot[link]
        if i == system.ground:
            continue
        link_frame[real](system, work, link, E, o)
        point_motion[real](<real*> work.velocity + 6 * i, o, t)
        point_motion[real](<real*> work.acceleration + 6 * i, o, l)
        add_cross[real](<real*> work.velocity + 6 * i, t, l)           # note 4
        to_link[real](E, l, a)
        to_link[real](E, <real*> work.velocity + 6 * i, w)
        to_link[real](E, <real*> work.acceleration + 6 * i, w_dot)
        acceleration_matrix[real](w, w_dot, U)
        while i > 0:                                            # the joints that move the link
            b = &system.body[i]
            add_row[real](<real*> work.S + 6 * i, E, o, w, w_dot, a, U,
                          Y + b.dof * columns + 10 * link)
            i = b.parent
        if unlikely(system.floating):
            for i in range(6):
                base_freedom(work, i, S)
                add_row[real](S, E, o, w, w_dot, a, U, Y + i * columns + 10 * link)

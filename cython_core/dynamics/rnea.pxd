# The Recursive Newton-Euler Algorithm, RBDA Table 5.1, in 3-vectors. Row by row as in the book:
# test/reference/featherstone.py.
#
# How the coded lines follow from the table:
# 1. Table 5.1, for body i with parent p and joint axis S:
#        v_i = iXp v_p + S qd                     f_i = I a_i + v_i x* I v_i - f_ext
#        a_i = iXp a_p + S qdd + v_i x S qd       tau_i = S^T f_i
#        v_0 = 0, a_0 = -gravity                  f_p = f_p + pXi* f_i
# 2. Split a into [w_dot; a_O - w x v_O], a_O being the acceleration of the frame's origin (RBDA
#    section 2.11). In terms of a_O the linear velocities drop out of the table: a point fixed in
#    body i at r has the acceleration
#        a_O + U r,     U = [w_dot]x + [w]x [w]x.
# 3. So a child's origin at s + d z has a_p + U_p s + U_i z d, since points of the joint's axis
#    belong to both bodies (U_p z = U_i z), plus the joint's own sliding: z qdd + 2 w x z qd.
# 4. The force is the integral of (a_O + U r) dm  = mass a_O + U h.
# 5. The moment is the integral of r x (a_O + U r) dm = h x a_O + the axial vector of U Sigma, Sigma
#    = integral r r^T dm, that is  (U_z . Sigma_y - U_y . Sigma_z,  U_x . Sigma_z - U_z .
#    Sigma_x,  U_y . Sigma_x - U_x . Sigma_y)  by rows.
# 6. f_ext acts on body i, so joint i does not have to transmit it.
# 7. Motion and force are passed from one slot to the next in local variables; the workspace keeps
#    the motion of a body with several children.
# 8. A floating base has v_0 = qd and a_0 = qdd - gravity, with its six numbers of qd and qdd. The
#    force f_0 that it needs is found like any body's, and is its part of tau.
# U thus serves the acceleration of every child, the force and the moment, and is formed once per
# body.

from system cimport SHIFT_ALONG_X, SHIFT_GENERAL, Body, System, Workspace
from spatial cimport (add, add_cross, always_inline, clear, copy, force_to_parent, never_inline,
                      put, real, turn_to_child, unlikely)
from joint cimport gravity_in_base


cdef inline always_inline acceleration_matrix(const real* w, const real* w_dot,
                                              real* U) noexcept nogil:
    """U = [w_dot]x + [w]x [w]x (note 2), row by row."""
    cdef real xx = w[0] * w[0], yy = w[1] * w[1], zz = w[2] * w[2]
    cdef real xy = w[0] * w[1], xz = w[0] * w[2], yz = w[1] * w[2]
    U[0] = -yy - zz
    U[1] = xy - w_dot[2]
    U[2] = xz + w_dot[1]
    U[3] = xy + w_dot[2]
    U[4] = -xx - zz
    U[5] = yz - w_dot[0]
    U[6] = xz - w_dot[1]
    U[7] = yz + w_dot[0]
    U[8] = -xx - yy


cdef inline always_inline net_force(double mass, const double* h, const double* Sigma,
                                    const real* U, const real* a, real* f) noexcept nogil:
    """The moment (note 5) and force (note 4) that give a body the motion U, a."""
    cdef const real* x = U                                      # the rows of U
    cdef const real* y = U + 3
    cdef const real* z = U + 6
    f[0] = ((z[0] * Sigma[1] + z[1] * Sigma[3] + z[2] * Sigma[4])
            - (y[0] * Sigma[2] + y[1] * Sigma[4] + y[2] * Sigma[5]))
    f[1] = ((x[0] * Sigma[2] + x[1] * Sigma[4] + x[2] * Sigma[5])
            - (z[0] * Sigma[0] + z[1] * Sigma[1] + z[2] * Sigma[2]))
    f[2] = ((y[0] * Sigma[0] + y[1] * Sigma[1] + y[2] * Sigma[2])
            - (x[0] * Sigma[1] + x[1] * Sigma[3] + x[2] * Sigma[4]))
    f[0] += h[1] * a[2] - h[2] * a[1]
    f[1] += h[2] * a[0] - h[0] * a[2]
    f[2] += h[0] * a[1] - h[1] * a[0]
    f[3] = mass * a[0] + x[0] * h[0] + x[1] * h[1] + x[2] * h[2]
    f[4] = mass * a[1] + y[0] * h[0] + y[1] * h[1] + y[2] * h[2]
    f[5] = mass * a[2] + z[0] * h[0] + z[1] * h[1] + z[2] * h[2]


cdef inline always_inline motion_at_joint(const Body* b, real c, real s,
                                          real* motion) noexcept nogil:
    """Take (w, w_dot, a) to the parent's point s (note 3) and into the child's axes."""
    cdef real* w = motion
    cdef real* w_dot = motion + 3
    cdef real* a = motion + 6
    cdef real[9] U
    cdef Py_ssize_t k
    if b.shift == SHIFT_ALONG_X:
        a[0] -= b.s[0] * (w[1] * w[1] + w[2] * w[2])
        a[1] += b.s[0] * (w[0] * w[1] + w_dot[2])
        a[2] += b.s[0] * (w[0] * w[2] - w_dot[1])
    elif b.shift == SHIFT_GENERAL:
        acceleration_matrix(w, w_dot, U)
        for k in range(3):
            a[k] += U[3 * k] * b.s[0] + U[3 * k + 1] * b.s[1] + U[3 * k + 2] * b.s[2]
    turn_to_child(b, c, s, motion, 3)


cdef inline always_inline add_joint_motion(const Body* b, real d, real rate, real acceleration,
                                           real* motion, real* U) noexcept nogil:
    """Add the joint's own motion (note 3) by its rate and acceleration; U of the body."""
    cdef real* w = motion
    cdef real* w_dot = motion + 3
    cdef real* a = motion + 6
    cdef Py_ssize_t k
    if not b.revolute:
        a[0] += 2.0 * b.linear * w[1] * rate
        a[1] -= 2.0 * b.linear * w[0] * rate
        a[2] += b.linear * acceleration
        rate = b.angular * rate
        acceleration = b.angular * acceleration
    w_dot[0] += w[1] * rate
    w_dot[1] -= w[0] * rate
    w_dot[2] += acceleration
    w[2] += rate
    acceleration_matrix(w, w_dot, U)
    if b.offset:
        for k in range(3):
            a[k] += U[3 * k + 2] * d


cdef inline never_inline base_force(const System* system, Workspace* work, const real* qd,
                                    const real* qdd, const real* f_ext) noexcept nogil:
    """Motion of a floating base and f_0 (note 8); arguments as for body_forces."""
    cdef const Body* b = &system.body[0]
    cdef real* w = <real*> work.motion
    cdef real* w_dot = w + 3
    cdef real* a = w + 6
    cdef real* f = <real*> work.f
    cdef real[9] U
    cdef Py_ssize_t k
    gravity_in_base(system, work, a)
    for k in range(3):
        put(0.0, &w[k])
        put(0.0, &w_dot[k])
        a[k] = -a[k]
    if qdd != NULL:
        for k in range(3):
            a[k] += qdd[k]
            w_dot[k] = qdd[3 + k]
    if qd != NULL:
        copy(qd + 3, 3, w)
        add_cross(w, qd, a)                                     # note 2
    acceleration_matrix(w, w_dot, U)
    net_force(b.mass, b.h, b.Sigma, U, a, f)
    if f_ext != NULL:
        for k in range(6):
            f[k] -= f_ext[k]


cdef inline void body_forces(const System* system, Workspace* work, const real* qd, const real* qdd,
                             const real* f_ext) noexcept nogil:
    """f of every body, f = I a + v x* I v - f_ext: the first loop of Table 5.1, after jcalc for q.

    qd, qdd: NULL means zero. f_ext: (6) per slot, moment about the frame's origin and force, body
    axes; or NULL.
    """
    cdef const Body* b
    cdef real[9] motion, U                                      # w, w_dot and a; of body i
    cdef real[6] f
    cdef real rate, acceleration
    cdef Py_ssize_t i, k
    put(0.0, &rate)
    put(0.0, &acceleration)
    if unlikely(system.floating):
        base_force(system, work, qd, qdd, f_ext)
    for k in range(9):                                          # v_0 and a_0
        motion[k] = (<real*> work.motion)[k]

    for i in range(1, system.N + 1):                            # from the base outward
        b = &system.body[i]
        if b.parent != i - 1:
            copy(<real*> work.motion + 9 * b.parent, 9, motion)
        motion_at_joint(b, (<real*> work.cosine)[i], (<real*> work.sine)[i], motion)
        if qd != NULL:
            rate = qd[b.dof]
        if qdd != NULL:
            acceleration = qdd[b.dof]
        add_joint_motion(b, (<real*> work.d)[i], rate, acceleration, motion, U)
        net_force(b.mass, b.h, b.Sigma, U, motion + 6, f)
        if f_ext != NULL:
            for k in range(6):
                f[k] -= f_ext[6 * i + k]                        # note 6
        copy(f, 6, <real*> work.f + 6 * i)
        if b.forks:
            copy(motion, 9, <real*> work.motion + 9 * i)


cdef inline void rnea(const System* system, Workspace* work, const real* qd, const real* qdd,
                      const real* f_ext, real* tau) noexcept nogil:
    """tau = ID(q, qd, qdd) as body_forces; leaves the force f across every joint."""
    cdef const Body* b
    cdef real[6] f
    cdef real* kept
    cdef bint from_child = False
    cdef Py_ssize_t i, k
    body_forces(system, work, qd, qdd, f_ext)
    if system.coupled:
        clear(tau, system.n)
    for i in range(system.N, 0, -1):                            # from the tips inward
        b = &system.body[i]
        kept = <real*> work.f + 6 * i
        for k in range(6):
            if from_child:
                kept[k] += f[k]
            f[k] = kept[k]
        if system.coupled:
            tau[b.dof] += b.angular * f[2] + b.linear * f[5]
        elif b.revolute:
            tau[b.dof] = f[2]
        else:
            tau[b.dof] = b.angular * f[2] + b.linear * f[5]
        from_child = b.follows
        if not b.grounded:
            force_to_parent(b, (<real*> work.cosine)[i], (<real*> work.sine)[i],
                            (<real*> work.d)[i], f)
            if not from_child:
                kept = <real*> work.f + 6 * b.parent
                add(f, 6, kept)
    if unlikely(system.floating):
        for k in range(3):
            tau[k] = (<real*> work.f)[3 + k]
            tau[3 + k] = (<real*> work.f)[k]

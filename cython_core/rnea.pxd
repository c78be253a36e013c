# The Recursive Newton-Euler Algorithm, RBDA Table 5.1, in 3-vectors.
#
# How the coded lines follow from the table:
# 1. Table 5.1, for body i with parent p and joint axis S:
#        v_i = iXp v_p + S qd      a_i = iXp a_p + S qdd + v_i x S qd      f_i = I a_i + v_i x* I v_i - f_ext
#        tau_i = S^T f_i           f_p = f_p + pXi* f_i                    v_0 = 0, a_0 = -gravity
# 2. Split a into [w_dot; a_O - w x v_O], a_O being the acceleration of the frame's origin (RBDA section 2.11). In
#    terms of a_O no linear velocity is left over in the table: a point fixed in body i at r has the acceleration
#        a_O + U r,     U = [w_dot]x + [w]x [w]x.
# 3. So a child's origin at p has a_p + U_p p, plus the joint's own sliding: z qdd, and z qd twice crossed by w.
# 4. The force is the integral of (a_O + U r) dm  = mass a_O + U h.
# 5. The moment is the integral of r x (a_O + U r) dm = h x a_O + the axial vector of U Sigma, Sigma = integral r r^T dm,
#    that is  (U_z . Sigma_y - U_y . Sigma_z,  U_x . Sigma_z - U_z . Sigma_x,  U_y . Sigma_x - U_x . Sigma_y)  by rows.
# 6. f_ext acts on body i and is what joint i need not transmit.
# U thus serves the acceleration of every child, the force and the moment, and is formed once per body.

from system cimport Body, System, Workspace
from spatial cimport real, to_child, to_parent, add_cross


cdef inline void acceleration_matrix(const real* w, const real* w_dot, real* U) noexcept nogil:
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


cdef inline void net_force(double mass, const double* h, const double* Sigma, const real* U, const real* a,
                           real* f) noexcept nogil:
    """The moment (note 5) and force (note 4) that give a body the motion U, a."""
    cdef const real* x = U                                      # the rows of U
    cdef const real* y = U + 3
    cdef const real* z = U + 6
    f[0] = (z[0] * Sigma[1] + z[1] * Sigma[3] + z[2] * Sigma[4]) - (y[0] * Sigma[2] + y[1] * Sigma[4] + y[2] * Sigma[5])
    f[1] = (x[0] * Sigma[2] + x[1] * Sigma[4] + x[2] * Sigma[5]) - (z[0] * Sigma[0] + z[1] * Sigma[1] + z[2] * Sigma[2])
    f[2] = (y[0] * Sigma[0] + y[1] * Sigma[1] + y[2] * Sigma[2]) - (x[0] * Sigma[1] + x[1] * Sigma[3] + x[2] * Sigma[4])
    f[0] += h[1] * a[2] - h[2] * a[1]
    f[1] += h[2] * a[0] - h[0] * a[2]
    f[2] += h[0] * a[1] - h[1] * a[0]
    f[3] = mass * a[0] + x[0] * h[0] + x[1] * h[1] + x[2] * h[2]
    f[4] = mass * a[1] + y[0] * h[0] + y[1] * h[1] + y[2] * h[2]
    f[5] = mass * a[2] + z[0] * h[0] + z[1] * h[1] + z[2] * h[2]


cdef inline void rnea(const System* system, Workspace* work, const real* qd, const real* qdd,
                      const real* f_ext, real* tau) noexcept nogil:
    """tau = ID(q, qd, qdd), after jcalc for q.

    qd, qdd: NULL means zero. f_ext: (6) per slot, moment about the frame's origin and force, body axes; or NULL.
    Leaves w, w_dot, U and a of every body, and the force f across every joint (slot 0: on the base).
    """
    cdef const Body* b
    cdef const real* p
    cdef const real* U
    cdef real* w
    cdef real* w_dot
    cdef real* a
    cdef real* f
    cdef real c, s, rate, acceleration
    cdef real[3] n, t
    cdef Py_ssize_t i, j, k

    for i in range(1, system.N + 1):                            # v_i, a_i and f_i, from the base outward
        b = &system.body[i]
        j = b.parent
        c = (<real*> work.cos_sin)[2 * i]
        s = (<real*> work.cos_sin)[2 * i + 1]
        p = <real*> work.p + 3 * i
        U = <real*> work.U + 9 * j
        w = <real*> work.w + 3 * i
        w_dot = <real*> work.w_dot + 3 * i
        a = <real*> work.a + 3 * i
        f = <real*> work.f + 6 * i

        to_child[real](b, c, s, (<real*> work.w)[3 * j], (<real*> work.w)[3 * j + 1], (<real*> work.w)[3 * j + 2], w)
        to_child[real](b, c, s, (<real*> work.w_dot)[3 * j], (<real*> work.w_dot)[3 * j + 1],
                       (<real*> work.w_dot)[3 * j + 2], w_dot)
        for k in range(3):
            t[k] = (<real*> work.a)[3 * j + k] + U[3 * k] * p[0] + U[3 * k + 1] * p[1] + U[3 * k + 2] * p[2]
        to_child(b, c, s, t[0], t[1], t[2], a)                  # note 3

        rate = b.multiplier * qd[b.dof] if qd != NULL else 0.0
        acceleration = b.multiplier * qdd[b.dof] if qdd != NULL else 0.0
        a[0] += 2.0 * w[1] * b.linear * rate
        a[1] -= 2.0 * w[0] * b.linear * rate
        a[2] += b.linear * acceleration
        w_dot[0] += w[1] * b.angular * rate
        w_dot[1] -= w[0] * b.angular * rate
        w_dot[2] += b.angular * acceleration
        w[2] += b.angular * rate
        acceleration_matrix(w, w_dot, <real*> work.U + 9 * i)
        net_force(b.mass, b.h, b.Sigma, <real*> work.U + 9 * i, a, f)
        if f_ext != NULL:
            for k in range(6):
                f[k] -= f_ext[6 * i + k]                        # note 6

    for k in range(6):
        (<real*> work.f)[k] = 0.0
    for k in range(system.n):
        tau[k] = 0.0
    for i in range(system.N, 0, -1):                            # tau_i and f_p, from the tips inward
        b = &system.body[i]
        c = (<real*> work.cos_sin)[2 * i]
        s = (<real*> work.cos_sin)[2 * i + 1]
        f = <real*> work.f + 6 * i
        tau[b.dof] += b.multiplier * (b.angular * f[2] + b.linear * f[5])
        to_parent(b, c, s, f[0], f[1], f[2], n)
        to_parent(b, c, s, f[3], f[4], f[5], t)
        add_cross(<real*> work.p + 3 * i, t, n)
        f = <real*> work.f + 6 * b.parent
        for k in range(3):
            f[k] += n[k]
            f[3 + k] += t[k]

# Bodies in base coordinates: spatial vectors in the base's axes about one point O.
#
# All bodies share these coordinates, so what is summed over a subtree or met along a path needs no
# transform. That pays where every pair of joints meets (minv.pxd, derivatives.pxd); body
# coordinates are cheaper where only neighbours do. They also lose fewer digits: about O an inertia
# grows with the square of the distance. So O is the current origin of a body in the middle, and not
# the base's, from which a robot on rails may be far away.
#
# The axes of a floating base, at this instant, serve as well: its six S are unit vectors about its
# own origin (row r of slot 0). Its Psi_dot = v_p x S is zero, but its S_dot = v x S is not; for a
# joint with a single freedom the two are equal.

from system cimport Body, System, Workspace
from spatial cimport add_cross, never_inline, put, real, unlikely
from joint cimport gravity_in_base, jcalc
from kinematics cimport poses_in_base


cdef inline void cross(const real* a, const real* b, real* out) noexcept nogil:
    """out = a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


cdef inline void motion_cross(const real* v, const real* m, real* out) noexcept nogil:
    """out = v x m, RBDA equation 2.31."""
    cross(v, m, out)
    cross(v, m + 3, out + 3)
    add_cross(v + 3, m, out + 3)


cdef inline void force_cross(const real* v, const real* f, real* out) noexcept nogil:
    """out = v x* f, RBDA equation 2.32."""
    cross(v, f, out)
    add_cross(v + 3, f + 3, out)
    cross(v, f + 3, out + 3)


cdef inline real dot(const real* a, const real* b) noexcept nogil:
    """a . b of two spatial vectors."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


cdef inline void base_axes(const System* system, Workspace* work, const real* q) noexcept nogil:
    """S of every body at position q. The origins in row r are seen from O from here on."""
    cdef const Body* b
    cdef const real* R
    cdef real* r
    cdef real* S
    cdef real[3] O
    cdef Py_ssize_t i, k
    jcalc(system, work, q)
    poses_in_base(system, work, <real*> work.R, <real*> work.r)
    for k in range(3):
        O[k] = (<real*> work.r)[3 * ((system.N + 1) // 2) + k]
        if unlikely(system.floating):
            (<real*> work.r)[k] -= O[k]
    for i in range(1, system.N + 1):
        b = &system.body[i]
        R = <real*> work.R + 9 * i
        r = <real*> work.r + 3 * i
        S = <real*> work.S + 6 * i
        for k in range(3):
            r[k] -= O[k]
            S[k] = b.angular * R[3 * k + 2]
        cross(r, S, S + 3)
        if b.linear != 0:
            for k in range(3):
                S[3 + k] += b.linear * R[3 * k + 2]


cdef inline void base_coordinates(const System* system, Workspace* work,
                                  const real* q) noexcept nogil:
    """Rows S and base_inertia (xx xy xz yy yz zz, h, mass) of every body."""
    cdef const Body* b
    cdef const real* R
    cdef const real* r
    cdef real* I
    cdef real[9] T                                              # R I
    cdef real[3] h, g
    cdef Py_ssize_t i, k
    base_axes(system, work, q)
    for i in range(system.ground + 1, system.N + 1):
        b = &system.body[i]
        R = <real*> work.R + 9 * i
        r = <real*> work.r + 3 * i
        I = <real*> work.base_inertia + 10 * i
        for k in range(3):
            T[3 * k] = (R[3 * k] * b.inertia[0] + R[3 * k + 1] * b.inertia[1]
                        + R[3 * k + 2] * b.inertia[2])
            T[3 * k + 1] = (R[3 * k] * b.inertia[1] + R[3 * k + 1] * b.inertia[3]
                            + R[3 * k + 2] * b.inertia[4])
            T[3 * k + 2] = (R[3 * k] * b.inertia[2] + R[3 * k + 1] * b.inertia[4]
                            + R[3 * k + 2] * b.inertia[5])
            h[k] = R[3 * k] * b.h[0] + R[3 * k + 1] * b.h[1] + R[3 * k + 2] * b.h[2]
            g[k] = h[k] + 0.5 * b.mass * r[k]
            I[6 + k] = h[k] + b.mass * r[k]
        I[0] = T[0] * R[0] + T[1] * R[1] + T[2] * R[2] + 2.0 * (r[1] * g[1] + r[2] * g[2])
        I[1] = T[0] * R[3] + T[1] * R[4] + T[2] * R[5] - (r[1] * g[0] + r[0] * g[1])
        I[2] = T[0] * R[6] + T[1] * R[7] + T[2] * R[8] - (r[2] * g[0] + r[0] * g[2])
        I[3] = T[3] * R[3] + T[4] * R[4] + T[5] * R[5] + 2.0 * (r[0] * g[0] + r[2] * g[2])
        I[4] = T[3] * R[6] + T[4] * R[7] + T[5] * R[8] - (r[2] * g[1] + r[1] * g[2])
        I[5] = T[6] * R[6] + T[7] * R[7] + T[8] * R[8] + 2.0 * (r[0] * g[0] + r[1] * g[1])
        put(b.mass, &I[9])


cdef inline void times_inertia(const real* I, const real* x, real* out) noexcept nogil:
    """out = I x, a rigid body's inertia (10) times a motion vector."""
    cross(I + 6, x + 3, out)
    out[0] += I[0] * x[0] + I[1] * x[1] + I[2] * x[2]
    out[1] += I[1] * x[0] + I[3] * x[1] + I[4] * x[2]
    out[2] += I[2] * x[0] + I[4] * x[1] + I[5] * x[2]
    cross(x, I + 6, out + 3)
    out[3] += I[9] * x[3]
    out[4] += I[9] * x[4]
    out[5] += I[9] * x[5]


cdef inline void base_freedom(const Workspace* work, Py_ssize_t freedom, real* S) noexcept nogil:
    """S of one of a floating base's freedoms."""
    cdef Py_ssize_t k
    for k in range(6):
        put(1.0 if k == (freedom + 3) % 6 else 0.0, &S[k])
    add_cross[real](<real*> work.r, S, S + 3)


cdef inline void base_motion(const Workspace* work, const real* qd, real* v) noexcept nogil:
    """v, the sum of S qd over a floating base's freedoms."""
    cdef Py_ssize_t k
    for k in range(3):
        v[k] = qd[3 + k]
        v[3 + k] = qd[k]
    add_cross[real](<real*> work.r, v, v + 3)


cdef inline void force_on_base(const Workspace* work, const real* f, real* out) noexcept nogil:
    """out = S^T f for a floating base's freedoms: force, then moment about its origin."""
    cdef real[3] moment
    cdef Py_ssize_t k
    cross[real](f + 3, <real*> work.r, moment)
    for k in range(3):
        out[k] = f[3 + k]
        out[3 + k] = f[k] + moment[k]


cdef inline void force_per_base_rate(const Workspace* work, const real* f,
                                     real* out) noexcept nogil:
    """out = S_dot^T f = (v x S)^T f for a floating base's freedoms, after velocities."""
    cdef real[6] t
    cdef Py_ssize_t k
    force_cross[real](<real*> work.velocity, f, t)
    for k in range(6):
        t[k] = -t[k]
    force_on_base(work, t, out)


cdef inline never_inline base_acceleration_of(const System* system, Workspace* work,
                                              const real* qdd) noexcept nogil:
    """Row acceleration of a floating base: S qdd, and gravity."""
    cdef real* a = <real*> work.acceleration
    cdef real[3] g
    cdef Py_ssize_t k
    base_motion(work, qdd, a)
    gravity_in_base(system, work, g)
    for k in range(3):
        a[3 + k] -= g[k]


cdef inline void velocities(const System* system, Workspace* work, const real* qd) noexcept nogil:
    """Velocity of every body, and Psi_dot = v x S; after base_coordinates."""
    cdef const real* S
    cdef const real* parent
    cdef real* v
    cdef real rate
    cdef Py_ssize_t i, k
    if unlikely(system.floating):
        base_motion(work, qd, <real*> work.velocity)
    for i in range(1, system.N + 1):
        S = <real*> work.S + 6 * i
        parent = <real*> work.velocity + 6 * system.body[i].parent
        v = <real*> work.velocity + 6 * i
        rate = qd[system.body[i].dof]
        for k in range(6):
            v[k] = parent[k] + S[k] * rate
        motion_cross[real](parent, S, <real*> work.Psi_dot + 6 * i)

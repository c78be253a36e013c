# Poses, velocities and what follows from them alone.

from system cimport Body, System, Workspace
from joint cimport jcalc
from spatial cimport add, add_cross, clear, copy, never_inline, put, real, to_child, unlikely


cdef inline void poses_on_base(const System* system, const Workspace* work, real* R,
                               real* r) noexcept nogil:
    """R (its columns are the axes) and r of every body, given the base's; after jcalc."""
    cdef const Body* b
    cdef const real* cosine = <real*> work.cosine
    cdef const real* sine = <real*> work.sine
    cdef const real* p = <real*> work.p
    cdef const real* E
    cdef Py_ssize_t i, j, k
    for i in range(1, system.N + 1):
        b = &system.body[i]
        j = b.parent
        E = R + 9 * j
        for k in range(3):  # row k of R is base axis k in the body's frame
            r[3 * i + k] = (r[3 * j + k] + E[3 * k] * p[3 * i] + E[3 * k + 1] * p[3 * i + 1]
                            + E[3 * k + 2] * p[3 * i + 2])
            to_child[real](b, cosine[i], sine[i], E[3 * k], E[3 * k + 1], E[3 * k + 2],
                           R + 9 * i + 3 * k)


cdef inline void poses(const System* system, Workspace* work, const real* q) noexcept nogil:
    """Rows R and r of every body in the base frame, in the world's where the base floats."""
    cdef real* R = <real*> work.R
    cdef real* r = <real*> work.r
    cdef Py_ssize_t k
    jcalc(system, work, q)
    if unlikely(system.floating):
        copy(<real*> work.pose, 9, R)
        copy(<real*> work.pose + 9, 3, r)
    poses_on_base(system, work, R, r)


cdef inline void poses_in_base(const System* system, const Workspace* work, real* R,
                               real* r) noexcept nogil:
    """R and r of every body in the base frame, also where the base floats; after jcalc."""
    cdef Py_ssize_t k
    if unlikely(system.floating):
        for k in range(9):
            put(1.0 if k % 4 == 0 else 0.0, &R[k])
        clear(r, 3)
    poses_on_base(system, work, R, r)


cdef inline void turn_by(const real* R, const real* x, real* out) noexcept nogil:
    """out = R x."""
    cdef Py_ssize_t k
    for k in range(3):
        out[k] = R[3 * k] * x[0] + R[3 * k + 1] * x[1] + R[3 * k + 2] * x[2]


cdef inline void rotate_to_base(const Workspace* work, Py_ssize_t i, const real* x,
                                real* out) noexcept nogil:
    """out = R_i x."""
    turn_by[real](<real*> work.R + 9 * i, x, out)


cdef inline void link_origin(const Workspace* work, Py_ssize_t slot, const double* pose,
                             real* point) noexcept nogil:
    """Origin of a link in the base frame, given its pose (12) in the slot's; after poses."""
    cdef real[3] origin
    cdef Py_ssize_t k
    for k in range(3):
        put(pose[9 + k], &origin[k])
    rotate_to_base(work, slot, origin, point)
    add(<real*> work.r + 3 * slot, 3, point)


cdef inline void link_pose(const Workspace* work, Py_ssize_t slot, const double* pose,
                           real* T) noexcept nogil:
    """The transform T (4, 4) from a link's frame to the base's; arguments as link_origin."""
    cdef real[3] x, y
    cdef Py_ssize_t row, column
    link_origin(work, slot, pose, x)
    for row in range(3):
        T[4 * row + 3] = x[row]
        put(0.0, &T[12 + row])
    put(1.0, &T[15])
    for column in range(3):
        for row in range(3):
            put(pose[3 * row + column], &x[row])
        rotate_to_base(work, slot, x, y)
        for row in range(3):
            T[4 * row + column] = y[row]


cdef inline void joint_column(const Body* b, const Workspace* work, Py_ssize_t i, const real* point,
                              real* column) noexcept nogil:
    """S_i in base axes, seen from a point (base frame), linear part first."""
    cdef const real* R = <real*> work.R + 9 * i
    cdef const real* r = <real*> work.r + 3 * i
    cdef real[3] z, d
    cdef Py_ssize_t k
    for k in range(3):
        z[k] = R[3 * k + 2]
        d[k] = b.angular * (point[k] - r[k])
        column[k] = b.linear * z[k]
        column[3 + k] = b.angular * z[k]
    add_cross[real](z, d, column)


cdef inline void base_column(const Workspace* work, Py_ssize_t freedom, const real* point,
                             real* column) noexcept nogil:
    """Velocity of a point per unit of a floating base's freedom, linear part first."""
    cdef const real* R = <real*> work.R
    cdef real[3] d
    cdef Py_ssize_t axis = freedom % 3, k
    for k in range(3):
        d[k] = point[k] - (<real*> work.r)[k]
        put(0.0, &column[k])
        put(0.0, &column[3 + k])
    for k in range(3):
        column[freedom - axis + k] = R[3 * k + axis]
    if freedom >= 3:
        add_cross[real](column + 3, d, column)


cdef inline never_inline base_velocity(const Workspace* work, const real* point, const real* qd,
                                       real* v) noexcept nogil:
    """v of a point (base frame) of a floating base, (6), linear part first."""
    cdef real[6] column
    cdef Py_ssize_t i, k
    clear(v, 6)
    for i in range(6):
        base_column(work, i, point, column)
        for k in range(6):
            v[k] += column[k] * qd[i]


cdef inline never_inline base_columns(const System* system, const Workspace* work,
                                      const real* point, real* J) noexcept nogil:
    """Columns of J of a floating base."""
    cdef real[6] column
    cdef Py_ssize_t i, k
    for i in range(6):
        base_column(work, i, point, column)
        for k in range(6):
            J[k * system.n + i] = column[k]


cdef inline void jacobian(const System* system, const Workspace* work, Py_ssize_t body,
                          const real* point, real* J) noexcept nogil:
    """J, (6, n), linear rows first, of a point (base frame) of a body; after poses."""
    cdef real[6] column
    cdef Py_ssize_t i = body, k, n = system.n
    clear(J, 6 * n)
    while i > 0:                                                # the joints that support the body
        joint_column[real](&system.body[i], work, i, point, column)
        for k in range(6):
            J[k * n + system.body[i].dof] += column[k]
        i = system.body[i].parent
    if unlikely(system.floating):
        base_columns(system, work, point, J)


cdef inline void point_velocity(const System* system, const Workspace* work, Py_ssize_t body,
                                const real* point, const real* qd, real* v) noexcept nogil:
    """v = J qd, (6), of a point (base frame) of a body, linear part first; after poses."""
    cdef real[6] column
    cdef Py_ssize_t i = body, k
    clear(v, 6)
    if unlikely(system.floating):
        base_velocity(work, point, qd, v)
    while i > 0:
        joint_column[real](&system.body[i], work, i, point, column)
        for k in range(6):
            v[k] += column[k] * qd[system.body[i].dof]
        i = system.body[i].parent


cdef inline void joint_velocity(const System* system, const Workspace* work, Py_ssize_t i,
                                const real* point, const real* qd, real* column,
                                real* v) noexcept nogil:
    """joint_column, and v: the velocity that joint i gives the point."""
    cdef Py_ssize_t k
    joint_column[real](&system.body[i], work, i, point, column)
    for k in range(6):
        v[k] = column[k] * qd[system.body[i].dof]


cdef inline void point_acceleration(const System* system, const Workspace* work, Py_ssize_t body,
                                    const real* point, const real* qd, const real* qdd,
                                    real* a) noexcept nogil:
    """a = J qdd + Jdot qd, (6): classical acceleration of a point (base frame) of a body, base
    axes, linear part first.

    After poses; gravity is not in it. The loop goes from the body to the base; u is the velocity
    of the point relative to body i, linear part first.
    """
    cdef real[6] column, joint, u
    cdef real[3] t
    cdef Py_ssize_t i = body, k
    for k in range(6):
        put(0.0, &a[k])
        put(0.0, &u[k])
    while i > system.ground:
        if i == 0:
            base_velocity(work, point, qd, joint)
            base_velocity(work, point, qdd, column)
        else:
            joint_velocity[real](system, work, i, point, qd, column, joint)
            for k in range(6):
                column[k] *= qdd[system.body[i].dof]
        for k in range(3):
            t[k] = joint[k] + 2.0 * u[k]                        # centripetal, and Coriolis
        add(column, 6, a)
        add_cross[real](joint + 3, t, a)
        add_cross[real](joint + 3, u + 3, a + 3)
        add(joint, 6, u)
        i = system.body[i].parent if i > 0 else -1


cdef inline void column_derivative(const real* w, const real* u, const real* column,
                                   real* derivative) noexcept nogil:
    """Derivative of a column of J, linear part first: see jacobian_derivative."""
    cdef Py_ssize_t k
    clear(derivative, 6)
    add_cross[real](w, column, derivative)
    add_cross[real](w, column + 3, derivative + 3)
    add_cross[real](column + 3, u, derivative)


cdef inline void jacobian_derivative(const System* system, const Workspace* work, Py_ssize_t body,
                                     const real* point, const real* qd, real* Jdot) noexcept nogil:
    """dJ/dt, (6, n), of jacobian at a point that moves with the body; after poses.

    Column i is v_i x S_i, RBDA equation 2.45, seen from the moving point: with w_i of body i and u,
    the point's velocity relative to body i, its angular part is w_i x S_w and its linear part w_i x
    S_v + S_w x u.
    """
    cdef real[6] column, joint, u, derivative
    cdef real[3] w
    cdef Py_ssize_t i = body, k, n = system.n
    point_velocity[real](system, work, body, point, qd, u)
    copy(u + 3, 3, w)
    clear(u, 6)
    clear(Jdot, 6 * n)
    while i > 0:
        joint_velocity[real](system, work, i, point, qd, column, joint)
        column_derivative(w, u, column, derivative)
        for k in range(6):
            Jdot[k * n + system.body[i].dof] += derivative[k]
            u[k] += joint[k]
        for k in range(3):
            w[k] -= joint[3 + k]
        i = system.body[i].parent
    if unlikely(system.floating):
        for i in range(6):
            base_column(work, i, point, column)
            column_derivative(w, u, column, derivative)
            for k in range(6):
                Jdot[k * n + i] = derivative[k]


cdef inline double first_moment(const System* system, const Workspace* work,
                                real* moment) noexcept nogil:
    """Total mass times centre of mass, base link included; after poses. Returns the mass."""
    cdef const Body* b
    cdef double mass = 0.0
    cdef real[3] h, t
    cdef Py_ssize_t i, k
    clear(moment, 3)
    for i in range(system.N + 1):
        b = &system.body[i]
        mass = mass + b.mass
        for k in range(3):
            put(b.h[k], &h[k])
        rotate_to_base[real](work, i, h, t)
        for k in range(3):
            moment[k] += t[k] + b.mass * (<real*> work.r)[3 * i + k]
    return mass


cdef inline void velocities(const System* system, Workspace* work, const real* qd) noexcept nogil:
    """w and v of every body and of a floating base, each in its own axes; after jcalc."""
    cdef const Body* b
    cdef const real* p
    cdef real* w
    cdef real* v
    cdef real[3] t
    cdef real c, s, rate
    cdef Py_ssize_t i, k
    if unlikely(system.floating):
        for k in range(3):
            (<real*> work.v)[k] = qd[k]
            (<real*> work.w)[k] = qd[3 + k]
    for i in range(1, system.N + 1):
        b = &system.body[i]
        c = (<real*> work.cosine)[i]
        s = (<real*> work.sine)[i]
        p = <real*> work.p + 3 * i
        w = <real*> work.w + 3 * b.parent
        copy(<real*> work.v + 3 * b.parent, 3, t)
        add_cross[real](w, p, t)
        rate = qd[b.dof]
        v = <real*> work.v + 3 * i
        to_child(b, c, s, t[0], t[1], t[2], v)
        to_child(b, c, s, w[0], w[1], w[2], <real*> work.w + 3 * i)
        w = <real*> work.w + 3 * i
        w[2] += b.angular * rate
        v[2] += b.linear * rate


cdef inline real kinetic_energy(const System* system, Workspace* work,
                                const real* qd) noexcept nogil:
    """The sum of (w.I w + 2 v.(w x h) + mass v.v) / 2, after jcalc."""
    cdef const Body* b
    cdef const real* w
    cdef const real* v
    cdef real[3] t, momentum
    cdef real energy
    cdef Py_ssize_t i, k
    put(0.0, &energy)
    velocities(system, work, qd)
    for i in range(system.ground + 1, system.N + 1):
        b = &system.body[i]
        w = <real*> work.w + 3 * i
        v = <real*> work.v + 3 * i
        for k in range(3):
            put(b.h[k], &t[k])
            momentum[k] = 0.5 * b.mass * v[k]
        add_cross[real](w, t, momentum)
        energy = energy + momentum[0] * v[0] + momentum[1] * v[1] + momentum[2] * v[2]
        energy = (energy + 0.5 * (b.inertia[0] * w[0] * w[0] + b.inertia[3] * w[1] * w[1]
                                  + b.inertia[5] * w[2] * w[2])
                  + b.inertia[1] * w[0] * w[1] + b.inertia[2] * w[0] * w[2]
                  + b.inertia[4] * w[1] * w[2])
    return energy

# Cartesian impedance control (cartesian_impedance.pxd): the wrench F on the end effector, from
# spring, damper, feed-forward and walls (rule 1).

from libc.math cimport fabs, fmax, fmin, sqrt

from control.impedance_modes cimport damper, from_axes, joint_effort, reduce_spring, to_axes
from control.impedance_state cimport Impedance, Wall
from task_space.pose cimport add_cross_product, norm, pose_error, turn_factor

cdef extern from *:
    """
    #define WALL (3.0)
    #define EFFORT (0.9)
    """
    const double WALL            # times max_force: spring and feed-forward have two of them
                                 # together
    const double EFFORT          # share of a joint's effort limit that gravity and load take: the
                                 # rest is for damping


cdef inline double strain(const double* stiffness, double max_force,
                          const double* e) noexcept nogil:
    """An error (3) relative to s_max, from which the spring pulls with its largest force (rule 1).
    """
    cdef double s2 = 0.0, k_max = 0.0
    cdef Py_ssize_t k
    for k in range(3):
        s2 += stiffness[k] * e[k] * e[k]
        k_max = fmax(k_max, stiffness[k])
    return sqrt(s2 * k_max) / max_force


cdef inline double max_strain(const Impedance* law) noexcept nogil:
    """The strain of the spring, linear or angular."""
    cdef double[6] e
    to_axes(law, law.error, 1, e)
    return fmax(strain(law.stiffness, law.settings.max_wrench[0], e),
                strain(law.stiffness + 3, law.settings.max_wrench[1], e + 3))


cdef inline void spring(const double* stiffness, double max_force, const double* e,
                        double* f) noexcept nogil:
    """f = K e, (3); beyond s_max it keeps the length that it has there (rule 1)."""
    cdef double factor = 1.0 / fmax(strain(stiffness, max_force, e), 1.0)
    cdef Py_ssize_t k
    for k in range(3):
        f[k] = factor * stiffness[k] * e[k]


cdef inline void limit(double largest, double* f) noexcept nogil:
    """Shorten f, (3), to a length if it is longer."""
    cdef double size = norm(f)
    cdef Py_ssize_t k
    if size > largest:
        for k in range(3):
            f[k] *= largest / size


cdef inline void limit_wrench(const Impedance* law, double* F) noexcept nogil:
    limit(law.settings.max_wrench[0], F)
    limit(law.settings.max_wrench[1], F + 3)


cdef inline void spring_wrench(const Impedance* law, const double* e, double* F) noexcept nogil:
    """F = K e with the moment of a rotation vector (rule 1)."""
    cdef double[3] gradient, turned
    cdef Py_ssize_t i
    spring(law.stiffness, law.settings.max_wrench[0], e, F)
    spring(law.stiffness + 3, law.settings.max_wrench[1], e + 3, gradient)
    for i in range(3):
        turned[i] = 0.0
    add_cross_product(1.0, e + 3, gradient, turned)
    for i in range(3):
        F[3 + i] = gradient[i] - 0.5 * turned[i]
    add_cross_product(turn_factor(e + 3), e + 3, turned, F + 3)
    limit(law.settings.max_wrench[1], F + 3)


cdef inline void add_walls(const Impedance* law, double* F) noexcept nogil:
    """F += what the walls push with: a wall never pulls. Base axes.

    More than WALL times max_force would only throw out an end effector that a new wall has found
    within it.
    """
    cdef const Wall* wall
    cdef double depth, rate, push
    cdef Py_ssize_t i, k
    for i in range(law.walls.count):
        wall = &law.walls.wall[i]
        depth, rate = wall.offset, 0.0
        for k in range(3):
            depth -= wall.normal[k] * law.pose[4 * k + 3]
            rate -= wall.normal[k] * law.velocity[k]
        if depth > 0.0:
            push = fmin(fmax(wall.stiffness * depth + wall.damping * rate, 0.0),
                        WALL * law.settings.max_wrench[0])
            for k in range(3):
                F[k] += push * wall.normal[k]


cdef inline void pull_of_target(const Impedance* law, const double* drag,
                                double* pull) noexcept nogil:
    """pull: D V_d, given in compliance axes, and the feed-forward, bounded together; base axes."""
    cdef Py_ssize_t k
    from_axes(law, drag, pull)
    for k in range(6):
        pull[k] += law.feedforward[k]
    limit_wrench(law, pull)


cdef inline void limit_load(Impedance* law, const double* gravity,
                            const double* effort) noexcept nogil:
    """Lighten the load as far as the joints' effort limits (n,) ask for, beside gravity's torque
    (n,).
    """
    cdef double share = 1.0, torque, room
    cdef Py_ssize_t i
    for i in range(law.n):
        torque = joint_effort(law, law.load, i)
        room = fmax(EFFORT * effort[i] - (gravity[i] if torque > 0.0 else -gravity[i]), 0.0)
        if fabs(torque) * share > room:
            share = room / fabs(torque)
    for i in range(6):
        law.load[i] *= share


cdef inline double take_damping(Impedance* law) noexcept nogil:
    """F = load - D V. Returns what that takes out of the end effector [W]."""
    cdef double[6] v, drag, D_v
    cdef double dissipated = 0.0
    cdef Py_ssize_t k
    to_axes(law, law.velocity, 1, v)
    damper(law, v, drag)
    from_axes(law, drag, D_v)
    for k in range(6):
        law.wrench[k] = law.load[k] - D_v[k]
        dissipated += drag[k] * v[k]
    return fmax(dissipated, 0.0)                                # shaped, it may be negative


cdef inline double find_wrench(Impedance* law, const double* gravity,
                               const double* effort) noexcept nogil:
    """Find F in base axes, for effort limits (n,) beside gravity's torque (n,); NULL: none. Returns
    what its damping takes out of the end effector [W].

    D V only takes energy out and is not bounded; D V_d is what the target pulls with, and bounded
    as the feed-forward.
    """
    cdef double[6] e, v, F, drag, pull
    cdef Py_ssize_t k
    pose_error(law.pose, law.desired, law.error + 3, law.error)
    to_axes(law, law.desired_velocity, 1, v)
    damper(law, v, drag)
    pull_of_target(law, drag, pull)
    to_axes(law, law.error, 1, e)
    spring_wrench(law, e, F)
    reduce_spring(law, F)
    limit_wrench(law, F)
    from_axes(law, F, law.load)
    for k in range(6):
        law.load[k] += pull[k]
    add_walls(law, law.load)
    if effort != NULL:
        limit_load(law, gravity, effort)
    return take_damping(law)

# Cartesian impedance control (cartesian_impedance.pxd): the wrench F on the hand, from spring,
# damper, feed-forward and walls (rule 1).

from libc.math cimport fmax, fmin, sqrt

from control.impedance_modes cimport damper, from_axes, shape, soften, to_axes
from control.impedance_state cimport Hand, Impedance, ImpedanceSettings, Wall
from task_space.pose cimport add_cross_product, norm, pose_error, turn_factor

cdef extern from *:
    """
    #define WALL (3.0)
    """
    const double WALL            # times max_force: spring and feed-forward have two of them
                                 # together


cdef inline void spring(const double* stiffness, double largest, const double* e,
                        double* f) noexcept nogil:
    """f = K e, (3); beyond s_max it keeps the length that it has there (rule 1)."""
    cdef double s2 = 0.0, k_max = 0.0, factor = 1.0
    cdef Py_ssize_t k
    for k in range(3):
        s2 += stiffness[k] * e[k] * e[k]
        k_max = fmax(k_max, stiffness[k])
    if s2 * k_max > largest * largest:
        factor = largest / sqrt(s2 * k_max)
    for k in range(3):
        f[k] = factor * stiffness[k] * e[k]


cdef inline double strain(const Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """The hand's error relative to s_max, from which the spring pulls with its largest force or
    moment (rule 1).
    """
    cdef double[6] e
    cdef double s2, k_max, worst = 0.0
    cdef Py_ssize_t half, k
    to_axes(its, settings, its.error, 1, e)
    for half in range(2):
        s2 = k_max = 0.0
        for k in range(3 * half, 3 * half + 3):
            s2 += its.stiffness[k] * e[k] * e[k]
            k_max = fmax(k_max, its.stiffness[k])
        worst = fmax(worst, sqrt(s2 * k_max) / settings.largest[half])
    return worst


cdef inline void limit(double largest, double* f) noexcept nogil:
    """Shorten f, (3), to a length if it is longer."""
    cdef double size = norm(f)
    cdef Py_ssize_t k
    if size > largest:
        for k in range(3):
            f[k] *= largest / size


cdef inline void add_spring(const Impedance* its, const ImpedanceSettings* settings,
                            const double* e, double* F) noexcept nogil:
    """F += K e with the moment of a rotation vector (rule 1)."""
    cdef double[3] force, gradient, turned, moment
    cdef double k = turn_factor(e + 3)
    cdef Py_ssize_t i
    spring(its.stiffness, settings.largest[0], e, force)
    spring(its.stiffness + 3, settings.largest[1], e + 3, gradient)
    for i in range(3):
        turned[i] = 0.0
    add_cross_product(1.0, e + 3, gradient, turned)
    for i in range(3):
        moment[i] = gradient[i] - 0.5 * turned[i]
    add_cross_product(k, e + 3, turned, moment)
    limit(settings.largest[1], moment)
    for i in range(3):
        F[i] += force[i]
        F[3 + i] += moment[i]


cdef inline void add_walls(const ImpedanceSettings* settings, const Hand* hand,
                           double* F) noexcept nogil:
    """F += what the walls push with: a wall never pulls. Base axes.

    More than WALL times max_force would only throw out a hand that a new wall has found within it.
    """
    cdef const Wall* wall
    cdef double depth, rate, push
    cdef Py_ssize_t i, k
    for i in range(settings.walls):
        wall = &settings.wall[i]
        depth, rate = wall.offset, 0.0
        for k in range(3):
            depth -= wall.normal[k] * hand.pose[4 * k + 3]
            rate -= wall.normal[k] * hand.velocity[k]
        if depth > 0.0:
            push = fmin(fmax(wall.stiffness * depth + wall.damping * rate, 0.0),
                        WALL * settings.largest[0])
            for k in range(3):
                F[k] += push * wall.normal[k]


cdef inline double find_wrench(Impedance* its, const ImpedanceSettings* settings,
                               const Hand* hand) noexcept nogil:
    """F in base axes, into its.wrench. Returns what its damping takes out of the hand [W].

    D V only takes energy out and is not bounded; D V_d is what the target pulls with, and bounded
    as the feed-forward.
    """
    cdef double[6] e, v, F, drag, pull
    cdef double dissipated = 0.0
    cdef Py_ssize_t k
    pose_error(hand.pose, its.desired, its.error + 3, its.error)
    to_axes(its, settings, its.desired_velocity, 1, v)
    damper(its, settings, v, drag)
    from_axes(its, settings, drag, pull)
    to_axes(its, settings, hand.velocity, 1, v)
    damper(its, settings, v, drag)
    to_axes(its, settings, its.error, 1, e)
    for k in range(6):
        F[k] = 0.0
        pull[k] += its.feedforward[k]
    add_spring(its, settings, e, F)
    soften(its, settings, F)
    if settings.inertia_shaping:
        shape(its, settings, its.shaped_spring, F)
    limit(settings.largest[0], F)
    limit(settings.largest[1], F + 3)
    for k in range(6):
        F[k] -= drag[k]
        dissipated += drag[k] * v[k]
    from_axes(its, settings, F, its.wrench)
    limit(settings.largest[0], pull)
    limit(settings.largest[1], pull + 3)
    for k in range(6):
        its.wrench[k] += pull[k]
    add_walls(settings, hand, its.wrench)
    return fmax(dissipated, 0.0)                                # shaped, it may be negative

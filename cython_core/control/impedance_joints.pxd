# Cartesian impedance control (cartesian_impedance.pxd): the joints' torques in addition to J^T F.
# They keep a posture without moving the end effector (rules 4 and 5), keep off their stops, and
# keep within their speed limits (rule 8), no stiffer than the delay allows (rule 9).

from libc.math cimport copysign, fabs, fmax, fmin, sqrt

from control.impedance_modes cimport max_frequency, times_inertia, to_axes
from control.impedance_state cimport Impedance

cdef extern from *:
    """
    #define SLOW (0.7)
    #define BRAKING (0.01)
    """
    const double SLOW            # share of a joint's speed limit from which it is braked
    const double BRAKING         # time constant of this braking [s]


cdef inline void null_velocity(const Impedance* law, const double* qd, double* out) noexcept nogil:
    """out = N^T qd, the joints' motion that does not move the end effector."""
    cdef double[6] v
    cdef Py_ssize_t i, k, n = law.n
    to_axes(law, law.velocity, 1, v)
    times_inertia(law.L, v)
    for i in range(n):
        out[i] = qd[i]
        for k in range(6):
            out[i] -= law.T[k * n + i] * v[k]


cdef inline void project(const Impedance* law, double* torque) noexcept nogil:
    """torque <- N torque, the part that does not move the end effector."""
    cdef double[6] a
    cdef Py_ssize_t i, k, n = law.n
    for k in range(6):
        a[k] = 0.0
        for i in range(n):
            a[k] += law.T[k * n + i] * torque[i]
    times_inertia(law.L, a)
    for i in range(n):
        for k in range(6):
            torque[i] -= law.Jc[k * n + i] * a[k]


cdef inline void add_posture(Impedance* law, const double* q, const double* qd, double dissipated,
                             double dt, double* tau) noexcept nogil:
    """tau += N (posture's spring) - N D0 N^T qd; the spring is limited by the tank (rule 5).

    dissipated: what the damping of the end effector takes out [W].
    """
    cdef double* u = law.scratch                                # N^T qd
    cdef double* torque = law.scratch + law.n
    cdef double* damping = law.scratch + 2 * law.n
    cdef double power = 0.0, share, ratio, w, inertia, stiffness
    cdef Py_ssize_t i, n = law.n
    null_velocity(law, qd, u)
    for i in range(n):
        ratio, inertia = law.joints.damping_ratio[i], 1.0 / law.Minv[i * (n + 1)]
        w = max_frequency(&law.settings, ratio)
        stiffness = fmin(law.joints.stiffness[i], w * w * inertia)
        damping[i] = 2.0 * ratio * sqrt(stiffness * inertia)
        torque[i] = stiffness * (law.joints.posture[i] - q[i])
        power += torque[i] * u[i]
    share = fmin(1.0, 4.0 * law.tank / law.settings.tank) if power > 0.0 else 1.0
    law.tank -= share * power * dt
    for i in range(n):
        torque[i] = share * torque[i] - damping[i] * u[i]
        dissipated += damping[i] * u[i] * u[i]
    law.tank = fmin(fmax(law.tank + dissipated * dt, 0.0), law.settings.tank)
    project(law, torque)
    for i in range(n):
        tau[i] += torque[i]


cdef inline double repulsion(double depth, double margin, double strength, double inertia,
                             double max_stiffness, double inward) noexcept nogil:
    """The repulsion from a stop at a depth into the margin before it: strength (depth / margin)^2,
    from where that is as stiff as it may be on a straight line; critically damped.
    """
    cdef double x = fmin(depth / margin, 2.0)
    cdef double bent = fmin(x, 0.5 * max_stiffness * margin / strength)
    if depth <= 0.0:
        return 0.0
    return fmax(strength * bent * (2.0 * x - bent)
                - 2.0 * sqrt(2.0 * strength * bent / margin * inertia) * inward, 0.0)


cdef inline void add_repulsion(const Impedance* law, const double* q, const double* qd,
                               double* tau) noexcept nogil:
    """tau += what keeps the joints away from their stops: it only pushes, and only before a stop.
    """
    cdef double margin, strength, inertia, max_stiffness, w = max_frequency(&law.settings, 1.0)
    cdef Py_ssize_t i
    for i in range(law.n):
        margin, strength = law.joints.margin[i], law.joints.repulsion[i]
        if margin > 0.0 and strength > 0.0:
            inertia = 1.0 / law.Minv[i * (law.n + 1)]
            max_stiffness = inertia * w * w
            tau[i] += repulsion(law.joints.lower[i] + margin - q[i], margin, strength, inertia,
                                max_stiffness, qd[i])
            tau[i] -= repulsion(q[i] - law.joints.upper[i] + margin, margin, strength, inertia,
                                max_stiffness, -qd[i])


cdef inline void limit_speed(const Impedance* law, const double* qd, double* tau) noexcept nogil:
    """Take out of tau what drives a joint beyond its speed limit (rule 8)."""
    cdef double rate = fmin(1.0 / BRAKING, max_frequency(&law.settings, 1.0)), speed, limit, slow
    cdef Py_ssize_t i
    for i in range(law.n):
        speed, limit = fabs(qd[i]), law.joints.max_speed[i]
        slow = SLOW * limit
        if speed <= slow:
            continue
        if tau[i] * qd[i] > 0.0:
            tau[i] *= fmax((limit - speed) / (limit - slow), 0.0)
        tau[i] -= copysign(rate * (speed - slow) / law.Minv[i * (law.n + 1)], qd[i])

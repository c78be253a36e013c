# Cartesian impedance control (cartesian_impedance.pxd): the joints' torques in addition to J^T F.
# They keep a posture without moving the hand (rules 4 and 5), keep off their stops, and keep within
# their speed limits (rule 8), no stiffer than the delay allows (rule 9).

from libc.math cimport fabs, fmax, fmin, sqrt

from control.impedance_modes cimport highest_frequency, times_inertia, to_axes
from control.impedance_state cimport Hand, Impedance, ImpedanceSettings

cdef extern from *:
    """
    #define SLOW (0.7)
    #define BRAKING (0.01)
    """
    const double SLOW            # share of a joint's speed limit from which it is braked
    const double BRAKING         # time constant of this braking [s]


cdef inline void null_velocity(const Impedance* its, const ImpedanceSettings* settings,
                               const Hand* hand, const double* qd, double* out) noexcept nogil:
    """out = N^T qd, the joints' motion that does not move the hand."""
    cdef double[6] v
    cdef Py_ssize_t i, a
    to_axes(its, settings, hand.velocity, 1, v)
    times_inertia(its.L, v)
    for i in range(its.n):
        out[i] = qd[i]
        for a in range(6):
            out[i] -= its.T[a * its.n + i] * v[a]


cdef inline void project(const Impedance* its, double* torque) noexcept nogil:
    """torque <- N torque, the part that does not move the hand."""
    cdef double[6] a
    cdef Py_ssize_t i, k, n = its.n
    for k in range(6):
        a[k] = 0.0
        for i in range(n):
            a[k] += its.T[k * n + i] * torque[i]
    times_inertia(its.L, a)
    for i in range(n):
        for k in range(6):
            torque[i] -= its.Jc[k * n + i] * a[k]


cdef inline double posture_stiffness(const ImpedanceSettings* settings, const Hand* hand,
                                     Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    """A joint's spring towards its posture, no stiffer than the delay allows."""
    cdef double w = highest_frequency(settings, settings.posture_damping_ratio[i])
    return fmin(settings.posture_stiffness[i], w * w / hand.Minv[i * (n + 1)])


cdef inline void add_posture(Impedance* its, const ImpedanceSettings* settings, const Hand* hand,
                             const double* q, const double* qd, double dissipated, double dt,
                             double* tau) noexcept nogil:
    """tau += N (posture's spring) - N D0 N^T qd; the spring is limited by the tank (rule 5)."""
    cdef double* u = its.x                                      # N^T qd
    cdef double* torque = its.y
    cdef double power = 0.0, share, d
    cdef Py_ssize_t i, n = its.n
    null_velocity(its, settings, hand, qd, u)
    for i in range(n):
        torque[i] = posture_stiffness(settings, hand, n, i) * (settings.posture[i] - q[i])
        power += torque[i] * u[i]
    share = fmin(1.0, 4.0 * its.tank / settings.tank) if power > 0.0 else 1.0
    its.tank -= share * power * dt
    for i in range(n):
        d = (2.0 * settings.posture_damping_ratio[i]
             * sqrt(posture_stiffness(settings, hand, n, i) / hand.Minv[i * (n + 1)]))
        torque[i] = share * torque[i] - d * u[i]
        dissipated += d * u[i] * u[i]
    its.tank = fmin(fmax(its.tank + dissipated * dt, 0.0), settings.tank)
    project(its, torque)
    for i in range(n):
        tau[i] += torque[i]


cdef inline double pushed_inside(double depth, double margin, double strength, double inertia,
                                 double stiffest, double inward) noexcept nogil:
    """The repulsion from a stop at a depth into the margin before it: strength (depth / margin)^2,
    from where that is ``stiffest`` on a straight line; critically damped.
    """
    cdef double x = fmin(depth / margin, 2.0)
    cdef double bent = fmin(x, 0.5 * stiffest * margin / strength)
    if depth <= 0.0:
        return 0.0
    return fmax(strength * bent * (2.0 * x - bent)
                - 2.0 * sqrt(2.0 * strength * bent / margin * inertia) * inward, 0.0)


cdef inline void add_repulsion(const ImpedanceSettings* settings, const Hand* hand, Py_ssize_t n,
                               const double* q, const double* qd, double* tau) noexcept nogil:
    """tau += what keeps the joints away from their stops: it only pushes, and only before a stop.
    """
    cdef double margin, inertia, stiffest, w = highest_frequency(settings, 1.0)
    cdef Py_ssize_t i
    for i in range(n):
        margin = settings.margin[i]
        if margin > 0.0 and settings.repulsion[i] > 0.0:
            inertia = 1.0 / hand.Minv[i * (n + 1)]
            stiffest = inertia * w * w
            tau[i] += pushed_inside(settings.lower[i] + margin - q[i], margin,
                                    settings.repulsion[i], inertia, stiffest, qd[i])
            tau[i] -= pushed_inside(q[i] - settings.upper[i] + margin, margin,
                                    settings.repulsion[i], inertia, stiffest, -qd[i])


cdef inline void spare_speed(const ImpedanceSettings* settings, const Hand* hand, Py_ssize_t n,
                             const double* qd, double* tau) noexcept nogil:
    """Take out of tau what drives a joint beyond its speed limit (rule 8)."""
    cdef double speed, most, slow, rate = fmin(1.0 / BRAKING, highest_frequency(settings, 1.0))
    cdef Py_ssize_t i
    for i in range(n):
        speed, most = fabs(qd[i]), settings.speed[i]
        slow = SLOW * most
        if speed <= slow:
            continue
        if tau[i] * qd[i] > 0.0:
            tau[i] *= fmax((most - speed) / (most - slow), 0.0)
        tau[i] -= (rate * (speed - slow) / hand.Minv[i * (n + 1)]
                   * (1.0 if qd[i] > 0.0 else -1.0))

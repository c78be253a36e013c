# The speed limit of joints that are driven by torques which may change at a limited rate only.
#
# The torques tau accelerate the joints by a = M^-1 (tau - b), with b what leaves them
# unaccelerated: C qd + g. Joint i can take a_i back by its own torque at M^-1_ii R_i, with R_i its
# torque rate, and gains a_i^2 / (2 M^-1_ii R_i) meanwhile. So that it ends below its limit v, after
# a time T in which nothing is known of it yet,
#
#     T a + a^2 / (2 M^-1_ii R_i) <= v - qd
#
# bounds a; beyond v the joint is braked with the time constant T. Each joint's own torque gives
# way, no more than it must: Gauss and Seidel's sweeps over this linear complementarity problem
# (Cottle, Pang and Stone, The Linear Complementarity Problem, 1992, section 5.2). Joints that
# others push on harder than their own rate can follow go beyond v.

from libc.math cimport fmax, isfinite, sqrt

cdef enum:
    SWEEPS = 8

cdef extern from *:
    """
    #define SPEED_SHARE (0.85)
    #define REACTION (0.01)
    """
    const double SPEED_SHARE     # of the speed limit that is v: what pushes the arm besides is not
                                 # known
    const double REACTION        # T [s], two steps at least

cdef struct SpeedLimit:
    const double* speed      # (n,) limits [rad/s, m/s]; inf: none
    const double* qd         # (n,)
    const double* Minv       # (n, n), of the arm and its rotors
    const double* bias       # (n,) b, without what the drives add by themselves
    double* acceleration     # (n,) scratch, of the next command,
    double* given_up         # (n,) and what it has not of what was wanted

cdef struct Reach:           # torques that the next command may have
    double* low              # (n,)
    double* high


cdef inline double within(double x, double low, double high) noexcept nogil:
    return max(min(x, high), low)


cdef inline double most_acceleration(double left, double jerk, double reaction) noexcept nogil:
    """The acceleration that may act where so much of the speed is left; negative beyond the limit.
    """
    if left <= 0.0:
        return left / reaction
    return 2.0 * left / (reaction + sqrt(reaction * reaction + 2.0 * left / jerk))


cdef inline double slowed(const SpeedLimit* its, Py_ssize_t i, double acceleration, double jerk,
                          double reaction) noexcept nogil:
    """A joint's acceleration, as far as its speed limit allows."""
    cdef double limit = SPEED_SHARE * its.speed[i]
    return within(acceleration, -most_acceleration(limit + its.qd[i], jerk, reaction),
                  most_acceleration(limit - its.qd[i], jerk, reaction))


cdef inline void keep_speed(const SpeedLimit* its, const Reach* reach, Py_ssize_t n,
                            const double* rate, double dt, double* torque) noexcept nogil:
    """Change torques (n,) within reach, as far as the speeds need it.

    rate: (n,) of torque; dt: of a step [s].
    """
    cdef double* a = its.acceleration
    cdef double reaction = fmax(REACTION, 2.0 * dt), inverse, free, change
    cdef Py_ssize_t i, j, sweep
    cdef bint changed
    for i in range(n):
        a[i], its.given_up[i] = 0.0, 0.0
        for j in range(n):
            a[i] += its.Minv[i * n + j] * (torque[j] - its.bias[j])
    for sweep in range(SWEEPS):
        changed = False
        for i in range(n):
            if not isfinite(its.speed[i]):
                continue
            inverse = its.Minv[i * (n + 1)]
            free = a[i] + inverse * its.given_up[i]             # if this joint gave nothing up
            change = (slowed(its, i, free, inverse * rate[i], reaction) - a[i]) / inverse
            change = within(torque[i] + change, reach.low[i], reach.high[i]) - torque[i]
            if change == 0.0 or not isfinite(change):
                continue
            changed = True
            torque[i] += change
            its.given_up[i] -= change
            for j in range(n):
                a[j] += its.Minv[j * n + i] * change
        if not changed:
            return

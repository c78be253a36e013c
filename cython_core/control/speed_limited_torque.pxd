# Keeps joints within their speed limits although torques may only change at a limited rate.
#
# The torques tau cause the accelerations a = M^-1 (tau - b), where b = C qd + g. By its own torque,
# whose rate is R_i, joint i can reduce a_i at the rate M^-1_ii R_i; until a_i is zero, its speed
# grows by a_i^2 / (2 M^-1_ii R_i). Before that a time T passes in which nothing is known yet. The
# speed stays below the limit v if
#
#     T a + a^2 / (2 M^-1_ii R_i) <= v - qd
#
# and beyond v the joint is braked with the time constant T. Each joint's own torque is changed, no
# more than necessary. This is a linear complementarity problem, solved by Gauss-Seidel sweeps
# (Cottle, Pang and Stone, The Linear Complementarity Problem, 1992, section 5.2). A joint exceeds v
# if others push it harder than its own torque rate can follow.

from libc.math cimport fmax, isfinite, sqrt

cdef enum:
    SWEEPS = 8

cdef extern from *:
    """
    #define SPEED_SHARE (0.85)
    #define REACTION (0.01)
    """
    const double SPEED_SHARE     # of the speed limit that is v: other forces on the arm are not
                                 # known
    const double REACTION        # T [s], two steps at least

cdef struct SpeedLimit:
    const double* speed      # (n,) limits [rad/s, m/s]; inf: none
    const double* qd         # (n,)
    const double* Minv       # (n, n), of the arm and its rotors
    const double* bias       # (n,) b, without what the drives add by themselves
    double* acceleration     # (n,) scratch: caused by the next command
    double* given_up         # (n,) scratch: torque wanted minus torque commanded

cdef struct TorqueRange:     # torques that the next command may have
    double* low              # (n,)
    double* high


cdef inline double within(double x, double low, double high) noexcept nogil:
    return max(min(x, high), low)


cdef inline double max_acceleration(double left, double jerk, double reaction) noexcept nogil:
    """The largest acceleration if the speed may still grow by ``left``; negative beyond the limit.
    """
    if left <= 0.0:
        return left / reaction
    return 2.0 * left / (reaction + sqrt(reaction * reaction + 2.0 * left / jerk))


cdef inline double limited(double acceleration, double qd, double limit, double jerk,
                           double reaction) noexcept nogil:
    """A joint's acceleration, as far as its speed limit allows."""
    return within(acceleration, -max_acceleration(limit + qd, jerk, reaction),
                  max_acceleration(limit - qd, jerk, reaction))


cdef inline void keep_speed(const SpeedLimit* limits, const TorqueRange* allowed, Py_ssize_t n,
                            const double* rate, double dt, double* torque) noexcept nogil:
    """Change torques (n,), within the allowed range, as far as the speed limits require.

    rate: (n,) torque rates; dt: time between commands [s].
    """
    cdef double* a = limits.acceleration
    cdef double reaction = fmax(REACTION, 2.0 * dt), inverse, free, change
    cdef Py_ssize_t i, j, sweep
    cdef bint changed
    for i in range(n):
        a[i], limits.given_up[i] = 0.0, 0.0
        for j in range(n):
            a[i] += limits.Minv[i * n + j] * (torque[j] - limits.bias[j])
    for sweep in range(SWEEPS):
        changed = False
        for i in range(n):
            if not isfinite(limits.speed[i]):
                continue
            inverse = limits.Minv[i * (n + 1)]
            free = a[i] + inverse * limits.given_up[i]          # if this joint gave nothing up
            change = (limited(free, limits.qd[i], SPEED_SHARE * limits.speed[i], inverse * rate[i],
                              reaction) - a[i]) / inverse
            change = within(torque[i] + change, allowed.low[i], allowed.high[i]) - torque[i]
            if change == 0.0 or not isfinite(change):
                continue
            changed = True
            torque[i] += change
            limits.given_up[i] -= change
            for j in range(n):
                a[j] += limits.Minv[j * n + i] * change
        if not changed:
            return

# Joint torque and friction from what an arm measures.
#
# The joint torque is all that the drive exerts: it accelerates rotor and links, holds them against
# gravity, and overcomes friction:
#     (H + armature) qdd + C qd + g + friction = torque + J^T w.
#
# Dry friction follows the measured motion (smooth_friction.pxd). A joint that moves shows which way
# its friction acts; at rest this balances whatever it can, and is known only to lie between the two
# directions. So both a least and a greatest friction are followed. The gear carries what the
# drive's torque leaves after friction, contact included.

from libc.math cimport expm1, fabs, fmax, sqrt
from libc.string cimport memset

from drive_units cimport torque_of
from joint_drives cimport moving_torque
from smooth_friction cimport after_rest, after_motion, counted_motion, dry_share, dry_torque
from observer.shadow_settings cimport ShadowSettings

cdef struct Friction:        # rows of one array
    double* minimum          # (n,) it is at least this, spring and offset included [N m or N]
    double* maximum          # (n,) at most
    double* middle           # (n,)
    double* low              # (n,) presliding state of the minimum
    double* high             # (n,)
    double* position         # (n,) where the joint counts as being, see ``counted_motion``


cdef inline void follow_motion(const ShadowSettings* settings, Py_ssize_t n, double dt,
                               const double* q, Friction* friction) noexcept nogil:
    """Advance the presliding states to a position (n,), dt [s] later."""
    for i in range(n):
        moved = counted_motion(&friction.position[i], q[i], settings.displacement)
        if moved == 0.0:
            friction.low[i] = after_rest(friction.low[i], -1.0, dt)
            friction.high[i] = after_rest(friction.high[i], 1.0, dt)
        else:
            friction.low[i] = after_motion(friction.low[i], moved, settings.displacement)
            friction.high[i] = after_motion(friction.high[i], moved, settings.displacement)


cdef inline void joint_torque(const ShadowSettings* settings, Py_ssize_t n, const double* gravity,
                              const double* state, Friction* friction,
                              double* torque) noexcept nogil:
    """torque (n,) that the effort of a state (3, n) means, and the friction in it [N m or N]."""
    cdef const double* effort = state + 2 * n
    for i in range(n):
        coulomb, load = settings.drives.coulomb[i], settings.drives.load[i]
        moving = moving_torque(&settings.drives, i, state[i], state[n + i])
        if settings.behind_gears:
            friction.minimum[i] = friction.maximum[i] = moving + dry_torque(
                coulomb, load, effort[i], 0.5 * (friction.low[i] + friction.high[i]))
            torque[i] = effort[i] + friction.minimum[i]
        else:
            torque[i] = torque_of(&settings.units, i, effort[i], gravity[i])
            friction.minimum[i] = moving + dry_share(coulomb, load, torque[i] - moving,
                                                   friction.low[i])
            friction.maximum[i] = moving + dry_share(coulomb, load, torque[i] - moving,
                                                  friction.high[i])
        friction.middle[i] = 0.5 * (friction.minimum[i] + friction.maximum[i])


# Statistics that show whether the effort field keeps its contract. They are gathered state by state
# and judged by featherstone_ros/observer/effort_contract.py. Arrays are (n,) unless another shape
# is given.

cdef extern from *:
    const double REST "0.5"                # length of a standstill that is averaged [s]
    const double REST_SPEED "0.01"         # mean speed below which a joint stands still [rad/s or
                                           # m/s]
    const double SLIDING "5.0"             # how long a joint must slide in each direction [s]
    const double MIN_SLIDING_SPEED "0.02"  # from which a joint certainly slides [rad/s or m/s]:
                                           # which states count, whatever the width of the friction
                                           # law's sign

cdef struct RestMeans:       # of one standstill
    double elapsed           # [s]
    Py_ssize_t count         # states
    # (n,) each, rows of one array
    double* effort           # sum; the mean once ``update_rest`` has returned True
    double* square           # sum of effort^2; then the standard error of the mean effort
    double* velocity         # sum
    double* lowest           # position
    double* highest          # position

cdef struct SlidingMeans:    # (2, n): forward, then backward; one array
    double* time             # of sliding [s]
    double* friction         # integral of the filtered friction over that time
    double* external         # integral of the external torque
    double* filtered         # (n,) friction, with the delay of the momentum observer
    double* share            # (n,) scratch


cdef inline void begin_rest(RestMeans* rest, Py_ssize_t n) noexcept nogil:
    """Begin a new standstill."""
    rest.elapsed, rest.count = 0.0, 0
    memset(rest.effort, 0, 3 * n * sizeof(double))              # and square, velocity


cdef inline bint update_rest(RestMeans* rest, Py_ssize_t n, double dt,
                             const double* state) noexcept nogil:
    """Take a state (3, n), dt [s] later; whether a standstill is over, whose means are ready."""
    cdef const double* effort = state + 2 * n
    cdef bint still = True, moved = False
    for i in range(n):
        rest.lowest[i] = min(state[i], rest.lowest[i]) if rest.count else state[i]
        rest.highest[i] = max(state[i], rest.highest[i]) if rest.count else state[i]
        moved |= rest.highest[i] - rest.lowest[i] > REST_SPEED * REST
    if moved:
        begin_rest(rest, n)
        return False
    rest.elapsed += dt
    rest.count += 1
    for i in range(n):
        rest.effort[i] += effort[i]
        rest.square[i] += effort[i] * effort[i]
        rest.velocity[i] += state[n + i]
    if rest.elapsed < REST:
        return False
    for i in range(n):
        rest.effort[i] /= rest.count
        rest.square[i] = sqrt(fmax(rest.square[i] / rest.count - rest.effort[i] * rest.effort[i],
                                   0.0) / rest.count)
        still &= fabs(rest.velocity[i] / rest.count) < REST_SPEED
    if not still:
        begin_rest(rest, n)
    return still


cdef inline void begin_sliding(SlidingMeans* sliding, Py_ssize_t n) noexcept nogil:
    memset(sliding.time, 0, 6 * n * sizeof(double))             # and friction, external


cdef inline double median_of(Py_ssize_t count, double* x) noexcept nogil:
    """Median of at least one number; sorts x in place."""
    for i in range(1, count):
        value, k = x[i], i
        while k > 0 and x[k - 1] > value:
            x[k] = x[k - 1]
            k -= 1
        x[k] = value
    return 0.5 * (x[(count - 1) // 2] + x[count // 2])


cdef inline bint update_sliding(SlidingMeans* sliding, const ShadowSettings* settings, Py_ssize_t n,
                                double dt, const double* qd, const double* now,
                                const double* external, double* share) noexcept nogil:
    """Take a state and its friction, dt [s] after the last; return whether enough joints have slid
    both ways.

    ``share`` is then how much of the friction appears as external torque: for each joint, the mean
    external torque in forward motion minus that in backward motion, divided by the same difference
    of the friction; of these, the median over the joints. Errors that depend on position alone,
    such as those of gravity, cancel in the differences.
    """
    cdef Py_ssize_t ready = 0, frictional = 0
    for i in range(n):
        bound = settings.drives.viscous[i] * MIN_SLIDING_SPEED + 0.5 * settings.drives.coulomb[i]
        frictional += bound > 0.0
        sliding.filtered[i] -= (expm1(-settings.gain[i] * dt)
                                * (now[i] - sliding.filtered[i]))
        begin = n if sliding.filtered[i] < 0.0 else 0
        if fabs(sliding.filtered[i]) > bound and fabs(qd[i]) > MIN_SLIDING_SPEED:
            sliding.time[begin + i] += dt
            sliding.friction[begin + i] += sliding.filtered[i] * dt
            sliding.external[begin + i] += external[i] * dt
        if sliding.time[i] > SLIDING and sliding.time[n + i] > SLIDING:
            k = n + i
            friction = sliding.friction[i] / sliding.time[i] - sliding.friction[k] / sliding.time[k]
            sliding.share[ready] = (sliding.external[i] / sliding.time[i]
                                    - sliding.external[k] / sliding.time[k]) / friction
            ready += 1
    if frictional == 0 or 2 * ready <= frictional:
        return False
    share[0] = median_of(ready, sliding.share)
    begin_sliding(sliding, n)
    return True

# The torque governor: what stands between the control law and the drives.
#
# Per joint, in this order:
# 1. bumpless transfer: after a change of law, gains, model or state the difference to the last command is faded out, so
#    that what is asked for afterwards never begins with a step;
# 2. clamp to the effort limits;
# 3. rate limit, which wins over the clamp: if a limit is lowered below the present command, the command goes there at
#    the rate limit.
# Cutting feedback first, then feedforward, gravity last, leaves per joint the same sum as clamping it: the clamp is all
# that is needed, and featherstone_ros.control.governor.cut tells what has been lost.

from libc.math cimport isfinite
from libc.string cimport memcpy

from control.settings cimport Settings

cdef extern from *:
    """
    #define LONGEST_STEP (0.005)
    """
    const double LONGEST_STEP  # [s] of the torque rate that one command may use up, after any gap

cdef struct Governor:
    Py_ssize_t n
    double* command          # (n,) the last one
    double* asked            # (n,) what was last asked for
    double* difference       # (n,) that is being faded out
    bint transferring
    bint begins              # the difference is to be taken with the next command
    double elapsed, duration
    long long saturated      # commands of which an effort limit changed some joint
    long long interventions  # commands of which any limit did


cdef inline double transfer_weight(double progress) noexcept nogil:
    """1 at progress 0 and 0 at 1, with zero slope at both ends."""
    progress = min(max(progress, 0.0), 1.0)
    return 1.0 - progress * progress * (3.0 - 2.0 * progress)


cdef inline double transfer_left(const Governor* g) noexcept nogil:
    """Weight of the difference that is being faded out."""
    if g.begins:
        return 1.0
    return transfer_weight(g.elapsed / g.duration) if g.transferring else 0.0


cdef inline void begin_transfer(Governor* g, double duration) noexcept nogil:
    """Fade the difference between the last command and what is asked for next out; 0 leaves it to the rate limit."""
    g.begins, g.transferring, g.duration, g.elapsed = duration > 0.0, False, duration, 0.0


cdef inline void start_from(Governor* g, const Settings* settings, const double* effort) noexcept nogil:
    """Begin anew, as if this effort, clamped to the limits, had been the last command."""
    cdef Py_ssize_t i
    for i in range(g.n):
        g.command[i] = max(min(effort[i], settings.effort_limit[i]), -settings.effort_limit[i])
    g.begins = g.transferring = False


cdef inline bint all_finite(const double* x, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if not isfinite(x[i]):
            return False
    return True


cdef inline void take_difference(Governor* g) noexcept nogil:
    """Take the difference between the last command and what is asked for."""
    cdef Py_ssize_t i
    for i in range(g.n):
        g.difference[i] = g.command[i] - g.asked[i]
    g.begins, g.transferring = False, True


cdef inline double advance_transfer(Governor* g, double dt) noexcept nogil:
    """Let time pass; returns the weight of the difference in the command to come."""
    cdef double weight = 0.0
    if g.transferring:
        g.elapsed += dt
        weight = transfer_left(g)
        g.transferring = g.elapsed < g.duration
    return weight


cdef inline bint govern(Governor* g, const Settings* settings, const double* asked, const double* added,
                        double dt) noexcept nogil:
    """Work out the next command. Returns False, with nothing changed, if what is asked for is not finite.

    added: (n,) effort that the drives add by themselves, the limits hold for the sum; NULL for none.
    dt: time since the last command [s].
    """
    cdef double weight, effort, allowed, way, step, bias, duration = min(dt, LONGEST_STEP)
    cdef bint saturated = False, changed = False, repeats = g.begins
    cdef Py_ssize_t i
    if not all_finite(asked, g.n):
        return False
    memcpy(g.asked, asked, g.n * sizeof(double))
    weight = advance_transfer(g, dt)
    if repeats:
        take_difference(g)
    for i in range(g.n):
        effort = g.command[i] if repeats else asked[i]
        if weight != 0.0:                                       # 0 times a difference that has overflowed would be NaN
            effort += weight * g.difference[i]
        bias = 0.0 if added == NULL else added[i]
        allowed = max(min(effort, settings.effort_limit[i] - bias), -settings.effort_limit[i] - bias)
        saturated |= allowed != effort
        way = allowed - g.command[i]
        step = max(min(way, settings.torque_rate[i] * duration), -settings.torque_rate[i] * duration)
        changed |= step != way
        g.command[i] += step
    g.saturated += saturated
    g.interventions += saturated or changed
    return True

# The torque governor: what stands between the control law and the drives.
#
# Per joint, in this order:
# 1. bumpless transfer: after a change of law, model or state the first command equals the last one,
#    and the difference goes to zero smoothly; so does the step that other settings make; where the
#    arm is stopped, or held without feedback, the difference drives no joint further for long;
# 2. clamp to the effort limits;
# 3. rate limit, which wins over the clamp: if a limit is lowered below the present command, the
#    command goes there at the rate limit; in computed torque, where the torque of one joint also
#    keeps others from moving, the rates cut the steps of all joints by one factor;
# 4. where the joints follow no motion of limited speed: their speed limits, within the others.
# To cut feedback first, then feedforward and gravity last leaves each joint with the same sum as a
# clamp: so the clamp is all that is needed, but in computed torque, whose feedback is cut before it
# comes here (cut_together in laws.pxd). featherstone_ros.control.controller.cut tells what is cut.

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy, memset

from control.fault_bounds cimport STANDING_SPEED
from control.settings cimport JointSettings

# Speed limits: they keep joints within them although torques may only change at a limited rate.
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

cdef extern from *:
    const int SWEEPS "8"
    const double SPEED_SHARE "0.85"  # of the speed limit that is v: other forces on the arm are not
                                     # known
    const double REACTION "0.01"     # T [s], two steps at least
    const double STEADY "0.1"        # [s] over which feedback has a mean: encoders whose step asks
                                     # for much have the torque flicker
    const double GIVEN_UP "0.02"     # [s] in which a transfer gives up what drives a joint further
    const double LASTING "0.03"      # [s] over which the velocity of such a motion has a mean:
                                     # noise is none

cdef struct SpeedLimit:
    const double* speed      # (n,) limits [rad/s, m/s]; inf: none
    const double* qd         # (n,)
    const double* Minv       # (n, n), of the arm and its rotors
    const double* bias       # (n,) b, without what the drives add by themselves
    double* acceleration     # (n,) scratch: caused by the next command
    double* reduction        # (n,) scratch: torque wanted minus torque commanded

cdef struct Governor:
    Py_ssize_t n
    double* command          # (n,) the last one
    double* asked            # (n,) what was last asked for
    double* difference       # (n,) last command minus what was asked for, as a transfer began
    double* feedback         # (2, n) mean of what errors ask for, that of what is left, and
    double* noise            # by how much the last command was beside that
    double* moving           # (n,) velocities that the difference must not increase
    double* wanted           # (n,) what is asked for, plus what is left of the difference
    double* low              # (n,) torques that the next command may have
    double* high
    bint transferring
    bint begins              # a transfer begins with the next command
    double elapsed, duration
    long long saturated      # commands of which an effort limit changed some joint
    long long interventions  # commands of which any limit did


cdef inline double clamp(double x, double low, double high) noexcept nogil:
    return max(min(x, high), low)


cdef inline double acceleration_left(double left, double jerk, double reaction) noexcept nogil:
    """The largest acceleration if the speed may grow by ``left``; negative beyond the limit."""
    if left <= 0.0:
        return left / reaction
    return 2.0 * left / (reaction + sqrt(reaction * reaction + 2.0 * left / jerk))


cdef inline void keep_speed(Governor* g, const SpeedLimit* limits, const double* rate,
                            double dt) noexcept nogil:
    """Change the command, as allowed, where speed limits ask for it; rate: of torques (n,)."""
    cdef double* a = limits.acceleration
    cdef double* torque = g.command
    cdef Py_ssize_t n = g.n
    cdef double reaction = fmax(REACTION, 2.0 * dt)
    for i in range(n):
        a[i], limits.reduction[i] = 0.0, 0.0
        for j in range(n):
            a[i] += limits.Minv[i * n + j] * (torque[j] - limits.bias[j])
    for sweep in range(SWEEPS):
        changed = False
        for i in range(n):
            if not isfinite(limits.speed[i]):
                continue
            inverse = limits.Minv[i * (n + 1)]
            free = a[i] + inverse * limits.reduction[i]         # if this joint gave nothing up
            limit, jerk = SPEED_SHARE * limits.speed[i], inverse * rate[i]
            free = clamp(free, -acceleration_left(limit + limits.qd[i], jerk, reaction),
                         acceleration_left(limit - limits.qd[i], jerk, reaction))
            change = clamp(torque[i] + (free - a[i]) / inverse, g.low[i], g.high[i]) - torque[i]
            if change == 0.0 or not isfinite(change):
                continue
            changed = True
            torque[i] += change
            limits.reduction[i] -= change
            for j in range(n):
                a[j] += limits.Minv[j * n + i] * change
        if not changed:
            return


cdef inline double transfer_weight(double progress) noexcept nogil:
    """1 at progress 0 and 0 at 1, with zero slope at both ends."""
    progress = clamp(progress, 0.0, 1.0)
    return 1.0 - progress * progress * (3.0 - 2.0 * progress)


cdef inline double transfer_left(const Governor* g) noexcept nogil:
    """Weight of the difference in the last command, 0 when no transfer is under way."""
    if g.begins:
        return 1.0
    return transfer_weight(g.elapsed / g.duration) if g.transferring else 0.0


cdef inline void begin_transfer(Governor* g, double duration) noexcept nogil:
    """Begin a bumpless transfer with the next command; duration [s], 0: by the rate limit alone."""
    g.begins, g.transferring, g.duration, g.elapsed = duration > 0.0, False, duration, 0.0
    if not g.begins:
        memset(g.noise, 0, g.n * sizeof(double))
    memset(g.moving, 0, g.n * sizeof(double))


cdef inline void shift_transfer(Governor* g, const double* step, double duration) noexcept nogil:
    """Let a step (n,) in what is asked for act within the duration [s], beside what an earlier
    transfer has left; no command is repeated, so that quick steps do not freeze it.
    """
    cdef double weight = transfer_left(g)
    if g.begins or duration <= 0.0:
        return
    for i in range(g.n):
        g.difference[i] = (weight * g.difference[i] if weight != 0.0 else 0.0) - step[i]
    g.transferring, g.duration, g.elapsed = True, duration, 0.0


cdef inline void note_feedback(Governor* g, Py_ssize_t i, double torque, bint stands,
                               double dt) noexcept nogil:
    """Note what errors ask of a joint, as far as limits let it: a transfer keeps its mean, not what
    noise makes of it where the joint is to stand. dt: since the last command [s].
    """
    cdef double share = dt / (dt + STEADY)
    cdef double* mean = g.feedback + i
    torque += g.command[i] - g.wanted[i]
    mean[0] += share * (torque - mean[0])
    mean[g.n] += share * (torque - mean[0] - mean[g.n])         # it may grow
    g.noise[i] = torque - mean[0] - mean[g.n] if stands else 0.0


cdef inline void push_no_further(Governor* g, const double* qd, double share) noexcept nogil:
    """Let a transfer leave out what drives joints further at these velocities (n,): as it begins,
    for it may have caused them; then within ``GIVEN_UP``. share: in a mean of all since.
    """
    for i in range(g.n):
        g.moving[i] += share * (qd[i] - g.moving[i])


cdef inline bint drives_further(const Governor* g, Py_ssize_t i) noexcept nogil:
    """Whether the difference does that; a joint that stands has none."""
    return fabs(g.moving[i]) > STANDING_SPEED and g.difference[i] * g.moving[i] > 0.0


cdef inline bint is_missed(const Governor* g, const double* qd) noexcept nogil:
    """Whether joints sink, at velocities (n,) against the difference, under what that held."""
    cdef double power = 0.0
    for i in range(g.n):
        power += g.difference[i] * qd[i]
    return power < 0.0 and not g.begins


cdef inline void start_from(Governor* g, const JointSettings* joints,
                            const double* effort) noexcept nogil:
    """Begin anew, as if this effort, clamped to the limits, had been the last command."""
    for i in range(g.n):
        g.command[i] = clamp(effort[i], -joints.effort_limit[i], joints.effort_limit[i])
    g.begins = g.transferring = False


cdef inline bint all_finite(const double* x, Py_ssize_t count) noexcept nogil:
    for i in range(count):
        if not isfinite(x[i]):
            return False
    return True


cdef inline void transfer(Governor* g, double dt) noexcept nogil:
    """Find what is wanted after dt: what is asked for, and what is left of the difference. That is
    of the last command, but for its noise, when a transfer begins.
    """
    cdef bint repeats = g.begins
    cdef double weight = 0.0
    if g.transferring:
        g.elapsed += dt
        weight = transfer_left(g)
        g.transferring = g.elapsed < g.duration
    if repeats:
        for i in range(g.n):
            g.difference[i] = g.command[i] - g.noise[i] - g.asked[i]
            if drives_further(g, i):
                g.difference[i] = 0.0
        memset(g.moving, 0, g.n * sizeof(double))
        g.begins, g.transferring = False, True
    for i in range(g.n):
        if drives_further(g, i):
            g.difference[i] *= GIVEN_UP / (GIVEN_UP + dt)
        g.wanted[i] = (g.command[i] - g.noise[i] if repeats and g.difference[i] != 0.0
                       else g.asked[i])
        if weight != 0.0:  # 0 times a difference that has overflowed would be NaN
            g.wanted[i] += weight * g.difference[i]
    if repeats:
        memset(g.noise, 0, g.n * sizeof(double))


cdef inline bint find_allowed(Governor* g, const JointSettings* joints, const double* added,
                              double duration) noexcept nogil:
    """Find the next command's range; returns whether an effort limit excludes what is wanted."""
    cdef bint saturated = False
    for i in range(g.n):
        bias, step = 0.0 if added == NULL else added[i], joints.torque_rate[i] * duration
        low, high = -joints.effort_limit[i] - bias, joints.effort_limit[i] - bias
        saturated |= not low <= g.wanted[i] <= high
        g.low[i] = clamp(low, g.command[i] - step, g.command[i] + step)
        g.high[i] = clamp(high, g.command[i] - step, g.command[i] + step)
    return saturated


cdef inline double within_effort(const Governor* g, const JointSettings* joints,
                                 const double* added, Py_ssize_t i) noexcept nogil:
    """What is wanted of a joint, within its effort limits."""
    bias = 0.0 if added == NULL else added[i]
    return clamp(g.wanted[i], -joints.effort_limit[i] - bias, joints.effort_limit[i] - bias)


cdef inline double common_share(const Governor* g, const JointSettings* joints,
                                const double* added, double duration) noexcept nogil:
    """How much of the way to what is wanted the rate limits leave to every joint."""
    cdef double share = 1.0
    for i in range(g.n):
        step = fabs(within_effort(g, joints, added, i) - g.command[i])
        share = fmin(share, joints.torque_rate[i] * duration / step)    # 0 / 0 is no limit
    return share


cdef inline bint govern(Governor* g, const JointSettings* joints, const double* asked,
                        const double* added, const SpeedLimit* speed, bint together, double dt,
                        double longest) noexcept nogil:
    """Work out the next command. Returns False, with nothing changed, if what is asked for is not
    finite.

    added: (n,) effort that the drives add by themselves, NULL for none; the limits apply to the
    sum. speed: NULL where speed is limited otherwise. together: one factor cuts all steps. dt: time
    since the last command [s]; longest: of it, the torque rate of which this command may use up.
    """
    cdef bint changed = False
    cdef double share = 1.0
    if not all_finite(asked, g.n):
        return False
    memcpy(g.asked, asked, g.n * sizeof(double))
    transfer(g, dt)
    saturated = find_allowed(g, joints, added, min(dt, longest))
    if together:
        share = common_share(g, joints, added, min(dt, longest))
    for i in range(g.n):
        goal = g.wanted[i]
        if share < 1.0:
            goal = g.command[i] + share * (within_effort(g, joints, added, i) - g.command[i])
        g.command[i] = clamp(goal, g.low[i], g.high[i])
    if speed != NULL:
        keep_speed(g, speed, joints.torque_rate, dt)
    for i in range(g.n):
        changed |= g.command[i] != g.wanted[i]
    g.saturated += saturated
    g.interventions += changed
    return True

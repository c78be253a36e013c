# The observer of the arm's state: predict, compare, use or replace, reset, give up.
#
# For each joint, and for its position and its velocity, the last estimate is advanced to the time
# of a joint state. What lies within reach of this prediction is used; anything else is replaced by
# it. How far is within reach is one bound of acceleration and one floor of noise, over the time
# since a value was last used: so the gate opens by itself. (docs/faults.md has the classes that are
# named here.)
#
# There are three candidates for a velocity: the prediction, the measurement, and the displacement
# between two positions. Where the measurement is out of reach of their median, the median is used:
# no single wrong number acts (class 3), and a hard stop is believed as soon as the positions show
# it. Where it is not measured, the displacement corrects the prediction through a low-pass filter
# (class 2).
#
# A position that stays the same to the bit while its joint moves is no measurement: a controller
# manager may be faster than its hardware (class 2), or the encoder is frozen (class 4). It is one
# again when the joint has had the time to stop.
#
# Three positions out of reach that agree are the truth: the arm is elsewhere (a restart, a slipped
# encoder). Over a sliding time the displacement must be the integral of the measured velocity;
# where it is not, positions tell the velocity from then on (class 4). What follows from all this is
# decided in supervision.pxd, and in controller.pxd when a joint had no usable position for
# state_timeout.
#
# Arrays are (n,); positions in rad or m.

from libc.math cimport INFINITY, M_PI, NAN, copysign, exp, fabs, isfinite, isnan
from libc.string cimport memcpy

from control.events cimport (ACCEPTED, INCONSISTENT, JUMPED, NOT_NEWER, REJECTED_NOT_FINITE,
                             REJECTIONS, REPEATED, TOO_FAST, Reason, because)
from control.fault_bounds cimport (ACCELERATION, COMPARED_OVER, ENCODER_STEP, EXCESS_TIME,
                                   FILTER_SHARE, MAX_SPEED, REPEAT_TIME, SPEED_NOISE, STAMP_JITTER,
                                   STEPS_UNSEEN)
from control.settings cimport JointLimits, Settings, speed_bound

cdef struct Observer:
    Py_ssize_t n
    const JointLimits* limits
    double* q                # (4, n) the estimate, a motion state: position,
    double* qd               # velocity,
    double* qdd              # and the acceleration that the command causes
    double* at_state         # (2, n) position and velocity from which ``ahead`` counts
    double* accepted_q       # position that was last used as it was measured
    double* outlier          # last position out of reach; NaN: the last was not
    double* outlier_count    # how many of these in a row agree
    double* age              # (2, n) time since position and velocity were last used as they were
                             # measured [s]
    double* unchanged        # time for which the position has been the same [s]
    double* step             # smallest change of the position so far
    double* proven_speed     # velocity that the last change of the position shows for sure
    double* discrepancy      # recent displacement minus recent integral of the velocity
    double* travelled        # recent integral of the speed
    double* disagreed        # time for which these have not agreed [s]: single wrong positions,
                             # and states that come late, do so soon again
    bint begun               # there is an estimate
    bint confirmed           # after the first state, or a gap, another has agreed with it
    bint reset               # the last state has shown that a joint is elsewhere
    Py_ssize_t inconsistent  # first joint whose velocity is inconsistent with its positions; -1:
                             # none
    double advanced          # time by which an open-loop stop has moved the estimate since the
                             # last state [s]
    double ahead             # time by which the model has advanced it since then [s]
    long long accepted
    long long rejected[REJECTIONS]
    Reason last          # what was wrong with the last state


cdef inline bint is_repetition(const Reason* state) noexcept nogil:
    """Whether a state was the last one again, by its stamp."""
    return state.code == NOT_NEWER and state.found == state.bound


cdef inline double median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline double common(double a, double b) noexcept nogil:
    """The number nearer to zero, or zero if the signs differ."""
    if a * b <= 0.0:
        return 0.0
    return a if fabs(a) < fabs(b) else b


cdef inline double speed_reach(const Observer* o, Py_ssize_t i, double age) noexcept nogil:
    """How far a velocity may be from its prediction."""
    return speed_bound(o.limits, i) * min(SPEED_NOISE + ACCELERATION * age, MAX_SPEED)


cdef inline double reach(const Observer* o, Py_ssize_t i, double age) noexcept nogil:
    """How far a position may be from its prediction; never more than half a turn."""
    return min(speed_reach(o, i, age) * (EXCESS_TIME + age) + o.step[i], M_PI)


cdef inline double unseen(const Observer* o, Py_ssize_t i) noexcept nogil:
    """The largest motion of a joint that may not change its measured position."""
    return STEPS_UNSEEN * o.step[i]


cdef inline double max_discrepancy(const Observer* o, Py_ssize_t i) noexcept nogil:
    """By how much displacement and integral of the velocity may differ."""
    return reach(o, i, 0.0) + FILTER_SHARE * o.travelled[i]


cdef inline double oldest(const Observer* o) noexcept nogil:
    """The longest time for which a joint had no usable position [s]."""
    cdef double age = 0.0
    for i in range(o.n):
        age = max(age, o.age[i])
    return age


cdef inline double missing_for(const Observer* o) noexcept nogil:
    """The same; 0 as long as the hardware may not have measured again, which is no fault."""
    cdef double age = oldest(o)
    return age if age > REPEAT_TIME else 0.0


cdef inline const double* seen_state(const Observer* o) noexcept nogil:
    """Position and velocity (2, n) at the last state: what is advanced since is no evidence."""
    return o.at_state if o.ahead > 0.0 else o.q


cdef inline double max_speed_share(const Observer* o) noexcept nogil:
    """The speed of the fastest joint over its limit."""
    cdef const double* qd = seen_state(o) + o.n
    cdef double fastest = 0.0
    for i in range(o.n):
        fastest = max(fastest, fabs(qd[i]) / o.limits.velocity[i])
    return fastest


cdef inline void return_to_state(Observer* o) noexcept nogil:
    """Undo what the model has advanced the estimate by since the last state."""
    if o.ahead > 0.0:
        memcpy(o.q, o.at_state, 2 * o.n * sizeof(double))
    o.ahead = 0.0


cdef inline void forget(Observer* o) noexcept nogil:
    """Begin anew with the next state."""
    o.begun = False


cdef inline void begin_joint(Observer* o, Py_ssize_t i, double q, double qd) noexcept nogil:
    """Take a joint over."""
    o.q[i] = o.accepted_q[i] = q
    o.qd[i] = qd
    o.qdd[i] = o.unchanged[i] = o.age[i] = o.age[o.n + i] = o.outlier_count[i] = 0.0
    o.discrepancy[i] = o.travelled[i] = o.proven_speed[i] = o.disagreed[i] = 0.0
    o.outlier[i] = NAN
    if o.step[i] == 0.0:
        o.step[i] = ENCODER_STEP


cdef inline Reason begin_observation(Observer* o, const double* q) noexcept nogil:
    """Take the first state over."""
    for i in range(o.n):
        if not isfinite(q[i]):
            return because(REJECTED_NOT_FINITE, i, q[i], 0.0)
        if not o.limits.lower[i] - M_PI <= q[i] <= o.limits.upper[i] + M_PI:
            return because(JUMPED, i, q[i], o.limits.upper[i] + M_PI)
    for i in range(o.n):
        begin_joint(o, i, q[i], 0.0)                            # a velocity has no other candidate
    o.begun, o.confirmed, o.inconsistent = True, False, -1
    o.advanced = o.ahead = 0.0
    return because(ACCEPTED, -1, 0.0, 0.0)


cdef inline void predict(Observer* o, double dt) noexcept nogil:
    for i in range(o.n):
        o.q[i] += dt * (o.qd[i] + 0.5 * dt * o.qdd[i])
        o.qd[i] += dt * o.qdd[i]


cdef inline bint is_frozen(const Observer* o, Py_ssize_t i) noexcept nogil:
    """Whether a position has stayed the same while its measured velocity has led too far."""
    return (o.unchanged[i] > REPEAT_TIME and o.age[o.n + i] < o.unchanged[i]
            and fabs(o.discrepancy[i]) > max_discrepancy(o, i)
            and o.discrepancy[i] * o.qd[i] < 0.0)


cdef inline void trust_velocities(Observer* o) noexcept nogil:
    """Use measured velocities again that were inconsistent: somebody has looked at it."""
    for i in range(o.n):
        o.age[o.n + i] = o.disagreed[i] = o.discrepancy[i] = 0.0


cdef inline double believable(const Observer* o, Py_ssize_t i, double qd,
                              double shown) noexcept nogil:
    """A measured velocity, if a joint can have it; of an impossible one what positions show."""
    if fabs(qd) <= MAX_SPEED * speed_bound(o.limits, i):
        return qd
    return 0.0 if isnan(qd) else common(qd, shown)


cdef inline bint agrees(Observer* o, Py_ssize_t i, double q, double qd,
                        double dt) noexcept nogil:
    """Whether a position is the third out of reach that agrees with the last, at rest or moving."""
    cdef double displacement = q - o.outlier[i], bound = reach(o, i, dt)
    cdef bint follows = (fabs(displacement) <= bound + dt * speed_bound(o.limits, i)
                         or fabs(displacement - qd * dt) <= bound)
    o.outlier_count[i] = o.outlier_count[i] + 1.0 if follows else 0.0
    o.outlier[i] = q
    return o.outlier_count[i] >= 2.0


cdef inline Reason gate_position(Observer* o, Py_ssize_t i, double q, double qd,
                                 double dt) noexcept nogil:
    """Whether a position is used, given the prediction in ``q``."""
    cdef double off = fabs(q - o.q[i]), bound = reach(o, i, o.age[i])
    if not isfinite(q):
        return because(REJECTED_NOT_FINITE, i, q, 0.0)
    if q == o.accepted_q[i]:
        bound = unseen(o, i)
        if is_frozen(o, i):
            o.age[i] = max(o.age[i], o.unchanged[i])
            return because(REPEATED, i, o.discrepancy[i], max_discrepancy(o, i))
        if off > bound:
            if o.unchanged[i] <= REPEAT_TIME or fabs(qd) > speed_reach(o, i, 0.0):
                return because(REPEATED, i, off, bound)
            o.discrepancy[i] = 0.0                              # it has stopped, and not gone there
    elif off > bound:
        shown = (q - o.outlier[i]) / dt                         # before this one is stored
        if (not o.limits.lower[i] - M_PI <= q <= o.limits.upper[i] + M_PI
                or not agrees(o, i, q, qd, dt)):
            return because(JUMPED, i, off, bound)
        begin_joint(o, i, q, believable(o, i, qd, shown))
        o.reset = True
    return because(ACCEPTED, i, off, bound)


cdef inline void compare(Observer* o, Py_ssize_t i, double displacement, double qd, double dt,
                         double left) noexcept nogil:
    """Add to what is compared over time; left: share of what was there; 0: nothing is compared."""
    if left == 0.0:
        displacement = qd = 0.0
    o.discrepancy[i] = left * o.discrepancy[i] + displacement - qd * dt
    o.travelled[i] = left * o.travelled[i] + fabs(qd) * dt
    if o.age[i] == 0.0:                                         # else the displacement is to come
        o.disagreed[i] = (o.disagreed[i] + dt
                         if fabs(o.discrepancy[i]) > max_discrepancy(o, i) and not is_frozen(o, i)
                         else 0.0)


cdef inline Reason take_velocity(Observer* o, Py_ssize_t i, double qd, double shown,
                                 bint within, const Settings* settings,
                                 double age) noexcept nogil:
    """Use a measured velocity, or what else is known; shown: by positions, over ``age`` [s]."""
    cdef double candidate = median(o.qd[i], qd, shown)
    cdef bint inconsistent = (not isnan(qd) and max(o.age[o.n + i], o.disagreed[i])
                              > settings.state_timeout)
    if inconsistent:
        o.age[o.n + i] = INFINITY                               # until ``trust_velocities``
    if isnan(qd) or inconsistent:
        low_pass = 1.0 - exp(-2.0 * M_PI * settings.velocity_cutoff * age)
        o.qd[i] += low_pass * (shown - o.qd[i])
        return because(INCONSISTENT if inconsistent else ACCEPTED, i, qd, o.qd[i])
    o.qd[i] = qd if within else candidate
    return because(ACCEPTED if within else TOO_FAST, i, qd, candidate)


cdef inline void take_position(Observer* o, Py_ssize_t i, double q) noexcept nogil:
    """Use a position; a changed one tells the encoder's step."""
    cdef double step = fabs(q - o.accepted_q[i])
    if step > 0.0:
        o.step[i] = min(o.step[i], step)
        o.proven_speed[i] = copysign(step - o.step[i], q - o.accepted_q[i]) / o.unchanged[i]
        o.unchanged[i] = 0.0
    o.q[i] = o.accepted_q[i] = q
    o.age[i], o.outlier[i] = 0.0, NAN


cdef inline Reason observe_joint(Observer* o, Py_ssize_t i, double q, double qd, double dt,
                                 double lag, double left,
                                 const Settings* settings) noexcept nogil:
    """Use or replace a joint's position and velocity, measured dt [s] after the last, NaN: not;
    returns what was wrong. lag: mean velocity within dt minus that at its end, as predicted; left:
    share left of what is compared over time, 0 after a gap.
    """
    cdef double age = o.age[i] + dt, displacement = 0.0
    cdef bint within
    o.age[i], o.age[o.n + i], o.unchanged[i] = age, o.age[o.n + i] + dt, o.unchanged[i] + dt
    position = gate_position(o, i, q, qd, dt)
    shown = o.qd[i]
    if position.code == ACCEPTED:
        shown, displacement = o.qd[i] + (q - o.q[i]) / age, q - o.accepted_q[i]
        take_position(o, i, q)
    # The gate does not open while positions tell the velocity. NaN is not within it.
    within = fabs(qd - median(o.qd[i], qd, shown)) <= speed_reach(o, i, age)
    compare(o, i, displacement, (qd if within else o.qd[i]) + lag, dt, left)
    if within and o.age[o.n + i] < INFINITY:
        o.age[o.n + i] = 0.0
    velocity = take_velocity(o, i, qd, shown, within, settings, age)
    return velocity if position.code == ACCEPTED else position


cdef inline bint observe_state(Observer* o, const double* q, const double* qd, double dt,
                               bint is_gap, bint has_speed,
                               const Settings* settings) noexcept nogil:
    """Use a joint state, measured dt [s] after the last, NaN: not; returns whether no joint lacks a
    usable position for state_timeout. is_gap: states did; has_speed: velocities tell more than that
    of one instant.
    """
    cdef double left = 0.0 if is_gap else exp(-dt / COMPARED_OVER)
    cdef bint reckoned = STAMP_JITTER < o.ahead <= dt           # commands went on by the model
    cdef bint agrees = True  # positions alone tell what an inconsistent velocity does not
    o.reset, o.inconsistent, o.last.code = False, -1, ACCEPTED
    if not o.begun:
        o.last = begin_observation(o, q)
        o.rejected[<int> o.last.code] += o.last.code != ACCEPTED
        o.accepted += o.begun
        return o.begun
    if not reckoned:
        return_to_state(o)
    predict(o, dt - o.advanced - o.ahead)
    o.advanced = o.ahead = 0.0
    for i in range(o.n):
        lag = (o.q[i] - o.at_state[i]) / dt - o.qd[i] if reckoned else -0.5 * dt * o.qdd[i]
        result = observe_joint(o, i, q[i], qd[i] if has_speed else NAN, dt, lag, left,
                               settings)
        if result.code == ACCEPTED:
            continue
        agrees &= result.code in (REPEATED, INCONSISTENT)
        if result.code == INCONSISTENT and o.inconsistent < 0:
            o.inconsistent = i
        if (o.age[i] > settings.state_timeout
                or (o.last.code == ACCEPTED and result.code != REPEATED)):
            o.last = result
    o.rejected[<int> o.last.code] += o.last.code != ACCEPTED
    o.confirmed = (not o.confirmed if is_gap else True) and agrees
    if missing_for(o) > settings.state_timeout:
        return False
    o.accepted += 1
    return True

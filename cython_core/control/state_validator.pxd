# Which joint states are believed, and how much time passes between two of them.
#
# Time between two states is the difference of their stamps where both have one, so that what the controller does depends
# neither on transport delays nor on how fast a simulation runs. Where stamps are missing (0) or jump to another time, it
# is the steady time between their arrivals.

from libc.math cimport INFINITY, M_PI, NAN, copysign, exp, fabs, isfinite, isnan
from libc.string cimport memcpy, memset

cdef enum Rejection:         # why a state is not believed; the texts are in featherstone_ros.control.state
    ACCEPTED = 0
    NOT_FINITE
    NOT_NEWER                # stamp not newer than the last
    JUMPED                   # position
    ABSURD                   # position far beyond the limits
    TOO_FAST                 # velocity not plausible
    DISTRUSTED               # too many before were not plausible
    REPEATED                 # a position that does not change while the arm moves, or is asked to
    CONTRADICTORY            # velocities that the positions do not show
    LATE                     # on its way for longer than state_timeout
    REJECTIONS

cdef extern from *:
    """
    #define CLOCK_JUMP (0.5)
    #define FALLBACK_SPEED (20.0)
    #define SPEED_TOLERANCE (1.0)
    #define ABSURDLY_FAR (2.0 * 3.14159265358979323846)
    """
    const double CLOCK_JUMP       # [s] a stamp that differs by more from the last one belongs to another clock
    const double FALLBACK_SPEED   # [rad/s, m/s] believed where the robot description gives no limit
    const double SPEED_TOLERANCE  # [rad/s, m/s] of a measured velocity beyond what is plausible
    const double ABSURDLY_FAR     # [rad, m] beyond a position limit: more than a wrong zero

# A source of states that is often wrong is not believed even when it may be right: each state that cannot be true takes
# one that can to make up for it, of the last ones as many as this.
cdef extern from *:
    """
    #define MOST_IMPLAUSIBLE (10)
    """
    const int MOST_IMPLAUSIBLE

# What a joint may gain at once and per second, in speed limits, and how long it may have gone on with that [s]: a state
# that says more, and is the last one, is rather wrong. In a hard stop it may be right, and is believed if others follow.
cdef extern from *:
    """
    #define AT_ONCE (0.05)
    #define PER_SECOND (5.0)
    #define GONE_ON (0.1)
    """
    const double AT_ONCE
    const double PER_SECOND
    const double GONE_ON

# Positions and the integral of the velocities are compared over a sliding time [s]; they may differ by jump_tolerance and
# by this share of the way travelled meanwhile: velocities are filtered, positions have a resolution.
cdef extern from *:
    """
    #define COMPARED_OVER (0.25)
    #define WAY_SHARE (0.3)
    """
    const double COMPARED_OVER
    const double WAY_SHARE

# A velocity goes against the positions if these show the opposite direction, and at least this share of the speed.
cdef extern from *:
    """
    #define AGAINST (0.25)
    """
    const double AGAINST

# A position that does not change by a single bit in any joint, while velocities say that it has moved by this [rad, m],
# or while the arm was asked to move by this, is the last one repeated; it is until it changes, or the velocities say that
# the arm stands. One velocity alone says nothing: it may be wrong. So is the position of one joint that stays the same
# although feedback has pushed it by this for sure (dead_reckoning.pxd), and by more than the step of its encoder; it is
# until it changes. An encoder's step is the smallest that its position has made; before the first, that of 10 bits a turn.
cdef extern from *:
    """
    #define MEASURED_MOTION (0.02)
    #define STILL (0.02)
    #define DESIRED_MOTION (0.2)
    #define PUSHED_MOTION (0.005)
    #define COARSEST_STEP (0.0062)
    #define HIDDEN_STEPS (1.5)
    """
    const double MEASURED_MOTION
    const double STILL             # [rad/s, m/s] below which a velocity says that it stands, and nothing is repeated
    const double DESIRED_MOTION
    const double PUSHED_MOTION
    const double COARSEST_STEP
    const double HIDDEN_STEPS      # of its encoder by which a joint may move unseen between two states

# How long a long time between states is remembered [s]: by then one of those to come may be as long.
cdef extern from *:
    """
    #define SPARSE_FOR (0.1)
    """
    const double SPARSE_FOR

cdef extern from *:
    """
    #define CLOCK_DRIFT (1e-3)
    """
    const double CLOCK_DRIFT  # of the clocks of two computers, at most

cdef struct Judged:          # what was wrong with a state
    Rejection rejection
    Py_ssize_t joint         # -1: all
    double found, bound

cdef struct StateValidator:
    Py_ssize_t n
    double* q                # (n,) of the last good state, and so on
    double* qd               # measured, or estimated from the positions
    double* last_q           # of the good state before
    double* last_qd
    double* seen             # last position that was not believed
    double* plausible_speed  # twice the limits
    double* middle           # of the position range
    double* half_range
    double* compared_q       # of the last state whose positions and velocities were compared, believed or not
    double* compared_qd
    double* pace             # velocity that the last two different positions show
    double* shown            # velocity that they show in common with those before, filtered
    double* discrepancy      # position minus integral of the velocity, of late
    double* travelled        # integral of the speed, of late
    double* smallest_step    # that the position has ever made; 0: none
    double* moved            # integral of the velocity since the position last changed
    double* repeated_from    # desired position when the position last changed
    Judged frozen            # joint whose position does not change although the arm was asked to move; -1: none
    bint all_frozen          # nor do the others
    double time              # the controller's: sum of all times between good states [s]
    double origin            # stamp at which it was zero, as long as stamps go on; NaN: they have none
    double dt                # between the last two good states; 0 after ``forget``
    double interval          # the longest such time of late, if shorter than state_timeout [s]
    double received          # steady time at which the last good one arrived; -inf before the first
    double stamp             # its stamp; 0: none
    double newest_stamp      # of all that were seen
    double seen_at
    double compared_at
    double compared_stamp
    double unchanged         # time for which the compared position had been the same [s]
    double jumped            # time from the last good state to the first one that jumped
    double transit           # shortest time on the way that three states in a row took at most so far, by two clocks [s]
    double transit_at
    double transits[2]       # of the last two states; -inf before there were two
    bint fresh               # the next state follows on nothing
    int implausible          # states that were not plausible and have not been made up for
    long long accepted
    long long rejected[REJECTIONS]
    Judged last              # what became of the last state


cdef inline void forget(StateValidator* v) noexcept nogil:
    """Believe that the arm is elsewhere if two states say so: too much time has passed since the last.

    They have to be newer, and after states that were not plausible it takes more.
    """
    v.fresh, v.jumped = True, INFINITY


cdef inline Py_ssize_t out_of_reach(Py_ssize_t n, const double* q, const double* last_q, const double* speed,
                                    double duration, double tolerance) noexcept nogil:
    """The first joint that cannot have come from one position to another, or -1."""
    cdef Py_ssize_t i
    for i in range(n):
        if not fabs(q[i] - last_q[i]) <= speed[i] * duration + tolerance:
            return i
    return -1


cdef inline Judged judged(Rejection rejection, Py_ssize_t joint, double found, double bound) noexcept nogil:
    cdef Judged result
    result.rejection, result.joint, result.found, result.bound = rejection, joint, found, bound
    return result


cdef inline Judged accepted() noexcept nogil:
    return judged(ACCEPTED, -1, 0.0, 0.0)


cdef inline double elapsed(const StateValidator* v, double now, double stamp) noexcept nogil:
    """Time since the last good state [s]; not positive if this one is older."""
    cdef double dt
    if stamp > 0.0:                                             # the last one may have been 0: a simulation's first state
        dt = stamp - v.stamp
        if -CLOCK_JUMP < dt < CLOCK_JUMP:
            return dt
    return max(now - v.received, 1e-6)


cdef inline void forget_clocks(StateValidator* v) noexcept nogil:
    """Nothing is known any more of how long a state is on its way."""
    v.transit, v.transit_at = INFINITY, 0.0
    v.transits[0] = v.transits[1] = -INFINITY


cdef inline Judged judge_transit(StateValidator* v, double now, double on_its_way, double longest) noexcept nogil:
    """Whether a state was on its way for too long. on_its_way [s] is by two clocks: only its growth counts; NaN: unknown.

    One state that comes early has a wrong stamp: by that, all after it would be late. Three may set the clock.
    """
    cdef double longest_of_three = max(on_its_way, v.transits[0], v.transits[1])
    if isnan(on_its_way):
        return accepted()
    if v.transits[0] == -INFINITY:
        v.transit = longest_of_three
    else:
        v.transit = min(v.transit + CLOCK_DRIFT * (now - v.transit_at), longest_of_three)
    v.transits[0], v.transits[1] = v.transits[1], on_its_way
    v.transit_at = now
    if on_its_way - v.transit > longest:
        return judged(LATE, -1, on_its_way - v.transit, longest)
    return accepted()


cdef inline Judged judge_numbers(const StateValidator* v, const double* q, const double* qd) noexcept nogil:
    """Whether the numbers are numbers, and near where an arm can be. A velocity that is NaN was not measured."""
    cdef Py_ssize_t i
    for i in range(v.n):
        if not isfinite(q[i]):
            return judged(NOT_FINITE, i, q[i], 0.0)
        if not (isfinite(qd[i]) or isnan(qd[i])):
            return judged(NOT_FINITE, i, qd[i], 0.0)
    i = out_of_reach(v.n, q, v.middle, v.half_range, 1.0, ABSURDLY_FAR)
    return accepted() if i < 0 else judged(ABSURD, i, q[i], v.middle[i] + v.half_range[i])


cdef inline Judged judge_speed(const StateValidator* v, double now, const double* q, const double* qd) noexcept nogil:
    """Whether the velocities are ones that the arm may have, or that its positions show."""
    cdef const double* there = v.seen
    cdef double then = v.seen_at, mean, bound
    cdef Py_ssize_t i
    if v.received > then:
        there, then = v.q, v.received
    for i in range(v.n):
        bound = v.plausible_speed[i] + SPEED_TOLERANCE
        if fabs(qd[i]) > bound:
            mean = (q[i] - there[i]) / max(now - then, 1e-6)
            if fabs(qd[i] - mean) > bound:
                return judged(TOO_FAST, i, qd[i], bound)
    return accepted()


cdef inline double since_compared(const StateValidator* v, double now, double stamp) noexcept nogil:
    """Time since the last state whose positions and velocities were compared [s]; by stamps where both have one."""
    cdef double dt = stamp - v.compared_stamp
    if stamp > 0.0 and v.compared_stamp > 0.0 and -CLOCK_JUMP < dt < CLOCK_JUMP:
        return dt
    return now - v.compared_at


cdef inline double common(double a, double b) noexcept nogil:
    """What two numbers have in common: the smaller one, nothing if they differ in sign."""
    if a * b <= 0.0:
        return 0.0
    return a if fabs(a) < fabs(b) else b


cdef inline bint same(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True


cdef inline Judged judge_way(StateValidator* v, double dt, const double* q, const double* qd, double jump_tolerance,
                             double cutoff, double state_timeout) noexcept nogil:
    """Whether positions and velocities tell of the same motion, over a sliding time; after a gap it begins anew.

    Positions may come several times: a controller manager may be faster than its hardware.
    """
    cdef double left = exp(-dt / COMPARED_OVER), duration = v.unchanged + dt, step, bound
    cdef double weight = 1.0 - exp(-2.0 * M_PI * cutoff * duration)
    cdef bint changed = not same(v.n, q, v.compared_q)
    cdef Py_ssize_t i
    cdef Judged result = accepted()
    for i in range(v.n):
        step = q[i] - v.compared_q[i]
        if (not 0.0 < dt < state_timeout or isnan(qd[i]) or isnan(v.compared_qd[i]) or
                v.fresh and fabs(step) > jump_tolerance):       # it was moved while nobody looked
            v.discrepancy[i] = v.travelled[i] = 0.0
            v.shown[i] = v.pace[i] = 0.0 if isnan(qd[i]) else qd[i]
            continue
        if changed:
            v.shown[i] += weight * (common(step / duration, v.pace[i]) - v.shown[i])   # one wrong position shows nothing
            v.pace[i] = step / duration
        v.discrepancy[i] = left * (v.discrepancy[i] + step - 0.5 * (qd[i] + v.compared_qd[i]) * dt)
        v.travelled[i] = left * (v.travelled[i] + 0.5 * fabs(qd[i] + v.compared_qd[i]) * dt)
        bound = jump_tolerance + WAY_SHARE * v.travelled[i]
        if fabs(v.discrepancy[i]) > bound and result.rejection == ACCEPTED:
            result = judged(CONTRADICTORY, i, v.discrepancy[i], bound)
    v.unchanged = 0.0 if changed or not 0.0 < dt < state_timeout else duration
    memcpy(v.compared_q, q, v.n * sizeof(double))
    memcpy(v.compared_qd, qd, v.n * sizeof(double))
    return result


cdef inline bint same_position(const StateValidator* v, const double* q) noexcept nogil:
    return v.accepted > 0 and same(v.n, q, v.q)


cdef inline bint is_frozen(const StateValidator* v) noexcept nogil:
    """Whether a joint's position does not change although it was asked to, or pushed."""
    return v.frozen.joint >= 0


cdef inline void trust(StateValidator* v) noexcept nogil:
    """A position that stays the same may be the arm's."""
    v.frozen.joint, v.all_frozen = -1, False


cdef inline double encoder_step(const StateValidator* v, Py_ssize_t i) noexcept nogil:
    """How far a joint may move at most without a change of its position, as far as is known."""
    return min(v.smallest_step[i], COARSEST_STEP) if v.smallest_step[i] > 0.0 else COARSEST_STEP


cdef inline void learn_encoder_steps(StateValidator* v) noexcept nogil:
    """By the last two positions."""
    cdef double step
    cdef Py_ssize_t i
    for i in range(v.n):
        step = fabs(v.q[i] - v.last_q[i])
        if step > 0.0 and (step < v.smallest_step[i] or v.smallest_step[i] == 0.0):
            v.smallest_step[i] = step


cdef inline Judged judge_repetition(StateValidator* v, double dt, const double* q, const double* qd,
                                    const double* desired, const double* pushed, const double* likely) noexcept nogil:
    """Whether a position is the last one again although the arm moves, or is asked to."""
    cdef double bound
    cdef Py_ssize_t i
    cdef bint all_same = same_position(v, q)
    if all_same if v.all_frozen else is_frozen(v) and q[v.frozen.joint] == v.q[v.frozen.joint]:
        return v.frozen
    trust(v)
    if v.accepted > 0:
        for i in range(v.n):
            bound = max(PUSHED_MOTION, HIDDEN_STEPS * encoder_step(v, i))
            if q[i] == v.q[i] and fabs(pushed[i]) > bound:
                v.frozen, v.all_frozen = judged(REPEATED, i, pushed[i], bound), all_same
                return v.frozen
    if not all_same:
        memcpy(v.repeated_from, desired, v.n * sizeof(double))
        memset(v.moved, 0, v.n * sizeof(double))
        return accepted()
    for i in range(v.n):
        if not isnan(qd[i]) and dt > 0.0:
            v.moved[i] = v.moved[i] + common(qd[i], v.qd[i]) * dt if fabs(qd[i]) > STILL else 0.0
        if fabs(v.moved[i]) > MEASURED_MOTION:
            if fabs(common(v.moved[i], likely[i])) > 0.5 * MEASURED_MOTION:     # it did what it was asked to
                v.frozen, v.all_frozen = judged(REPEATED, i, v.moved[i], MEASURED_MOTION), True
                return v.frozen
            return judged(REPEATED, i, v.moved[i], MEASURED_MOTION)
        if fabs(desired[i] - v.repeated_from[i]) > DESIRED_MOTION:
            v.frozen, v.all_frozen = judged(REPEATED, i, desired[i] - v.repeated_from[i], DESIRED_MOTION), True
            return v.frozen
    return accepted()


cdef inline Judged judge_position(StateValidator* v, double now, double dt, const double* q,
                                  double jump_tolerance) noexcept nogil:
    """Whether the arm can have come here since the last good state."""
    cdef double duration
    cdef Py_ssize_t i
    if v.fresh:
        if v.implausible:
            i = out_of_reach(v.n, q, v.seen, v.plausible_speed, now - v.seen_at, jump_tolerance)
            if i >= 0:
                return judged(JUMPED, i, q[i] - v.seen[i], v.plausible_speed[i] * (now - v.seen_at) + jump_tolerance)
        elif v.accepted:
            i = out_of_reach(v.n, q, v.q, v.plausible_speed, now - v.received, jump_tolerance)
            if i >= 0:
                return judged(JUMPED, i, q[i] - v.q[i], v.plausible_speed[i] * (now - v.received) + jump_tolerance)
        return accepted()
    # What jumped and stays there is not reached by waiting: only ``forget`` believes it.
    duration = min(max(dt, now - v.received), v.jumped)
    i = out_of_reach(v.n, q, v.q, v.plausible_speed, duration, jump_tolerance)
    if i < 0:
        return accepted()
    v.jumped = duration
    return judged(JUMPED, i, q[i] - v.q[i], v.plausible_speed[i] * duration + jump_tolerance)


cdef inline bint is_old(const StateValidator* v, double dt, double stamp) noexcept nogil:
    """Whether a state is not newer than those before it; after ``forget``, too."""
    if stamp > 0.0 and v.newest_stamp - CLOCK_JUMP < stamp <= v.newest_stamp:
        return True
    return not v.fresh and dt <= 0.0


cdef inline Judged judge(StateValidator* v, double now, double dt, double stamp, double on_its_way, const double* q,
                         const double* qd, const double* desired, const double* pushed, const double* likely,
                         double jump_tolerance, double cutoff, double state_timeout) noexcept nogil:
    """All that can be wrong with a state, the plainest first."""
    cdef Judged way, result = judge_numbers(v, q, qd)
    if result.rejection != ACCEPTED:
        return result
    if is_old(v, dt, stamp):
        return judged(NOT_NEWER, -1, stamp, v.newest_stamp)
    v.newest_stamp = stamp
    result = judge_transit(v, now, on_its_way, state_timeout)
    if result.rejection == ACCEPTED:
        result = judge_speed(v, now, q, qd)
    if result.rejection == ACCEPTED:
        result = judge_position(v, now, dt, q, jump_tolerance)
    if result.rejection != ACCEPTED:
        return result
    dt = since_compared(v, now, stamp)
    v.compared_at, v.compared_stamp = now, stamp
    way = judge_way(v, dt, q, qd, jump_tolerance, cutoff, state_timeout)
    result = judge_repetition(v, dt, q, qd, desired, pushed, likely)
    return way if result.rejection == ACCEPTED else result


cdef inline Judged count_implausible(StateValidator* v, Judged result) noexcept nogil:
    """A source that lies has to earn its trust back: one plausible state for each that was not.

    Until then, velocities that its positions do not show say nothing: the positions may well be wrong.
    """
    if result.rejection == JUMPED or result.rejection == TOO_FAST or result.rejection == ABSURD:
        v.implausible = min(v.implausible + 1, MOST_IMPLAUSIBLE)
    elif result.rejection == CONTRADICTORY and v.implausible:
        return judged(DISTRUSTED, -1, v.implausible, 0.0)
    elif result.rejection == ACCEPTED and v.implausible:
        v.implausible -= 1
        if v.implausible:
            return judged(DISTRUSTED, -1, v.implausible, 0.0)
    return result


cdef inline void take_velocity(StateValidator* v, double dt, const double* q, const double* qd,
                               double cutoff) noexcept nogil:
    """Measured velocities, and first-order filtered differences of the position where there is none.

    One that goes against the positions, the last two as well as those before, would damp the arm the wrong way: it counts as
    none until they agree, and if it has gone against them for long, its size counts, as far as they show it.
    """
    cdef double weight = 1.0 - exp(-2.0 * M_PI * cutoff * dt)
    cdef Py_ssize_t i
    for i in range(v.n):
        if not isnan(qd[i]):
            v.qd[i] = qd[i]
            if qd[i] * v.shown[i] < 0.0 and fabs(v.shown[i]) > AGAINST * fabs(qd[i]) and qd[i] * v.pace[i] <= 0.0:
                v.qd[i] = 0.0
                if fabs(v.discrepancy[i]) > MEASURED_MOTION:
                    v.qd[i] = copysign(min(fabs(qd[i]), fabs(v.shown[i])), v.shown[i])
        elif v.fresh:
            v.qd[i] = 0.0
        else:
            v.qd[i] = v.last_qd[i] + weight * ((q[i] - v.last_q[i]) / dt - v.last_qd[i])


cdef inline void pass_time(StateValidator* v, double stamp) noexcept nogil:
    """Let the controller's time go on; by stamps without a sum, so that it does not depend on how they were rounded."""
    if v.stamp > 0.0 and v.dt == stamp - v.stamp:
        v.time = stamp - v.origin
    else:
        v.time += v.dt
        v.origin = stamp - v.time if stamp > 0.0 else NAN


cdef inline double median(double a, double b, double c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline void best_estimate(const StateValidator* v, double* q, double* qd) noexcept nogil:
    """Position and velocity when the last good state came, as far as one may rely on it.

    A joint whose last velocity or position is unlikely after the ones before, and that nothing has confirmed since, goes
    on at the speed that the last two velocities and the positions agree on. If velocities contradict the positions, these
    are relied on, but for a last one that they do not lead to.
    """
    cdef bint contradictory = v.last.rejection == CONTRADICTORY
    cdef const double* from_q = v.q if contradictory else v.last_q
    cdef double dt = v.compared_at - v.received if contradictory else v.dt, limit, speed
    cdef Py_ssize_t i
    memcpy(q, v.compared_q if contradictory else v.q, v.n * sizeof(double))
    memcpy(qd, v.shown if contradictory else v.qd, v.n * sizeof(double))
    if dt == 0.0:                                               # it follows on nothing
        return
    for i in range(v.n):
        limit = 0.5 * v.plausible_speed[i] * (AT_ONCE + PER_SECOND * dt)
        speed = v.shown[i] if contradictory else median(v.last_qd[i], v.qd[i], v.shown[i])
        if not fabs(qd[i] - speed) <= limit:
            qd[i] = speed
        if not fabs(q[i] - from_q[i] - dt * speed) <= limit * GONE_ON:
            q[i] = from_q[i] + dt * speed


cdef inline bint was_misled(const StateValidator* v) noexcept nogil:
    """Whether the good state before had a velocity that neither the last one nor the way between them shows."""
    cdef double limit
    cdef Py_ssize_t i
    if v.dt <= 0.0:
        return False
    for i in range(v.n):
        limit = 0.5 * v.plausible_speed[i] * (AT_ONCE + PER_SECOND * v.dt)
        if fabs(common(v.qd[i] - v.last_qd[i], (v.q[i] - v.last_q[i]) / v.dt - v.last_qd[i])) > limit:
            return True
    return False


cdef inline void take_over(StateValidator* v, double now, double dt, double stamp, const double* q, const double* qd,
                           double cutoff, double state_timeout) noexcept nogil:
    """Make a state the last good one."""
    v.q, v.last_q = v.last_q, v.q
    v.qd, v.last_qd = v.last_qd, v.qd
    take_velocity(v, dt, q, qd, cutoff)
    memcpy(v.q, q, v.n * sizeof(double))
    if not v.fresh:
        learn_encoder_steps(v)
    v.dt = 0.0 if v.fresh else dt
    v.interval = max(v.dt if v.dt < state_timeout else 0.0, v.interval * exp(-v.dt / SPARSE_FOR))
    pass_time(v, stamp)
    v.received, v.stamp, v.fresh, v.jumped = now, stamp, False, INFINITY
    v.accepted += 1


cdef inline bint accept(StateValidator* v, double now, double stamp, double on_its_way, const double* q, const double* qd,
                        const double* desired, const double* pushed, const double* likely, double jump_tolerance,
                        double cutoff, double state_timeout) noexcept nogil:
    """Judge one state and take it over if it is good.

    now: steady time [s]; stamp: 0 for none; on_its_way: time since it was sent or measured, by two clocks, NaN: unknown;
    qd: (n,) NaN where it was not measured; desired: (n,) position that is asked for, q if none is; pushed: (n,) how far
    feedback has moved each joint for sure since its position last changed; likely: (n,) how far it has come since then if it
    does what it is asked to.
    """
    cdef double dt = elapsed(v, now, stamp)
    cdef Judged result = judge(v, now, dt, stamp, on_its_way, q, qd, desired, pushed, likely, jump_tolerance,
                               cutoff, state_timeout)
    v.last = count_implausible(v, result)
    if v.last.rejection == ACCEPTED:
        take_over(v, now, dt, stamp, q, qd, cutoff, state_timeout)
        return True
    v.rejected[<int> v.last.rejection] += 1
    if v.last.rejection in (JUMPED, TOO_FAST, DISTRUSTED):
        memcpy(v.seen, q, v.n * sizeof(double))
        v.seen_at = now
    return False


cdef inline double seen_since(const StateValidator* v) noexcept nogil:
    """Steady time of what ``best_estimate`` says."""
    return v.compared_at if v.last.rejection == CONTRADICTORY else v.received

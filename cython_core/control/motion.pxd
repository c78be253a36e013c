# What the arm is asked to do: polynomials of degree five in time, defined for all times.
#
# A Motion is one polynomial (the base: a hold, an extrapolated set-point, what leads to the first
# point of a trajectory), then a Path if there is one (a trajectory: immutable, made by Python), and
# on top of both a correction: one more polynomial that leads from what was asked for before into
# this motion and ends with zero value, slope and curvature; in a joint sooner than in others where
# it would leave the joint's range.
#
# A motion state is (4, n): position, velocity, acceleration, and effort in addition to the model's.

from libc.math cimport INFINITY, copysign, fabs, sqrt
from libc.string cimport memcpy, memset

from control.settings cimport JointLimits

cdef enum Degree:            # of a polynomial between two points, by the fields that both have
    STRAIGHT, CUBIC, QUINTIC

cdef struct Path:
    Py_ssize_t pieces
    const double* times      # (pieces,) start of each, from the trajectory's own start [s]; the
                             # last piece has no end
    const double* coefficients   # (pieces, 6, n) of increasing power of the time since the piece's
                                 # start
    const double* effort     # (pieces, 2, n); NULL: none
    const double* first      # (4, n) the first point
    Degree lead              # of what leads to it
    bint leads_effort        # the first point has effort
    bint is_spline           # its points had positions alone
    double duration          # until its last point [s]
    const double* tolerance  # (2, n) how far position and velocity may be off meanwhile; 0: as far
                             # as they like

cdef struct Start:           # of a path: may an arm begin there?
    bint is_over             # it has ended; found: how long ago [s]
    Py_ssize_t joint         # that is too far away; -1: none
    double found, bound      # its distance, and how far away it may be

cdef struct Motion:
    Py_ssize_t n
    double* base             # (6, n)
    double* base_effort      # (2, n)
    double base_start
    const Path* path         # NULL: none
    double path_start        # when the path's time is zero
    Py_ssize_t piece         # of the path, where it was last looked at
    double* correction       # (6, n)
    double* lasts            # (n,) time that it takes in each joint [s]
    double* correction_effort    # (2, n)
    double correction_start
    double correction_end    # in all of them
    double* offset           # (4, n) scratch
    double* before           # (4, n) scratch
    const double* zero       # (4, n)
    double end               # from then on the motion stands still; inf: it never does
    bint has_effort

cdef extern from *:
    """
    #define BLEND_SPEED (0.25)
    #define LONG_LEAD (10.0)
    #define TAKEOVER (1.25)
    #define SHORTEST_STOP (0.01)
    #define BEND_TIME (0.25)
    #define SHORTER (0.8)
    #define SMALL (0.05)
    #define SEEN (0.9)
    #define LONGEST_BLEND (100.0)
    #define LOOKS (32)
    #define ROUNDING (1e-9)
    """
    const double LONG_LEAD    # stop times after which a first point is far ahead
    const double BLEND_SPEED  # share of the velocity limit that a correction may take
    const double TAKEOVER     # periods of a stream's points: its quintic accelerates less than a
                              # cubic that leads to the first of them
    const double SHORTEST_STOP    # [s] of a joint, however near its limit is
    const double BEND_TIME     # [s] for which a stop may go on as the joint accelerates, where that
                              # alters more than its speed
    const double SHORTER      # of the time, where a curve leaves the range; the reverse where a
                              # correction accelerates too much
    const double SMALL        # share of a limit that a correction always may take
    const double SEEN         # share of the largest jerk that is seen from one look to the next
    const double LONGEST_BLEND    # times its usual time that a correction may take
    const int LOOKS           # at a curve, for that
    const double ROUNDING     # [rad, m]


cdef inline double value_at(const double* c, Py_ssize_t n, Py_ssize_t i, double t) noexcept nogil:
    """The value of a joint's polynomial."""
    return c[i] + t * (c[n + i] + t * (c[2 * n + i] + t * (
        c[3 * n + i] + t * (c[4 * n + i] + t * c[5 * n + i]))))


cdef inline double slope_at(const double* c, Py_ssize_t n, Py_ssize_t i, double t) noexcept nogil:
    return c[n + i] + t * (2.0 * c[2 * n + i] + t * (3.0 * c[3 * n + i] + t * (
        4.0 * c[4 * n + i] + t * 5.0 * c[5 * n + i])))


cdef inline double curvature_at(const double* c, Py_ssize_t n, Py_ssize_t i,
                                double t) noexcept nogil:
    return 2.0 * c[2 * n + i] + t * (6.0 * c[3 * n + i] + t * (
        12.0 * c[4 * n + i] + t * 20.0 * c[5 * n + i]))


cdef inline void add_polynomial_of(const double* c, Py_ssize_t n, Py_ssize_t i, double t,
                                   double* state) noexcept nogil:
    """Add value, slope and curvature of a joint's polynomial at t to a motion state."""
    cdef double c1 = c[n + i], c2 = c[2 * n + i], c3 = c[3 * n + i], c4 = c[4 * n + i]
    cdef double c5 = c[5 * n + i]
    state[i] += c[i] + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
    state[n + i] += c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * (5.0 * c5))))
    state[2 * n + i] += 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * (20.0 * c5)))


cdef inline void add_polynomial(const double* c, Py_ssize_t n, double t,
                                double* state) noexcept nogil:
    """The same for all joints, (6, n) coefficients."""
    cdef Py_ssize_t i
    for i in range(n):
        add_polynomial_of(c, n, i, t, state)


cdef inline void add_line(const double* c, Py_ssize_t n, double t, double* effort) noexcept nogil:
    """Add the value of (2, n) coefficients at t."""
    cdef Py_ssize_t i
    for i in range(n):
        effort[i] += c[i] + t * c[n + i]


cdef inline Py_ssize_t piece_at(const Path* path, Py_ssize_t guess, double t) noexcept nogil:
    """The last piece that has begun at t, or the first; mostly the guess or the next one.
    """
    cdef Py_ssize_t low = 0, high = path.pieces, middle
    if path.times[guess] <= t:
        if guess + 1 == path.pieces or t < path.times[guess + 1]:
            return guess
        low = guess + 1
    else:
        high = guess
    while high - low > 1:
        middle = (low + high) // 2
        if path.times[middle] <= t:
            low = middle
        else:
            high = middle
    return low


cdef inline void sample_path(const Path* path, Py_ssize_t n, Py_ssize_t k, double t,
                             double* state) noexcept nogil:
    cdef double since = max(t - path.times[k], 0.0)
    add_polynomial(path.coefficients + 6 * n * k, n, since, state)
    if path.effort != NULL:
        add_line(path.effort + 2 * n * k, n, since, state + 3 * n)


cdef inline void sample_without_correction(Motion* m, double inside, double time,
                                           double* state) noexcept nogil:
    cdef Py_ssize_t n = m.n
    cdef double since
    memset(state, 0, 4 * n * sizeof(double))
    if m.path != NULL and inside >= m.path_start + m.path.times[0]:
        m.piece = piece_at(m.path, m.piece, inside - m.path_start)
        sample_path(m.path, n, m.piece, time - m.path_start, state)
        return
    since = max(time - m.base_start, 0.0)
    add_polynomial(m.base, n, since, state)
    add_line(m.base_effort, n, since, state + 3 * n)


cdef inline Start start_of(const Path* path, Py_ssize_t n, double elapsed, const double* q,
                           const double* velocity, double tolerance, double* begin) noexcept nogil:
    """Whether an arm at q (n,) may follow a path from a time on, elapsed [s] since its beginning.

    A point still to come may be as far away as the velocity limits (n,) allow until then, plus the
    tolerance; where the path is already under way, the tolerance alone counts. begin: (4, n) the
    motion state there; found: that of the joint which is the furthest beyond.
    """
    cdef double wait = max(path.times[0] - elapsed, 0.0), distance, allowed
    cdef Start start
    cdef Py_ssize_t i
    start.is_over, start.joint = elapsed > path.duration, -1
    start.found, start.bound = elapsed - path.duration, 0.0
    memset(begin, 0, 4 * n * sizeof(double))
    sample_path(path, n, piece_at(path, 0, elapsed), elapsed, begin)
    for i in range(0 if start.is_over else n):
        allowed = tolerance + (velocity[i] * wait if wait > 0.0 else 0.0)
        distance = fabs(begin[i] - q[i])
        if not distance <= allowed and (start.joint < 0
                                        or distance - allowed > start.found - start.bound):
            start.joint, start.found, start.bound = i, distance, allowed
    return start


cdef inline const double* polynomials_at(Motion* m, double time, double* since) noexcept nogil:
    """The polynomials (6, n) of a time, without the correction; since: the time since they begin.
    """
    since[0] = time - m.path_start
    if m.path != NULL and since[0] >= m.path.times[0]:
        m.piece = piece_at(m.path, m.piece, since[0])
        since[0] -= m.path.times[m.piece]
        return m.path.coefficients + 6 * m.n * m.piece
    since[0] = max(time - m.base_start, 0.0)
    return m.base


cdef inline double position_without_correction(Motion* m, Py_ssize_t i, double time) noexcept nogil:
    """A joint's position at a time."""
    cdef double since
    cdef const double* c = polynomials_at(m, time, &since)
    return value_at(c, m.n, i, since)


cdef inline void sample_inside(Motion* m, double inside, double time,
                               double* state) noexcept nogil:
    """The motion state at a time, of the polynomials that hold at the time ``inside``.

    Where one polynomial ends and the next begins, this tells the two apart.
    """
    cdef double since
    cdef Py_ssize_t i
    sample_without_correction(m, inside, time, state)
    if inside < m.correction_end:
        since = max(time - m.correction_start, 0.0)
        for i in range(m.n):
            add_polynomial_of(m.correction, m.n, i, min(since, m.lasts[i]), state)
        add_line(m.correction_effort, m.n, since, state + 3 * m.n)


cdef inline void sample(Motion* m, double time, double* state) noexcept nogil:
    """The motion state that is asked for at a time."""
    sample_inside(m, time, time, state)


# Polynomials between two motion states, in one joint after another; duration > 0.

cdef inline void straight(Py_ssize_t n, const double* start, const double* end, double duration,
                          double* c) noexcept nogil:
    cdef Py_ssize_t i
    memset(c, 0, 6 * n * sizeof(double))
    for i in range(n):
        c[i] = start[i]
        c[n + i] = (end[i] - start[i]) / duration


cdef inline void cubic(Py_ssize_t n, const double* start, const double* end, double duration,
                       double* c) noexcept nogil:
    """Through both positions with both velocities."""
    cdef double displacement, gain
    cdef Py_ssize_t i
    memset(c, 0, 6 * n * sizeof(double))
    for i in range(n):
        displacement = end[i] - start[i] - start[n + i] * duration
        gain = (end[n + i] - start[n + i]) * duration
        c[i] = start[i]
        c[n + i] = start[n + i]
        c[2 * n + i] = (3.0 * displacement - gain) / (duration * duration)
        c[3 * n + i] = (gain - 2.0 * displacement) / (duration * duration * duration)


cdef inline void quintic_of(Py_ssize_t n, Py_ssize_t i, const double* start, const double* end,
                            double duration, double* c) noexcept nogil:
    """In one joint, through both positions with both velocities and accelerations."""
    cdef double cubed = duration * duration * duration, half = start[2 * n + i] / 2.0
    cdef double displacement = end[i] - start[i] - (start[n + i] + half * duration) * duration
    cdef double gain = (end[n + i] - start[n + i] - start[2 * n + i] * duration) * duration
    cdef double bend = (end[2 * n + i] - start[2 * n + i]) * (duration * duration / 2.0)
    c[i] = start[i]
    c[n + i] = start[n + i]
    c[2 * n + i] = half
    c[3 * n + i] = (10.0 * displacement - 4.0 * gain + bend) / cubed
    c[4 * n + i] = (-15.0 * displacement + 7.0 * gain - 2.0 * bend) / (cubed * duration)
    c[5 * n + i] = (6.0 * displacement - 3.0 * gain + bend) / (cubed * duration * duration)


cdef inline void quintic(Py_ssize_t n, const double* start, const double* end, double duration,
                         double* c) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        quintic_of(n, i, start, end, duration, c)


cdef inline void connect(Py_ssize_t n, const double* start, const double* end, Degree degree,
                         double duration, double* c) noexcept nogil:
    if degree == STRAIGHT:
        straight(n, start, end, duration, c)
    elif degree == CUBIC:
        cubic(n, start, end, duration, c)
    else:
        quintic(n, start, end, duration, c)


cdef inline void line(Py_ssize_t n, const double* start, const double* end, double duration,
                      double* c) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        c[i] = start[i]
        c[n + i] = (end[i] - start[i]) / duration


cdef inline bint any_nonzero(const double* x, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if x[i] != 0.0:
            return True
    return False


# Motions.

cdef enum:
    MOTION_ROWS = 29         # (n,) of memory that a motion takes


cdef inline void place_motion(Motion* m, Py_ssize_t n, double* memory) noexcept nogil:
    """Take (MOTION_ROWS, n) numbers that are zero."""
    m.n, m.base, m.base_effort = n, memory, memory + 6 * n
    m.correction, m.correction_effort = memory + 8 * n, memory + 14 * n
    m.offset, m.zero, m.before = memory + 16 * n, memory + 20 * n, memory + 24 * n
    m.lasts = memory + 28 * n


cdef inline void hold_at(Motion* m, double time, const double* position) noexcept nogil:
    """Stay at a position (n,), without a correction."""
    memset(m.base, 0, 6 * m.n * sizeof(double))
    memset(m.base_effort, 0, 2 * m.n * sizeof(double))
    memcpy(m.base, position, m.n * sizeof(double))
    m.base_start, m.path, m.correction_end, m.end, m.has_effort = time, NULL, -INFINITY, time, False


cdef inline void extrapolate(Motion* m, double time, const double* state) noexcept nogil:
    """Continue from a motion state at constant acceleration and effort, without an end.

    A correction continues, too.
    """
    cdef Py_ssize_t n = m.n, i
    memset(m.base, 0, 6 * n * sizeof(double))
    memset(m.base_effort, 0, 2 * n * sizeof(double))
    for i in range(n):
        m.base[i], m.base[n + i], m.base[2 * n + i] = state[i], state[n + i], state[2 * n + i] / 2.0
        m.base_effort[i] = state[3 * n + i]
    m.base_start, m.path, m.end = time, NULL, INFINITY
    m.has_effort = any_nonzero(state + 3 * n, n) or (time < m.correction_end and m.has_effort)


cdef inline void lead_in(Motion* m, double time, const double* offset,
                         double duration) noexcept nogil:
    """Blend from an offset (4, n) at a time into the motion."""
    cdef Py_ssize_t i
    quintic(m.n, offset, m.zero, duration, m.correction)
    line(m.n, offset + 3 * m.n, m.zero, duration, m.correction_effort)
    for i in range(m.n):
        m.lasts[i] = duration
    m.correction_start, m.correction_end = time, time + duration
    m.end = max(m.end, time + duration)
    m.has_effort = m.has_effort or any_nonzero(offset + 3 * m.n, m.n)


cdef inline bint leads_to_rest(const Motion* m, double time) noexcept nogil:
    """Whether the arm is still being led to a set-point at which it is to stand."""
    return time < m.correction_end and not any_nonzero(m.base + m.n, 2 * m.n)


cdef inline double lead_in_duration(Py_ssize_t n, const double* offset,
                                    const double* velocity_limit, double shortest) noexcept nogil:
    """How long a correction takes [s]: it alone stays below BLEND_SPEED of the velocity limits.

    A quintic from rest to rest peaks at 15/8 of its mean velocity.
    """
    cdef Py_ssize_t i
    for i in range(n):
        shortest = max(shortest, 1.875 * fabs(offset[i]) / (BLEND_SPEED * velocity_limit[i]))
    return shortest


cdef inline double takeover_time(const Path* path, Py_ssize_t n, const double* change,
                                 const double* offset, const double* velocity_limit,
                                 double longest) noexcept nogil:
    """How long the takeover by a path takes at least [s]: ``longest``, but for a stream of points
    that asks for another velocity.

    To follow that late would be an error. It takes TAKEOVER periods of the points, and of
    ``longest`` the share that it has of the velocity limit, so that it accelerates no more than the
    largest one. A change x of the position beside that of the velocity, v, is noise, to be
    smoothed: it takes 4 x / v.

    Args:
        change: (2, n) of what is asked for, corrections left out.
        offset: (4, n) that is to be removed.
    """
    cdef double shortest, x = 0.0, v = 0.0
    cdef Py_ssize_t i
    if not path.is_spline or path.pieces == 1:
        return longest
    shortest = TAKEOVER * (path.times[path.pieces - 1] - path.times[0]) / (path.pieces - 1)
    for i in range(n):
        x, v = max(x, fabs(change[i])), max(v, fabs(change[n + i]))
        shortest = max(shortest, longest * fabs(offset[n + i]) / velocity_limit[i])
    return min(max(shortest, 4.0 * x / v), longest) if v > 0.0 else longest


cdef inline double stopping_displacement(double v, double a, double duration,
                                         double s) noexcept nogil:
    """The displacement of a stop after a share s of its time, from a velocity and an acceleration.

    The velocity is a cubic that ends at rest: (1 - s)^2 (v + (2 v + a duration) s).
    """
    cdef double bend = 2.0 * v + a * duration
    return duration * s * (v * (1.0 + s * (s / 3.0 - 1.0))
                           + bend * s * (0.5 + s * (s / 4.0 - 2.0 / 3.0)))


cdef inline bint stop_stays_within(double q, double v, double a, double duration, double lower,
                                   double upper) noexcept nogil:
    """Whether all of a stop lies between limits: its end, and where it turns round."""
    cdef double end = q + stopping_displacement(v, a, duration, 1.0), turn = q
    cdef double bend = 2.0 * v + a * duration
    if -v * bend > 0.0 and fabs(v) < fabs(bend):
        turn = q + stopping_displacement(v, a, duration, -v / bend)
    return lower - ROUNDING <= min(end, turn) and max(end, turn) <= upper + ROUNDING


cdef inline double time_to_limit(double distance, double v, double a,
                                 double duration) noexcept nogil:
    """How long a stop takes that ends at a limit, from a distance before it [s]; ``duration`` where
    none does.
    """
    cdef double root = 0.25 * v * v + a * distance / 3.0, speed
    speed = 0.5 * v + copysign(sqrt(max(root, 0.0)), distance)
    if root < 0.0 or not distance * speed > 0.0:
        return duration
    return min(max(2.0 * distance / speed, SHORTEST_STOP), duration)


cdef inline double stopping_time(double q, double v, double a, double duration, double lower,
                                 double upper) noexcept nogil:
    """How long a joint's stop takes [s]: ``duration``, less where it would leave the range (a joint
    beyond it goes no further), or where its acceleration, not its speed, would lead it far.
    """
    cdef double end
    lower, upper = min(lower, q), max(upper, q)
    if fabs(a) * duration > 3.0 * fabs(v):
        duration = min(duration, max(3.0 * fabs(v) / fabs(a), BEND_TIME))
    end = q + stopping_displacement(v, a, duration, 1.0)
    if not lower <= end <= upper:
        duration = time_to_limit((upper if end > upper else lower) - q, v, a, duration)
    while (duration > SHORTEST_STOP
           and not stop_stays_within(q, v, a, duration, lower, upper)):
        duration = max(SHORTER * duration, SHORTEST_STOP)
    return duration


cdef inline void stopping_position(Py_ssize_t n, const double* state, double duration,
                                   const JointLimits* limits, double* lasts,
                                   double* position) noexcept nogil:
    """Where a stop from a motion state ends (n,), within the position limits, and how long it takes
    in each joint, ``lasts`` (n,), at most ``duration`` [s].

    A joint that already stands beyond a limit stays there.
    """
    cdef double q, v, a, end
    cdef Py_ssize_t i
    for i in range(n):
        q, v, a = state[i], state[n + i], state[2 * n + i]
        lasts[i] = stopping_time(q, v, a, duration, limits.lower[i], limits.upper[i])
        end = q + stopping_displacement(v, a, lasts[i], 1.0)
        position[i] = min(max(end, min(limits.lower[i], q)), max(limits.upper[i], q))


cdef inline void stop_from(Motion* m, double time, const double* state, double duration,
                           const JointLimits* limits) noexcept nogil:
    """Come to rest from a motion state within a duration [s], all the way within the position
    limits.
    """
    cdef double* offset = m.offset
    cdef Py_ssize_t n = m.n, i
    memcpy(offset, state, 4 * n * sizeof(double))
    stopping_position(n, state, duration, limits, m.lasts, offset)
    hold_at(m, time, offset)
    m.correction_end = time
    for i in range(n):
        offset[i] = state[i] - offset[i]
        quintic_of(n, i, offset, m.zero, m.lasts[i], m.correction)
        m.correction_end = max(m.correction_end, time + m.lasts[i])
    line(n, offset + 3 * n, m.zero, m.correction_end - time, m.correction_effort)
    m.correction_start, m.end = time, m.correction_end
    m.has_effort = any_nonzero(offset + 3 * n, n)


cdef inline bint is_outside(const JointLimits* limits, Py_ssize_t i, double start,
                            double q) noexcept nogil:
    """Whether a joint leaves its range, or goes further beyond it than where it started."""
    return not min(limits.lower[i], start) <= q <= max(limits.upper[i], start)


cdef inline bint leaves_range(Motion* m, double time, const double* state, double wait,
                              const JointLimits* limits) noexcept nogil:
    """Whether the motion leaves the range on its way from a state within a time [s]."""
    cdef Py_ssize_t i, k
    for k in range(1, LOOKS):
        for i in range(m.n):
            if is_outside(limits, i, state[i],
                          position_without_correction(m, i, time + wait * k / LOOKS)):
                return True
    return False


cdef inline bint correction_leaves_range(Motion* m, Py_ssize_t i, double time, double start,
                                         const JointLimits* limits) noexcept nogil:
    """Whether a joint's correction leads a motion out of the range that would stay in it."""
    cdef double since, position
    cdef Py_ssize_t k
    for k in range(1, LOOKS):
        since = m.lasts[i] * k / LOOKS
        position = position_without_correction(m, i, time + since)
        if (not is_outside(limits, i, start, position)
                and is_outside(limits, i, start,
                               position + value_at(m.correction, m.n, i, since))):
            return True
    return False


cdef inline bint is_beyond(double all, double own, double bound) noexcept nogil:
    """Whether a correction's own share takes something beyond a limit that would keep to it."""
    return fabs(all) > bound >= fabs(all - own) and fabs(own) > SMALL * bound


cdef inline bint accelerates_too_much(Motion* m, Py_ssize_t i, double time, double start,
                                      const JointLimits* limits) noexcept nogil:
    """Whether a joint's correction takes the motion beyond the limits of acceleration and jerk.

    start: acceleration from which it begins; a limit that it is beyond does not hold.
    """
    cdef double own, all, since, bound, step = m.lasts[i] / LOOKS, before = start
    cdef double own_before = curvature_at(m.correction, m.n, i, 0.0)
    cdef const double* c
    cdef Py_ssize_t k
    for k in range(1, LOOKS + 1):
        c = polynomials_at(m, time + k * step, &since)
        own = curvature_at(m.correction, m.n, i, k * step)
        all = own + curvature_at(c, m.n, i, since)
        bound = limits.deceleration[i]
        if all * (slope_at(c, m.n, i, since) + slope_at(m.correction, m.n, i, k * step)) > 0.0:
            bound = limits.acceleration[i]
        if (is_beyond(all, own, max(bound, fabs(start)))
                or is_beyond(all - before, own - own_before, SEEN * limits.jerk[i] * step)):
            return True
        before, own_before = all, own
    return False


cdef inline void blend_joint(Motion* m, Py_ssize_t i, double time, const double* state,
                             const double* offset, double duration,
                             const JointLimits* limits) noexcept nogil:
    """Make a joint's correction longer where it accelerates too much, and shorter where it would
    leave the range, which counts for more.
    """
    while (m.lasts[i] < LONGEST_BLEND * duration
           and accelerates_too_much(m, i, time, state[2 * m.n + i], limits)):
        m.lasts[i] /= SHORTER
        quintic_of(m.n, i, offset, m.zero, m.lasts[i], m.correction)
    while (m.lasts[i] > SHORTEST_STOP
           and correction_leaves_range(m, i, time, state[i], limits)):
        m.lasts[i] = max(SHORTER * m.lasts[i], SHORTEST_STOP)
        quintic_of(m.n, i, offset, m.zero, m.lasts[i], m.correction)


cdef inline void blend(Motion* m, double time, const double* state, const double* offset,
                       double duration, const JointLimits* limits) noexcept nogil:
    """Lead in from a motion state, which is an offset (4, n) away from the motion, within the
    limits of position, acceleration and jerk.
    """
    cdef double longest = duration
    cdef Py_ssize_t i
    lead_in(m, time, offset, duration)
    for i in range(m.n):
        blend_joint(m, i, time, state, offset, duration, limits)
        longest = max(longest, m.lasts[i])
    if longest > duration:
        line(m.n, offset + 3 * m.n, m.zero, longest, m.correction_effort)
        m.correction_end = time + longest
        m.end = max(m.end, m.correction_end)


cdef inline void lead_to(Motion* m, double time, const double* state, const Path* path,
                         double duration) noexcept nogil:
    """Lead from a motion state to a trajectory's first point, by the fields that the point has."""
    cdef Py_ssize_t n = m.n
    connect(n, state, path.first, path.lead, duration, m.base)
    memset(m.base_effort, 0, 2 * n * sizeof(double))
    if path.leads_effort:
        line(n, state + 3 * n, path.first + 3 * n, duration, m.base_effort)
    m.base_start = time


cdef inline bint is_in_reach(Py_ssize_t n, const double* state, const double* point, double wait,
                             const double* velocity_limit) noexcept nogil:
    """Whether the velocity limits allow to reach a position from another within a time."""
    cdef Py_ssize_t i
    for i in range(n):
        if fabs(point[i] - state[i]) > velocity_limit[i] * wait:
            return False
    return True


cdef inline void extend_back(Motion* m, double time, const Path* path,
                             double wait) noexcept nogil:
    """Begin a path a time before its first point, with the velocity that it has there."""
    cdef Py_ssize_t n = m.n, i
    memset(m.base, 0, 6 * n * sizeof(double))
    for i in range(n):
        m.base[n + i] = path.coefficients[n + i]
        m.base[i] = path.first[i] - m.base[n + i] * wait
        m.base_effort[i] = path.first[3 * n + i] if path.leads_effort else 0.0
    m.base_start = time


cdef inline void follow_path(Motion* m, const Path* path, double start, double time,
                             const double* state, const JointLimits* limits,
                             double transition) noexcept nogil:
    """Follow a trajectory that starts at ``start``, from the motion state asked for at ``time``.

    If the first point is far ahead, a polynomial from a moving state would swing far out: the arm
    is stopped first, and led to the point from there. If it is too near in time to be reached, or
    sooner than a moving arm is led in, the path counts as under way already.

    From rest, the fields of the points alone say how the path begins, as in
    joint_trajectory_controller; those of a spline say nothing of its velocity. Where the desired
    state would jump there, here a correction blends into the path, which takes ``takeover_time`` at
    least; at most ``transition`` [s] if that is not too fast.
    """
    cdef double* offset = m.offset
    cdef double wait = start + path.times[0] - time
    cdef Py_ssize_t n = m.n, i
    cdef bint begins_as_given = not path.is_spline and not any_nonzero(state + n, 2 * n)
    sample_without_correction(m, time, time, m.before)
    hold_at(m, time, path.first)
    if wait > 0.0:
        memcpy(offset, state, 4 * n * sizeof(double))
        if wait > LONG_LEAD * transition:
            stopping_position(n, state, transition, limits, m.lasts, offset)
            memset(offset + n, 0, 2 * n * sizeof(double))
        if (begins_as_given or wait >= transition) and is_in_reach(
                n, offset, path.first, wait, limits.velocity):
            lead_to(m, time, offset, path, wait)
            if leaves_range(m, time, state, wait, limits):
                extend_back(m, time, path, wait)
        else:
            extend_back(m, time, path, wait)
    m.path, m.path_start, m.piece = path, start, 0
    m.end = max(start + path.times[path.pieces - 1], time)
    m.has_effort = path.effort != NULL or any_nonzero(m.base_effort, 2 * n)
    sample_without_correction(m, time, time, offset)
    for i in range(4 * n):
        m.before[i] -= offset[i]
        offset[i] = state[i] - offset[i]
    if begins_as_given and not any_nonzero(offset, n):
        memset(offset, 0, 3 * n * sizeof(double))
    if any_nonzero(offset, 4 * n):
        blend(m, time, state, offset, lead_in_duration(
            n, offset, limits.velocity,
            takeover_time(path, n, m.before, offset, limits.velocity, transition)), limits)

# What the arm is asked to do: polynomials of degree five in time, defined for all times.
#
# A Motion is one polynomial (the base: a hold, an extrapolated set-point, what leads to the first
# point of a trajectory), then a Path if there is one (a trajectory: immutable, made by Python), and
# on top of both a correction, which leads from what was asked for before into this motion.
#
# What is made here, and not given by a trajectory's own points (stops, blends, what leads a
# set-point or a stream in), keeps to the joints' acceleration and jerk (JointLimits), whatever
# times are asked for: it takes longer instead. A correction has three parts, each of which begins
# with one of the differences to be removed, and ends with zero value, slope and curvature in a time
# of its own: an acceleration fades as soon as the torques can change, so that it does not speed the
# joint up; a velocity as the joint can brake; a position as slowly as is needed not to be fast.
# Where they take the same time, they are the quintic between the two states. A joint that would
# leave its range takes less, at the price of at most HARDEST times its acceleration.
#
# A motion state is (4, n): position, velocity, acceleration, and effort in addition to the model's.

from libc.math cimport INFINITY, cbrt, copysign, fabs, sqrt
from libc.string cimport memcpy, memset

from control.events cimport ENDED, GRANTED, STARTS_TOO_FAR, Reason, because
from control.fault_bounds cimport CATCH_UP_SPEED
from control.settings cimport JointLimits, within_joint

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
    double period            # mean time between the points of a stream, which had positions alone;
                             # 0: it is none [s]
    double duration          # until its last point [s]
    const double* tolerance  # (2, n) how far position and velocity may be off meanwhile; 0: as far
                             # as they like

cdef struct Motion:
    Py_ssize_t n
    double* base             # (6, n)
    double* base_effort      # (2, n)
    double base_start
    const Path* path         # NULL: none
    double path_start        # when the path's time is zero
    Py_ssize_t piece         # of the path, where it was last looked at
    const JointLimits* limits
    double* correction       # (3, n) of position, velocity and acceleration
    double* lasts            # (3, n) time that each of these takes [s]
    double* correction_effort    # (2, n)
    double correction_start
    double correction_end    # in all of them
    double* offset           # (4, n) scratch
    double* before           # (4, n) scratch
    double* look             # (4, n) scratch
    const double* zero       # (4, n)
    double end               # from then on the motion stands still; inf: it never does

cdef extern from *:
    const double LONG_LEAD "10.0"      # stop times after which a first point is far ahead
    const double BLEND_SPEED "0.25"    # share of the velocity limit that a correction may take
    const double TAKEOVER "1.25"       # periods of a stream's points: its quintic accelerates less
                                       # than a cubic that leads to the first of them
    const double SHORTEST_STOP "0.01"  # [s] of a joint, however near its limit is
    const double BEND_TIME "0.25"      # [s] for which a stop may go on as the joint accelerates,
                                       # where that alters more than its speed
    const double BEND_SPEED "0.05"     # share of the velocity limit by which an acceleration that
                                       # fades may speed a joint up, if torques can change as fast
    const double SHORTER "0.8"         # of the time, where a curve leaves the range; the reverse
                                       # where a correction accelerates too much
    const double SMALL "0.2"           # share of a limit that a correction always may take
    const double SEEN "0.9"            # share of the largest jerk that is seen from one look to the
                                       # next
    const double LONGEST_BLEND "4.0"   # times its usual time that a correction may take: where a
                                       # path accelerates as much as it may, more would lead far off
                                       # it
    const double HARDEST "3.0"         # times its acceleration by which a joint brakes before its
                                       # limit
    const int LOOKS "32"               # at a curve, for that
    const double ROUNDING "1e-9"       # [rad, m]


cdef enum Part:              # of a correction: rows of ``correction`` and ``lasts``
    OFF_PLACE, OFF_SPEED, OFF_ACCELERATION


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


cdef inline void add_polynomial(const double* c, Py_ssize_t n, double t,
                                double* state) noexcept nogil:
    """Add value, slope and curvature of all joints' polynomials at t to a motion state."""
    for i in range(n):
        c1, c2, c3, c4, c5 = c[n + i], c[2 * n + i], c[3 * n + i], c[4 * n + i], c[5 * n + i]
        state[i] += c[i] + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
        state[n + i] += c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * (5.0 * c5))))
        state[2 * n + i] += 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * (20.0 * c5)))


cdef inline void part_coefficients(Part part, double size, double duration,
                                   double* c) noexcept nogil:
    """The (6,) coefficients of a correction's part."""
    cdef double squared = duration * duration
    memset(c, 0, 6 * sizeof(double))
    if part == OFF_PLACE:
        c[0], c[3] = size, -10.0 * size / (squared * duration)
        c[4], c[5] = 15.0 * size / (squared * squared), -6.0 * size / (squared * squared * duration)
    elif part == OFF_SPEED:
        c[0], c[1] = -0.5 * size * duration, size
        c[3], c[4] = -size / squared, 0.5 * size / (squared * duration)
    else:
        c[0], c[2] = -size * squared / 12.0, 0.5 * size
        c[3], c[4] = -2.0 * size / (3.0 * duration), 0.25 * size / squared


cdef inline void add_correction_of(const double* size, const double* lasts, Py_ssize_t n,
                                   Py_ssize_t i, double t, double* state) noexcept nogil:
    """Add value, slope and curvature of a joint's correction at t to a motion state."""
    cdef double duration = lasts[i], x = size[i]
    if x != 0.0 and t < duration:
        s = t / duration
        left = 1.0 - s
        state[i] += x * (1.0 - s * s * s * (10.0 - s * (15.0 - 6.0 * s)))
        state[n + i] -= 30.0 * x / duration * s * s * left * left
        state[2 * n + i] -= 60.0 * x / (duration * duration) * s * left * (1.0 - 2.0 * s)
    duration, x = lasts[n + i], size[n + i]
    if x != 0.0 and t < duration:
        s = t / duration
        left = 1.0 - s
        state[i] -= x * duration * (0.5 - s * (1.0 - s * s * (1.0 - 0.5 * s)))
        state[n + i] += x * left * left * (1.0 + 2.0 * s)
        state[2 * n + i] -= 6.0 * x / duration * s * left
    duration, x = lasts[2 * n + i], size[2 * n + i]
    if x != 0.0 and t < duration:
        s = t / duration
        left = 1.0 - s
        state[i] -= x * duration * duration * (
            1.0 / 12.0 - s * s * (0.5 - s * (2.0 / 3.0 - 0.25 * s)))
        state[n + i] += x * duration * s * left * left
        state[2 * n + i] += x * left * (1.0 - 3.0 * s)


cdef inline void add_line(const double* c, Py_ssize_t n, double t, double* effort) noexcept nogil:
    """Add the value of (2, n) coefficients at t."""
    for i in range(n):
        effort[i] += c[i] + t * c[n + i]


cdef inline Py_ssize_t piece_at(const Path* path, Py_ssize_t guess, double t) noexcept nogil:
    """The last piece that has begun at t, or the first; mostly the guess or the next one."""
    cdef Py_ssize_t low = 0, high = path.pieces
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
    """Add a path's piece at t to a motion state."""
    cdef double since = max(t - path.times[k], 0.0)
    add_polynomial(path.coefficients + 6 * n * k, n, since, state)
    if path.effort != NULL:
        add_line(path.effort + 2 * n * k, n, since, state + 3 * n)


cdef inline void sample_without_correction(Motion* m, double inside, double time,
                                           double* state) noexcept nogil:
    cdef Py_ssize_t n = m.n
    memset(state, 0, 4 * n * sizeof(double))
    if m.path != NULL and inside >= m.path_start + m.path.times[0]:
        m.piece = piece_at(m.path, m.piece, inside - m.path_start)
        sample_path(m.path, n, m.piece, time - m.path_start, state)
        return
    since = max(time - m.base_start, 0.0)
    add_polynomial(m.base, n, since, state)
    add_line(m.base_effort, n, since, state + 3 * n)


cdef inline Reason why_not_start(const Path* path, Py_ssize_t n, double elapsed, const double* q,
                                 const double* velocity, double tolerance,
                                 double* begin) noexcept nogil:
    """Why an arm at q (n,) may not follow a path, elapsed [s] since its beginning: of the joint
    furthest beyond. A point still to come may be as far away as the velocity limits (n,) allow
    until then, plus the tolerance, which counts alone on the way. begin: (4, n) the state there.
    """
    cdef double wait = max(path.times[0] - elapsed, 0.0)
    cdef Reason worst = because(GRANTED, -1, 0.0, 0.0)
    memset(begin, 0, 4 * n * sizeof(double))
    sample_path(path, n, piece_at(path, 0, elapsed), elapsed, begin)
    if elapsed > path.duration:
        return because(ENDED, -1, elapsed - path.duration, 0.0)
    for i in range(n):
        allowed = tolerance + (velocity[i] * wait if wait > 0.0 else 0.0)
        distance = fabs(begin[i] - q[i])
        if not distance <= allowed and (worst.code == GRANTED
                                        or distance - allowed > worst.found - worst.bound):
            worst = because(STARTS_TOO_FAR, i, distance, allowed)
    return worst


cdef inline const double* polynomials_at(Motion* m, double time, double* since) noexcept nogil:
    """The polynomials (6, n) of a time, but for the correction; since: time since they begin."""
    since[0] = time - m.path_start
    if m.path != NULL and since[0] >= m.path.times[0]:
        m.piece = piece_at(m.path, m.piece, since[0])
        since[0] -= m.path.times[m.piece]
        return m.path.coefficients + 6 * m.n * m.piece
    since[0] = max(time - m.base_start, 0.0)
    return m.base


cdef inline double position_without_correction(Motion* m, Py_ssize_t i, double t) noexcept nogil:
    cdef double since
    c = polynomials_at(m, t, &since)
    return value_at(c, m.n, i, since)


cdef inline void sample_inside(Motion* m, double inside, double time,
                               double* state) noexcept nogil:
    """The motion state at a time, of the polynomials at another, ``inside``, where two may meet."""
    sample_without_correction(m, inside, time, state)
    if inside < m.correction_end:
        since = max(time - m.correction_start, 0.0)
        for i in range(m.n):
            add_correction_of(m.correction, m.lasts, m.n, i, since, state)
        add_line(m.correction_effort, m.n, since, state + 3 * m.n)


cdef inline void sample(Motion* m, double time, double* state) noexcept nogil:
    """The motion state that is asked for at a time."""
    sample_inside(m, time, time, state)


# Polynomials between two motion states; duration > 0.

cdef inline void line(Py_ssize_t n, const double* start, const double* end, double duration,
                      double* c) noexcept nogil:
    for i in range(n):
        c[i], c[n + i] = start[i], (end[i] - start[i]) / duration


cdef inline void connect(Py_ssize_t n, const double* start, const double* end, Degree degree,
                         double duration, double* c) noexcept nogil:
    """Through both positions, from CUBIC on also velocities, and in a QUINTIC accelerations."""
    cdef double squared = duration * duration, cubed = squared * duration
    memset(c, 0, 6 * n * sizeof(double))
    line(n, start, end, duration, c)
    for i in range(n if degree != STRAIGHT else 0):
        v, half = start[n + i], start[2 * n + i] / 2.0
        c[n + i] = v
        if degree == CUBIC:
            displacement = end[i] - start[i] - v * duration
            gain = (end[n + i] - v) * duration
            c[2 * n + i] = (3.0 * displacement - gain) / squared
            c[3 * n + i] = (gain - 2.0 * displacement) / cubed
            continue
        displacement = end[i] - start[i] - (v + half * duration) * duration
        gain = (end[n + i] - v - start[2 * n + i] * duration) * duration
        bend = (end[2 * n + i] - start[2 * n + i]) * (squared / 2.0)
        c[2 * n + i] = half
        c[3 * n + i] = (10.0 * displacement - 4.0 * gain + bend) / cubed
        c[4 * n + i] = (-15.0 * displacement + 7.0 * gain - 2.0 * bend) / (cubed * duration)
        c[5 * n + i] = (6.0 * displacement - 3.0 * gain + bend) / (cubed * duration * duration)


cdef inline bint any_nonzero(const double* x, Py_ssize_t count) noexcept nogil:
    for i in range(count):
        if x[i] != 0.0:
            return True
    return False


# Motions.

cdef enum:
    MOTION_ROWS = 32         # (n,) of memory that a motion takes


cdef inline void place_motion(Motion* m, Py_ssize_t n, double* memory,
                              const JointLimits* limits) noexcept nogil:
    """Take (MOTION_ROWS, n) numbers that are zero."""
    m.limits, m.n, m.base, m.base_effort = limits, n, memory, memory + 6 * n
    m.correction, m.lasts, m.correction_effort = memory + 8 * n, memory + 11 * n, memory + 14 * n
    m.offset, m.zero, m.before = memory + 16 * n, memory + 20 * n, memory + 24 * n
    m.look = memory + 28 * n


cdef inline void hold_at(Motion* m, double time, const double* position) noexcept nogil:
    """Stay at a position (n,), without a correction."""
    memset(m.base, 0, 6 * m.n * sizeof(double))
    memset(m.base_effort, 0, 2 * m.n * sizeof(double))
    memcpy(m.base, position, m.n * sizeof(double))
    m.base_start, m.path, m.correction_end, m.end = time, NULL, -INFINITY, time


cdef inline void extrapolate(Motion* m, double time, const double* state) noexcept nogil:
    """Continue from a motion state at constant acceleration and effort, without an end."""
    cdef Py_ssize_t n = m.n
    memset(m.base, 0, 6 * n * sizeof(double))
    memset(m.base_effort, 0, 2 * n * sizeof(double))
    for i in range(n):
        m.base[i], m.base[n + i], m.base[2 * n + i] = state[i], state[n + i], state[2 * n + i] / 2.0
        m.base_effort[i] = state[3 * n + i]
    m.base_start, m.path, m.end, m.correction_end = time, NULL, INFINITY, -INFINITY


cdef inline bint leads_to_rest(const Motion* m, double time) noexcept nogil:
    """Whether the arm is still being led to a set-point at which it is to stand."""
    return time < m.correction_end and not any_nonzero(m.base + m.n, 2 * m.n)


cdef inline double takeover_time(const Path* path, Py_ssize_t n, const double* change,
                                 double longest) noexcept nogil:
    """How long the takeover by a path takes at least [s]: ``longest``, but for a stream of points
    that asks for another velocity; change: (2, n) of what is asked for, corrections left out.

    To follow that late would be an error. It takes TAKEOVER periods of the points. A change x of
    the position beside that of the velocity, v, is noise, to be smoothed: it takes 4 x / v.
    """
    cdef double x = 0.0, v = 0.0
    if path.period == 0.0:
        return longest
    for i in range(n):
        x, v = max(x, fabs(change[i])), max(v, fabs(change[n + i]))
    return min(max(TAKEOVER * path.period, 4.0 * x / v), longest) if v > 0.0 else longest


cdef inline double stopping_displacement(double v, double a, double duration,
                                         double s) noexcept nogil:
    """The displacement of a stop after a share s of its time: the velocity is a cubic that ends at
    rest, (1 - s)^2 (v + (2 v + a duration) s).
    """
    cdef double bend = 2.0 * v + a * duration
    return duration * s * (v * (1.0 + s * (s / 3.0 - 1.0))
                           + bend * s * (0.5 + s * (s / 4.0 - 2.0 / 3.0)))


cdef inline bint stop_stays_within(double q, double v, double a, double duration, double fade,
                                   double lower, double upper) noexcept nogil:
    """Whether all of a stop lies between limits: its end, and where it turns round."""
    cdef double end = q + 0.5 * v * duration + a * fade * fade / 12.0, turn = q
    cdef double bend = 2.0 * v + a * duration
    if fade == duration and -v * bend > 0.0 and fabs(v) < fabs(bend):
        turn = q + stopping_displacement(v, a, duration, -v / bend)
    return lower - ROUNDING <= min(end, turn) and max(end, turn) <= upper + ROUNDING


cdef inline double time_to_limit(double distance, double v, double a,
                                 double duration) noexcept nogil:
    """How long a stop takes that ends at a limit, a distance ahead [s]; or ``duration``."""
    cdef double root = 0.25 * v * v + a * distance / 3.0
    speed = 0.5 * v + copysign(sqrt(max(root, 0.0)), distance)
    if root < 0.0 or not distance * speed > 0.0:
        return duration
    return min(max(2.0 * distance / speed, SHORTEST_STOP), duration)


cdef inline double braking_time(double v, double a, double deceleration,
                                double jerk) noexcept nogil:
    """The shortest time in which a velocity is removed [s]: its part of the correction brakes by at
    most 3/2 v per that time, beside a third of an acceleration that still speeds the joint up.
    """
    cdef double beside = min(fabs(a) / 3.0, 0.5 * deceleration) if v * a > 0.0 else 0.0
    return max(1.5 * fabs(v) / (deceleration - beside), sqrt(6.0 * fabs(v) / jerk))


cdef inline double shortest_fade(double a, double jerk) noexcept nogil:
    """In which an acceleration can end [s]: it begins with 4 a over that, others share the jerk."""
    return 5.0 * fabs(a) / jerk


cdef inline double fading_time(double v, double a, double duration, double faster,
                               double jerk) noexcept nogil:
    """How long an acceleration fades [s]: as the velocity, or before it turns or is too fast."""
    cdef double bend = faster / 0.148                           # v - a t (1 - t)^2 peaks at 4 / 27
    if v * a < 0.0:
        bend = max(bend, 3.0 * fabs(v))
    return max(min(duration, bend / fabs(a)), shortest_fade(a, jerk)) if a != 0.0 else duration


cdef inline double stop_of_joint(const JointLimits* limits, Py_ssize_t i, double q, double v,
                                 double a, double duration, double* fade) noexcept nogil:
    """How long a joint's stop takes [s]: ``duration``, more where that would brake too hard, less
    where it would leave the range, or its acceleration lead it far; fade: of that.
    """
    cdef double lower = min(limits.lower[i], q), upper = max(limits.upper[i], q)
    cdef double jerk = limits.jerk[i], least = braking_time(v, a, limits.deceleration[i], jerk)
    cdef double faded = shortest_fade(a, jerk) / HARDEST
    if fabs(a) * duration > 3.0 * fabs(v):
        duration = min(duration, max(3.0 * fabs(v) / fabs(a), BEND_TIME))
    duration = max(duration, least)
    least = max(least / HARDEST, SHORTEST_STOP)
    fade[0] = fading_time(v, a, duration, BEND_SPEED * limits.velocity[i], jerk)
    end = q + 0.5 * v * duration + a * fade[0] * fade[0] / 12.0
    if not lower <= end <= upper:
        duration = max(time_to_limit((upper if end > upper else lower) - q, v, a, duration), least)
        fade[0] = max(min(fade[0], duration), faded)
    while (duration > least
           and not stop_stays_within(q, v, a, duration, fade[0], lower, upper)):
        duration = max(SHORTER * duration, least)
        fade[0] = max(min(fade[0], duration), faded)
    return duration


cdef inline void return_of_joint(const JointLimits* limits, Py_ssize_t i, double v, double* lasts,
                                 Py_ssize_t n) noexcept nogil:
    """How long a stop takes that comes back to where it begins, without an acceleration; lasts:
    (3,), n apart. Stop and return brake at first: they share the deceleration.
    """
    cdef double bound = 0.5 * limits.deceleration[i], jerk = 0.5 * limits.jerk[i]
    lasts[n] = max(braking_time(v, 0.0, bound, jerk), SHORTEST_STOP)
    x = 0.5 * fabs(v) * lasts[n]
    lasts[0] = max(lasts[n], sqrt(5.7736 * x / bound), cbrt(60.0 * x / jerk))
    lasts[2 * n] = lasts[n]


cdef inline void stopping_position(Py_ssize_t n, const double* state, double duration,
                                   const JointLimits* limits, double* lasts,
                                   double* position) noexcept nogil:
    """Where a stop from a motion state ends (n,), within the limits or beyond them where it stands,
    and how long its parts take: ``lasts`` (3, n), ``duration`` [s] if the limits allow.
    """
    for i in range(n):
        q, v, a = state[i], state[n + i], state[2 * n + i]
        lasts[n + i] = stop_of_joint(limits, i, q, v, a, duration, &lasts[2 * n + i])
        lasts[i] = max(lasts[n + i], lasts[2 * n + i])
        end = q + 0.5 * v * lasts[n + i] + a * lasts[2 * n + i] * lasts[2 * n + i] / 12.0
        position[i] = within_joint(limits, i, q, end)


cdef inline void correct(Motion* m, Py_ssize_t i, const double* offset) noexcept nogil:
    """Set a joint's correction, which takes the times ``lasts``, to an offset (4, n)."""
    cdef Py_ssize_t n = m.n
    cdef double fade = m.lasts[2 * n + i]
    m.correction[n + i], m.correction[2 * n + i] = offset[n + i], offset[2 * n + i]
    m.correction[i] = (offset[i] + 0.5 * offset[n + i] * m.lasts[n + i]
                       + offset[2 * n + i] * fade * fade / 12.0)


cdef inline double joint_lasts(const Motion* m, Py_ssize_t i) noexcept nogil:
    """How long a joint's correction takes [s]."""
    return max(m.lasts[i], m.lasts[m.n + i], m.lasts[2 * m.n + i])


cdef inline void begin_correction(Motion* m, double time, const double* offset) noexcept nogil:
    """Begin the correction of an offset (4, n); its effort takes as long as the longest joint."""
    cdef double longest = 0.0
    for i in range(m.n):
        longest = max(longest, joint_lasts(m, i))
    line(m.n, offset + 3 * m.n, m.zero, longest, m.correction_effort)
    m.correction_start, m.correction_end = time, time + longest
    m.end = max(m.end, m.correction_end)


cdef inline void stop_from(Motion* m, double time, const double* state,
                           double duration) noexcept nogil:
    """Come to rest within a duration [s], or as the limits allow, all the way within them."""
    cdef double* offset = m.offset
    cdef Py_ssize_t n = m.n
    memcpy(offset, state, 4 * n * sizeof(double))
    stopping_position(n, state, duration, m.limits, m.lasts, offset)
    hold_at(m, time, offset)
    for i in range(n):
        offset[i] = state[i] - offset[i]
        correct(m, i, offset)
    begin_correction(m, time, offset)


cdef inline bint is_outside(const JointLimits* limits, Py_ssize_t i, double start,
                            double q) noexcept nogil:
    """Whether a joint leaves its range, or goes further beyond it than where it started."""
    return not min(limits.lower[i], start) <= q <= max(limits.upper[i], start)


cdef inline bint leaves_range(Motion* m, double time, const double* state,
                              double wait) noexcept nogil:
    """Whether the motion leaves the range on its way from a state within a time [s]."""
    for k in range(1, LOOKS):
        for i in range(m.n):
            q = position_without_correction(m, i, time + wait * k / LOOKS)
            if is_outside(m.limits, i, state[i], q):
                return True
    return False


cdef inline double look_at(const Motion* m, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
    """The time of the k-th of LOOKS at a joint's correction: closest at its beginning [s]."""
    return joint_lasts(m, i) * (k * k) / (LOOKS * LOOKS)


cdef inline bint correction_leaves_range(Motion* m, Py_ssize_t i, double time,
                                         double start) noexcept nogil:
    """Whether a joint's correction leads a motion out of the range that would stay in it."""
    for k in range(1, LOOKS):
        position = position_without_correction(m, i, time + look_at(m, i, k))
        m.look[i] = position
        add_correction_of(m.correction, m.lasts, m.n, i, look_at(m, i, k), m.look)
        if (is_outside(m.limits, i, start, m.look[i])
                and not is_outside(m.limits, i, start, position)):
            return True
    return False


cdef inline bint is_beyond(double all, double own, double bound) noexcept nogil:
    """Whether a correction's own share takes something beyond a limit that would keep to it."""
    return fabs(all) > bound >= fabs(all - own) and fabs(own) > SMALL * bound


cdef inline double largest_acceleration(const Motion* m, Py_ssize_t i) noexcept nogil:
    """What a joint's correction does not exceed, but for the acceleration from which it begins."""
    cdef Py_ssize_t n = m.n
    return (5.7736 * fabs(m.correction[i]) / (m.lasts[i] * m.lasts[i])
            + 1.5 * fabs(m.correction[n + i]) / m.lasts[n + i]
            + fabs(m.correction[2 * n + i]) / 3.0)


cdef inline bint is_too_fast(Motion* m, Py_ssize_t i, double bound) noexcept nogil:
    """Whether a joint's correction is faster than a bound and than the velocity that it removes:
    the next one begins with what this has added.
    """
    cdef double v = m.correction[m.n + i]
    for k in range(1, LOOKS):
        m.look[m.n + i] = 0.0
        add_correction_of(m.correction, m.lasts, m.n, i, look_at(m, i, k), m.look)
        own = m.look[m.n + i]
        if own < min(v, -bound) or own > max(v, bound):
            return True
    return False


cdef inline bint adds_speed(Motion* m, Py_ssize_t i, double time, double start,
                            double bound) noexcept nogil:
    """Whether a joint's correction makes the motion faster by more than a bound than what it leads
    to, and than its begin: a difference that is kept while the path turns round adds up.
    """
    cdef double fastest = fabs(start), all = 0.0, since
    cdef Py_ssize_t n = m.n
    for k in range(1, LOOKS + 1):
        at = look_at(m, i, k)
        c = polynomials_at(m, time + at, &since)
        v = slope_at(c, n, i, since)
        m.look[n + i] = v
        add_correction_of(m.correction, m.lasts, n, i, at, m.look)
        fastest, all = max(fastest, fabs(v)), max(all, fabs(m.look[n + i]))
    return all > fastest + bound


cdef inline bint accelerates_too_much(Motion* m, Py_ssize_t i, double time,
                                      double start) noexcept nogil:
    """Whether a joint's correction, but for its acceleration, which fades as soon as it can, takes
    the motion beyond acceleration and jerk. start: acceleration then; a limit below does not hold.
    """
    cdef Py_ssize_t n = m.n
    cdef double since, at = 0.0, before = start, own_before = 0.0
    for k in range(1, LOOKS + 1):
        step = look_at(m, i, k) - at
        at += step
        c = polynomials_at(m, time + at, &since)
        m.look[n + i] = m.look[2 * n + i] = 0.0
        add_correction_of(m.correction, m.lasts, n, i, at, m.look)
        own = m.look[2 * n + i]
        all = own + curvature_at(c, n, i, since)
        s = at / m.lasts[2 * n + i]
        if s < 1.0:
            own -= m.correction[2 * n + i] * (1.0 - s) * (1.0 - 3.0 * s)
        bound = m.limits.deceleration[i]
        if all * (slope_at(c, n, i, since) + m.look[n + i]) > 0.0:
            bound = m.limits.acceleration[i]
        if (is_beyond(all, own, max(bound, fabs(start)))
                or is_beyond(all - before, own - own_before, SEEN * m.limits.jerk[i] * step)):
            return True
        before, own_before = all, own
    return False


cdef inline void plan_correction(Motion* m, Py_ssize_t i, const double* offset, double duration,
                                 double longer, double place, double share) noexcept nogil:
    """Give a joint's correction its times: ``duration`` [s], more for velocity or place; the
    velocity's ``longer`` times that, the place's ``place`` times. share: as of ``blend``.
    """
    cdef Py_ssize_t n = m.n
    cdef double v = offset[n + i], a = offset[2 * n + i], jerk = m.limits.jerk[i]
    cdef double bound = min(m.limits.acceleration[i], m.limits.deceleration[i])
    cdef double speed = share * m.limits.velocity[i], faster = BEND_SPEED * m.limits.velocity[i]
    m.lasts[n + i] = max(duration, braking_time(v, a, bound, jerk))
    x = offset[i]
    if v * x < 0.0:                         # it is on its way already: it need not brake first
        m.lasts[n + i] = max(m.lasts[n + i], min(-2.0 * x / v, 1.875 * fabs(x) / speed))
    m.lasts[n + i] *= longer
    if share == CATCH_UP_SPEED and v * a > 0.0:
        faster = min(faster, max(speed - fabs(v), SMALL * faster))
    if v * x < 0.0 and v * a < 0.0:         # nor is it turned round
        faster = 0.0
    m.lasts[2 * n + i] = fading_time(v, a, m.lasts[n + i], faster, jerk)
    correct(m, i, offset)
    x = fabs(m.correction[i])
    m.lasts[i] = max(longer * duration,
                     place * max(sqrt(5.7736 * x / bound), cbrt(60.0 * x / jerk)))
    if v * offset[i] < 0.0:
        m.lasts[i] = max(m.lasts[i], m.lasts[n + i])
    while (share == CATCH_UP_SPEED and 1.875 * x > SMALL * speed * m.lasts[i]
           and is_too_fast(m, i, speed)):
        m.lasts[i] /= SHORTER


cdef inline void blend_joint(Motion* m, Py_ssize_t i, double time, const double* state,
                             const double* offset, double duration, double share) noexcept nogil:
    """Make a joint's correction longer where it accelerates too much, shorter where it leaves the
    range, which counts more. The velocity's part first, but not so long that it adds speed.
    """
    cdef Py_ssize_t n = m.n
    cdef double hardest = HARDEST * max(min(m.limits.acceleration[i], m.limits.deceleration[i]),
                                        fabs(state[2 * n + i]))
    cdef double longer = 0.0
    plan_correction(m, i, offset, duration, 1.0, 1.0, share)
    for whole in range(2):
        longer = 1.0
        while (longer < LONGEST_BLEND
               and accelerates_too_much(m, i, time, state[2 * n + i])):
            longer /= SHORTER
            plan_correction(m, i, offset, duration, longer, longer if whole else 1.0, share)
            if not whole and adds_speed(m, i, time, state[n + i], share * m.limits.velocity[i]):
                longer *= SHORTER
                plan_correction(m, i, offset, duration, longer, 1.0, share)
                break
        if longer < LONGEST_BLEND:
            break
    while (joint_lasts(m, i) > SHORTEST_STOP and largest_acceleration(m, i) < hardest
           and correction_leaves_range(m, i, time, state[i])):
        for k in range(3):
            m.lasts[k * n + i] = max(SHORTER * m.lasts[k * n + i], SHORTEST_STOP)
        correct(m, i, offset)


cdef inline void blend(Motion* m, double time, const double* state, const double* offset,
                       double duration, double share) noexcept nogil:
    """Lead in from a motion state, an offset (4, n) away from the motion, within the limits. share:
    of the velocity limit that it takes: BLEND_SPEED, and all joints arrive together; in a stream
    CATCH_UP_SPEED, beside the velocity that is removed.
    """
    duration = max(duration, SHORTEST_STOP)
    for i in range(m.n if share == BLEND_SPEED else 0):   # a quintic's peak is 15/8 of its mean
        duration = max(duration, 1.875 * fabs(offset[i]) / (BLEND_SPEED * m.limits.velocity[i]))
    for i in range(m.n):
        blend_joint(m, i, time, state, offset, duration, share)
    begin_correction(m, time, offset)


cdef inline bint is_reached(const Motion* m, const double* offset, double h) noexcept nogil:
    """Whether an offset (4, n), its effort aside, is no more than what a step h [s] may change."""
    cdef Py_ssize_t n = m.n
    for i in range(n):
        bound = min(m.limits.acceleration[i], m.limits.deceleration[i])
        if not (fabs(offset[i]) <= 0.5 * bound * h * h and fabs(offset[n + i]) <= bound * h):
            return False
    return True


cdef inline void follow_set_point(Motion* m, double time, const double* state,
                                  const double* set_point, double duration, double share,
                                  double h) noexcept nogil:
    """Follow a set-point (4, n), extrapolated; led in to in a duration [s], or one step h [s]."""
    cdef double* offset = m.offset
    extrapolate(m, time, set_point)
    for i in range(4 * m.n):
        offset[i] = state[i] - set_point[i]
    if not is_reached(m, offset, h):
        blend(m, time, state, offset, duration, share)


cdef inline bint runs_into_limit(const Motion* m, double time, const double* state,
                                 double h) noexcept nogil:
    """Whether an extrapolation leaves the range unless it is braked within a step h [s]."""
    for i in range(m.n):
        q, v = state[i], state[m.n + i]
        if v * slope_at(m.base, m.n, i, max(time - m.base_start, 0.0)) <= 0.0:
            continue
        way = v * h + 0.5 * v * fabs(v) / m.limits.deceleration[i]
        if (q + way > m.limits.upper[i]) if v > 0.0 else (q + way < m.limits.lower[i]):
            return True
    return False


cdef inline bint leads_too_fast(const Motion* m, const double* state, double wait) noexcept nogil:
    """Whether what leads to a first point exceeds the limits, and what the arm does already."""
    cdef Py_ssize_t n = m.n
    for k in range(LOOKS + 1):
        since = wait * k / LOOKS
        for i in range(n):
            v, a = slope_at(m.base, n, i, since), curvature_at(m.base, n, i, since)
            bound = m.limits.acceleration[i] if a * v > 0.0 else m.limits.deceleration[i]
            if (fabs(a) > 1.05 * max(bound, fabs(state[2 * n + i]))
                    or fabs(v) > 1.05 * max(m.limits.velocity[i], fabs(state[n + i]))):
                return True
    return False


cdef inline bint is_in_reach(Py_ssize_t n, const double* state, const double* point, double wait,
                             const double* velocity_limit) noexcept nogil:
    """Whether the velocity limits allow to reach a position from another within a time."""
    for i in range(n):
        if fabs(point[i] - state[i]) > velocity_limit[i] * wait:
            return False
    return True


cdef inline void extend_back(Motion* m, const Path* path, double wait) noexcept nogil:
    """Begin a path a time before its first point, with the velocity that it has there."""
    cdef Py_ssize_t n = m.n
    memset(m.base, 0, 6 * n * sizeof(double))
    for i in range(n):
        m.base[n + i] = path.coefficients[n + i]
        m.base[i] = path.first[i] - m.base[n + i] * wait
        m.base_effort[i] = path.first[3 * n + i] if path.leads_effort else 0.0


cdef inline void follow_path(Motion* m, const Path* path, double start, double time,
                             const double* state, double transition) noexcept nogil:
    """Follow a trajectory that starts at ``start``, from the motion state asked for at ``time``.

    If the first point is far ahead, a polynomial from a moving state would swing far out: the arm
    is stopped first, and led to the point from there. If it is too near in time to be reached, or
    sooner than a moving arm is led in, or only reached beyond the limits of velocity or
    acceleration, the path counts as under way already.

    From rest, the fields of the points alone say how the path begins, as in
    joint_trajectory_controller, but for a single point that is sooner than ``transition``: an arm
    that has waited for it is led in as a moving one is, and by no line, whose velocity jumps. Those
    of a spline say nothing of its velocity. Where the desired state would jump there, here a
    correction blends into the path, which takes ``takeover_time`` at least; at most ``transition``
    [s] if that is not too fast.
    """
    cdef double* offset = m.offset
    cdef double wait = start + path.times[0] - time
    cdef Py_ssize_t n = m.n
    cdef double share = CATCH_UP_SPEED if path.period > 0.0 else BLEND_SPEED
    cdef bint begins_as_given = path.period == 0.0 and not any_nonzero(state + n, 2 * n)
    cdef bint waits = begins_as_given and path.pieces == 1 and wait < transition
    sample_without_correction(m, time, time, m.before)
    hold_at(m, time, path.first)
    if wait > 0.0:
        memcpy(offset, state, 4 * n * sizeof(double))
        if wait > LONG_LEAD * transition:
            stopping_position(n, state, transition, m.limits, m.lasts, offset)
            memset(offset + n, 0, 2 * n * sizeof(double))
        if (begins_as_given or wait >= transition) and is_in_reach(
                n, offset, path.first, wait, m.limits.velocity):
            connect(n, offset, path.first, path.lead, wait, m.base)
            if path.leads_effort:
                line(n, offset + 3 * n, path.first + 3 * n, wait, m.base_effort)
            if (leaves_range(m, time, state, wait)
                    or (waits and path.lead == STRAIGHT)
                    or ((waits or not begins_as_given)
                        and leads_too_fast(m, offset, wait))):
                extend_back(m, path, wait)
        else:
            extend_back(m, path, wait)
    m.path, m.path_start, m.piece = path, start, 0
    m.end = max(start + path.times[path.pieces - 1], time)
    sample_without_correction(m, time, time, offset)
    for i in range(4 * n):
        m.before[i] -= offset[i]
        offset[i] = state[i] - offset[i]
    if begins_as_given and not any_nonzero(offset, n):
        memset(offset, 0, 3 * n * sizeof(double))
    if any_nonzero(offset, 4 * n):
        blend(m, time, state, offset, takeover_time(path, n, m.before, transition), share)

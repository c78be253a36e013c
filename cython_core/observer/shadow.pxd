# The shadow: model errors, external torque and contact from a stream of joint states.
#
# A state is (3, n): position, velocity and effort in joint order. shadow.pyx owns the memory of
# these structures.

from libc.math cimport fabs, isfinite, rint
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from joint_drives cimport has_spring, take_standing
from observer.effort cimport (Friction, RestMeans, SlidingMeans, begin_rest, begin_sliding,
                              follow_motion, joint_torque, update_rest, update_sliding)
from observer.momentum_observer cimport MomentumObserver, estimate_wrench, observe
from observer.restart_reason cimport (NO_RESTART, RESTART_BEYOND_BOUNDS, RESTART_DIVERGED,
                                      RESTART_GAP, RESTART_JUMPED_BACK, RESTART_SINGULAR,
                                      RestartReason)
from observer.shadow_settings cimport ShadowSettings
from ros.refusals cimport ABSURD
from stamp_order cimport NEWER, OLDER, SAME, SET_BACK, stamp_order

# Whether a joint state continues the stream: repeated and late states are skipped, gaps and jumps
# of time are found.
#
# A state is repeated if it has the stamp of the one before, or the same values although the arm
# moves: a driver or recorder that samples faster than the arm measures sends each state twice, and
# a driver that hangs sends the same state for ever. An arm at rest may measure the same twice.

cdef enum Continuity:
    FIRST                    # there is no state before it
    FOLLOWS                  # on the last one
    AFTER_JUMP_BACK          # time has jumped back: a new beginning
    AFTER_GAP                # too much time has passed: a new beginning
    REPEATED                 # skipped
    LATE                     # skipped: older than the last one

cdef struct Timeline:
    bint begun               # there is a last good state
    int64_t time             # when it was measured [ns]
    double dt                # from the last good state to the newest, skipped or not [s]
    int64_t repeated, late   # states skipped


cdef inline bint is_repeated(Py_ssize_t n, const double* last, const double* state) noexcept nogil:
    """Whether a state (3, n) equals the last one although some joint has a velocity."""
    cdef bint moves = False
    for k in range(3 * n):
        if state[k] != last[k]:
            return False
        moves |= n <= k < 2 * n and state[k] != 0.0
    return moves


cdef inline Continuity check_continuity(Timeline* its, double max_gap, Py_ssize_t n, int64_t time,
                                        const double* last, const double* state) noexcept nogil:
    """How a state (3, n), measured at a time [ns], follows on the last good one; sets ``dt``."""
    cdef bint begun = its.begun
    its.dt = (time - its.time) / 1e9
    order = stamp_order(its.dt, max_gap)
    if begun and order != SET_BACK and (order == SAME or is_repeated(n, last, state)):
        its.repeated += 1
        return REPEATED
    if begun and order == OLDER:
        its.late += 1
        return LATE
    its.time, its.begun = time, True
    if not begun:
        return FIRST
    if order == SET_BACK:
        return AFTER_JUMP_BACK
    return FOLLOWS if order == NEWER else AFTER_GAP


cdef inline bint is_bounded(Py_ssize_t count, const double* x) noexcept nogil:
    """Whether all numbers and the sum of their squares are finite."""
    cdef double total = 0.0
    for i in range(count):
        total += x[i] * x[i]
    return isfinite(total)


cdef struct Outcome:         # results of the last state
    bint has_residual        # the state follows on another
    bint has_prediction      # forward dynamics had a finite result
    bint has_rested          # a standstill has ended, ``rest`` has its means
    bint has_slid            # ``share`` is new
    RestartReason restart_reason
    int32_t joint            # of the reason; -1: none
    double figure
    double share             # of the friction that appears as external torque

cdef struct Shadow:
    Py_ssize_t n
    const DynamicsInterface* dynamics
    const ShadowSettings* settings
    Timeline timeline
    MomentumObserver observer
    Friction friction
    RestMeans rest
    SlidingMeans sliding
    Outcome outcome
    double* state            # (3, n) the last good one
    double* gravity          # (n,) gravity torque there
    double* torque           # (n,) joint torque there
    double* assumed          # (n,) torque assumed in predictions
    double* commanded        # (n,) last command
    bint knows_command       # there is one
    int64_t command_time     # time of the last state before it [ns]
    double* residual         # (3, n) measured minus predicted position and velocity, external
                             # torque
    double* predicted        # (3, n) position, velocity and assumed torque ``horizon`` ahead
    double[6] wrench         # on ``settings.link``, that would explain the external torque
    double* before           # (n,) external torque at the last state, the least
    bint* contact            # (n,) joints with an external torque above their threshold
    bint in_contact          # at least one of them
    int64_t restarts         # of the observer
    double* expected         # (2, n) scratch
    double* scratch          # (6, n)


cdef inline void restart(Shadow* shadow) noexcept nogil:
    """Make the next state the first one."""
    shadow.timeline.begun = False


cdef inline Py_ssize_t first_absurd(const double* values, Py_ssize_t count) noexcept nogil:
    """Index of the first value that is not finite or larger than ABSURD, -1 if there is none."""
    for i in range(count):
        if not fabs(values[i]) <= ABSURD:
            return i
    return -1


cdef inline void adopt(Shadow* shadow, const ShadowSettings* settings) noexcept nogil:
    """Use these settings from now on; restarts the observer."""
    shadow.settings = settings
    memset(shadow.contact, 0, shadow.n * sizeof(bint))
    begin_sliding(&shadow.sliding, shadow.n)
    restart(shadow)


cdef inline void remember_command(Shadow* shadow, const double* torque) noexcept nogil:
    """Remember the last command, (n,)."""
    memcpy(shadow.commanded, torque, shadow.n * sizeof(double))
    shadow.knows_command, shadow.command_time = shadow.timeline.begun, shadow.timeline.time


cdef inline bint note_restart(Shadow* shadow, RestartReason reason, int32_t joint,
                              double figure) noexcept nogil:
    """Note why the observer restarts; returns False."""
    shadow.outcome.restart_reason, shadow.outcome.joint = reason, joint
    shadow.outcome.figure = figure
    return False


cdef inline bint predict_ahead(Shadow* shadow, double duration, double* predicted) noexcept nogil:
    """Predict position and velocity (2, n), ``duration`` [s] after the last good state, under the
    assumed torque, with friction and armature; False if forward dynamics fails.

    The simulator's time step is fixed. It takes the number of steps nearest to the duration; the
    rest, positive or negative, is covered with the last acceleration.
    """
    cdef const ShadowSettings* settings = shadow.settings
    cdef Py_ssize_t n = shadow.n
    cdef double* qd = predicted + n
    cdef double* qdd = shadow.scratch
    cdef double* applied = shadow.scratch + n
    memcpy(predicted, shadow.state, 2 * n * sizeof(double))
    if duration == 0.0:
        return True
    steps = max(1, <Py_ssize_t> rint(duration / settings.time_step))
    rest = duration - steps * settings.time_step
    memset(qdd, 0, n * sizeof(double))
    each = 1 if has_spring(&settings.drives, n) else steps
    for i in range(steps // each):
        take_standing(&settings.drives, n, predicted, shadow.assumed, applied)
        failure = settings.simulator.advance(settings.simulator.simulator, each, applied, NULL,
                                             NULL, NULL, predicted, qd, qdd)
        if failure > 0:
            return note_restart(shadow, RESTART_SINGULAR, <int32_t> failure - 1, 0.0)
        if failure < 0:
            return note_restart(shadow, RESTART_DIVERGED, <int32_t> ((-failure - 1) % n),
                                ((-failure - 1) // n + 1) * settings.time_step)
    for i in range(n):
        qd[i] += rest * qdd[i]
        predicted[i] += rest * (qd[i] - 0.5 * rest * qdd[i])
    if not (is_bounded(n, predicted) and is_bounded(n, qd)):
        return note_restart(shadow, RESTART_BEYOND_BOUNDS, -1, 0.0)
    return True


cdef inline void begin(Shadow* shadow, const double* state) noexcept nogil:
    """Start the observer at this state."""
    cdef Py_ssize_t n = shadow.n
    observe(&shadow.observer, shadow.settings, shadow.dynamics, 0.0, state, shadow.torque,
            &shadow.friction, shadow.gravity)
    memset(shadow.before, 0, n * sizeof(double))
    memset(shadow.contact, 0, n * sizeof(bint))
    memset(shadow.sliding.filtered, 0, n * sizeof(double))
    begin_rest(&shadow.rest, n)


cdef inline void detect_contact(Shadow* shadow) noexcept nogil:
    """Find the joints in contact, with hysteresis, in two states in a row: one may be a jolt."""
    cdef const double* before = shadow.before
    cdef const double* now = shadow.observer.external
    shadow.in_contact = False
    for i in range(shadow.n):
        size = min(fabs(before[i]), fabs(now[i])) if before[i] * now[i] > 0.0 else 0.0
        shadow.contact[i] = (size > shadow.settings.begin[i]
                          or (shadow.contact[i] and size >= shadow.settings.end[i]))
        shadow.in_contact |= shadow.contact[i]
    memcpy(shadow.before, now, shadow.n * sizeof(double))


cdef inline bint find_residual(Shadow* shadow, const double* state) noexcept nogil:
    """Compare a state with its prediction, find the external torque; False if either fails."""
    cdef const ShadowSettings* settings = shadow.settings
    cdef Py_ssize_t n = shadow.n
    cdef double dt = shadow.timeline.dt
    if not predict_ahead(shadow, dt, shadow.expected):
        return False
    observe(&shadow.observer, settings, shadow.dynamics, dt, state, shadow.torque,
            &shadow.friction, shadow.gravity)
    if not is_bounded(n, shadow.observer.external):
        return note_restart(shadow, RESTART_BEYOND_BOUNDS, -1, 0.0)
    for k in range(2 * n):
        shadow.residual[k] = state[k] - shadow.expected[k]
    detect_contact(shadow)
    for k in range(n):  # without contact the least; in contact, what is likeliest
        shadow.residual[2 * n + k] = (
            0.5 * (shadow.observer.low[k] + shadow.observer.high[k]) if shadow.in_contact
            else shadow.observer.external[k])
    estimate_wrench(shadow.dynamics, settings.link, settings.wrench_damping, state,
                    shadow.residual + 2 * n, shadow.scratch, shadow.wrench)
    shadow.outcome.has_rested = update_rest(&shadow.rest, n, dt, state)
    shadow.outcome.has_slid = update_sliding(&shadow.sliding, settings, n, dt, state + n,
                                             shadow.friction.middle, shadow.observer.external,
                                             &shadow.outcome.share)
    return True


cdef inline bint take(Shadow* shadow, int64_t time, const double* state,
                      bint follows) noexcept nogil:
    """Take a state that is neither repeated nor late; False if it gives no prediction."""
    cdef Py_ssize_t n = shadow.n
    cdef bint as_commanded = (                                  # if that is recent
        shadow.settings.commanded and shadow.knows_command
        and fabs((time - shadow.command_time) / 1e9) <= shadow.settings.max_gap)
    shadow.dynamics.gravity(shadow.dynamics.self, state, shadow.gravity)
    if follows:
        follow_motion(shadow.settings, n, shadow.timeline.dt, state, &shadow.friction)
    for i in range(0 if follows else n):                        # nothing is known of its motion
        shadow.friction.low[i], shadow.friction.high[i] = -1.0, 1.0
        shadow.friction.position[i] = state[i]
    joint_torque(shadow.settings, n, shadow.gravity, state, &shadow.friction, shadow.torque)
    if not follows:
        begin(shadow, state)
    elif not find_residual(shadow, state):
        return False
    memcpy(shadow.state, state, 3 * n * sizeof(double))
    memcpy(shadow.assumed, shadow.commanded if as_commanded else shadow.torque, n * sizeof(double))
    memcpy(shadow.predicted + 2 * n, shadow.assumed, n * sizeof(double))
    return predict_ahead(shadow, shadow.settings.horizon, shadow.predicted)


cdef inline bint update(Shadow* shadow, int64_t time, const double* state) noexcept nogil:
    """Take a state (3, n) of a time [ns], none of it absurd; returns whether it is used."""
    cdef Continuity continuity = check_continuity(&shadow.timeline, shadow.settings.max_gap,
                                                  shadow.n, time, shadow.state, state)
    cdef bint follows = continuity == FOLLOWS
    if continuity == REPEATED or continuity == LATE:
        return False
    if shadow.outcome.has_rested:
        begin_rest(&shadow.rest, shadow.n)
    memset(&shadow.outcome, 0, sizeof(Outcome))
    if continuity == AFTER_JUMP_BACK:
        note_restart(shadow, RESTART_JUMPED_BACK, -1, -shadow.timeline.dt)
    elif continuity == AFTER_GAP:
        note_restart(shadow, RESTART_GAP, -1, shadow.timeline.dt)
    shadow.restarts += shadow.outcome.restart_reason != NO_RESTART
    shadow.outcome.has_prediction = take(shadow, time, state, follows)
    shadow.outcome.has_residual = follows and shadow.outcome.has_prediction
    if not shadow.outcome.has_prediction:
        shadow.restarts += 1
        restart(shadow)
    return True

# The shadow: model errors, external torque and contact from a stream of joint states.
#
# A state is (3, n): position, velocity and effort in joint order. shadow.pyx owns the memory of
# these structures.

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from observer.effort_statistics cimport (RestMeans, SlidingMeans, begin_rest, begin_sliding,
                                         update_rest, update_sliding)
from observer.effort cimport joint_torque
from observer.external_wrench cimport estimate_wrench
from observer.momentum_observer cimport MomentumObserver, observe
from observer.prediction cimport NOT_FINITE, all_finite, predict
from observer.settings cimport Settings
from observer.timeline cimport (AFTER_GAP, AFTER_JUMP_BACK, FIRST, FOLLOWS, LATE, REPEATED,
                                Continuity, Timeline, check_continuity)

cdef extern from *:
    """
    #define ABSURD 1e6
    """
    const double ABSURD      # in any unit: no arm measures a value so large

cdef enum RestartReason:     # why the observer restarts at a state; beside it joint and figure
    NO_RESTART
    JUMPED_BACK              # figure: by how much [s]
    GAP                      # figure: how long [s]
    SINGULAR                 # joint: moves no inertia
    DIVERGED                 # joint; figure: after how much predicted time [s]
    BEYOND_BOUNDS

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
    const Settings* settings
    Timeline timeline
    MomentumObserver observer
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
    bint* contact            # (n,) joints with an external torque above their threshold
    bint in_contact          # at least one of them
    int64_t restarts         # of the observer
    double* expected         # (2, n) scratch
    double* scratch          # (6, n)


cdef inline void restart(Shadow* its) noexcept nogil:
    """Make the next state the first one."""
    its.timeline.begun = False


cdef inline Py_ssize_t first_absurd(const double* values, Py_ssize_t count) noexcept nogil:
    """Index of the first value that is not finite or larger than ABSURD, -1 if there is none."""
    cdef Py_ssize_t i
    for i in range(count):
        if not fabs(values[i]) <= ABSURD:
            return i
    return -1


cdef inline void adopt(Shadow* its, const Settings* settings) noexcept nogil:
    """Use these settings from now on; restarts the observer."""
    its.settings = settings
    memset(its.contact, 0, its.n * sizeof(bint))
    begin_sliding(&its.sliding, its.n)
    restart(its)


cdef inline void command(Shadow* its, const double* torque) noexcept nogil:
    """Remember the last command, (n,)."""
    memcpy(its.commanded, torque, its.n * sizeof(double))
    its.knows_command, its.command_time = its.timeline.begun, its.timeline.time


cdef inline const double* assumed_torque(const Shadow* its, int64_t time) noexcept nogil:
    """The torque to predict with, (n,): measured, or commanded if that is wanted and recent."""
    if (its.settings.commanded and its.knows_command
            and fabs((time - its.command_time) / 1e9) <= its.settings.max_gap):
        return its.commanded
    return its.torque


cdef inline bint note_restart(Shadow* its, RestartReason reason, int32_t joint,
                              double figure) noexcept nogil:
    """Note why the observer restarts; returns False."""
    its.outcome.restart_reason, its.outcome.joint, its.outcome.figure = reason, joint, figure
    return False


cdef inline bint predict_ahead(Shadow* its, double duration, double* predicted) noexcept nogil:
    """Position and velocity (2, n), ``duration`` [s] after the last good state; False if forward
    dynamics fails.
    """
    cdef Py_ssize_t n = its.n
    cdef Py_ssize_t failure = predict(its.settings, n, duration, its.state, its.assumed,
                                      its.scratch, predicted)
    if failure == NOT_FINITE:
        return note_restart(its, BEYOND_BOUNDS, -1, 0.0)
    if failure > 0:
        return note_restart(its, SINGULAR, <int32_t> failure - 1, 0.0)
    if failure < 0:
        return note_restart(its, DIVERGED, <int32_t> ((-failure - 1) % n),
                    ((-failure - 1) // n + 1) * its.settings.time_step)
    return True


cdef inline void begin(Shadow* its, const double* state) noexcept nogil:
    """Start the observer at this state."""
    cdef Py_ssize_t n = its.n
    observe(&its.observer, its.settings, its.dynamics, 0.0, state, state + n, its.torque,
            its.gravity)
    memset(its.contact, 0, n * sizeof(bint))
    memset(its.sliding.filtered, 0, n * sizeof(double))
    begin_rest(&its.rest, n)


cdef inline void detect_contact(Shadow* its) noexcept nogil:
    """Find the joints in contact: external torque above a threshold, with hysteresis."""
    cdef Py_ssize_t i
    cdef double size
    its.in_contact = False
    for i in range(its.n):
        size = fabs(its.observer.external[i])
        its.contact[i] = (size > its.settings.begin[i]
                          or (its.contact[i] and size >= its.settings.end[i]))
        its.in_contact |= its.contact[i]


cdef inline bint find_residual(Shadow* its, const double* state) noexcept nogil:
    """Compare a state with the prediction from the last one, and estimate the external torque.

    Returns False if forward dynamics or the observer fails.
    """
    cdef const Settings* settings = its.settings
    cdef Py_ssize_t n = its.n, k
    cdef double dt = its.timeline.dt
    if not predict_ahead(its, dt, its.expected):
        return False
    observe(&its.observer, settings, its.dynamics, dt, state, state + n, its.torque, its.gravity)
    if not all_finite(n, its.observer.external):
        return note_restart(its, BEYOND_BOUNDS, -1, 0.0)
    for k in range(2 * n):
        its.residual[k] = state[k] - its.expected[k]
    memcpy(its.residual + 2 * n, its.observer.external, n * sizeof(double))
    estimate_wrench(its.dynamics, settings.link, settings.wrench_damping, state,
                    its.observer.external, its.scratch, its.wrench)
    detect_contact(its)
    its.outcome.has_rested = update_rest(&its.rest, n, dt, state, state + n, state + 2 * n)
    its.outcome.has_slid = update_sliding(&its.sliding, settings, n, dt, state + n,
                                          its.observer.external, &its.outcome.share)
    return True


cdef inline bint take(Shadow* its, int64_t time, const double* state, bint follows) noexcept nogil:
    """Take a state that is neither repeated nor late; False if it gives no prediction."""
    cdef Py_ssize_t n = its.n
    its.dynamics.gravity(its.dynamics.self, state, its.gravity)
    joint_torque(its.settings, n, its.gravity, state + n, state + 2 * n, its.torque)
    if not follows:
        begin(its, state)
    elif not find_residual(its, state):
        return False
    memcpy(its.state, state, 3 * n * sizeof(double))
    memcpy(its.assumed, assumed_torque(its, time), n * sizeof(double))
    memcpy(its.predicted + 2 * n, its.assumed, n * sizeof(double))
    return predict_ahead(its, its.settings.horizon, its.predicted)


cdef inline bint update(Shadow* its, int64_t time, const double* state) noexcept nogil:
    """Take a state (3, n), measured at a time [ns]; returns whether it is used.

    All its values must have passed ``first_absurd``.
    """
    cdef Continuity continuity = check_continuity(&its.timeline, its.settings.max_gap, its.n, time,
                                                  its.state, state)
    cdef bint follows = continuity == FOLLOWS
    if continuity == REPEATED or continuity == LATE:
        return False
    if its.outcome.has_rested:
        begin_rest(&its.rest, its.n)
    memset(&its.outcome, 0, sizeof(Outcome))
    if continuity == AFTER_JUMP_BACK:
        note_restart(its, JUMPED_BACK, -1, -its.timeline.dt)
    elif continuity == AFTER_GAP:
        note_restart(its, GAP, -1, its.timeline.dt)
    its.restarts += its.outcome.restart_reason != NO_RESTART
    its.outcome.has_prediction = take(its, time, state, follows)
    its.outcome.has_residual = follows and its.outcome.has_prediction
    if not its.outcome.has_prediction:
        its.restarts += 1
        restart(its)
    return True

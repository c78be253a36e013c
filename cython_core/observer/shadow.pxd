# The shadow: what a stream of joint states says about the model and about the world.
#
# A state is (3, n): position, velocity and effort in joint order. Whoever makes these structures
# owns their memory (shadow.pyx).

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dynamics_interface cimport DynamicsInterface
from observer.checks cimport RestMeans, SlidingMeans, begin_rest, begin_sliding, rest, slide
from observer.effort cimport joint_torque
from observer.external_wrench cimport estimate_wrench
from observer.momentum_observer cimport MomentumObserver, observe
from observer.prediction cimport NOT_FINITE, all_finite, predict
from observer.settings cimport Settings
from observer.timeline cimport (AFTER_GAP, AFTER_JUMP_BACK, FIRST, FOLLOWS, LATE, REPEATED, Passage,
                                Timeline, pass_state)

cdef extern from *:
    """
    #define ABSURD 1e6
    """
    const double ABSURD      # in any unit: no arm measures such a figure

cdef enum Lost:              # why a state follows on nothing
    NOT_LOST
    JUMPED_BACK              # figure: [s]
    GAP                      # the same
    SINGULAR                 # joint
    DIVERGED                 # joint; figure: after that time of prediction [s]
    BEYOND_BOUNDS

cdef struct Outcome:         # what the last state has brought
    bint has_residual        # it follows on one
    bint has_prediction      # the model has an answer
    bint has_rested          # there are new means of a rest
    bint has_slid            # there is a new share of the friction
    Lost lost
    int32_t joint
    double figure
    double share

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
    double* gravity          # (n,) there
    double* torque           # (n,) of the joints there
    double* assumed          # (n,) torque that predictions go by
    double* commanded        # (n,) last command
    bint knows_command
    int64_t command_time     # of the last state before it [ns]
    double* residual         # (3, n) measured minus predicted position and velocity, external
                             # torque
    double* predicted        # (3, n) position, velocity and assumed torque ``horizon`` ahead
    double[6] wrench         # on the link that would explain the external torque
    bint* contact            # (n,) joints that feel one
    bint in_contact          # some do
    int64_t restarts         # states that did not follow on the one before
    double* expected         # (2, n) scratch
    double* scratch          # (6, n)


cdef inline void restart(Shadow* its) noexcept nogil:
    """Let the next state follow on nothing."""
    its.timeline.begun = False


cdef inline Py_ssize_t first_absurd(const double* values, Py_ssize_t count) noexcept nogil:
    """The index of a number that is not finite, or beyond what anything measures; -1: none is."""
    cdef Py_ssize_t i
    for i in range(count):
        if not fabs(values[i]) <= ABSURD:
            return i
    return -1


cdef inline void adopt(Shadow* its, const Settings* settings) noexcept nogil:
    """Go by other settings, and begin anew."""
    its.settings = settings
    memset(its.contact, 0, its.n * sizeof(bint))
    begin_sliding(&its.sliding, its.n)
    restart(its)


cdef inline void command(Shadow* its, const double* torque) noexcept nogil:
    """Remember what the arm was told just now."""
    memcpy(its.commanded, torque, its.n * sizeof(double))
    its.knows_command, its.command_time = its.timeline.begun, its.timeline.time


cdef inline const double* assumed_torque(const Shadow* its, int64_t time) noexcept nogil:
    """The torque to predict with; a command that is too old counts no more."""
    if (its.settings.commanded and its.knows_command
            and fabs((time - its.command_time) / 1e9) <= its.settings.max_gap):
        return its.commanded
    return its.torque


cdef inline bint lose(Shadow* its, Lost why, int32_t joint, double figure) noexcept nogil:
    its.outcome.lost, its.outcome.joint, its.outcome.figure = why, joint, figure
    return False


cdef inline bint expect(Shadow* its, double duration, double* predicted) noexcept nogil:
    """Position and velocity (2, n) so long after the last good state; whether the model has an
    answer.
    """
    cdef Py_ssize_t n = its.n
    cdef Py_ssize_t failure = predict(its.settings, n, duration, its.state, its.assumed,
                                      its.scratch, predicted)
    if failure == NOT_FINITE:
        return lose(its, BEYOND_BOUNDS, -1, 0.0)
    if failure > 0:
        return lose(its, SINGULAR, <int32_t> failure - 1, 0.0)
    if failure < 0:
        return lose(its, DIVERGED, <int32_t> ((-failure - 1) % n),
                    ((-failure - 1) // n + 1) * its.settings.time_step)
    return True


cdef inline void begin(Shadow* its, const double* state) noexcept nogil:
    """Let a state be the first one."""
    cdef Py_ssize_t n = its.n
    observe(&its.observer, its.settings, its.dynamics, 0.0, state, state + n, its.torque,
            its.gravity)
    memset(its.contact, 0, n * sizeof(bint))
    memset(its.sliding.filtered, 0, n * sizeof(double))
    begin_rest(&its.rest, n)


cdef inline void feel(Shadow* its) noexcept nogil:
    """Tell which joints feel a contact: external torque above a threshold, with hysteresis."""
    cdef Py_ssize_t i
    cdef double size
    its.in_contact = False
    for i in range(its.n):
        size = fabs(its.observer.external[i])
        its.contact[i] = (size > its.settings.begin[i]
                          or (its.contact[i] and size >= its.settings.end[i]))
        its.in_contact |= its.contact[i]


cdef inline bint find_residual(Shadow* its, const double* state) noexcept nogil:
    """What the model does not explain of a state that follows on the last one; whether it has an
    answer.
    """
    cdef const Settings* settings = its.settings
    cdef Py_ssize_t n = its.n, k
    cdef double dt = its.timeline.dt
    if not expect(its, dt, its.expected):
        return False
    observe(&its.observer, settings, its.dynamics, dt, state, state + n, its.torque, its.gravity)
    if not all_finite(n, its.observer.external):
        return lose(its, BEYOND_BOUNDS, -1, 0.0)
    for k in range(2 * n):
        its.residual[k] = state[k] - its.expected[k]
    memcpy(its.residual + 2 * n, its.observer.external, n * sizeof(double))
    estimate_wrench(its.dynamics, settings.link, settings.wrench_damping, state,
                    its.observer.external, its.scratch, its.wrench)
    feel(its)
    its.outcome.has_rested = rest(&its.rest, n, dt, state, state + n, state + 2 * n)
    its.outcome.has_slid = slide(&its.sliding, settings, n, dt, state + n, its.observer.external,
                                 &its.outcome.share)
    return True


cdef inline bint take(Shadow* its, int64_t time, const double* state, bint follows) noexcept nogil:
    """Take a state that is next in time; whether the model has an answer."""
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
    return expect(its, its.settings.horizon, its.predicted)


cdef inline bint update(Shadow* its, int64_t time, const double* state) noexcept nogil:
    """Take a state (3, n), of figures that are not absurd, measured at a time [ns]; whether it is
    used.
    """
    cdef Passage passage = pass_state(&its.timeline, its.settings.max_gap, its.n, time, its.state,
                                      state)
    cdef bint follows = passage == FOLLOWS
    if passage == REPEATED or passage == LATE:
        return False
    if its.outcome.has_rested:
        begin_rest(&its.rest, its.n)
    memset(&its.outcome, 0, sizeof(Outcome))
    if passage == AFTER_JUMP_BACK:
        lose(its, JUMPED_BACK, -1, -its.timeline.dt)
    elif passage == AFTER_GAP:
        lose(its, GAP, -1, its.timeline.dt)
    its.restarts += its.outcome.lost != NOT_LOST
    its.outcome.has_prediction = take(its, time, state, follows)
    its.outcome.has_residual = follows and its.outcome.has_prediction
    if not its.outcome.has_prediction:
        its.restarts += 1
        restart(its)
    return True

# What the controller knows and has, and the only function that changes its phase: ``fire``.
#
# Times called ``now`` are of a steady clock [s]; motions, transfers and rate limits go by the
# controller's time, the sum of the times between joint states (state_validator.pxd). Arrays are
# (n,) in joint order.

from control.cartesian_mode cimport CartesianMode
from control.dead_reckoning cimport Reckoning
from control.events cimport CAUSE_DEACTIVATED, NOTE_CAUSE, NOTE_PHASE, Cause, NoteKind
from control.model_blend cimport ModelBlend
from control.motion cimport Motion
from control.phases cimport (BLIND, DAMPED, EVENTS, FAULT, FLOATING, HOLDING, LEAVING_BLIND, PHASES,
                             REFERENCE, SETTLING, STOPPING, TRAJECTORY, Event, Phase)
from control.settings cimport CARTESIAN_IMPEDANCE, JointLimits, Settings
from control.speed_limit cimport SpeedLimit
from control.torque_governor cimport Governor
from control.validator_state cimport StateValidator

cdef struct Watch:           # for what no single state shows
    double* speeding         # (n,) time spent too fast, leaking [s]
    double* swings           # (n,) changes of direction at speed, leaking
    double* direction        # (n,) of the last swing: -1, 0, 1
    double abandoned         # motions off their path, leaking
    double incident          # [s] for which what is abandoned is still the same one
    int in_a_row             # trajectories off their path since one has arrived

cdef struct Hold:            # why the arm is, or was last, held instead of moved
    Cause cause
    Py_ssize_t joint
    double found, bound

# How the controller says something: to a loop's records, or to Python's own.
ctypedef void (*Say)(void* listener, NoteKind kind, Py_ssize_t index, double a, double b, double c,
                     double d) noexcept nogil

cdef struct Controller:
    Py_ssize_t n
    Phase phase
    signed char[PHASES][EVENTS] next     # -1: nothing changes
    Settings settings
    JointLimits limits
    StateValidator validator
    Reckoning reckoning
    ModelBlend models
    Governor governor
    SpeedLimit speed
    Motion motion
    CartesianMode hand
    Watch watch
    Hold hold
    Hold fault               # that has not been asked to end yet; NO_CAUSE: none
    Hold fallen              # why no recovery from DAMPED before hold_until
    long long causes         # that there have been
    double* desired          # (4, n) of the last command
    double* torque
    double* gravity_torque   # gravity at the arm's position: what drives that add it carry
    double* bias             # (n,) torque that leaves the joints unaccelerated
    double* scratch          # (4, n)
    double* offset           # (4, n)
    double* zero             # (4, n)
    double* state            # (4, n) of a blind stop
    double* expected         # (n,) position that states are compared with
    double* turned           # (n,) whole turns that were added to the last good position [rad]
    double* turns            # (n,) likewise, of the state that is being looked at
    bint expects             # the motion is that of a blind stop, by steady time
    bint has_commanded       # since it was activated
    bint floats              # mode gravity_compensation
    bint let_go              # the hand was led a moment ago, and the transfer from its torque goes
                             # on
    bint stalled             # so long before the last look at the age that states may wait to be
                             # read
    double commanded         # steady time of the last command
    double set_point_at
    double held_since
    double hold_until        # no recovery from DAMPED before
    double updated           # when a state or ``check_age`` last came
    double noted_at          # when a rejected state was last told of
    double heartbeat         # when Python last gave a sign of life; inf: it need not
    long long commands
    long long latched        # number of the good state from which the arm was last asked to rest
    Say say
    void* listener


cdef inline void note(Controller* c, NoteKind kind, Py_ssize_t index, double a, double b, double d,
                      double e) noexcept nogil:
    if c.say != NULL:
        c.say(c.listener, kind, index, a, b, d, e)


cdef inline bint fire(Controller* c, Event event) noexcept nogil:
    """Change the phase if the table says so; returns whether it did."""
    cdef Phase before = c.phase
    cdef int following = c.next[<int> before][<int> event]
    if following < 0:
        return False
    c.phase = <Phase> following
    note(c, NOTE_PHASE, event, <int> before, <int> c.phase, 0.0, 0.0)
    return True


cdef inline void because(Controller* c, Cause cause, Py_ssize_t joint, double found,
                         double bound) noexcept nogil:
    """Tell why the arm is held, and keep it; while it settles after a deactivation, what led there
    is kept.
    """
    if c.phase != SETTLING or cause == CAUSE_DEACTIVATED:
        c.hold.cause, c.hold.joint, c.hold.found, c.hold.bound = cause, joint, found, bound
        c.causes += 1
    note(c, NOTE_CAUSE, joint, <int> cause, found, bound, 0.0)


cdef inline bint is_tracking(const Controller* c) noexcept nogil:
    """Whether the arm is asked to be somewhere."""
    return (c.phase == HOLDING or c.phase == TRAJECTORY or c.phase == REFERENCE
            or c.phase == STOPPING)


cdef inline bint sees(const Controller* c) noexcept nogil:
    """Whether commands go out that answer joint states."""
    return (is_tracking(c) or c.phase == FLOATING or c.phase == DAMPED or c.phase == FAULT
            or c.phase == SETTLING)


cdef inline bint is_blind(const Controller* c) noexcept nogil:
    return c.phase == BLIND or c.phase == LEAVING_BLIND


cdef inline bint leads_hand(const Controller* c) noexcept nogil:
    return c.settings.mode == CARTESIAN_IMPEDANCE

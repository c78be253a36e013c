# The controller's state machine: its phase, why it is in it, and the only functions that change
# them, for phase_changes.pxd. Whoever gets a StateMachine alone cannot touch the arm.

from control.events cimport CAUSES, CAUSE_DEACTIVATED, NOTE_CAUSE, NOTE_PHASE, Cause, NoteKind
from control.phases cimport (BLIND, DAMPED, EVENTS, FAULT, FLOATING, HOLDING, LEAVING_BLIND, PHASES,
                             REFERENCE, SETTLING, STOPPING, TRAJECTORY, Event, Phase)

# How the controller reports something: into the records of a loop, or of Python.
ctypedef void (*Notify)(void* listener, NoteKind kind, Py_ssize_t index, double a, double b,
                        double c, double d) noexcept nogil

cdef struct Hold:            # why the arm is, or was last, held instead of moved
    Cause cause
    Py_ssize_t joint         # -1: all
    double found, bound

cdef struct StateMachine:    # times: of a steady clock [s]
    Phase phase
    signed char[PHASES][EVENTS] next     # -1: nothing changes
    signed char[CAUSES] action           # Action by Cause
    Hold hold
    Hold fault               # that nobody has asked to end yet; NO_CAUSE: none
    Hold fallen              # why DAMPED does not end before hold_until
    double held_since
    double hold_until
    double noted_at          # time of the last report of something wrong with a state
    long long causes         # number of causes so far
    Notify notify
    void* listener


cdef inline Hold hold_reason(Cause cause, Py_ssize_t joint, double found,
                             double bound) noexcept nogil:
    cdef Hold reason
    reason.cause, reason.joint, reason.found, reason.bound = cause, joint, found, bound
    return reason


cdef inline void note(const StateMachine* m, NoteKind kind, Py_ssize_t index, double a, double b,
                      double d, double e) noexcept nogil:
    if m.notify != NULL:
        m.notify(m.listener, kind, index, a, b, d, e)


cdef inline void note_cause(StateMachine* m, const Hold* reason) noexcept nogil:
    """Report why the arm is held, and store it. While the arm settles after a deactivation, the
    stored cause stays.
    """
    if m.phase != SETTLING or reason.cause == CAUSE_DEACTIVATED:
        m.hold = reason[0]
        m.causes += 1
    note(m, NOTE_CAUSE, reason.joint, <int> reason.cause, reason.found, reason.bound, 0.0)


cdef inline bint fire(StateMachine* m, Event event) noexcept nogil:
    """Change the phase if the table says so; returns whether it did."""
    cdef Phase before = m.phase
    cdef int following = m.next[<int> before][<int> event]
    if following < 0:
        return False
    m.phase = <Phase> following
    note(m, NOTE_PHASE, event, <int> before, <int> m.phase, 0.0, 0.0)
    return True


cdef inline bint is_tracking(const StateMachine* m) noexcept nogil:
    """Whether the arm has a desired position."""
    return (m.phase == HOLDING or m.phase == TRAJECTORY or m.phase == REFERENCE
            or m.phase == STOPPING)


cdef inline bint answers_states(const StateMachine* m) noexcept nogil:
    """Whether joint states are answered by commands."""
    return (is_tracking(m) or m.phase == FLOATING or m.phase == DAMPED or m.phase == FAULT
            or m.phase == SETTLING)


cdef inline bint is_open_loop(const StateMachine* m) noexcept nogil:
    """Whether an open-loop stop goes on."""
    return m.phase == BLIND or m.phase == LEAVING_BLIND

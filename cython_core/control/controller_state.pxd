# What the controller knows and has.
#
# Times called ``now`` are of a steady clock [s]; motions, transfers and rate limits go by the
# controller's time (state_clock.pxd). Arrays are (n,) in joint order.

from libc.string cimport memset

from control.arm cimport Arm
from control.cartesian_mode cimport CartesianMode
from control.events cimport CAUSES, CAUSE_DEACTIVATED, NOTE_CAUSE, NOTE_PHASE, Reason, NoteKind
from control.motion cimport Motion
from control.phases cimport (DAMPED, EVENTS, FAULT, FLOATING, HOLDING, LEAVING_OPEN_LOOP, OPEN_LOOP,
                             PHASES, REFERENCE, SETTLING, STOPPING, TRAJECTORY, Event, Phase)
from control.position_governor cimport PositionGovernor, ServoGovernor
from control.state_clock cimport StateClock
from control.state_observer cimport Observer
from control.stuck_joints cimport StuckJoints
from control.torque_governor cimport Governor, SpeedLimit

# The state machine: its phase, why it is in it, and the only functions that change
# them, for phase_changes.pxd. Whoever gets a StateMachine alone cannot touch the arm.

# How the controller reports something: into the records of a loop, or of Python.
ctypedef void (*Notify)(void* listener, NoteKind kind, Py_ssize_t index, double a, double b,
                        double c, double d) noexcept nogil

cdef struct StateMachine:    # times: of a steady clock [s]
    Phase phase
    signed char[PHASES][EVENTS] next     # -1: nothing changes
    signed char[CAUSES] action           # Action by Cause
    Reason hold             # why the arm is, or was last, held instead of moved
    Reason fault            # that nobody has asked to end yet; NO_CAUSE: none
    Reason fallen           # why DAMPED does not end before hold_until
    bint brakes              # DAMPED or SETTLING begins with a motion that comes to rest
    bint bears               # SETTLING goes back to it for good if the arm sinks
    double held_since
    double hold_until
    double noted_at          # time of the last report of something wrong with a state
    long long causes         # number of causes so far
    Notify notify
    void* listener


cdef inline void note(const StateMachine* m, NoteKind kind, Py_ssize_t index, double a, double b,
                      double d, double e) noexcept nogil:
    if m.notify != NULL:
        m.notify(m.listener, kind, index, a, b, d, e)


cdef inline void note_cause(StateMachine* m, const Reason* reason) noexcept nogil:
    """Report why the arm is held, and store it unless the arm settles after a deactivation."""
    if m.phase != SETTLING or reason.code == CAUSE_DEACTIVATED:
        m.hold = reason[0]
        m.causes += 1
    note(m, NOTE_CAUSE, reason.joint, reason.code, reason.found, reason.bound, 0.0)


cdef inline bint fire(StateMachine* m, Event event) noexcept nogil:
    """Change the phase if the table says so; returns whether it did."""
    cdef Phase before = m.phase
    cdef int following = m.next[<int> before][<int> event]
    if following < 0:
        return False
    m.phase = <Phase> following
    if m.phase != DAMPED and m.phase != SETTLING:
        m.brakes = m.bears = False
    note(m, NOTE_PHASE, event, <int> before, <int> m.phase, 0.0, 0.0)
    return True


cdef inline bint is_tracking(const StateMachine* m) noexcept nogil:
    """Whether the arm has a desired position."""
    return (m.phase == HOLDING or m.phase == TRAJECTORY or m.phase == REFERENCE
            or m.phase == STOPPING or m.brakes)


cdef inline bint answers_states(const StateMachine* m) noexcept nogil:
    """Whether joint states are answered by commands."""
    return (is_tracking(m) or m.phase == FLOATING or m.phase == DAMPED or m.phase == FAULT
            or m.phase == SETTLING)


cdef inline bint is_open_loop(const StateMachine* m) noexcept nogil:
    """Whether an open-loop stop goes on."""
    return m.phase == OPEN_LOOP or m.phase == LEAVING_OPEN_LOOP


cdef inline bint is_commanding(const StateMachine* m) noexcept nogil:
    """Whether there are commands, whose end would matter."""
    return answers_states(m) or is_open_loop(m)


cdef struct Supervision:     # what no single state shows
    double* speeding         # (n,) time spent too fast [s]; decays
    double* swings           # (n,) changes of direction at speed; decays
    double* direction        # (n,) of the last swing: -1, 0, 1
    double* swung_at         # (2, n) distance from the desired position then, and speed
    bint is_apart            # the end effector has met little force since the last impact
    double impacts           # beyond max_force on what it touches; decays
    double abandoned         # motions that left their path; decays
    double incident          # [s] in which another abandoned motion is not counted again
    double braked_from       # fastest joint over its limit as the fault began
    double coasts_until      # damping has made the arm faster: none until then
    Py_ssize_t inconsistent  # joint whose velocity was, in the last state
    int in_a_row             # trajectories that left their path since the last that arrived

cdef struct SetPoints:       # the stream of the joints' set-points
    double at                # steady time of the last one
    double* q                # (2, n) the last one: position,
    double* velocity         # velocity
    bint is_estimated        # from the positions: it did not tell, and the joints do not stand
    double period            # mean time between those that tell positions alone [s]; 0: unknown

cdef struct Task:            # what the arm is asked to do
    Motion motion            # of its joints
    CartesianMode cartesian  # of its end effector
    bint has_planned_stop    # the motion is that of an open-loop stop, in steady time
    SetPoints set_points
    double* desired          # (4, n) of the last command
    double* presliding       # (n,) of the desired motion, see smooth_friction.pxd; 0 without one
    double* driven           # (n,) velocity to which the accelerations fed forward have led
    double* state            # (4, n) from which a motion begins

cdef struct Command:         # what the drives are told
    Governor governor        # with the last command
    SpeedLimit speed
    double* torque
    double* gravity_torque   # at the arm's position, which some drives add by themselves
    double* bias             # (n,) torque at which no joint accelerates
    double* acting           # (n,) mean of the commands since the last state was measured
    double* contact          # (n,) effort of what the end effector touches, as far as measured
    bint has_begun           # there has been a command since the controller was activated
    bint leaves_end_effector # the transfer from the torque that led the end effector still goes on
    double at                # steady time of the last command
    double interval          # time from the command before to the last [s]
    double spell             # time that the present spell has lasted [s]
    double[4] longest        # such times in it and in the three spells before
    long long count

cdef struct Controller:
    Py_ssize_t n
    StateMachine machine
    Arm arm
    StateClock clock
    Observer observer
    StuckJoints stuck
    Task task
    Command sent
    PositionGovernor positions
    ServoGovernor servos
    Supervision watch
    double* scratch          # (4, n) scratch
    double* zero             # (4, n)
    double* unlimited        # (n,) inf
    double* turned           # (n,) whole turns that were added to the last position [rad]
    bint stalled             # this process stood still before the last ``check_age``: states may
                             # be waiting to be read
    double updated           # time of the last state or call of ``check_age``
    double heartbeat         # time of the last sign of life from Python; inf: none is needed


cdef inline double time_of_command(const Controller* c) noexcept nogil:
    """The controller's time of the last command, which may be later than that of the last state."""
    return c.clock.time + (max(c.sent.at - c.clock.received, 0.0) if c.sent.has_begun else 0.0)


cdef inline double usual_step(const Controller* c) noexcept nogil:
    """The usual time between two commands [s]."""
    return c.arm.settings.period if c.arm.settings.on_timer else c.clock.usual


cdef inline void begin_supervision(Supervision* s, Py_ssize_t n) noexcept nogil:
    """Forget what was seen of another motion."""
    memset(s.speeding, 0, n * sizeof(double))
    memset(s.swings, 0, n * sizeof(double))
    memset(s.direction, 0, n * sizeof(double))
    s.coasts_until = s.impacts = 0.0

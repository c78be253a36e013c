# The torque controller, one step at a time: a joint state or the time in, at most one command out.
#
# It is a state machine: controller_state.pxd is what it knows, phases.pxd names its phases and
# events. Each part of the step has its file:
#
#     state_validator.pxd    is a joint state accepted?
#     dead_reckoning.pxd     where is an arm without joint states?
#     startup.pxd            the first command
#     command.pxd            the command for a state: motion.pxd, laws.pxd, torque_governor.pxd
#     monitoring.pxd         does the arm do what it is asked to?
#     faults.pxd, stop.pxd   what is done if not, and how the arm comes to rest
#     blind_stop.pxd         what is done when states stop
#     request_handlers.pxd   what is done when somebody asks for something
#     settings_check.pxd     may settings and payload change here?

from libc.math cimport M_PI, isfinite, round
from libc.string cimport memcpy, memset

from control.blind_stop cimport blind_command, go_blind, has_stopped_frozen, resume
from control.command cimport command
from control.controller_state cimport (Controller, answers_states, fire, is_blind, is_tracking,
                                       leads_hand, note, note_cause)
from control.dead_reckoning cimport add_reckoned, reckon
from control.events cimport CAUSE_EXECUTOR, CAUSE_GAP, NOTE_REJECTED
from control.faults cimport abandon
from control.phases cimport (ABANDON, BLIND, GIVE_UP, HOLDING, INACTIVE, REFERENCE, SILENT,
                             TRAJECTORY, WAITING)
from control.startup cimport begin
from control.state_estimate cimport seen_since, was_misled
from control.state_validator cimport accept, elapsed
from control.stop cimport begin_tracking, stop_desired
from control.validator_state cimport CONTRADICTORY, JUMPED, REPEATED, forget

cdef extern from *:
    """
    #define STALL (3.0)
    #define NOTE_INTERVAL (0.1)
    #define NEARLY_STOPPED (0.5)
    """
    const double STALL             # periods without a call of ``check_age``: the process stood
                                   # still, not the arm
    const double NOTE_INTERVAL     # [s] between reports of rejected states
    const double NEARLY_STOPPED    # share of state_timeout between the last good states


cdef inline void note_rejection(Controller* c, double now) noexcept nogil:
    """Report a rejected state, at most one in NOTE_INTERVAL."""
    if now - c.noted_at < NOTE_INTERVAL:
        return
    c.noted_at = now
    note(c, NOTE_REJECTED, c.validator.last.joint, <int> c.validator.last.rejection,
         c.validator.last.found, c.validator.last.bound, 0.0)


cdef inline void count_turns(Controller* c, double* q) noexcept nogil:
    """Add whole turns to the positions of continuous joints: they may be measured modulo a turn.
    """
    cdef Py_ssize_t i
    for i in range(c.n):
        if c.limits.continuous[i] and c.validator.accepted and isfinite(q[i]):
            c.turns[i] = 2.0 * M_PI * round((c.validator.q[i] - q[i]) / (2.0 * M_PI))
            q[i] += c.turns[i]


cdef inline bint accept_state(Controller* c, double now, double stamp, double on_its_way,
                              const double* q, const double* qd) noexcept nogil:
    """Whether a joint state is accepted, given what the arm should do."""
    cdef const double* desired = q
    cdef const double* pushed = c.zero
    cdef const double* likely = c.zero
    if is_tracking(c):
        reckon(&c.reckoning, &c.settings, &c.models, &c.validator, c.desired, c.presliding,
               elapsed(&c.validator, now, stamp))
        pushed, likely = c.reckoning.sure, c.scratch
        memset(c.scratch, 0, 2 * c.n * sizeof(double))
        add_reckoned(&c.reckoning, &c.settings, c.desired, c.scratch, c.scratch + c.n)
        if not leads_hand(c):  # a hand may be far from where it is led: see ``watch_standing``
            desired = c.desired
    else:
        c.reckoning.begins = True
    if desired == q:
        memcpy(c.validator.repeated_from, q, c.n * sizeof(double))
    return accept(&c.validator, now, stamp, on_its_way, q, qd, desired, pushed, likely,
                  c.settings.jump_tolerance, c.settings.velocity_cutoff, c.settings.state_timeout)


cdef inline bint calls_for_blind_stop(const Controller* c) noexcept nogil:
    """Whether a rejected state shows that the last command must not go on acting.

    If states are nearly as sparse as if they had stopped, either this state or the last one may
    have jumped.
    """
    if c.validator.last.rejection == JUMPED:
        return c.validator.interval > NEARLY_STOPPED * c.settings.state_timeout
    return c.validator.last.rejection in (REPEATED, CONTRADICTORY)


cdef inline bint take_state(Controller* c, double now, double stamp, double on_its_way, double* q,
                            const double* qd, const double* effort) noexcept nogil:
    """Answer a joint state; returns whether there is a command.

    stamp: [s], 0 for none; on_its_way: [s] by two clocks, NaN if unknown; q: gets whole turns
    added; qd: NaN where it was not measured; effort: NULL if it was not.
    """
    cdef double last = c.validator.received, dt
    cdef bint blind = is_blind(c)
    c.updated, c.stalled = now, False
    if c.phase == INACTIVE:
        return False
    count_turns(c, q)
    if not accept_state(c, now, stamp, on_its_way, q, qd):
        note_rejection(c, now)
        if answers_states(c) and calls_for_blind_stop(c):
            go_blind(c, now, now - seen_since(&c.validator))
            return is_blind(c) and blind_command(c, now)
        return False
    memcpy(c.turned, c.turns, c.n * sizeof(double))
    dt = c.validator.dt
    if c.phase == WAITING or c.phase == SILENT:
        if not begin(c, now, effort):
            return False
    elif blind:
        dt = now - c.commanded  # commands have gone out since the last state
        resume(c, now)
    elif min(now - last, dt) > c.settings.state_timeout:
        # As if the watchdog had run in between: the motion would be far ahead of the arm.
        abandon(c, now, CAUSE_GAP, -1, dt, c.settings.state_timeout)
    elif (c.phase == HOLDING and c.latched == c.validator.accepted - 1
            and was_misled(&c.validator)):
        begin_tracking(c)
    if c.settings.on_timer:
        return False
    return command(c, now, c.validator.time, dt)


cdef inline void watch_executor(Controller* c, double now) noexcept nogil:
    """Hold the arm if Python gives no sign of life: nobody could ask for a stop."""
    cdef double age = now - c.heartbeat
    if (c.phase == TRAJECTORY or c.phase == REFERENCE) and age > c.settings.executor_timeout > 0.0:
        if fire(c, ABANDON):
            note_cause(c, CAUSE_EXECUTOR, -1, age, c.settings.executor_timeout)
            stop_desired(c)


cdef inline bint check_age(Controller* c, double now) noexcept nogil:
    """Check how old the last good state is; to be called every period.

    Returns whether there is a command.
    """
    cdef bint stalled_before = c.stalled
    cdef double age = now - c.validator.received
    c.stalled = now - c.updated > STALL * c.settings.period
    c.updated = now
    # After a stall of this process, states that have arrived are not read yet; at the next call
    # they are.
    if answers_states(c) and age > c.settings.state_timeout and (stalled_before or not c.stalled):
        go_blind(c, now, age)
    if is_blind(c):
        if age > c.settings.state_timeout:                      # not after a contradictory state
            forget(&c.validator)
        if now - c.held_since < c.settings.give_up_after and not has_stopped_frozen(c, now):
            return blind_command(c, now)
        c.has_commanded = c.phase == BLIND
        fire(c, GIVE_UP)
        forget(&c.validator)
    watch_executor(c, now)
    if c.settings.on_timer and answers_states(c):
        return command(c, now, c.validator.time + age, now - c.commanded)
    return False

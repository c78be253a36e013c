# The torque controller, one step at a time: a joint state or the time in, at most one command out.
#
# controller_state.pxd is what it knows: among that, state_machine.pxd its phase and why, arm.pxd
# what it is told. Each part of the step has its file:
#
#     state_clock.pxd        is a joint state newer than the last, and in time?
#     state_observer.pxd     where is the arm?
#     stuck_joints.pxd       should a joint have moved?
#     startup.pxd            the first command
#     command.pxd            the command for a state: motion.pxd, laws.pxd, torque_governor.pxd,
#                            position_governor.pxd
#     supervision.pxd        does the arm do what it is asked to, and what is done if not?
#     stop.pxd               how the arm comes to rest
#     open_loop_stop.pxd     what is done when states stop, from dead_reckoning.pxd
#     request_handlers.pxd   what is done when somebody asks for something
#     settings_check.pxd     may settings and payload change here?

from libc.math cimport M_PI, isfinite, round
from libc.string cimport memcpy

from control.arm cimport Arm
from control.command cimport command
from control.controller_state cimport Controller
from control.dead_reckoning cimport dead_reckoning
from control.events cimport (CAUSE_EXECUTOR, CAUSE_FROZEN, CAUSE_GAP, CAUSE_NO_POSITION,
                             CAUSE_NO_STATES, NOTE_REJECTED)
from control.open_loop_stop cimport is_over, open_loop_command, resume, unseen_since
from control.phases cimport (ABANDON, BLIND, GIVE_UP, HOLDING, INACTIVE, REFERENCE, SILENT,
                             TRAJECTORY, WAITING)
from control.startup cimport begin
from control.state_clock cimport (StateClock, age_of_state, is_of_before, is_old, lateness,
                                  pass_time, watch_clocks)
from control.state_machine cimport (Hold, StateMachine, answers_states, fire, hold_reason, is_blind,
                                    is_tracking, note, note_cause)
from control.state_observer cimport (ACCEPTED, LATE, NOT_NEWER, REPEATED, Judgement, Observer,
                                     judgement, observe, oldest)
from control.stop cimport begin_open_loop_stop, begin_tracking, stop_desired
from control.stuck_joints cimport is_stuck, push_joints
from control.supervision cimport abandon

cdef extern from *:
    """
    #define STALL (3.0)
    #define NOTE_INTERVAL (0.1)
    """
    const double STALL             # periods without a call of ``check_age``: the process stood
                                   # still, not the arm
    const double NOTE_INTERVAL     # [s] between reports of what is wrong with states


cdef inline void note_rejection(StateMachine* m, const Judgement* state,
                                double now) noexcept nogil:
    """Report what is wrong with a state, at most once in NOTE_INTERVAL."""
    if state.rejection == ACCEPTED or now - m.noted_at < NOTE_INTERVAL:
        return
    m.noted_at = now
    note(m, NOTE_REJECTED, state.joint, <int> state.rejection, state.found, state.bound, 0.0)


cdef inline void count_turns(Observer* o, double* turned, double* q) noexcept nogil:
    """Add whole turns to the positions of continuous joints: they may be measured modulo a turn.
    turned: (n,) what was added.
    """
    cdef Py_ssize_t i
    for i in range(o.n):
        if o.limits.continuous[i] and o.begun and isfinite(q[i]):
            turned[i] = 2.0 * M_PI * round((o.q[i] - q[i]) / (2.0 * M_PI))
            q[i] += turned[i]


cdef inline bint is_timely(StateClock* clock, Observer* o, double state_timeout, double now,
                           double stamp, double on_its_way) noexcept nogil:
    """Whether a state is newer than the last and was not on its way for too long."""
    cdef double late
    o.last = judgement(ACCEPTED, -1, 0.0, 0.0)
    watch_clocks(clock, now, on_its_way)
    if is_old(clock, now, stamp):
        o.last = judgement(NOT_NEWER, -1, stamp, clock.newest)
        clock.set_back = now - clock.received > state_timeout
    else:
        clock.newest = stamp
        late = lateness(clock, now, on_its_way)
        if late > state_timeout:
            o.last = judgement(LATE, -1, late, state_timeout)
    o.rejected[<int> o.last.rejection] += o.last.rejection != ACCEPTED
    return o.last.rejection == ACCEPTED


cdef inline bint observe_arm(Controller* c, double now, double stamp, double on_its_way, bint live,
                             double* q, const double* qd) noexcept nogil:
    """Bring the estimate of the arm's state up to a joint state; returns whether there is one."""
    cdef bint usable
    count_turns(&c.observer, c.turned, q)
    pass_time(&c.clock, now, stamp, on_its_way, live, c.arm.settings.state_timeout)
    usable = observe(&c.observer, q, qd, c.clock.dt, c.clock.gap > c.arm.settings.state_timeout,
                     &c.arm.settings)
    if is_stuck(&c.stuck, &c.observer):
        return False
    # In a gap, commands need not have acted.
    if usable and is_tracking(&c.machine) and 2.0 * c.clock.gap <= c.arm.settings.state_timeout:
        push_joints(&c.stuck, &c.arm, &c.observer, c.desired,
                    c.presliding, c.clock.dt)
    else:
        c.stuck.begins = True
    return usable


cdef inline bint stop_without_position(Controller* c, double now) noexcept nogil:
    """Begin an open-loop stop: a joint had no usable position for too long, or does not move."""
    cdef const Observer* o = &c.observer
    cdef bint is_frozen = o.last.rejection == REPEATED
    cdef Hold reason = hold_reason(CAUSE_FROZEN if is_frozen else CAUSE_NO_POSITION, o.last.joint,
                                   oldest(o), c.arm.settings.state_timeout)
    if answers_states(&c.machine) and o.begun:
        if is_frozen:
            c.stuck.joint = o.last.joint
        begin_open_loop_stop(c, now, &reason)
        return is_blind(&c.machine) and open_loop_command(c, now)
    return False


cdef inline void advance_estimate(Observer* o, const Arm* arm, const double* acting,
                                  const double* contact, double age) noexcept nogil:
    """Advance the estimate to an age [s] after the last state, by the model under the commands that
    have acted since (their mean), and what a contact bears.

    So the law sees the arm of now, where states come late or commands go by the timer.
    """
    cdef double duration = age - o.advanced - o.ahead
    if duration <= 0.0:
        return
    if o.ahead == 0.0:
        memcpy(o.at_state, o.q, 2 * o.n * sizeof(double))
    dead_reckoning(arm, acting, contact, duration, o.q)
    o.ahead += duration


cdef inline bint take_state(Controller* c, double now, double stamp, double on_its_way, bint live,
                            double* q, const double* qd, const double* effort) noexcept nogil:
    """Answer a joint state; returns whether there is a command.

    stamp: [s], 0 for none; on_its_way: [s] by two clocks, NaN if unknown; live: the arm has moved
    meanwhile, which a simulation need not have; q: gets whole turns added; qd: NaN where it was not
    measured; effort: NULL if it was not.
    """
    cdef double last = c.clock.received, time = c.clock.time, dt
    cdef bint blind = is_blind(&c.machine), was_confirmed = c.observer.confirmed, usable
    cdef Hold reason
    c.updated, c.stalled = now, False
    if c.machine.phase == INACTIVE or is_of_before(&c.clock, now, on_its_way):
        return False
    if not is_timely(&c.clock, &c.observer, c.arm.settings.state_timeout, now, stamp, on_its_way):
        if now > c.clock.received:      # else simulated time stands, and its owner repeats a state
            note_rejection(&c.machine, &c.observer.last, now)
        return False
    usable = observe_arm(c, now, stamp, on_its_way, live, q, qd)
    note_rejection(&c.machine, &c.observer.last, now)
    if not usable:
        return stop_without_position(c, now)
    dt = max(c.clock.time - time, 0.0)
    if c.machine.phase == WAITING or c.machine.phase == SILENT:
        if not begin(c, now, effort):
            return False
    elif blind and not (c.observer.confirmed or c.observer.reset):
        return False
    elif blind:
        dt = now - c.commanded                                  # commands have gone out since
        resume(c, now)
    elif c.machine.phase == HOLDING and c.observer.confirmed and not was_confirmed:
        begin_tracking(c)       # the state from which the hold began may have been wrong
    elif min(now - last, dt) > c.arm.settings.state_timeout:
        # As if the watchdog had run in between: the motion would be far ahead of the arm.
        reason = hold_reason(CAUSE_GAP, -1, dt, c.arm.settings.state_timeout)
        abandon(c, now, &reason)
    if c.arm.settings.on_timer:
        return False
    if is_tracking(&c.machine) and c.has_commanded:
        # Damping without a desired position is chosen for late states.
        advance_estimate(&c.observer, &c.arm, c.acting, c.contact, c.clock.late)
    return (command(c, now, c.clock.time, dt)
            or (is_blind(&c.machine) and open_loop_command(c, now)))


cdef inline void watch_executor(Controller* c, double now) noexcept nogil:
    """Hold the arm if Python gives no sign of life: nobody could ask for a stop."""
    cdef double age = now - c.heartbeat, bound = c.arm.settings.executor_timeout
    cdef Hold reason = hold_reason(CAUSE_EXECUTOR, -1, age, bound)
    if c.machine.phase == TRAJECTORY or c.machine.phase == REFERENCE:
        if age > bound > 0.0 and fire(&c.machine, ABANDON):
            note_cause(&c.machine, &reason)
            stop_desired(c)


cdef inline bint command_by_timer(Controller* c, double now) noexcept nogil:
    """The command between joint states."""
    if c.has_commanded:
        advance_estimate(&c.observer, &c.arm, c.acting, c.contact, age_of_state(&c.clock, now))
    return command(c, now, c.clock.time + now - c.clock.received, now - c.commanded)


cdef inline bint check_age(Controller* c, double now) noexcept nogil:
    """Check for how long the arm has been unseen; to be called every period.

    Returns whether there is a command.
    """
    cdef bint stalled_before = c.stalled
    cdef double age = unseen_since(c, now), bound = c.arm.settings.state_timeout
    cdef Hold reason = hold_reason(CAUSE_NO_STATES, -1, age, bound)
    c.stalled = now - c.updated > STALL * c.arm.settings.period
    c.updated = now
    # After a stall of this process, states that have arrived are not read yet; at the next call
    # they are.
    if answers_states(&c.machine) and age > bound and (stalled_before or not c.stalled):
        begin_open_loop_stop(c, now, &reason)
    watch_executor(c, now)
    if c.arm.settings.on_timer and answers_states(&c.machine) and command_by_timer(c, now):
        return True
    if not is_blind(&c.machine):
        return False
    if not is_over(c, now):
        return open_loop_command(c, now)
    c.has_commanded = c.machine.phase == BLIND
    fire(&c.machine, GIVE_UP)
    return False

# The torque controller, one step at a time: a joint state or the time in, at most one command out.
#
# controller_state.pxd is what it knows: its phase and why, what the arm is asked to do, what the
# drives are told, and all else; arm.pxd what it is told of the arm.
# Each part of the step has its file:
#
#     state_clock.pxd        is a joint state newer than the last, and in time?
#     state_observer.pxd     where is the arm?
#     stuck_joints.pxd       should a joint have moved?
#     startup.pxd            can the arm be taken over?
#     command.pxd            the command for a state: motion.pxd, laws.pxd, torque_governor.pxd,
#                            position_governor.pxd
#     supervision.pxd        does the arm do what it is asked to?
#     phase_changes.pxd      what follows if not, and every other change of phase
#     open_loop_stop.pxd     what is done when states stop
#     request_handlers.pxd   what is done when somebody asks for something, and may settings and
#                            payload change here?

from libc.math cimport INFINITY, M_PI, isfinite, round
from libc.string cimport memcpy

from control.command cimport command, held_for
from control.controller_state cimport (Controller, StateMachine, answers_states, is_open_loop,
                                       is_tracking, note)
from control.events cimport (ACCEPTED, CAUSE_EXECUTOR, CAUSE_FROZEN, CAUSE_GAP, CAUSE_NO_POSITION,
                             CAUSE_NO_STATES, LATE, NOTE_REJECTED, NOT_NEWER, REPEATED, Reason,
                             because)
from control.fault_bounds cimport NOTE_INTERVAL, STALL
from control.laws cimport dead_reckoning
from control.open_loop_stop cimport is_over, open_loop_command
from control.phase_changes cimport begin_tracking, give_up, respond, take_over
from control.phases cimport HOLDING, INACTIVE, REFERENCE, SILENT, TRAJECTORY, WAITING
from control.startup cimport begin_commands
from control.state_clock cimport (StateClock, age_of_state, is_of_before, is_old, lateness,
                                  note_old, overdue_at, pass_time, watch_clocks)
from control.state_observer cimport Observer, is_repetition, missing_for, observe_state, oldest
from control.stuck_joints cimport push_joints

cdef struct Before:          # what was known before a state
    double received          # when the last one arrived
    double time              # the controller's
    double commanded         # when the last command was given; -inf: none was
    bint is_confirmed        # Observer.confirmed
    bint is_open_loop        # an open-loop stop went on


cdef inline void note_rejection(Controller* c, double now) noexcept nogil:
    """Report what is wrong with a state, at most once in NOTE_INTERVAL."""
    cdef const Reason* why = &c.observer.last
    if why.code != ACCEPTED and now - c.machine.noted_at >= NOTE_INTERVAL:
        c.machine.noted_at = now
        note(&c.machine, NOTE_REJECTED, why.joint, why.code, why.found, why.bound, 0.0)


cdef inline bint is_last_again(const Controller* c, double now, double stamp,
                               const double* q) noexcept nogil:
    """Whether a state without a stamp, as one at time 0, is the last one again, to the bit."""
    if stamp != 0.0 or c.clock.stamp != 0.0 or now != c.clock.received:
        return False
    for i in range(c.n):
        if q[i] + c.turned[i] != c.observer.accepted_q[i]:
            return False
    return True


cdef inline bint is_timely(StateClock* clock, Observer* o, double state_timeout, double now,
                           double stamp, double on_its_way, bint again) noexcept nogil:
    """Whether a state is newer than the last and was not on its way for too long."""
    o.last = because(ACCEPTED, -1, 0.0, 0.0)
    watch_clocks(clock, now, on_its_way)
    if again or is_old(clock, now, stamp):
        o.last = because(NOT_NEWER, -1, stamp, clock.newest)
        note_old(clock, now, stamp, state_timeout)
    else:
        clock.newest = stamp
        late = lateness(clock, now, on_its_way)
        if late > state_timeout:
            o.last = because(LATE, -1, late, state_timeout)
    o.rejected[<int> o.last.code] += o.last.code != ACCEPTED
    return o.last.code == ACCEPTED


cdef inline bint is_awaited(Controller* c, double now, double stamp, double on_its_way,
                            const double* q) noexcept nogil:
    """Whether a state is one to take: the controller is active, the state new and in time."""
    if c.machine.phase == INACTIVE or is_of_before(&c.clock, now, on_its_way):
        return False
    if is_timely(&c.clock, &c.observer, c.arm.settings.state_timeout, now, stamp, on_its_way,
                 is_last_again(c, now, stamp, q)):
        return True
    if now > c.clock.received:          # else simulated time stands, and its owner repeats a state
        note_rejection(c, now)
    return False


cdef inline bint observe_arm(Controller* c, double now, double stamp, double on_its_way, bint live,
                             double* q, const double* qd) noexcept nogil:
    """Bring the estimate of the arm's state up to a joint state; returns whether there is one."""
    cdef StateClock* clock = &c.clock
    cdef Observer* o = &c.observer
    cdef double state_timeout = c.arm.settings.state_timeout
    for i in range(c.n):                # continuous joints may be measured modulo a turn
        if c.arm.limits.continuous[i] and o.begun and isfinite(q[i]):
            c.turned[i] = 2.0 * M_PI * round((o.q[i] - q[i]) / (2.0 * M_PI))
            q[i] += c.turned[i]
    pass_time(clock, now, stamp, on_its_way, live, state_timeout)
    # Drives that are told a position seldom are there long before the next, and stand by then.
    usable = observe_state(o, q, qd, clock.dt, clock.gap > state_timeout,
                           not (c.positions.used and held_for(clock) > 0.0), &c.arm.settings)
    if c.stuck.joint >= 0 and o.unchanged[c.stuck.joint] == 0.0:
        c.stuck.joint = -1              # it has moved
    if c.stuck.joint >= 0:
        return False
    # In a gap, commands need not have acted.
    if usable and is_tracking(&c.machine) and 2.0 * clock.gap <= state_timeout:
        push_joints(&c.stuck, &c.arm, o, c.task.desired, c.task.presliding, c.sent.contact,
                    clock.dt)
    else:
        c.stuck.begins = True
    return usable


cdef inline void advance_estimate(Controller* c, double age) noexcept nogil:
    """Advance the estimate to an age [s] after the last state, by the model under the commands that
    have acted since (their mean), and what a contact bears: so the law sees the arm of now, where
    states come late or commands go by the timer.
    """
    cdef Observer* o = &c.observer
    cdef double duration = age - o.advanced - o.ahead
    if duration <= 0.0:
        return
    if o.ahead == 0.0:
        memcpy(o.at_state, o.q, 2 * o.n * sizeof(double))
    dead_reckoning(&c.arm, c.sent.acting, c.sent.contact, duration, o.q)
    o.ahead += duration


cdef inline bint is_repeated_for_us(const Controller* c, double now) noexcept nogil:
    """Whether simulated time stands, and its owner repeats the first state: no other will come."""
    return (c.machine.phase == WAITING and now == c.clock.received
            and is_repetition(&c.observer.last))


cdef inline bint confirm(Controller* c, const double* q, const double* qd) noexcept nogil:
    """Believe the only state that there is; or look at it anew: settings may have changed."""
    if not c.observer.begun:
        return observe_state(&c.observer, q, qd, 0.0, False, True, &c.arm.settings)
    c.observer.confirmed = True
    c.observer.accepted += 1
    return True


cdef inline bint go_on(Controller* c, double now, const Before* before,
                       const double* effort) noexcept nogil:
    """Change the phase as a usable state asks for; returns whether a command may follow."""
    cdef double state_timeout = c.arm.settings.state_timeout, dt = c.clock.time - before.time
    cdef Reason gap = because(CAUSE_GAP, -1, dt, state_timeout)
    if c.machine.phase == WAITING or c.machine.phase == SILENT:
        return begin_commands(c, now, effort)
    if before.is_open_loop:
        if not (c.observer.confirmed or c.observer.reset):
            return False
        take_over(c, now)
    elif c.machine.phase == HOLDING and c.observer.confirmed and not before.is_confirmed:
        begin_tracking(c)       # the state from which the hold began may have been wrong
    elif min(now - before.received, dt) > state_timeout:
        # As if the watchdog had run in between: the motion would be far ahead of the arm.
        respond(c, now, &gap)
    return True


cdef inline bint command_for_estimate(Controller* c, double now, double dt) noexcept nogil:
    """Command for the estimate, dt [s] after the last command; returns whether there is one."""
    if is_tracking(&c.machine) and c.sent.has_begun:
        # Damping without a desired position is chosen for late states.
        advance_estimate(c, c.clock.late)
    return (command(c, now, c.clock.time, dt)
            or (is_open_loop(&c.machine) and open_loop_command(c, now)))


cdef inline bint take_state(Controller* c, double now, double stamp, double on_its_way, bint live,
                            double* q, const double* qd, const double* effort) noexcept nogil:
    """Answer a joint state; returns whether there is a command. stamp: [s], 0: none; on_its_way:
    [s] by two clocks, NaN: unknown; live: the arm has moved meanwhile, not a simulation's; q: gets
    whole turns added; qd, effort: NaN where not measured.
    """
    cdef Before before
    cdef const Reason* last = &c.observer.last
    before.received, before.time = c.clock.received, c.clock.time
    before.commanded = c.sent.at if c.sent.has_begun else -INFINITY
    before.is_confirmed, before.is_open_loop = c.observer.confirmed, is_open_loop(&c.machine)
    c.updated, c.stalled = now, False
    if is_awaited(c, now, stamp, on_its_way, q):
        usable = observe_arm(c, now, stamp, on_its_way, live, q, qd)
        note_rejection(c, now)
    elif is_repeated_for_us(c, now):
        usable = confirm(c, q, qd)
    else:
        return False
    if usable:
        return (go_on(c, now, &before, effort) and not c.arm.settings.on_timer
                and command_for_estimate(
                    c, now, now - before.commanded
                    if before.is_open_loop or before.commanded > before.received
                    else max(c.clock.time - before.time, 0.0)))
    if answers_states(&c.machine) and c.observer.begun:
        # A joint had no usable position for too long, or does not move.
        unseen = because(CAUSE_FROZEN if last.code == REPEATED else CAUSE_NO_POSITION, last.joint,
                         oldest(&c.observer), c.arm.settings.state_timeout)
        respond(c, now, &unseen)
        return is_open_loop(&c.machine) and open_loop_command(c, now)
    return False


cdef inline void watch_executor(Controller* c, double now) noexcept nogil:
    """Hold the arm if Python gives no sign of life: nobody could ask for a stop."""
    cdef double age = now - c.heartbeat, bound = c.arm.settings.executor_timeout
    cdef Reason reason = because(CAUSE_EXECUTOR, -1, age, bound)
    if c.machine.phase == TRAJECTORY or c.machine.phase == REFERENCE:
        if age > bound > 0.0:
            respond(c, now, &reason)


cdef inline double goes_on_at(const Controller* c) noexcept nogil:
    """Steady time from which commands go on without joint states, by the model; not where nothing
    is asked for and drives follow positions: they stand by themselves.
    """
    cdef const StateMachine* m = &c.machine
    if not (c.sent.has_begun and answers_states(m)) or (c.positions.used and not is_tracking(m)):
        return INFINITY
    return overdue_at(&c.clock, c.arm.settings.state_timeout)


cdef inline bint check_age(Controller* c, double now) noexcept nogil:
    """Check every period how long the arm is unseen; returns whether there is a command."""
    cdef bint stalled_before = c.stalled
    cdef double age = now - c.clock.received + missing_for(&c.observer)
    cdef double bound = c.arm.settings.state_timeout
    cdef Reason reason = because(CAUSE_NO_STATES, -1, age, bound)
    c.stalled = now - c.updated > STALL * c.arm.settings.period
    c.updated = now
    # After a stall of this process, states that have arrived are not read yet; at the next call
    # they are.
    if answers_states(&c.machine) and age > bound and (stalled_before or not c.stalled):
        respond(c, now, &reason)
    watch_executor(c, now)
    if (answers_states(&c.machine) and c.arm.settings.on_timer) or (
            not c.stalled and now >= goes_on_at(c)):
        if c.sent.has_begun:
            advance_estimate(c, age_of_state(&c.clock, now))
        if command(c, now, c.clock.time + now - c.clock.received, now - c.sent.at):
            return True
    if not is_open_loop(&c.machine):
        return False
    if not is_over(c, now):
        return open_loop_command(c, now)
    give_up(c)
    return False

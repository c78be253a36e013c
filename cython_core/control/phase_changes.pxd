# All changes of phase: each event (the table in featherstone_ros/control/phases.py), and what the
# controller begins with it. Nothing else fires events.
#
# An event with a cause is the answer to something that is wrong; ``respond`` looks it up in the
# table of featherstone_ros/control/causes.py.

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from control.arm cimport drives_end_effector, floats_free, is_same, leads_end_effector
from control.cartesian_mode cimport begin_mode, is_idle, stop_target
from control.controller_state cimport (Controller, SetPoints, StateMachine, begin_supervision, fire,
                                       is_open_loop, is_tracking, note_cause, time_of_command,
                                       usual_step)
from control.events cimport (ABANDON_MOTION, CAUSE_EXECUTOR, CAUSE_FROZEN, CAUSE_GAP,
                             CAUSE_NOT_FINITE, CAUSE_NO_WRENCH, CAUSE_STUCK, DECLARE_FAULT,
                             HOLD_BY_GRAVITY, LEAVE, NO_CAUSE, STOP_OPEN_LOOP, Action, Reason)
from control.fault_bounds cimport AWAITED, CATCH_UP_SPEED, SETTLING_TIME, STANDING, STANDING_SPEED
from control.measured_wrench cimport measure_anew
from control.motion cimport (TAKEOVER, follow_set_point, leads_to_rest, runs_into_limit, sample,
                             stop_from)
from control.phases cimport (ABANDON, ACTIVATE, ARRIVED, DAMPED, DEACTIVATE, FAIL, FALL_BACK, FAULT,
                             FLOAT, FLOATING, FOLLOW, GIVE_UP, HOLD, HOLDING, INACTIVE, OPEN_LOOP,
                             RECOVER, REFERENCE, SETTLED, SETTLING, SET_POINT, SET_POINTS_STOPPED,
                             STATE, STATES_STOPPED, STOPPED, STOPPING, TRACK)
from control.settings cimport FEEDBACK_SPRING, LEADS_END_EFFECTOR, Mode
from control.state_clock cimport start_clock
from control.state_observer cimport Observer, forget, max_speed_share, seen_state, trust_velocities
from control.torque_governor cimport begin_transfer, is_missed, push_no_further


# How the arm comes to rest.

cdef inline void stop_desired(Controller* c, double time) noexcept nogil:
    """Come to rest from the desired state; time: the controller's."""
    if leads_end_effector(&c.arm):
        stop_target(&c.task.cartesian, c.arm.settings.stop_time)
        begin_transfer(&c.sent.governor, c.arm.settings.blend_time)
    sample(&c.task.motion, time, c.task.state)
    stop_from(&c.task.motion, time, c.task.state, c.arm.settings.stop_time)


cdef inline void hold_from(Controller* c, const double* q, const double* qd) noexcept nogil:
    """Come to rest from a position and velocity (n,)."""
    cdef double stop_time = c.arm.settings.stop_time, time = time_of_command(c)
    memset(c.task.state, 0, 4 * c.n * sizeof(double))
    memcpy(c.task.state, q, c.n * sizeof(double))
    memcpy(c.task.state + c.n, qd, c.n * sizeof(double))
    stop_from(&c.task.motion, time, c.task.state, stop_time)
    c.stuck.begins = True
    sample(&c.task.motion, time, c.task.desired)
    memcpy(c.task.driven, c.task.desired + c.n, c.n * sizeof(double))
    if leads_end_effector(&c.arm):
        begin_mode(&c.task.cartesian, c.arm.models.newest.model, q, qd, stop_time)
    begin_transfer(&c.sent.governor, c.arm.settings.blend_time)
    push_no_further(&c.sent.governor, qd, 1.0)


cdef inline void hold_present_state(Controller* c) noexcept nogil:
    """Come to rest from where the arm is, or where drives that follow positions were told."""
    if c.positions.used and c.sent.has_begun:
        hold_from(c, c.positions.q, c.positions.qd)
    else:
        hold_from(c, c.observer.q, c.observer.qd)


cdef inline void begin_tracking(Controller* c) noexcept nogil:
    """Hold the arm where it comes to rest from its present state; after a change to HOLDING."""
    hold_present_state(c)
    begin_supervision(&c.watch, c.n)
    memset(c.sent.governor.feedback, 0, 2 * c.n * sizeof(double))
    if floats_free(&c.arm):
        fire(&c.machine, FLOAT)


cdef inline void brake(Controller* c) noexcept nogil:
    """Come to rest from the present state, then be damped: the torque that brakes an arm would
    throw it if it faded as slowly as decay_time.
    """
    hold_present_state(c)
    c.machine.brakes = True


cdef inline void begin_hold(Controller* c, double now, double decay_time) noexcept nogil:
    """Begin to hold the arm without a desired position."""
    c.machine.held_since, c.task.has_planned_stop = now, False
    c.machine.brakes = c.machine.bears = False
    memset(c.task.desired + 2 * c.n, 0, 2 * c.n * sizeof(double))
    begin_transfer(&c.sent.governor, decay_time)


cdef inline void settle(Controller* c, double now) noexcept nogil:
    """Be held on the way out, wherever the arm is and however it moves; without feedback in a mode
    that has none, or after a fault, of which it may be the cause.
    """
    if floats_free(&c.arm) or c.machine.fault.code != NO_CAUSE:
        begin_hold(c, now, 0.0)
    else:
        c.machine.held_since = now
        brake(c)


# What follows a cause.

cdef inline bint begin_open_loop_stop(Controller* c, double now,
                                      const Reason* reason) noexcept nogil:
    """Begin to brake the arm by the model: its joint states do not tell where it is. What the
    feedback of a joint that does not move has asked for was wrong: it ends without a transfer.
    """
    cdef bint is_stuck = reason.code == CAUSE_STUCK
    if not fire(&c.machine, STATES_STOPPED):
        return False
    note_cause(&c.machine, reason)
    begin_hold(c, now, 0.0 if is_stuck else c.arm.settings.decay_time)
    if is_stuck or reason.code == CAUSE_FROZEN:
        c.stuck.joint = reason.joint
    return True


cdef inline bint declare_fault(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Begin a fault, which only a request ends; on the way out it ends the feedback. No transfer
    from the last command, which is part of what went wrong: only the rate limit remains.
    """
    cdef bint ends = c.machine.phase == SETTLING and c.machine.brakes
    if not ends and not fire(&c.machine, FAIL):
        return False
    note_cause(&c.machine, reason)
    c.machine.fault = reason[0]
    begin_hold(c, now, 0.0)
    begin_supervision(&c.watch, c.n)
    c.watch.braked_from = max_speed_share(&c.observer)
    return True


cdef inline bint abandon(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Give the motion up and come to rest; returns whether there was one."""
    if not fire(&c.machine, ABANDON):
        return False
    note_cause(&c.machine, reason)
    if c.machine.phase == SETTLING:                             # it did not follow its stop
        settle(c, now)
    elif reason.code == CAUSE_EXECUTOR:                        # the arm is on its path
        stop_desired(c, time_of_command(c))
    elif reason.code == CAUSE_NO_WRENCH:                       # the virtual arm comes to rest
        c.task.cartesian.is_anchored = False
    else:
        # A trajectory's own effort has probably led the arm off it, or presses on what holds it:
        # the transfer leaves it out.
        for i in range(c.n):
            c.sent.governor.noise[i] += c.task.desired[3 * c.n + i]
        if c.positions.used and reason.code == CAUSE_GAP:       # the drives stood
            hold_from(c, c.positions.q, c.zero)
        else:                                                   # they need not have followed
            hold_from(c, c.observer.q, c.observer.qd)
    return True


cdef inline void stop_motion(Controller* c) noexcept nogil:
    """Come to rest, whatever the arm follows."""
    if drives_end_effector(&c.arm):                             # its target may be far away
        hold_present_state(c)
    elif leads_end_effector(&c.arm):
        hold_from(c, c.task.desired, c.task.desired + c.n)
    else:
        stop_desired(c, time_of_command(c))


cdef inline bint fall_back(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Abandon the motion for the damped gravity hold, for decay_time from the last call; returns
    whether this begins it. A motion comes to rest first, if there is torque for it: that would fade
    out meanwhile and throw the arm.
    """
    cdef StateMachine* m = &c.machine
    cdef bint cannot = reason.code == CAUSE_NOT_FINITE
    cdef bint moves = is_tracking(m) and not cannot, stops = m.phase == STOPPING
    cdef bint begins = fire(m, FALL_BACK)
    m.fallen, m.hold_until = reason[0], now + c.arm.settings.decay_time
    if begins:
        note_cause(m, reason)
    if begins and moves:
        if not stops:
            stop_motion(c)
        m.brakes = True
    elif begins or (m.brakes and cannot):
        begin_hold(c, now, c.arm.settings.decay_time)
    return begins


cdef inline bint leave(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Come to rest; then the commands end. Returns whether they had not been ending."""
    cdef bint floated = c.machine.phase == FLOATING
    if not fire(&c.machine, DEACTIVATE):
        return False
    note_cause(&c.machine, reason)
    if c.machine.phase == STOPPING:
        stop_motion(c)
    elif floated:
        begin_hold(c, now, c.arm.settings.decay_time)
    if c.machine.phase == INACTIVE:
        c.sent.has_begun = False
    elif not is_open_loop(&c.machine):
        c.machine.held_since = now
    return True


cdef inline bint respond(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Do what the table of causes says; returns whether that changes the phase."""
    cdef Action action = <Action> c.machine.action[<int> reason.code]
    if action == DECLARE_FAULT:
        return declare_fault(c, now, reason)
    if action == HOLD_BY_GRAVITY:
        return fall_back(c, now, reason)
    if action == STOP_OPEN_LOOP:
        return begin_open_loop_stop(c, now, reason)
    if action == ABANDON_MOTION:
        return abandon(c, now, reason)
    if action == LEAVE:
        return leave(c, now, reason)
    note_cause(&c.machine, reason)                              # it is not taken over
    return False


# What a joint state, or the time, changes.

cdef inline double standing_speed(const Observer* o, Py_ssize_t i) noexcept nogil:
    return min(STANDING * o.limits.velocity[i], STANDING_SPEED)


cdef inline bint stands(const Observer* o) noexcept nogil:
    """Whether the last state shows an arm at rest."""
    cdef const double* qd = seen_state(o) + o.n
    for i in range(o.n):
        if fabs(qd[i]) > standing_speed(o, i):
            return False
    return True


cdef inline void take_over(Controller* c, double now) noexcept nogil:
    """Begin with a state from which the arm can be held, or go on after an open-loop stop. A fault
    goes on: nobody has asked the arm to hold.
    """
    cdef bint was_open_loop = is_open_loop(&c.machine)
    fire(&c.machine, STATE)
    if c.machine.phase != HOLDING:                              # leaving
        settle(c, now)
        return
    begin_tracking(c)
    if c.machine.fault.code != NO_CAUSE:
        declare_fault(c, now, &c.machine.fault)
    if was_open_loop and now < c.machine.hold_until:
        fall_back(c, now, &c.machine.fallen)


cdef inline void give_up(Controller* c) noexcept nogil:
    """End the commands of an open-loop stop."""
    c.sent.has_begun = c.machine.phase == OPEN_LOOP
    fire(&c.machine, GIVE_UP)


cdef inline void arrive(Controller* c) noexcept nogil:
    """The trajectory has ended, and was followed."""
    fire(&c.machine, ARRIVED)
    c.watch.in_a_row = 0


cdef inline void rest_at_set_point(Controller* c, double now, double time) noexcept nogil:
    """Come to rest at the last of a stream of positions that ends: its speed was not asked for."""
    cdef SetPoints* stream = &c.task.set_points
    cdef double late = min(AWAITED * stream.period, c.arm.settings.reference_timeout)
    if not stream.is_estimated or now - stream.at <= late:
        return
    stream.is_estimated = False
    sample(&c.task.motion, time, c.task.state)
    memset(c.scratch, 0, 4 * c.n * sizeof(double))
    memcpy(c.scratch, stream.q, c.n * sizeof(double))
    memset(stream.velocity, 0, c.n * sizeof(double))
    follow_set_point(&c.task.motion, time, c.task.state, c.scratch, TAKEOVER * stream.period,
                     CATCH_UP_SPEED, usual_step(c))


cdef inline bint sinks(const Controller* c) noexcept nogil:
    """Whether the arm falls without feedback: it carries a load that the model does not know."""
    return (c.machine.phase == SETTLING and c.machine.bears and not c.machine.brakes
            and not stands(&c.observer)
            and is_missed(&c.sent.governor, seen_state(&c.observer) + c.n))


cdef inline bint let_time_pass(Controller* c, double now, double time) noexcept nogil:
    """Go over to another phase where it is time to; returns whether commands end."""
    cdef StateMachine* m = &c.machine
    cdef double decay_time = c.arm.settings.decay_time
    # An arm is held after braking until its feedback is no longer that of the motion: else that
    # would act for all of a long decay_time. A short one is over as soon.
    cdef double settling_time = SETTLING_TIME if decay_time > SETTLING_TIME else 0.0
    if (m.phase == SETTLING and now - m.held_since >= c.arm.settings.give_up_after
            and stands(&c.observer) and fire(m, SETTLED)):
        c.sent.has_begun = False
        return True
    if m.brakes and not m.bears and time >= c.task.motion.end + settling_time:
        begin_hold(c, now, decay_time)
        m.hold_until = max(m.hold_until, now + decay_time)
        m.bears = m.phase == SETTLING
    if m.phase == DAMPED and now >= m.hold_until and not m.brakes and fire(m, RECOVER):
        begin_tracking(c)
    if m.phase == STOPPING and time >= c.task.motion.end and fire(m, STOPPED):
        begin_hold(c, now, decay_time)
        m.bears = True
    if sinks(c):
        brake(c)
    if m.phase != REFERENCE:
        return False
    if leads_end_effector(&c.arm):
        if is_idle(&c.task.cartesian, now, c.arm.settings.target_timeout):
            fire(m, SET_POINTS_STOPPED)
        return False
    rest_at_set_point(c, now, time)
    if runs_into_limit(&c.task.motion, time, c.task.desired, usual_step(c)):
        stop_desired(c, time)
    if (now - c.task.set_points.at > c.arm.settings.reference_timeout
            and not leads_to_rest(&c.task.motion, time) and fire(m, SET_POINTS_STOPPED)):
        stop_desired(c, time)
    return False


# What a request changes.

cdef inline void activate(Controller* c, double now) noexcept nogil:
    """Begin with the next joint state, or go on if the arm has not come to rest yet."""
    cdef bint was_inactive = c.machine.phase == INACTIVE
    if not fire(&c.machine, ACTIVATE):
        return
    c.machine.hold.code = c.machine.fault.code = NO_CAUSE
    if was_inactive:
        forget(&c.observer)
        c.stuck.joint = -1
        start_clock(&c.clock, now)                              # clocks may have been set meanwhile
        measure_anew(&c.task.cartesian.measured, c.task.cartesian.law.settings.dead_zone)
    if c.machine.phase == HOLDING:
        begin_tracking(c)


cdef inline void hold_as_asked(Controller* c) noexcept nogil:
    """Come to rest on the path; after a fault, from the present state."""
    cdef bint was_fault = c.machine.phase == FAULT
    trust_velocities(&c.observer)
    fire(&c.machine, HOLD)
    if was_fault:
        c.machine.hold.code = c.machine.fault.code = NO_CAUSE
        c.watch.in_a_row = 0
        begin_tracking(c)
        return
    stop_desired(c, time_of_command(c))


cdef inline void begin_trajectory(Controller* c) noexcept nogil:
    trust_velocities(&c.observer)
    fire(&c.machine, FOLLOW)


cdef inline void begin_reference(Controller* c) noexcept nogil:
    """Follow a set-point of the joints, or a target of the end effector."""
    fire(&c.machine, SET_POINT)


cdef inline void change_law(Controller* c, Mode before) noexcept nogil:
    """Go over from another mode to the one in force."""
    cdef bint led_end_effector = before.leads == LEADS_END_EFFECTOR
    c.sent.leaves_end_effector |= led_end_effector and floats_free(&c.arm)
    if floats_free(&c.arm):
        fire(&c.machine, FLOAT)
        c.machine.fault.code = NO_CAUSE
    elif fire(&c.machine, TRACK):
        begin_tracking(c)
    elif (not is_same(before, c.arm.settings.mode) and c.machine.phase != FAULT
            and (led_end_effector or leads_end_effector(&c.arm))):
        fire(&c.machine, HOLD)
        if before.feedback == FEEDBACK_SPRING or drives_end_effector(&c.arm):
            begin_tracking(c)
        else:                               # drives follow late: no step in what they follow
            hold_from(c, c.task.desired, c.task.desired + c.n)

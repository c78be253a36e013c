# All changes of phase: each event (the table in featherstone_ros/control/phases.py), and what the
# controller begins with it. Nothing else fires events.
#
# An event with a cause is the answer to something that is wrong; ``respond`` looks it up in the
# table of featherstone_ros/control/causes.py.

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from control.arm cimport (Arm, drives_end_effector, floats_free, is_same, leads_end_effector)
from control.cartesian_mode cimport begin_mode, is_idle, stop_target
from control.controller_state cimport (Command, Controller, SetPoints, StateMachine,
                                       Supervision, Task, begin_supervision, fire, is_open_loop,
                                       is_tracking, note_cause, time_of_command, usual_step)
from control.events cimport (ABANDON_MOTION, CAUSE_EXECUTOR, CAUSE_FROZEN, CAUSE_GAP,
                             CAUSE_NOT_FINITE, CAUSE_NO_WRENCH, CAUSE_STUCK, DECLARE_FAULT,
                             HOLD_BY_GRAVITY, LEAVE, NO_CAUSE, STOP_OPEN_LOOP, Action, Reason)
from control.fault_bounds cimport (AWAITED, CATCH_UP_SPEED, SETTLING_TIME, STANDING,
                                   STANDING_SPEED)
from control.measured_wrench cimport measure_anew
from control.motion cimport (TAKEOVER, follow_set_point, leads_to_rest, runs_into_limit, sample,
                             stop_from)
from control.phases cimport (ABANDON, ACTIVATE, ARRIVED, DAMPED, DEACTIVATE, FAIL, FALL_BACK, FAULT,
                             FLOAT, FLOATING, FOLLOW, GIVE_UP, HOLD, HOLDING, INACTIVE, OPEN_LOOP,
                             RECOVER, REFERENCE, SETTLED, SETTLING, SET_POINT, SET_POINTS_STOPPED,
                             STATE, STATES_STOPPED, STOPPED, STOPPING, TRACK)
from control.settings cimport FEEDBACK_SPRING, LEADS_END_EFFECTOR, Mode, Settings
from control.state_clock cimport start_clock
from control.state_observer cimport (Observer, forget, max_speed_share, seen_state,
                                     trust_velocities)
from control.stuck_joints cimport StuckJoints
from control.torque_governor cimport Governor, begin_transfer, is_missed, push_no_further


# How the arm comes to rest.

cdef inline void stop_desired(Task* task, Governor* governor, const Arm* arm,
                              double time) noexcept nogil:
    """Come to rest from the desired state; time: the controller's."""
    if leads_end_effector(arm):
        stop_target(&task.cartesian, arm.settings.stop_time)
        begin_transfer(governor, arm.settings.blend_time)
    sample(&task.motion, time, task.state)
    stop_from(&task.motion, time, task.state, arm.settings.stop_time, &arm.limits)


cdef inline void hold_from(Task* task, Governor* governor, StuckJoints* stuck, const Controller* c,
                           const double* q, const double* qd) noexcept nogil:
    """Come to rest from a state; position and velocity (n,)."""
    cdef double stop_time = c.arm.settings.stop_time
    memset(task.state, 0, 4 * c.n * sizeof(double))
    memcpy(task.state, q, c.n * sizeof(double))
    memcpy(task.state + c.n, qd, c.n * sizeof(double))
    stop_from(&task.motion, time_of_command(c), task.state, stop_time, &c.arm.limits)
    stuck.begins = True
    sample(&task.motion, time_of_command(c), task.desired)
    memcpy(task.driven, task.desired + c.n, c.n * sizeof(double))
    if leads_end_effector(&c.arm):
        begin_mode(&task.cartesian, c.arm.models.newest.model, q, qd, stop_time)
    begin_transfer(governor, c.arm.settings.blend_time)
    push_no_further(governor, qd, 1.0)


cdef inline void hold_present_state(Task* task, Governor* governor, StuckJoints* stuck,
                                    const Controller* c) noexcept nogil:
    """Come to rest from the state in which the arm is.

    Drives that follow positions bring it to where they were told.
    """
    if c.positions.used and c.sent.has_begun:
        hold_from(task, governor, stuck, c, c.positions.q, c.positions.qd)
    else:
        hold_from(task, governor, stuck, c, c.observer.q, c.observer.qd)


cdef inline void begin_tracking(Controller* c) noexcept nogil:
    """Hold the arm where it comes to rest from its present state; after a change of phase to
    HOLDING.
    """
    hold_present_state(&c.task, &c.sent.governor, &c.stuck, c)
    begin_supervision(&c.watch, c.n)
    memset(c.sent.governor.feedback, 0, 2 * c.n * sizeof(double))
    if floats_free(&c.arm):
        fire(&c.machine, FLOAT)


cdef inline void brake(Controller* c) noexcept nogil:
    """Come to rest from the present state, then be damped: the torque that brakes an arm would
    throw it if it faded as slowly as decay_time.
    """
    hold_present_state(&c.task, &c.sent.governor, &c.stuck, c)
    c.machine.brakes = True


cdef inline void begin_hold(StateMachine* m, Task* task, Governor* governor, double now,
                            double decay_time) noexcept nogil:
    """Begin to hold the arm without a desired position."""
    cdef Py_ssize_t n = task.motion.n
    m.held_since, task.has_planned_stop = now, False
    m.brakes = m.bears = False
    memset(task.desired + 2 * n, 0, 2 * n * sizeof(double))
    begin_transfer(governor, decay_time)


cdef inline void settle(Controller* c, double now) noexcept nogil:
    """Be held on the way out, wherever the arm is and however it moves; without feedback in a mode
    that has none, or after a fault, of which it may be the cause.
    """
    if floats_free(&c.arm) or c.machine.fault.code != NO_CAUSE:
        begin_hold(&c.machine, &c.task, &c.sent.governor, now, 0.0)
    else:
        c.machine.held_since = now
        brake(c)


# What follows a cause.

cdef inline bint begin_open_loop_stop(StateMachine* m, Task* task, Governor* governor,
                                      StuckJoints* stuck, double decay_time, double now,
                                      const Reason* reason) noexcept nogil:
    """Begin to brake the arm by the model: its joint states do not tell where it is.

    What the feedback of a joint that does not move has asked for was wrong: it ends without a
    transfer.
    """
    cdef bint is_stuck = reason.code == CAUSE_STUCK
    if not fire(m, STATES_STOPPED):
        return False
    note_cause(m, reason)
    begin_hold(m, task, governor, now, 0.0 if is_stuck else decay_time)
    if is_stuck or reason.code == CAUSE_FROZEN:
        stuck.joint = reason.joint
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
    begin_hold(&c.machine, &c.task, &c.sent.governor, now, 0.0)
    begin_supervision(&c.watch, c.n)
    c.watch.braked_from = max_speed_share(&c.observer)
    return True


cdef inline void rest_off_path(Task* task, Governor* governor, StuckJoints* stuck,
                               const Controller* c, bint follows_positions) noexcept nogil:
    """Come to rest from the present state, which need not be on the path.

    A trajectory's own effort has probably led the arm off it, or presses on what holds it: the
    transfer leaves it out.
    """
    for i in range(c.n):
        governor.noise[i] += task.desired[3 * c.n + i]
    if follows_positions:
        hold_from(task, governor, stuck, c, c.positions.q, c.zero)
    else:
        hold_from(task, governor, stuck, c, c.observer.q, c.observer.qd)


cdef inline bint abandon(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Give the motion up and come to rest; returns whether there was one."""
    if not fire(&c.machine, ABANDON):
        return False
    note_cause(&c.machine, reason)
    if c.machine.phase == SETTLING:                             # it did not follow its stop
        settle(c, now)
    elif reason.code == CAUSE_EXECUTOR:                        # the arm is on its path
        stop_desired(&c.task, &c.sent.governor, &c.arm, time_of_command(c))
    elif reason.code == CAUSE_NO_WRENCH:                       # the virtual arm comes to rest
        c.task.cartesian.is_anchored = False
    else:       # in a gap drives that follow positions stood; else they need not have followed
        rest_off_path(&c.task, &c.sent.governor, &c.stuck, c,
                      c.positions.used and reason.code == CAUSE_GAP)
    return True


cdef inline void stop_motion(Controller* c) noexcept nogil:
    """Come to rest, whatever the arm follows."""
    if drives_end_effector(&c.arm):                             # its target may be far away
        hold_present_state(&c.task, &c.sent.governor, &c.stuck, c)
    elif leads_end_effector(&c.arm):
        hold_from(&c.task, &c.sent.governor, &c.stuck, c, c.task.desired, c.task.desired + c.n)
    else:
        stop_desired(&c.task, &c.sent.governor, &c.arm, time_of_command(c))


cdef inline bint fall_back(Controller* c, double now, const Reason* reason) noexcept nogil:
    """Abandon the motion for the damped gravity hold, which lasts at least decay_time from the last
    call; returns whether this begins it.

    A motion comes to rest first, since its torque would fade out meanwhile and throw the arm; but
    not where there is no torque for it.
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
        begin_hold(m, &c.task, &c.sent.governor, now, c.arm.settings.decay_time)
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
        begin_hold(&c.machine, &c.task, &c.sent.governor, now, c.arm.settings.decay_time)
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
        return begin_open_loop_stop(&c.machine, &c.task, &c.sent.governor, &c.stuck,
                                    c.arm.settings.decay_time, now, reason)
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


cdef inline void give_up(StateMachine* m, Command* sent) noexcept nogil:
    """End the commands of an open-loop stop."""
    sent.has_begun = m.phase == OPEN_LOOP
    fire(m, GIVE_UP)


cdef inline void arrive(StateMachine* m, Supervision* watch) noexcept nogil:
    """The trajectory has ended, and was followed."""
    fire(m, ARRIVED)
    watch.in_a_row = 0


cdef inline void rest_at_set_point(Task* task, const Controller* c, double now,
                                   double time) noexcept nogil:
    """Come to rest at the last set-point of a stream of positions when the next one fails to come:
    the velocity was not what was asked for.
    """
    cdef SetPoints* stream = &task.set_points
    cdef double late = min(AWAITED * stream.period, c.arm.settings.reference_timeout)
    if not stream.is_estimated or now - stream.at <= late:
        return
    stream.is_estimated = False
    sample(&task.motion, time, task.state)
    memset(c.scratch, 0, 4 * c.n * sizeof(double))
    memcpy(c.scratch, stream.q, c.n * sizeof(double))
    memset(stream.velocity, 0, c.n * sizeof(double))
    follow_set_point(&task.motion, time, task.state, c.scratch, TAKEOVER * stream.period,
                     CATCH_UP_SPEED, usual_step(c), &c.arm.limits)


cdef inline bint sinks(const Controller* c) noexcept nogil:
    """Whether the arm, which feedback had brought to rest, falls without it: it carries a load of
    which the model does not know.
    """
    return (c.machine.phase == SETTLING and c.machine.bears and not c.machine.brakes
            and not stands(&c.observer)
            and is_missed(&c.sent.governor, seen_state(&c.observer) + c.n))


cdef inline double settling_time(const Settings* settings) noexcept nogil:
    """For how long an arm is held after braking [s], until its feedback is no longer that of the
    motion: else that would act for all of a long decay_time. A short one is over as soon.
    """
    return SETTLING_TIME if settings.decay_time > SETTLING_TIME else 0.0


cdef inline bint let_time_pass(Controller* c, double now, double time) noexcept nogil:
    """Go over to another phase where it is time to; returns whether commands end."""
    cdef bint is_over = now - c.machine.held_since >= c.arm.settings.give_up_after
    if (c.machine.phase == SETTLING and is_over and stands(&c.observer)
            and fire(&c.machine, SETTLED)):
        c.sent.has_begun = False
        return True
    if (c.machine.brakes and not c.machine.bears
            and time >= c.task.motion.end + settling_time(&c.arm.settings)):
        begin_hold(&c.machine, &c.task, &c.sent.governor, now, c.arm.settings.decay_time)
        c.machine.hold_until = max(c.machine.hold_until, now + c.arm.settings.decay_time)
        c.machine.bears = c.machine.phase == SETTLING
    if (c.machine.phase == DAMPED and now >= c.machine.hold_until and not c.machine.brakes
            and fire(&c.machine, RECOVER)):
        begin_tracking(c)
    if c.machine.phase == STOPPING and time >= c.task.motion.end and fire(&c.machine, STOPPED):
        begin_hold(&c.machine, &c.task, &c.sent.governor, now, c.arm.settings.decay_time)
        c.machine.bears = True
    if sinks(c):
        brake(c)
    if c.machine.phase == REFERENCE and not leads_end_effector(&c.arm):
        rest_at_set_point(&c.task, c, now, time)
        if runs_into_limit(&c.task.motion, time, c.task.desired, usual_step(c), &c.arm.limits):
            stop_desired(&c.task, &c.sent.governor, &c.arm, time)
    if (c.machine.phase == REFERENCE and not leads_end_effector(&c.arm)
            and now - c.task.set_points.at > c.arm.settings.reference_timeout
            and not leads_to_rest(&c.task.motion, time) and fire(&c.machine, SET_POINTS_STOPPED)):
        stop_desired(&c.task, &c.sent.governor, &c.arm, time)
    if (c.machine.phase == REFERENCE and leads_end_effector(&c.arm)
            and is_idle(&c.task.cartesian, now, c.arm.settings.target_timeout)):
        fire(&c.machine, SET_POINTS_STOPPED)
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
    stop_desired(&c.task, &c.sent.governor, &c.arm, time_of_command(c))


cdef inline void begin_trajectory(StateMachine* m, Observer* o) noexcept nogil:
    trust_velocities(o)
    fire(m, FOLLOW)


cdef inline void begin_reference(StateMachine* m) noexcept nogil:
    """Follow a set-point of the joints, or a target of the end effector."""
    fire(m, SET_POINT)


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
            hold_from(&c.task, &c.sent.governor, &c.stuck, c, c.task.desired,
                      c.task.desired + c.n)

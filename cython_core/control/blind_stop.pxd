# What happens when joint states stop: the model brakes the arm, from where it must be by now, and
# holds it; when states return, the controller goes on.

from libc.string cimport memcpy, memset

from control.command cimport issue_command
from control.controller_state cimport Controller, fire, note_cause
from control.dead_reckoning cimport add_reckoned, dead_reckoning
from control.events cimport CAUSE_FROZEN, CAUSE_NO_STATES
from control.faults cimport return_to_fault
from control.laws cimport damped_gravity, motion_torque, slide
from control.model_blend cimport pass_time
from control.motion cimport sample
from control.phases cimport FALL_BACK, HOLDING, STATE, STATES_STOPPED
from control.state_estimate cimport best_estimate, seen_since
from control.stop cimport begin_hold, begin_tracking, stop_motion
from control.torque_governor cimport begin_transfer, transfer_left
from control.validator_state cimport CONTRADICTORY, Judgement, is_frozen


cdef inline void go_blind(Controller* c, double now, double age) noexcept nogil:
    """Begin the blind stop; age: of the last good state [s]."""
    cdef const Judgement* frozen = &c.validator.frozen
    if not fire(c, STATES_STOPPED):
        return
    if is_frozen(&c.validator):
        note_cause(c, CAUSE_FROZEN, frozen.joint, frozen.found, frozen.bound)
        begin_hold(c, now)
        begin_transfer(&c.governor, 0.0)  # what the feedback asked for was wrong
    else:
        note_cause(c, CAUSE_NO_STATES, -1, age, c.settings.state_timeout)
        begin_hold(c, now)


cdef inline void expect(Controller* c, double now) noexcept nogil:
    """Plan the motion that brings the arm to rest from where it must be by now, in steady time.

    Since the last good state it has been under the last command.
    """
    cdef double age = now - seen_since(&c.validator)
    cdef Py_ssize_t i
    memset(c.state, 0, 4 * c.n * sizeof(double))
    best_estimate(&c.validator, c.state, c.state + c.n)
    if is_frozen(&c.validator) and not c.reckoning.begins:
        add_reckoned(&c.reckoning, &c.settings, c.desired, c.state, c.state + c.n)
        age -= c.reckoning.until
    memcpy(c.expected, c.state, c.n * sizeof(double))
    dead_reckoning(&c.settings, &c.models, c.governor.command,
                   min(age, c.settings.state_timeout + c.settings.period), c.state, c.offset)
    for i in range(c.n):
        c.state[i] = min(max(c.state[i], min(c.limits.lower[i], c.expected[i])),
                         max(c.limits.upper[i], c.expected[i]))
    if is_frozen(&c.validator):                                 # the last command is wrong
        memset(c.state + 2 * c.n, 0, c.n * sizeof(double))
    stop_motion(c, now, c.state)
    c.expects = True


cdef inline bint blind_command(Controller* c, double now) noexcept nogil:
    """Brake the arm by the model; without blind_stop, hold it by gravity and damping that decays.

    It decays because it is for the likely velocity, which grows old.
    """
    cdef double dt = now - c.commanded
    cdef Py_ssize_t i
    pass_time(&c.models, dt)
    if c.settings.blind_stop:
        if not c.expects:
            expect(c, now)
        sample(&c.motion, now, c.desired)
        slide(&c.settings, c.n, c.desired + c.n, dt, c.presliding)
        motion_torque(&c.settings, &c.models, c.n, c.desired, c.presliding, c.torque)
        if (c.validator.last.rejection == CONTRADICTORY
                and now - c.validator.compared_at < c.settings.state_timeout):
            for i in range(c.n):                                # positions show how well it brakes
                c.torque[i] += (c.settings.fault_damping[i]
                                * (c.desired[c.n + i] - c.validator.shown[i]))
    else:
        damped_gravity(&c.settings, &c.models, c.n, c.validator.likely_q, c.validator.likely_qd,
                       transfer_left(&c.governor), c.torque)
    return issue_command(c, now, dt, c.torque)


cdef inline bint has_stopped_frozen(const Controller* c, double now) noexcept nogil:
    """Whether a blind stop from frozen positions is over. The torque for the expected position need
    not hold the arm where it really is.
    """
    return is_frozen(&c.validator) and c.expects and now >= c.motion.end


cdef inline void resume(Controller* c, double now) noexcept nogil:
    """Go on when states have returned."""
    fire(c, STATE)
    if c.phase != HOLDING:                                      # leaving
        begin_hold(c, now)
        return
    begin_tracking(c)
    return_to_fault(c, now)
    if now < c.hold_until and fire(c, FALL_BACK):
        note_cause(c, c.fallen.cause, c.fallen.joint, c.fallen.found, c.fallen.bound)
        begin_hold(c, now)

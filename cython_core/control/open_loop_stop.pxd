# The open-loop stop (phases OPEN_LOOP and LEAVING_OPEN_LOOP): without joint states that tell where
# the arm is, the model brakes it from where it must be by now, and holds it. Class 1 of
# docs/faults.md.
#
# The estimate of the arm's state goes on under the same motion, so that states which return are
# compared with it.

from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy, memset

from control.arm cimport pass_time
from control.command cimport issue_command, longest_step
from control.controller_state cimport Controller
from control.events cimport CAUSE_STUCK
from control.fault_bounds cimport EFFORT_SHARE, LESS, LONGER, SHORTEST_OPEN_LOOP, STOP_LOOKS
from control.laws cimport damped_gravity, dead_reckoning, motion_torque, slide
from control.motion cimport sample, stop_from
from control.position_governor cimport drive_acceleration, speed_at_rest
from control.settings cimport JointLimits, JointSettings, within_joint
from control.state_clock cimport age_of_state
from control.state_observer cimport Observer, return_to_state
from control.stuck_joints cimport add_expected
from control.torque_governor cimport transfer_left


cdef inline void reckon(Controller* c, double now) noexcept nogil:
    """Find ``state``, in which the arm must be by now. Since the last joint state it has been under
    the last command, and in the contact measured then; drives that follow positions have brought it
    there, and stand while no command comes.
    """
    cdef const Observer* o = &c.observer
    cdef double age = age_of_state(&c.clock, now) - o.advanced - o.ahead
    cdef double idle = now - c.sent.at - longest_step(c)
    cdef double* state = c.task.state
    cdef double* speed = c.task.state + c.n
    cdef bint is_stuck = c.machine.hold.code == CAUSE_STUCK
    memset(state, 0, 4 * c.n * sizeof(double))
    memcpy(state, c.positions.q if c.positions.used else o.q, 2 * c.n * sizeof(double))
    if c.positions.used:
        for i in range(c.n):
            speed[i] = speed_at_rest(speed[i], drive_acceleration(&c.arm.limits, i), idle)
        return
    if is_stuck:
        add_expected(&c.stuck, &c.arm, c.task.desired, state, speed)
    dead_reckoning(&c.arm, c.sent.governor.command, c.sent.contact,
                   min(age, c.arm.settings.state_timeout + c.arm.settings.period), state)
    for i in range(c.n):
        state[i] = within_joint(&c.arm.limits, i, o.q[i], state[i])
    if is_stuck:                                                # the last command is wrong
        memset(state + 2 * c.n, 0, c.n * sizeof(double))


cdef inline double effort_share(Controller* c, double now, double duration) noexcept nogil:
    """Plan a stop from ``state``; returns the largest share it takes of effort or torque rate."""
    cdef const JointSettings* joints = &c.arm.joints
    cdef double* desired = c.task.desired
    cdef double* torque = c.scratch
    cdef double* before = c.scratch + c.n
    cdef double share = 0.0
    cdef JointLimits limits = c.arm.limits
    # Its efforts are looked at here, in the posture in which it is: they say how short it may be.
    limits.velocity = limits.acceleration = limits.deceleration = limits.jerk = c.unlimited
    c.task.motion.limits = &limits
    stop_from(&c.task.motion, now, c.task.state, duration)
    c.task.motion.limits = &c.arm.limits
    step = (c.task.motion.end - now) / STOP_LOOKS
    for k in range(STOP_LOOKS):
        sample(&c.task.motion, now + k * step, desired)
        motion_torque(&c.arm, desired, c.task.presliding, torque)
        if k > 0:
            for i in range(c.n):
                share = max(share, fabs(torque[i]) / joints.effort_limit[i],
                            fabs(torque[i] - before[i]) / (joints.torque_rate[i] * step))
        memcpy(before, torque, c.n * sizeof(double))
    return share


cdef inline void plan_stop(Controller* c, double now) noexcept nogil:
    """Plan the motion that brings the arm to rest from where it must be, in steady time: as nobody
    sees whether it follows, as short as effort limits allow, or as longer ones would not help.
    """
    cdef double duration = SHORTEST_OPEN_LOOP, before = INFINITY
    reckon(c, now)
    share = effort_share(c, now, duration)
    while share > EFFORT_SHARE and share < LESS * before:
        before, duration = share, LONGER * duration
        share = effort_share(c, now, duration)
    c.task.has_planned_stop = True


cdef inline bint open_loop_command(Controller* c, double now) noexcept nogil:
    """Brake the arm by the model; without blind_stop hold it by gravity and fading damping."""
    cdef Observer* o = &c.observer
    cdef double* desired = c.task.desired
    cdef double dt = now - c.sent.at
    pass_time(&c.arm.models, dt)
    if c.arm.settings.blind_stop:
        if not c.task.has_planned_stop:
            plan_stop(c, now)
        sample(&c.task.motion, now, desired)
        slide(c.n, desired + c.n, c.arm.settings.presliding_displacement, dt, c.task.presliding)
        motion_torque(&c.arm, desired, c.task.presliding, c.sent.torque)
        if o.confirmed:     # else a state has come again, and the next one is compared with that
            memcpy(o.q, desired, 3 * c.n * sizeof(double))
            o.advanced, o.ahead = age_of_state(&c.clock, now), 0.0
    else:
        return_to_state(o)
        damped_gravity(&c.arm, o.q, transfer_left(&c.sent.governor), c.sent.torque)
    return issue_command(c, now, dt)


cdef inline bint is_over(const Controller* c, double now) noexcept nogil:
    """Whether commands end: give_up_after the end of the stop; with a joint that does not move at
    that end, since the torque for where it should be need not hold it where it is.
    """
    cdef double hold = c.arm.settings.give_up_after
    if not c.arm.settings.blind_stop:
        return now - c.machine.held_since >= c.arm.settings.decay_time + hold
    return (c.task.has_planned_stop
            and now >= c.task.motion.end + (0.0 if c.stuck.joint >= 0 else hold))

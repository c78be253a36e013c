# What is watched while joint states are answered. Each condition is the cause of an action, by the
# table of featherstone_ros/control/causes.py; of several the worst action is taken. What is done
# when states stop is in open_loop_stop.pxd.

from libc.math cimport fabs

from control.arm cimport drives_end_effector, leads_end_effector, moves_virtual_arm
from control.controller_state cimport Controller, Supervision, is_tracking
from control.events cimport (CAUSE_CONTACT_INSTABILITY, CAUSE_HELD, CAUSE_INCONSISTENT_VELOCITY,
                             CAUSE_IN_A_ROW, CAUSE_OFF_PATH, CAUSE_OFF_SPEED, CAUSE_OFTEN,
                             CAUSE_OSCILLATION, CAUSE_POSITION_JUMP, CAUSE_STUCK, CAUSE_TOO_FAST,
                             NO_CAUSE, Cause, Reason, because)
from control.fault_bounds cimport (ABANDONED_TIME, APART, IMPACT_TIME, MAX_ABANDONED, MAX_IMPACTS,
                                   MAX_SWINGS, SPEEDING, SPEEDING_TIME, SWING, SWING_TIME)
from control.phase_changes cimport declare_fault, respond
from control.phases cimport REFERENCE, TRAJECTORY
from control.state_observer cimport seen_state
from control.stuck_joints cimport first_stuck
from task_space.pose cimport norm

cdef inline void report(const Controller* c, Reason* worst, Cause cause, Py_ssize_t joint,
                        double value, double bound) noexcept nogil:
    """Keep a finding if what follows is worse than for the worst so far."""
    if c.machine.action[<int> cause] > c.machine.action[<int> worst.code]:
        worst[0] = because(cause, joint, value, bound)


cdef inline void watch_speed(Controller* c, double dt, Reason* worst) noexcept nogil:
    """Whether a joint exceeds its limit, and its motion, for longer than a bump lasts."""
    cdef bint follows = c.machine.phase == TRAJECTORY or c.machine.phase == REFERENCE
    cdef const double* desired_speed = c.task.desired + c.n if follows else c.zero
    cdef const double* qd = seen_state(&c.observer) + c.n
    cdef double* speeding = c.watch.speeding
    dt = min(dt, 0.5 * SPEEDING_TIME)  # a single state shows no speed
    for i in range(c.n):
        ratio = fabs(qd[i]) / (SPEEDING * max(c.arm.limits.velocity[i], fabs(desired_speed[i])))
        speeding[i] = max(speeding[i] + (dt * ratio * ratio if ratio > 1.0 else -0.5 * dt), 0.0)
        if speeding[i] > SPEEDING_TIME:
            report(c, worst, CAUSE_TOO_FAST, i, fabs(qd[i]), fabs(qd[i]) / ratio)


cdef inline void watch_oscillation(Controller* c, double dt, Reason* worst) noexcept nogil:
    """Whether a joint oscillates at speed, further than the steps of an encoder that tells it,
    unlike its desired motion, or what drives that follow positions were told.
    """
    cdef Supervision* s = &c.watch
    cdef const double* desired = c.positions.q if c.positions.used else c.task.desired
    cdef const double* seen = seen_state(&c.observer)
    cdef Py_ssize_t n = c.n
    for i in range(n):
        error, bound = seen[n + i] - desired[n + i], SWING * c.arm.limits.velocity[i]
        off = seen[i] - desired[i]
        s.swings[i] = max(s.swings[i] - dt * MAX_SWINGS / SWING_TIME, 0.0)
        direction = 1.0 if error > 0.0 else -1.0
        if fabs(error) <= bound or (direction == -s.direction[i]
                                    and (fabs(off - s.swung_at[i]) < 2.0 * c.observer.step[i]
                                         or fabs(seen[n + i] - s.swung_at[n + i]) < bound)):
            continue
        if direction == -s.direction[i]:
            s.swings[i] += 1.0
        s.direction[i], s.swung_at[i], s.swung_at[n + i] = direction, off, seen[n + i]
        if s.swings[i] > MAX_SWINGS:
            report(c, worst, CAUSE_OSCILLATION, i, fabs(error), bound)


cdef inline void watch_contact(Controller* c, double dt, Reason* worst) noexcept nogil:
    """Whether the end effector loses a contact and meets it again, hard each time."""
    cdef double bound = c.task.cartesian.law.settings.max_wrench[0]
    cdef double force = norm(c.task.cartesian.law.sensed)
    c.watch.impacts = max(c.watch.impacts - dt * MAX_IMPACTS / IMPACT_TIME, 0.0)
    if force < APART * bound:
        c.watch.is_apart = True
    elif force > bound and c.watch.is_apart:
        c.watch.is_apart = False
        c.watch.impacts += 1.0
        if c.watch.impacts > MAX_IMPACTS - 1:
            report(c, worst, CAUSE_CONTACT_INSTABILITY, -1, force, bound)


cdef inline double smaller_tolerance(double a, double b) noexcept nogil:
    """The smaller of two tolerances, of which 0 means none."""
    return min(a, b) if a > 0.0 and b > 0.0 else max(a, b)


cdef inline void watch_path(const Controller* c, Reason* worst) noexcept nogil:
    """Whether the arm does not follow its motion: what holds it back may let go at any time."""
    cdef const double* own = c.zero                             # (2, n) of the trajectory; 0: none
    cdef const double* desired = c.task.desired
    cdef double path_tolerance = c.arm.settings.path_tolerance, share = 1.0
    cdef Py_ssize_t n = c.n, joint = -1
    if c.machine.phase == TRAJECTORY and c.task.motion.path != NULL:
        own = c.task.motion.path.tolerance
    for i in range(n):
        error = fabs(desired[i] - c.observer.q[i])
        bound = smaller_tolerance(path_tolerance, own[i])
        if bound > 0.0 and error > share * bound:
            share, joint = error / bound, i
    if joint >= 0:
        bound = smaller_tolerance(path_tolerance, own[joint])
        report(c, worst, CAUSE_OFF_PATH, joint, share * bound, bound)
    for i in range(n):
        error, bound = fabs(desired[n + i] - c.observer.qd[i]), own[n + i]
        if 0.0 < bound < error:
            report(c, worst, CAUSE_OFF_SPEED, i, error, bound)


cdef inline void watch_states(const Controller* c, Reason* worst) noexcept nogil:
    """Whether the joint states show that the arm cannot follow its motion."""
    cdef double moved, bound
    cdef Py_ssize_t i = first_stuck(&c.stuck, &c.observer, &moved, &bound)
    if i >= 0:
        report(c, worst, CAUSE_HELD if c.stuck.stopped[i] else CAUSE_STUCK, i, moved, bound)
    if c.observer.reset:
        report(c, worst, CAUSE_POSITION_JUMP, -1, 0.0, 0.0)
    if c.observer.inconsistent >= 0 and c.watch.inconsistent < 0:
        report(c, worst, CAUSE_INCONSISTENT_VELOCITY, c.observer.inconsistent, 0.0, 0.0)


cdef inline bint counts(const Controller* c, const Reason* reason) noexcept nogil:
    """Whether an abandoned motion shows that the arm does not obey: not by a trajectory's own
    tolerance, nor in a gap, and once until it has had time to stop.
    """
    if c.watch.incident > 0.0 or c.clock.gap > c.arm.settings.state_timeout:
        return False
    return (reason.code in (CAUSE_HELD, CAUSE_STUCK, CAUSE_INCONSISTENT_VELOCITY)
            or (reason.code == CAUSE_OFF_PATH and reason.bound == c.arm.settings.path_tolerance))


cdef inline bint is_too_often(Controller* c, bint was_trajectory, Reason* reason) noexcept nogil:
    """Count an abandoned motion; whether that is a fault, which then is the reason."""
    cdef Supervision* s = &c.watch
    s.abandoned += 1.0
    s.incident = c.arm.settings.stop_time
    s.in_a_row += was_trajectory
    if s.abandoned > MAX_ABANDONED - 0.5:
        reason.code, reason.found, reason.bound = CAUSE_OFTEN, MAX_ABANDONED, ABANDONED_TIME
    elif s.in_a_row >= MAX_ABANDONED:
        reason.code, reason.found = CAUSE_IN_A_ROW, MAX_ABANDONED
    else:
        return False
    s.abandoned, s.in_a_row = 0.0, 0
    return True


cdef inline void supervise(Controller* c, double now, double dt) noexcept nogil:
    """Look for what is wrong, and do what is to be done about the worst of it."""
    cdef bint was_trajectory = c.machine.phase == TRAJECTORY
    cdef Reason worst = because(NO_CAUSE, -1, 0.0, 0.0)
    c.watch.abandoned = max(c.watch.abandoned - dt * MAX_ABANDONED / ABANDONED_TIME, 0.0)
    c.watch.incident = max(c.watch.incident - dt, 0.0)
    if is_tracking(&c.machine):
        watch_states(c, &worst)
        if not drives_end_effector(&c.arm):
            watch_path(c, &worst)
        watch_oscillation(c, dt, &worst)
        if leads_end_effector(&c.arm):
            watch_contact(c, dt, &worst)
    watch_speed(c, dt, &worst)
    c.watch.inconsistent = c.observer.inconsistent
    # In mode admittance, which yields to what its sensor measures, drives that stay behind meet
    # something else than it measures.
    if (worst.code != NO_CAUSE and respond(c, now, &worst) and counts(c, &worst)
            and ((worst.code == CAUSE_OFF_PATH and moves_virtual_arm(&c.arm)
                  and c.task.cartesian.measured.is_there)
                 or is_too_often(c, was_trajectory, &worst))):
        declare_fault(c, now, &worst)

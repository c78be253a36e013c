# The controller's answers to requests (requests.pxi, cycle_requests.pxd). A request that may be
# refused returns the reason, or GRANTED; if it is refused, nothing changes.

from libc.math cimport INFINITY, fabs, fmax, round, sqrt
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from control.arm cimport change_model, is_same, leads_end_effector, moves_virtual_arm
from control.cartesian_impedance cimport update_kinematics
from control.cartesian_mode cimport CartesianTarget, set_target
from control.command cimport joint_law
from control.controller_state cimport (Controller, SetPoints, is_commanding, is_tracking,
                                       time_of_command, usual_step)
from control.events cimport (FOLLOWS_NOTHING, FOLLOWS_NO_POSES, FOLLOWS_POSES, FORCE_SCATTERS,
                             GRANTED, IN_FAULT, MOMENT_SCATTERS, NOT_RUNNING, NOT_STILL,
                             NO_READINGS, NO_WRENCH, SET_POINT_TOO_FAR, Reason, Refusal, because)
from control.fault_bounds cimport (CATCH_UP_SPEED, PERIOD_SHARE, SCATTER_OF_FORCE,
                                   SCATTER_OF_MOMENT, SETTLED_AFTER, SET_POINT_SPEED, SPEED_MEMORY)
from control.impedance_state cimport Impedance, configure_impedance
from control.measured_wrench cimport (MeasuredWrench, Readings, find_weight, is_fresh,
                                      shift_zero)
from control.motion cimport (BLEND_SPEED, TAKEOVER, Path, any_nonzero, follow_path,
                             follow_set_point, sample, why_not_start)
from control.phase_changes cimport (begin_reference, begin_trajectory, change_law, hold_as_asked,
                                    stands)
from control.phases cimport FAULT, FLOATING, HOLDING, REFERENCE, TRAJECTORY
from control.settings cimport JointSettings, Mode, Settings
from control.settings_check cimport SettingsChange, conflict
from control.torque_governor cimport begin_transfer, shift_transfer
from dynamics_interface cimport DynamicsInterface


cdef inline Refusal why_not(const Controller* c) noexcept nogil:
    """Why nothing can be followed now."""
    if c.machine.phase == FAULT:
        return IN_FAULT
    if c.machine.phase == FLOATING:
        return FOLLOWS_NOTHING
    return GRANTED if c.machine.phase in (HOLDING, TRAJECTORY, REFERENCE) else NOT_RUNNING


cdef inline Refusal why_no_joints(const Controller* c) noexcept nogil:
    """Why no motion of the joints can be followed now."""
    cdef Refusal refusal = why_not(c)
    return FOLLOWS_POSES if refusal == GRANTED and leads_end_effector(&c.arm) else refusal


cdef inline Refusal hold(Controller* c) noexcept nogil:
    """Come to rest and stay there; ends a fault, and the silence of a joint that did not move."""
    cdef Refusal refusal = why_not(c)
    c.stuck.joint = -1
    if refusal != GRANTED and refusal != IN_FAULT:
        return refusal
    hold_as_asked(c)
    return GRANTED


cdef inline Refusal follow_trajectory(Controller* c, const Path* path, double start,
                                      Reason* detail) noexcept nogil:
    """Follow a trajectory; start: when its time is zero, by the controller's time; -inf: now."""
    cdef double time = time_of_command(c)
    cdef Refusal refusal = why_no_joints(c)
    if refusal != GRANTED:
        return refusal
    if start == -INFINITY:
        start = time
    detail[0] = why_not_start(path, c.n, time - start, c.observer.q, c.arm.limits.velocity,
                              c.arm.settings.start_tolerance, c.task.state)
    if detail.code != GRANTED:
        return <Refusal> detail.code
    sample(&c.task.motion, time, c.task.state)
    follow_path(&c.task.motion, path, start, time, c.task.state, &c.arm.limits,
                c.arm.settings.stop_time)
    begin_trajectory(c)
    return GRANTED


cdef inline void estimate_velocity(Controller* c, double since, const double* q,
                                   double* velocity) noexcept nogil:
    """Estimate the velocity (n,) of a stream of positions q (n,); since: [s] since the last one,
    0: there was none.

    Over as many mean intervals as have passed: that messages come early or late does not show as a
    velocity. One beyond the limit is that of another stream, or of a jump.
    """
    cdef SetPoints* stream = &c.task.set_points
    if since <= 0.0:
        stream.period = 0.0
        memset(velocity, 0, c.n * sizeof(double))
        return
    count = max(round(since / stream.period), 1.0) if stream.period > 0.0 else 1.0
    stream.period += (PERIOD_SHARE if stream.period > 0.0 else 1.0) * (
        since / count - stream.period)
    passed = count * stream.period
    share = passed / (passed + SPEED_MEMORY)
    for i in range(c.n):
        speed = (q[i] - stream.q[i]) / passed
        if fabs(speed) > SET_POINT_SPEED * c.arm.limits.velocity[i]:
            velocity[i] = 0.0
        else:
            velocity[i] = stream.velocity[i] + share * (speed - stream.velocity[i])


cdef inline Refusal take_set_point(Controller* c, double now, const double* state,
                                   bint has_velocity, Reason* detail) noexcept nogil:
    """Follow a set-point (4, n), extrapolated at constant acceleration until the next one. The arm
    is led in to it. A stream begins near what is asked for; once it goes on, it may lead anywhere.
    """
    cdef SetPoints* stream = &c.task.set_points
    cdef double time = time_of_command(c), since = now - stream.at
    cdef double* wanted = c.scratch
    cdef Refusal refusal = why_no_joints(c)
    if refusal != GRANTED:
        return refusal
    if c.machine.phase != REFERENCE or since > c.arm.settings.reference_timeout:
        since = 0.0                                             # the first one
    sample(&c.task.motion, time, c.task.state)
    for i in range(c.n if c.machine.phase != REFERENCE else 0):
        detail[0] = because(SET_POINT_TOO_FAR, i, fabs(state[i] - c.task.state[i]),
                            c.arm.settings.start_tolerance)
        if not detail.found <= detail.bound:
            return SET_POINT_TOO_FAR
    memcpy(wanted, state, 4 * c.n * sizeof(double))
    if not has_velocity:
        estimate_velocity(c, since, state, wanted + c.n)
    memcpy(stream.q, wanted, 2 * c.n * sizeof(double))
    stream.is_estimated = not has_velocity and any_nonzero(wanted + c.n, c.n)
    follow_set_point(&c.task.motion, time, c.task.state, wanted,
                     TAKEOVER * since if since > 0.0 else c.arm.settings.stop_time,
                     CATCH_UP_SPEED if since > 0.0 else BLEND_SPEED,
                     usual_step(c), &c.arm.limits)
    stream.at = now
    begin_reference(c)
    return GRANTED


cdef inline Refusal take_target(Controller* c, double now,
                                const CartesianTarget* target) noexcept nogil:
    """Lead the end effector to a target."""
    cdef Refusal refusal = why_not(c)
    if refusal != GRANTED:
        return refusal
    if not leads_end_effector(&c.arm):
        return FOLLOWS_NO_POSES
    if moves_virtual_arm(&c.arm) and not c.task.cartesian.measured.is_there:
        return NO_WRENCH
    set_target(&c.task.cartesian, now, target)
    begin_reference(c)
    return GRANTED


cdef struct ZeroPayload:
    double[6] offset         # of the answer: of the sensor, in the end effector's frame
    double[9] rotation       # of that frame in the base frame
    Reason detail            # of a refusal


cdef inline Reason why_not_zero(const Controller* c, double now) noexcept nogil:
    """Why the sensor's offset cannot be found now."""
    cdef const MeasuredWrench* measured = &c.task.cartesian.measured
    cdef const Readings* r = &measured.readings
    cdef const double* v
    if c.machine.phase != HOLDING or not stands(&c.observer):
        return because(NOT_STILL, -1, 0.0, 0.0)
    if not (is_fresh(measured, now, c.arm.settings.wrench_timeout)
            and r.count > 1 and r.last - r.begin >= SETTLED_AFTER):
        return because(NO_READINGS, -1, 0.0, SETTLED_AFTER)
    for half in range(2):                           # force and moment
        v = r.variance + 3 * half
        found = sqrt(v[0] + v[1] + v[2])
        bound = fmax(c.task.cartesian.law.settings.dead_zone[half],
                     SCATTER_OF_MOMENT if half else SCATTER_OF_FORCE)
        if not found <= bound:
            return because(MOMENT_SCATTERS if half else FORCE_SCATTERS, -1, found, bound)
    return because(GRANTED, -1, 0.0, 0.0)


cdef inline Refusal zero_wrench(Controller* c, double now, ZeroPayload* answer) noexcept nogil:
    """Take what the sensor reads, but for the payload's weight, as its offset from now on."""
    cdef MeasuredWrench* measured = &c.task.cartesian.measured
    cdef Impedance* law = &c.task.cartesian.law
    cdef double[6] by
    answer.detail = why_not_zero(c, now)
    if answer.detail.code != GRANTED:
        return <Refusal> answer.detail.code
    if not leads_end_effector(&c.arm):              # else its pose is known
        update_kinematics(law, c.arm.models.newest.model, c.observer.q, c.observer.qd)
    find_weight(law, by)
    for k in range(6):
        by[k] = measured.readings.mean[k] - by[k]
    shift_zero(measured, by)
    memcpy(answer.offset, measured.offset, 6 * sizeof(double))
    for k in range(9):
        answer.rotation[k] = law.pose[4 * (k // 3) + k % 3]
    return GRANTED


cdef inline Refusal configure(Controller* c, const SettingsChange* change) noexcept nogil:
    """Take other settings, without a step in the command."""
    cdef const Settings* settings = &change.settings
    cdef Refusal refusal = conflict(c, settings)
    cdef Mode before = c.arm.settings.mode
    cdef bint same_law = (is_same(settings.mode, before) and not leads_end_effector(&c.arm)
                          and (c.machine.phase == FLOATING or is_tracking(&c.machine)))
    if refusal != GRANTED:
        return refusal
    if same_law:
        joint_law(c, c.sent.torque)
    c.arm.settings = settings[0]
    memcpy(c.arm.joints.p, change.joints.p,
           sizeof(JointSettings) // sizeof(double*) * c.n * sizeof(double))
    if change.rates != NULL:
        memcpy(c.arm.limits.acceleration, change.rates, 3 * c.n * sizeof(double))
    if change.impedance != NULL:
        memcpy(c.task.cartesian.asked_posture, change.impedance.joints.posture,
               c.n * sizeof(double))
        configure_impedance(&c.task.cartesian.law, change.impedance)
    c.stuck.begins = True
    if not (c.machine.phase == FLOATING or c.machine.phase == FAULT or is_tracking(&c.machine)):
        return GRANTED
    if same_law:
        joint_law(c, c.scratch)
        for i in range(c.n):
            c.scratch[i] -= c.sent.torque[i]
        shift_transfer(&c.sent.governor, c.scratch, c.arm.settings.blend_time)
        return GRANTED
    begin_transfer(&c.sent.governor, c.arm.settings.blend_time)
    change_law(c, before)
    return GRANTED


cdef inline void take_model(Controller* c, const DynamicsInterface* model, uint64_t number,
                            double transition) noexcept nogil:
    """Change to another payload or gravity; at once while there are no commands."""
    cdef bint commanding = is_commanding(&c.machine)
    change_model(&c.arm.models, model, number, transition if commanding else 0.0)
    c.stuck.begins = True
    if commanding and (transition <= 0.0 or leads_end_effector(&c.arm)):  # its inertia changes
        begin_transfer(&c.sent.governor, c.arm.settings.blend_time)

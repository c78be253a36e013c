# What the controller's cycle may be asked for, and what it does then. Python's classes for it are
# in requests.pxi. A request that may be refused returns the reason, or GRANTED; if it is refused,
# nothing changes.

from libc.math cimport INFINITY, fabs, fmax, round, sqrt
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from control.arm cimport (Arm, change_model, gravity, is_same, leads_end_effector,
                          moves_virtual_arm, suffices)
from control.cartesian_impedance cimport max_strain, update_kinematics
from control.cartesian_mode cimport CartesianTarget, set_target
from control.command cimport joint_law
from control.controller_state cimport (Controller, SetPoints, is_commanding, is_tracking,
                                       time_of_command, usual_step)
from control.cycle_state cimport FALL_TIME, ControlCycle, Deadline, release, work_out_model_torque
from control.events cimport (CAUSE_DEACTIVATED, CAUSE_FAILURE, FOLLOWS_NOTHING, FOLLOWS_NO_POSES,
                             FOLLOWS_POSES, FORCE_SCATTERS, GRANTED, GRAVITY_IN_USE, IN_FAULT,
                             MOMENT_SCATTERS, NOT_RUNNING, NOT_STILL, NO_READINGS, NO_TIP,
                             NO_WRENCH, REJECTIONS, SET_POINT_TOO_FAR, TIMEOUT_TOO_SHORT,
                             TOO_LITTLE_EFFORT, Reason, Refusal, because)
from control.fault_bounds cimport (CATCH_UP_SPEED, PERIOD_SHARE, SCATTER_OF_FORCE,
                                   SCATTER_OF_MOMENT, SETTLED_AFTER, SET_POINT_SPEED, SPEED_MEMORY)
from control.impedance_modes cimport spring_left
from control.impedance_state cimport Impedance, ImpedanceChange, configure_impedance
from control.laws cimport law
from control.measured_wrench cimport MeasuredWrench, Readings, find_weight, is_fresh, shift_zero
from control.motion cimport (BLEND_SPEED, TAKEOVER, Path, any_nonzero, follow_path,
                             follow_set_point, sample, why_not_start)
from control.phase_changes cimport (activate, begin_reference, begin_trajectory, change_law,
                                    hold_as_asked, respond, standing_speed, stands)
from control.phases cimport FAULT, FLOATING, HOLDING, REFERENCE, TRAJECTORY
from control.settings cimport LEADS_END_EFFECTOR, JointSettings, Mode, Settings
from control.torque_governor cimport begin_transfer, shift_transfer
from cycle cimport STOP_REQUESTED, Request
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport standing_torque

cdef enum RequestKind:
    REQUEST_ACTIVATE, REQUEST_DEACTIVATE, REQUEST_HOLD, REQUEST_FOLLOW, REQUEST_SET_POINT
    REQUEST_CONFIGURE, REQUEST_MODEL, REQUEST_DEADLINE, REQUEST_SNAPSHOT, REQUEST_FALL_BACK
    REQUEST_TARGET, REQUEST_CHECK, REQUEST_ZERO, REQUEST_LOCKED

cdef struct FollowPayload:
    const Path* path
    uint64_t number          # identifies the path to Python
    double start             # by the controller's time [s]; -inf: now
    Reason detail            # of a refusal

cdef struct SetPointPayload:
    const double* state      # (4, n)
    bint has_velocity
    Reason detail

cdef struct ModelPayload:
    const DynamicsInterface* model
    uint64_t number
    double transition        # [s]

cdef struct SettingsChange:
    Settings settings
    JointSettings joints
    const ImpedanceChange* impedance # NULL: stays as it is
    const double* rates              # (3, n) acceleration, deceleration and jerk; NULL: likewise

cdef struct CheckPayload:
    const SettingsChange* change
    const DynamicsInterface* model   # NULL: stays as it is
    Reason detail                    # of a refusal

cdef struct ZeroPayload:
    double[6] offset         # of the answer: of the sensor, in the end effector's frame
    double[9] rotation       # of that frame in the base frame
    Reason detail            # of a refusal

cdef enum: SNAPSHOT_ROWS = 17

cdef struct SnapshotFigures:
    double time              # the controller's [s]
    double origin            # stamp at which that was zero; NaN: states have none
    double received          # steady time of the last good state [s]
    double late              # its age then [s]
    int32_t sec              # its stamp
    uint32_t nanosec
    int32_t phase
    uint64_t path            # number of the path in force; 0: none
    double elapsed           # its time [s]
    double since_end         # of the motion [s]
    double strain            # of the end effector's spring, relative to the maximum
    double spring_left       # share of its torque, see impedance_modes.pxd
    long long causes
    long long accepted       # good states
    long long states         # complete ones
    long long foreign        # messages that name none of the joints
    long long malformed
    long long commands
    long long saturated      # of these, by an effort limit
    long long interventions  # of the governor
    double heard             # steady time of the last complete state, accepted or not [s]; 0: none
    double wrench_at         # steady time at which the last wrench was measured [s]; -inf: none
    bint is_late             # more commands than are tolerated came too late within a second
    bint has_several_publishers  # of the same joints

cdef struct SnapshotPayload:
    double* arrays           # (SNAPSHOT_ROWS, n): q, qd, desired (4), command, what was asked for,
                             # gravity, the model's torque; velocity that was heard, speed below
                             # which a joint stands, DriveConversion.cut
    double[24] end_effector  # (4, 6): error from its desired pose, that pose's displacement to the
                             # target, commanded wrench, wrench it yields to; base axes, linear
                             # first
    Reason hold
    Reason rejection
    long long[REJECTIONS] rejected
    SnapshotFigures figures


# What may be followed.

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


cdef inline Refusal follow_trajectory(ControlCycle* cycle, FollowPayload* asked) noexcept nogil:
    """Follow a trajectory, whose path replaces the one in use."""
    cdef Controller* c = &cycle.controller
    cdef double time = time_of_command(c)
    cdef double start = time if asked.start == -INFINITY else asked.start
    cdef Refusal refusal = why_no_joints(c)
    if refusal != GRANTED:
        return refusal
    asked.detail = why_not_start(asked.path, c.n, time - start, c.observer.q, c.arm.limits.velocity,
                                 c.arm.settings.start_tolerance, c.task.state)
    if asked.detail.code != GRANTED:
        return <Refusal> asked.detail.code
    sample(&c.task.motion, time, c.task.state)
    follow_path(&c.task.motion, asked.path, start, time, c.task.state,
                c.arm.settings.stop_time)
    begin_trajectory(c)
    release(cycle, cycle.path_number)
    cycle.path_number = asked.number
    return GRANTED


cdef inline void estimate_velocity(Controller* c, double since, const double* q,
                                   double* velocity) noexcept nogil:
    """Estimate the velocity (n,) of a stream of positions q (n,), over as many mean intervals as
    have passed, so that early and late messages do not show; since: the last one [s], 0: this is
    the first. Beyond the limit it is another stream's, or a jump's.
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


cdef inline Refusal take_set_point(Controller* c, double now,
                                   SetPointPayload* asked) noexcept nogil:
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
        asked.detail = because(SET_POINT_TOO_FAR, i, fabs(asked.state[i] - c.task.state[i]),
                               c.arm.settings.start_tolerance)
        if not asked.detail.found <= asked.detail.bound:
            return SET_POINT_TOO_FAR
    memcpy(wanted, asked.state, 4 * c.n * sizeof(double))
    if not asked.has_velocity:
        estimate_velocity(c, since, asked.state, wanted + c.n)
    memcpy(stream.q, wanted, 2 * c.n * sizeof(double))
    stream.is_estimated = not asked.has_velocity and any_nonzero(wanted + c.n, c.n)
    follow_set_point(&c.task.motion, time, c.task.state, wanted,
                     TAKEOVER * since if since > 0.0 else c.arm.settings.stop_time,
                     CATCH_UP_SPEED if since > 0.0 else BLEND_SPEED, usual_step(c))
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


# Whether settings and a model leave the arm enough effort, where it is now: to be held, to be
# brought to rest if it moves, and for all that the law would ask for at this moment. Asked before
# the first command and before every change. What needs no arm is checked in
# featherstone_ros/control/controller_parameters.py: friction alone, and gains.

cdef inline void stopping_effort(double stop_time, const JointSettings* joints,
                                 const DynamicsInterface* model, const double* state,
                                 double* acceleration, double* effort) noexcept nogil:
    """The effort (n,) that stops a state (2, n) in a time [s] without the help of friction."""
    cdef const double* qd = state + model.n
    for i in range(model.n):
        acceleration[i] = -qd[i] / stop_time
    model.rnea(model.self, state, qd, acceleration, effort)
    for i in range(model.n):
        effort[i] += (joints.drives.armature[i] * acceleration[i]
                      + standing_torque(&joints.drives, i, state[i]))


cdef inline Refusal conflict(const Controller* c, const Settings* settings) noexcept nogil:
    """Why the controller cannot go over to other settings in its present phase."""
    if settings.mode.leads == LEADS_END_EFFECTOR and c.task.cartesian.law.link < 0:
        return NO_TIP
    if (is_commanding(&c.machine)
            and settings.hardware_adds_gravity != c.arm.settings.hardware_adds_gravity):
        return GRAVITY_IN_USE
    return GRANTED


cdef inline bint takes_too_much(const Controller* c, CheckPayload* check, const double* before,
                                const double* after) noexcept nogil:
    """Whether some joint would need an effort (n,) that it does not have, and more than before:
    settings in force may suffice no longer, as after a push; then others must be no worse.
    """
    cdef const JointSettings* joints = &check.change.joints
    for i in range(c.n):
        if not suffices(joints, i, after[i]) and (
                joints.effort_limit[i] < c.arm.joints.effort_limit[i]
                or not fabs(after[i]) <= fabs(before[i])):
            check.detail = because(TOO_LITTLE_EFFORT, i, after[i], joints.effort_limit[i])
            return True
    return False


cdef inline void law_effort(const Controller* c, const Settings* settings,
                            const JointSettings* joints, double* effort) noexcept nogil:
    """What a law of the joints would ask for now (n,): model, friction, feedback or damping."""
    cdef Arm arm = c.arm
    arm.settings, arm.joints = settings[0], joints[0]
    law(&arm, c.observer.q, c.task.desired, c.task.presliding, 0.0, effort)


cdef inline Refusal why_not_configure(const Controller* c, CheckPayload* check) noexcept nogil:
    """Why other settings, and another model if there is one, cannot be taken now."""
    cdef const DynamicsInterface* present = c.arm.models.newest.model
    cdef const JointSettings* joints = &check.change.joints
    cdef const Settings* settings = &check.change.settings
    cdef double* acceleration = c.arm.models.scratch
    cdef double* before = c.scratch
    cdef double* after = c.scratch + c.n
    cdef Refusal refusal = conflict(c, settings)
    if refusal != GRANTED or not is_commanding(&c.machine):
        return refusal                                          # the first command's check follows
    if settings.state_timeout < c.arm.settings.state_timeout and (
            settings.state_timeout <= c.clock.interval):        # each state would be a gap
        check.detail = because(TIMEOUT_TOO_SHORT, -1, settings.state_timeout, c.clock.interval)
        return TIMEOUT_TOO_SHORT
    stopping_effort(c.arm.settings.stop_time, &c.arm.joints, present, c.observer.q, acceleration,
                    before)
    stopping_effort(settings.stop_time, joints, present if check.model == NULL else check.model,
                    c.observer.q, acceleration, after)
    if takes_too_much(c, check, before, after):
        return TOO_LITTLE_EFFORT
    if (not is_same(settings.mode, c.arm.settings.mode) or settings.mode.leads == LEADS_END_EFFECTOR
            or not (is_tracking(&c.machine) or c.machine.phase == FLOATING)):
        return GRANTED                                          # it begins without an error
    law_effort(c, &c.arm.settings, &c.arm.joints, before)
    law_effort(c, settings, joints, after)
    return TOO_LITTLE_EFFORT if takes_too_much(c, check, before, after) else GRANTED


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


cdef inline void take_model(Controller* c, const ModelPayload* asked) noexcept nogil:
    """Change to another payload or gravity; at once while there are no commands."""
    cdef bint commanding = is_commanding(&c.machine)
    change_model(&c.arm.models, asked.model, asked.number, asked.transition if commanding else 0.0)
    c.stuck.begins = True
    if commanding and (asked.transition <= 0.0 or leads_end_effector(&c.arm)):  # inertia changes
        begin_transfer(&c.sent.governor, c.arm.settings.blend_time)


# All requests.

cdef inline void take_snapshot(const ControlCycle* cycle, SnapshotPayload* snapshot) noexcept nogil:
    cdef const Controller* c = &cycle.controller
    cdef SnapshotFigures* figures = &snapshot.figures
    cdef Py_ssize_t n = c.n
    memcpy(snapshot.arrays, c.observer.q, n * sizeof(double))
    memcpy(snapshot.arrays + n, c.observer.qd, n * sizeof(double))
    memcpy(snapshot.arrays + 2 * n, c.task.desired, 4 * n * sizeof(double))
    memcpy(snapshot.arrays + 6 * n, c.sent.governor.command, n * sizeof(double))
    memcpy(snapshot.arrays + 7 * n, c.sent.governor.asked, n * sizeof(double))
    gravity(&c.arm.models, c.observer.q, snapshot.arrays + 8 * n)
    work_out_model_torque(c, snapshot.arrays + 9 * n)
    memcpy(snapshot.arrays + 10 * n, cycle.parts.values + n, n * sizeof(double))
    for i in range(n):
        snapshot.arrays[11 * n + i] = standing_speed(&c.observer, i)
    memcpy(snapshot.arrays + 12 * n, cycle.drives.cut, 5 * n * sizeof(double))
    figures.time, figures.origin = c.clock.time, c.clock.origin
    figures.received, figures.phase = c.clock.received, c.machine.phase
    figures.late = c.clock.late
    figures.sec, figures.nanosec = cycle.sec, cycle.nanosec
    figures.path, figures.elapsed = cycle.path_number, c.clock.time - c.task.motion.path_start
    figures.since_end = c.clock.time - c.task.motion.end
    figures.causes, figures.strain, figures.spring_left = c.machine.causes, 0.0, 1.0
    figures.accepted, figures.states = c.observer.accepted, cycle.states
    figures.foreign, figures.malformed = cycle.foreign, cycle.malformed
    figures.commands, figures.saturated = c.sent.count, c.sent.governor.saturated
    figures.interventions = c.sent.governor.interventions
    figures.heard, figures.wrench_at = 1e-9 * cycle.heard, c.task.cartesian.measured.at
    figures.is_late = cycle.deadline.missed
    fell = cycle.falls[cycle.fall]
    figures.has_several_publishers = fell > 0 and cycle.now - fell < FALL_TIME
    snapshot.hold, snapshot.rejection = c.machine.hold, c.observer.last
    memcpy(snapshot.rejected, c.observer.rejected, REJECTIONS * sizeof(long long))
    memset(snapshot.end_effector, 0, 24 * sizeof(double))
    if leads_end_effector(&c.arm) and is_tracking(&c.machine):
        memcpy(snapshot.end_effector, c.task.cartesian.law.error, 6 * sizeof(double))
        memcpy(snapshot.end_effector + 6, c.task.cartesian.law.remaining, 6 * sizeof(double))
        memcpy(snapshot.end_effector + 12, c.task.cartesian.wrench, 6 * sizeof(double))
        if moves_virtual_arm(&c.arm):
            memcpy(snapshot.end_effector + 18, c.task.cartesian.law.external, 6 * sizeof(double))
        figures.strain = max_strain(&c.task.cartesian.law)
        figures.spring_left = spring_left(&c.task.cartesian.law)


cdef inline Refusal answer(ControlCycle* cycle, const Request* request, double time) noexcept nogil:
    """Do what is asked for at a steady time [s]; returns why not, if it is refused."""
    cdef Controller* c = &cycle.controller
    cdef Reason failure = because(CAUSE_FAILURE, -1, 0.0, 0.0)
    cdef Reason end = because(CAUSE_DEACTIVATED, -1, 0.0, 0.0)
    if request.kind == REQUEST_HOLD:
        return hold(c)
    if request.kind == REQUEST_FOLLOW:
        return follow_trajectory(cycle, <FollowPayload*> request.payload)
    if request.kind == REQUEST_SET_POINT:
        return take_set_point(c, time, <SetPointPayload*> request.payload)
    if request.kind == REQUEST_TARGET:
        return take_target(c, time, <const CartesianTarget*> request.payload)
    if request.kind == REQUEST_CHECK:
        check = <CheckPayload*> request.payload
        if check.model != NULL:
            check.model.place(check.model.self, cycle.locked.at)
        return why_not_configure(c, check)
    if request.kind == REQUEST_ZERO:
        return zero_wrench(c, time, <ZeroPayload*> request.payload)
    if request.kind == REQUEST_CONFIGURE:
        return configure(c, <const SettingsChange*> request.payload)
    if request.kind == STOP_REQUESTED or request.kind == REQUEST_DEACTIVATE:
        respond(c, time, &end)
    elif request.kind == REQUEST_ACTIVATE:
        activate(c, time)
    elif request.kind == REQUEST_MODEL:
        model = <const ModelPayload*> request.payload
        model.model.place(model.model.self, cycle.locked.at)
        take_model(c, model)
    elif request.kind == REQUEST_LOCKED:
        memcpy(cycle.locked.given, request.payload, cycle.locked.n * sizeof(double))
    elif request.kind == REQUEST_DEADLINE:
        cycle.deadline = (<const Deadline*> request.payload)[0]
    elif request.kind == REQUEST_SNAPSHOT:
        take_snapshot(cycle, <SnapshotPayload*> request.payload)
    elif request.kind == REQUEST_FALL_BACK:
        respond(c, time, &failure)
    return GRANTED

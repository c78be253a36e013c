# What the controller's cycle may be asked for, and what it does then. Python's classes for it are
# in requests.pxi.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from control.arm cimport gravity, leads_end_effector, moves_virtual_arm
from control.cartesian_impedance cimport max_strain
from control.cartesian_mode cimport CartesianTarget
from control.controller_state cimport Controller, is_tracking
from control.cycle_state cimport (FALL_TIME, ControlCycle, Deadline, release,
                                  work_out_model_torque)
from control.events cimport (CAUSE_DEACTIVATED, CAUSE_FAILURE, GRANTED, REJECTIONS, Reason,
                             Refusal, because)
from control.impedance_modes cimport spring_left
from control.motion cimport Path
from control.phase_changes cimport activate, respond, standing_speed
from control.request_handlers cimport (ZeroPayload, configure, follow_trajectory, hold,
                                       take_model, take_set_point, take_target, zero_wrench)
from control.settings_check cimport CheckPayload, SettingsChange, why_not_configure
from cycle cimport STOP_REQUESTED, Request
from dynamics_interface cimport DynamicsInterface

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


cdef inline Refusal take_path(ControlCycle* cycle, FollowPayload* payload) noexcept nogil:
    """Follow a path, which replaces the one in use."""
    cdef Refusal refusal = follow_trajectory(&cycle.controller, payload.path, payload.start,
                                             &payload.detail)
    if refusal == GRANTED:
        release(cycle, cycle.path_number)
        cycle.path_number = payload.number
    return refusal


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
        return take_path(cycle, <FollowPayload*> request.payload)
    if request.kind == REQUEST_SET_POINT:
        set_point = <SetPointPayload*> request.payload
        return take_set_point(c, time, set_point.state, set_point.has_velocity, &set_point.detail)
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
        take_model(c, model.model, model.number, model.transition)
    elif request.kind == REQUEST_LOCKED:
        memcpy(cycle.locked.given, request.payload, cycle.locked.n * sizeof(double))
    elif request.kind == REQUEST_DEADLINE:
        cycle.deadline = (<const Deadline*> request.payload)[0]
    elif request.kind == REQUEST_SNAPSHOT:
        take_snapshot(cycle, <SnapshotPayload*> request.payload)
    elif request.kind == REQUEST_FALL_BACK:
        respond(c, time, &failure)
    return GRANTED

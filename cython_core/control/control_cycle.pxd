# The controller's cycle (cycle.pxd): from a joint state's bytes to a command's.

from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from control.cartesian_mode cimport CartesianTarget, find_distance, update_kinematics, write_pose
from control.controller cimport check_age, take_state, watch_executor
from control.controller_state cimport Controller, Hold, is_blind, is_tracking, leads_hand, note
from control.events cimport CAUSE_FAILURE, CAUSE_LATE_COMMANDS, GRANTED, NOTE_CAUSE, NOTE_MESSAGE, NoteKind, Refusal
from control.faults cimport fall_back
from control.impedance_wrench cimport strain
from control.laws cimport model_torque
from control.model_blend cimport gravity, uses
from control.motion cimport Path
from control.phases cimport FLOATING
from control.request_handlers cimport (activate, configure, deactivate, follow, hold, is_at_rest, take_model,
                                       take_set_point, take_target)
from control.settings cimport GRAVITY_COMPENSATION, Settings
from control.state_validator cimport CLOCK_JUMP
from cycle cimport STOP_REQUESTED, IncomingMessage, Output, Record, Request
from dynamics_interface cimport DynamicsInterface
from ros.atomic cimport CLOCK_REALTIME, SECOND, clock_now
from ros.messages cimport (FOREIGN, MESSAGE_WHOLE, JointNames, JointParts, JointStateMessage, Reader, Template, collect_joints,
                           open_message, read_joint_state, write_last, write_stamp)
from ros.refusals cimport CUT_OFF_BELOW

cdef enum RequestKind:
    REQUEST_ACTIVATE, REQUEST_DEACTIVATE, REQUEST_HOLD, REQUEST_FOLLOW, REQUEST_SET_POINT, REQUEST_CONFIGURE
    REQUEST_MODEL, REQUEST_DEADLINE, REQUEST_SNAPSHOT, REQUEST_FALL_BACK, REQUEST_TARGET

cdef enum RecordKind:        # 0 and on: NoteKind
    RECORD_RELEASED = 100    # object: a path or model that is no longer in use

cdef enum OutputNumber:
    OUTPUT_COMMANDS, OUTPUT_DESIRED, OUTPUT_ERROR, OUTPUT_POSE, OUTPUT_TWIST

cdef enum:
    BUCKETS = 10             # of a second, in which late commands are counted
    FALLS = 3                # of sequence numbers, within
    FALL_TIME = 2000000000   # [ns], are no accident
    BLIND_PERIOD = 1000000   # [ns]

cdef struct Deadline:        # how long a command may take after the joint state that it answers
    double cycle_time        # [s]; 0: any time
    int allowed              # longer ones per second that are tolerated
    bint holds               # the arm is held while there are more
    bint missed              # there are more
    int[BUCKETS] counts
    int64_t bucket           # the newest: tenths of a second of the steady clock

cdef struct FollowPayload:
    const Path* path
    uint64_t number          # by which Python knows the path
    double start             # by the controller's time [s]; -inf: now
    Hold detail              # of a refusal

cdef struct SetPointPayload:
    const double* state      # (4, n)
    Hold detail

cdef struct ModelPayload:
    const DynamicsInterface* model
    uint64_t number
    double transition        # [s]

cdef struct DeadlinePayload:
    double cycle_time
    int allowed
    bint holds

cdef struct SnapshotPayload: # what others want to know, all of one moment
    double* arrays           # (9, n): q, qd, desired (4), command, what was asked for, gravity
    double* model_torque     # (n,)
    double time              # the controller's [s]
    double origin            # stamp at which that was zero; NaN: states have none
    double received          # steady time of the last good state [s]
    int32_t sec              # its stamp
    uint32_t nanosec
    int32_t phase
    uint64_t path            # number of the path in force; 0: none
    double elapsed           # its time [s]
    double since_end         # of the motion [s]
    double[2] distance       # of the hand from its target [m, rad]
    double strain            # of its spring, over the most
    Hold hold
    long long causes

cdef struct ControlCycle:
    Controller controller
    JointNames names
    Reader reader
    JointStateMessage message
    Template command, joint_command, desired, error, pose, twist
    bint commands_joints     # joint_command instead of command: drives with loops of their own
    double* part             # (3, n) position, velocity, effort, as the messages bring them
    bint* there              # (n,) since the last complete state
    double* shown            # (n,) scratch
    int32_t sec              # stamp of the last complete state
    uint32_t nanosec
    uint64_t path_number     # of the path in use; 0: none
    uint64_t[6] models       # the numbers of the models in use
    int model_count
    int64_t tick_due         # [ns]
    int64_t show_due
    int64_t show_period
    Deadline deadline
    int64_t* sequence        # (n,) of the last message that named each joint
    int64_t[FALLS] falls     # when these fell back [ns]: several publishers name the same joints
    int fall
    long long states         # complete ones
    long long foreign        # messages that name none of our joints
    long long malformed
    Output* output           # of the call that is being answered
    int64_t now


# Records.

cdef inline void put_record(ControlCycle* its, int32_t kind, Py_ssize_t index, double a, double b, double c, double d,
                            uint64_t number) noexcept nogil:
    cdef Record record
    if its.output == NULL:
        return
    record.kind, record.index, record.time, record.object = kind, <int32_t> index, its.now, number
    record.value[0], record.value[1], record.value[2], record.value[3] = a, b, c, d
    its.output.record(its.output.loop, &record)


cdef inline void say(void* listener, NoteKind kind, Py_ssize_t index, double a, double b, double c, double d) noexcept nogil:
    put_record(<ControlCycle*> listener, kind, index, a, b, c, d, 0)


cdef inline void release(ControlCycle* its, uint64_t number) noexcept nogil:
    """Tell Python that it may free an object."""
    if number:
        put_record(its, RECORD_RELEASED, 0, 0.0, 0.0, 0.0, 0.0, number)


cdef inline bint knows_newest(const ControlCycle* its) noexcept nogil:
    return its.models[its.model_count - 1] == its.controller.models.newest.number


cdef inline void release_unused(ControlCycle* its) noexcept nogil:
    """Tell so of the path once no motion goes by it, and of models that have lost their weight."""
    cdef const Controller* c = &its.controller
    cdef int k
    if its.path_number and c.motion.path == NULL:
        release(its, its.path_number)
        its.path_number = 0
    if its.model_count == c.models.olds + 1 and knows_newest(its):
        return
    for k in range(its.model_count):
        if not uses(&c.models, its.models[k]):
            release(its, its.models[k])
    for k in range(c.models.olds):
        its.models[k] = c.models.old[k].number
    its.models[c.models.olds] = c.models.newest.number
    its.model_count = c.models.olds + 1


# Joint states, which may come in parts: complete when every joint has come since the last complete one.

cdef inline bint collect(ControlCycle* its) noexcept nogil:
    """Take over what a message says; returns whether that makes a complete state."""
    cdef JointParts parts
    parts.n, parts.values, parts.there, parts.scratch = <int32_t> its.controller.n, its.part, its.there, its.shown
    return collect_joints(&parts, &its.message)


cdef inline void hear(ControlCycle* its, int64_t sequence) noexcept nogil:
    """Note whose message it may be: one publisher's numbers rise, those of several fall back again and again."""
    cdef bint falls = False
    cdef Py_ssize_t i
    if sequence < 0:
        return
    for i in range(its.controller.n):
        if its.message.place[i] >= 0:
            falls |= sequence <= its.sequence[i]
            its.sequence[i] = sequence
    if falls:
        its.falls[its.fall] = its.now
        its.fall = (its.fall + 1) % FALLS


cdef inline void send_command(ControlCycle* its) noexcept nogil:
    cdef Template* message = &its.joint_command if its.commands_joints else &its.command
    cdef Py_ssize_t n = its.controller.n
    if its.commands_joints:
        write_drives_motion(its)
    memcpy(its.shown, its.controller.governor.command, n * sizeof(double))
    if 0.0 < its.shown[n - 1] < CUT_OFF_BELOW:                  # readers would refuse it, and no effort is one
        its.shown[n - 1] = 0.0
    write_last(message, <int32_t> n, 0, its.shown)
    its.output.publish(its.output.loop, OUTPUT_COMMANDS, message.data, message.size)


cdef inline void write_drives_motion(ControlCycle* its) noexcept nogil:
    """What drives with loops of their own are to follow: where the arm is not asked to be anywhere, they damp it there."""
    cdef const Controller* c = &its.controller
    cdef bint follows = is_tracking(c) or c.phase == FLOATING or (is_blind(c) and c.expects)
    cdef Py_ssize_t n = c.n, i
    for i in range(n):
        its.shown[i] = (c.desired[i] if follows else c.validator.q[i]) - c.turned[i]
    write_stamp(&its.joint_command, its.sec, its.nanosec)
    write_last(&its.joint_command, <int32_t> n, 2, its.shown)
    for i in range(n):
        its.shown[i] = c.desired[n + i] if follows else 0.0
    write_last(&its.joint_command, <int32_t> n, 1, its.shown)


# Deadlines.

cdef inline int count_late(Deadline* its, int64_t now, bint late) noexcept nogil:
    """Count a command; returns how many were late within the last second."""
    cdef int64_t bucket = now // 100000000
    cdef int k, total = 0
    while its.bucket < bucket:
        its.bucket = max(its.bucket + 1, bucket - BUCKETS)
        its.counts[its.bucket % BUCKETS] = 0
    its.counts[bucket % BUCKETS] += late
    for k in range(BUCKETS):
        total += its.counts[k]
    return total


cdef inline void check_deadline(ControlCycle* its, double taken) noexcept nogil:
    """Hold the arm, if so asked, while more commands are late than are tolerated. taken: [s]."""
    cdef Deadline* deadline = &its.deadline
    cdef bint missed
    if deadline.cycle_time <= 0.0:
        return
    missed = count_late(deadline, its.now, taken > deadline.cycle_time) > deadline.allowed
    if missed and deadline.holds:
        fall_back(&its.controller, its.now * 1e-9, CAUSE_LATE_COMMANDS, deadline.allowed, deadline.cycle_time)
    elif missed and not deadline.missed:
        say(its, NOTE_CAUSE, -1, <int> CAUSE_LATE_COMMANDS, deadline.allowed, deadline.cycle_time, 0.0)
    deadline.missed = missed


# What is shown about the motion.

cdef inline void write_row(Template* message, Py_ssize_t n, int before, const double* values, const double* less,
                           double* scratch) noexcept nogil:
    """Write values, less others unless NULL, in place of one of a JointState's arrays."""
    cdef Py_ssize_t i
    for i in range(n):
        scratch[i] = values[i] - (less[i] if less != NULL else 0.0)
    write_last(message, <int32_t> n, before, scratch)


cdef inline void work_out_model_torque(ControlCycle* its, double* torque) noexcept nogil:
    """What the model says of the last command: gravity where nothing is followed."""
    cdef Controller* c = &its.controller
    if c.settings.mode == GRAVITY_COMPENSATION:
        gravity(&c.models, c.validator.q, torque)
    else:
        model_torque(&c.settings, &c.models, c.n, c.desired, torque)


cdef inline bint is_watched(const ControlCycle* its, int one, int other) noexcept nogil:
    return its.output.is_watched(its.output.loop, one) or its.output.is_watched(its.output.loop, other)


cdef inline void show(ControlCycle* its) noexcept nogil:
    """Publish what there is to see of the motion when it is time to and somebody listens."""
    cdef Controller* c = &its.controller
    cdef int32_t sec = its.sec
    cdef uint32_t nanosec = its.nanosec
    cdef int64_t time
    if its.now < its.show_due:
        return
    its.show_due = max(its.show_due + its.show_period, its.now)
    if not (is_tracking(c) or c.phase == FLOATING):
        return
    if sec == 0 and nanosec == 0:
        time = its.output.ros_time(its.output.loop)
        sec, nanosec = <int32_t> (time // SECOND), <uint32_t> (time % SECOND)
    if is_watched(its, OUTPUT_DESIRED, OUTPUT_ERROR):
        show_joints(its, sec, nanosec)
    if c.hand.link >= 0 and is_watched(its, OUTPUT_POSE, OUTPUT_TWIST):
        show_hand(its, sec, nanosec)


cdef inline void show_hand(ControlCycle* its, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish pose and velocity of the hand, by the last good state."""
    cdef Controller* c = &its.controller
    cdef double[7] pose
    update_kinematics(&c.hand, c.models.newest.model, c.validator.q, c.validator.qd)
    write_pose(c.hand.pose, pose)
    write_stamp(&its.pose, sec, nanosec)
    write_last(&its.pose, 7, 0, pose)
    write_stamp(&its.twist, sec, nanosec)
    write_last(&its.twist, 6, 0, c.hand.velocity)
    its.output.publish(its.output.loop, OUTPUT_POSE, its.pose.data, its.pose.size)
    its.output.publish(its.output.loop, OUTPUT_TWIST, its.twist.data, its.twist.size)


cdef inline void show_joints(ControlCycle* its, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish the desired state of the joints and the error."""
    cdef Controller* c = &its.controller
    cdef Py_ssize_t n = c.n, i
    work_out_model_torque(its, c.torque)
    write_stamp(&its.desired, sec, nanosec)
    write_stamp(&its.error, sec, nanosec)
    write_row(&its.desired, n, 2, c.desired, NULL, its.shown)
    write_row(&its.desired, n, 1, c.desired + n, NULL, its.shown)
    write_row(&its.desired, n, 0, c.torque, NULL, its.shown)
    write_row(&its.error, n, 2, c.desired, c.validator.q, its.shown)
    write_row(&its.error, n, 1, c.desired + n, c.validator.qd, its.shown)
    if c.settings.hardware_adds_gravity:
        gravity(&c.models, c.validator.q, c.gravity_torque)
        for i in range(n):
            c.torque[i] -= c.gravity_torque[i]
    write_row(&its.error, n, 0, c.governor.command, c.torque, its.shown)
    its.output.publish(its.output.loop, OUTPUT_DESIRED, its.desired.data, its.desired.size)
    its.output.publish(its.output.loop, OUTPUT_ERROR, its.error.data, its.error.size)


# The functions of the cycle.

cdef inline double on_its_way(const IncomingMessage* incoming, double stamp) noexcept nogil:
    """Since a state was measured, if its stamp is of about the system's time, or was sent [s]; NaN if nobody knows."""
    cdef int64_t now = clock_now(CLOCK_REALTIME)
    cdef double age = now * 1e-9 - stamp
    if fabs(age) < CLOCK_JUMP:
        return age
    return (now - incoming.sent) * 1e-9 if incoming.sent else NAN


cdef inline void begin_call(ControlCycle* its, int64_t now, Output* output) noexcept nogil:
    cdef int64_t heartbeat = output.heartbeat(output.loop)
    its.now, its.output = now, output
    its.controller.heartbeat = heartbeat * 1e-9 if heartbeat > 0 else INFINITY


cdef inline int64_t period_of(const Controller* c) noexcept nogil:
    """Time between two ticks [ns]; without states they command, and a motion in coarse steps would drift away."""
    return BLIND_PERIOD if is_blind(c) else <int64_t> (c.settings.period * 1e9)


cdef inline void put_tick_off(ControlCycle* its) noexcept nogil:
    """A believed state does for a tick, unless commands go by that: each wake-up of the loop is dear."""
    if not its.controller.settings.on_timer:
        its.tick_due = its.now + period_of(&its.controller)
        watch_executor(&its.controller, its.now * 1e-9)


cdef inline void on_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                            Output* output) noexcept nogil:
    """Answer a serialised JointState."""
    cdef ControlCycle* its = <ControlCycle*> self
    cdef Controller* c = &its.controller
    cdef Reader* r = &its.reader
    cdef double stamp
    cdef bint commands
    begin_call(its, now, output)
    open_message(r, incoming.data, incoming.size)
    read_joint_state(r, &its.names, &its.message)
    if r.fault == FOREIGN:
        its.foreign += 1
        return
    if r.fault != MESSAGE_WHOLE:
        its.malformed += 1
        note(c, NOTE_MESSAGE, r.which, <int> r.fault, <int> r.field, <double> r.claimed, <double> r.expected)
        return
    hear(its, incoming.sequence)
    if not collect(its):
        return
    its.states += 1
    stamp = its.message.sec + 1e-9 * its.message.nanosec
    commands = take_state(c, now * 1e-9, stamp, on_its_way(incoming, stamp), its.part, its.part + c.n, its.part + 2 * c.n)
    if c.validator.received == now * 1e-9:                      # it is believed
        its.sec, its.nanosec = its.message.sec, its.message.nanosec
        put_tick_off(its)
    if commands:
        send_command(its)
        check_deadline(its, (clock_now(CLOCK_REALTIME) - incoming.received) * 1e-9 if incoming.received else 0.0)
        show(its)
    release_unused(its)


cdef inline int64_t on_due(void* self) noexcept nogil:
    return (<ControlCycle*> self).tick_due


cdef inline void on_tick(void* self, int64_t now, Output* output) noexcept nogil:
    """Look at the age of the state, or command by the timer."""
    cdef ControlCycle* its = <ControlCycle*> self
    cdef int64_t period
    begin_call(its, now, output)
    if check_age(&its.controller, now * 1e-9):
        send_command(its)
        if its.controller.settings.on_timer:
            check_deadline(its, (now - its.tick_due) * 1e-9)
    show(its)
    release_unused(its)
    period = period_of(&its.controller)
    its.tick_due += period
    if its.tick_due <= now:
        its.tick_due = now + period


cdef inline Refusal take_path(ControlCycle* its, FollowPayload* payload) noexcept nogil:
    """Follow a path; the one before is no longer in use then."""
    cdef Refusal refusal = follow(&its.controller, payload.path, payload.start, &payload.detail)
    if refusal == GRANTED:
        release(its, its.path_number)
        its.path_number = payload.number
    return refusal


cdef inline void take_snapshot(ControlCycle* its, SnapshotPayload* snapshot) noexcept nogil:
    cdef Controller* c = &its.controller
    cdef Py_ssize_t n = c.n
    memcpy(snapshot.arrays, c.validator.q, n * sizeof(double))
    memcpy(snapshot.arrays + n, c.validator.qd, n * sizeof(double))
    memcpy(snapshot.arrays + 2 * n, c.desired, 4 * n * sizeof(double))
    memcpy(snapshot.arrays + 6 * n, c.governor.command, n * sizeof(double))
    memcpy(snapshot.arrays + 7 * n, c.governor.asked, n * sizeof(double))
    gravity(&c.models, c.validator.q, snapshot.arrays + 8 * n)
    work_out_model_torque(its, snapshot.model_torque)
    snapshot.time, snapshot.received, snapshot.phase = c.validator.time, c.validator.received, c.phase
    snapshot.origin = c.validator.origin
    snapshot.sec, snapshot.nanosec = its.sec, its.nanosec
    snapshot.path, snapshot.elapsed = its.path_number, c.validator.time - c.motion.path_start
    snapshot.since_end = c.validator.time - c.motion.end
    snapshot.hold, snapshot.causes = c.hold, c.causes
    snapshot.distance[0] = snapshot.distance[1] = snapshot.strain = 0.0
    if leads_hand(c) and is_tracking(c):
        find_distance(&c.hand, snapshot.distance)
        snapshot.strain = strain(&c.hand.law, &c.hand.settings)


cdef inline void take_deadline(ControlCycle* its, const DeadlinePayload* payload) noexcept nogil:
    memset(&its.deadline, 0, sizeof(Deadline))
    its.deadline.cycle_time, its.deadline.allowed = payload.cycle_time, payload.allowed
    its.deadline.holds = payload.holds


cdef inline void on_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    """Do what is asked for; the answer is a Refusal."""
    cdef ControlCycle* its = <ControlCycle*> self
    cdef Controller* c = &its.controller
    cdef const ModelPayload* model
    cdef double time = now * 1e-9
    begin_call(its, now, output)
    request.answer = GRANTED
    if request.kind == STOP_REQUESTED or request.kind == REQUEST_DEACTIVATE:
        deactivate(c, time)
    elif request.kind == REQUEST_ACTIVATE:
        activate(c, time)
    elif request.kind == REQUEST_HOLD:
        request.answer = hold(c, time)
    elif request.kind == REQUEST_FOLLOW:
        request.answer = take_path(its, <FollowPayload*> request.payload)
    elif request.kind == REQUEST_SET_POINT:
        request.answer = take_set_point(c, time, (<SetPointPayload*> request.payload).state,
                                        &(<SetPointPayload*> request.payload).detail)
    elif request.kind == REQUEST_TARGET:
        request.answer = take_target(c, time, <const CartesianTarget*> request.payload)
    elif request.kind == REQUEST_CONFIGURE:
        request.answer = configure(c, <const Settings*> request.payload)
    elif request.kind == REQUEST_MODEL:
        model = <const ModelPayload*> request.payload
        take_model(c, model.model, model.number, model.transition)
    elif request.kind == REQUEST_DEADLINE:
        take_deadline(its, <const DeadlinePayload*> request.payload)
    elif request.kind == REQUEST_SNAPSHOT:
        take_snapshot(its, <SnapshotPayload*> request.payload)
    elif request.kind == REQUEST_FALL_BACK:
        fall_back(c, time, CAUSE_FAILURE, 0.0, 0.0)
    release_unused(its)


cdef inline bint on_safe_to_end(void* self, int64_t now) noexcept nogil:
    return is_at_rest(&(<ControlCycle*> self).controller)

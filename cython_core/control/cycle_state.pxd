# The controller's cycle (control_cycle.pxd): all that it knows, what it tells Python, and what it
# publishes.

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from control.arm cimport ModelBlend, floats_free, gravity, uses
from control.cartesian_impedance cimport update_kinematics
from control.controller_state cimport Controller, is_commanding, is_tracking
from control.events cimport (CAUSE_LATE_COMMANDS, NOTE_CAUSE, NOTE_RELEASED, Reason, NoteKind,
                             because)
from control.impedance_state cimport Impedance
from control.laws cimport model_torque
from control.phase_changes cimport respond
from control.phases cimport FLOATING
from control.startup cimport is_measured
from cycle cimport Output, record_values
from drive_units cimport LAW_POSITION, DriveUnits, clipped, current_for, drive_command, torque_of
from locked_positions cimport LockedJoints, follow_locked
from ros.atomic cimport CLOCK_REALTIME, SECOND, clock_now
from ros.messages cimport (JointNames, JointParts, JointStateMessage, Reader, Template, write_last,
                           write_stamp)
from ros.refusals cimport Refusals
from task_space.pose cimport quaternion_of

cdef enum OutputNumber:
    OUTPUT_COMMANDS, OUTPUT_DESIRED, OUTPUT_ERROR, OUTPUT_POSE, OUTPUT_TWIST

cdef enum InputNumber:
    INPUT_STATES, INPUT_WRENCH

cdef enum:
    BUCKETS = 10             # of a second, in which late commands are counted
    FALLS = 3                # of sequence numbers, within
    FALL_TIME = 2000000000   # [ns], are no accident
    LOCKED_GAP = 100000000   # [ns] without states, in which locked joints are followed no further
    SHORT = 100000000        # [ns] between two commands that motors' heat counts

cdef struct Deadline:        # how long a command may take after the joint state that it answers
    double cycle_time        # [s]; 0: any time
    int allowed              # longer ones per second that are tolerated
    bint holds               # the arm is held while there are more
    bint missed              # there are more
    int[BUCKETS] counts
    int64_t bucket           # the newest: tenths of a second

cdef struct DriveConversion: # between the controller's torques and what drives speak
    DriveUnits units
    bint sends_joints        # commands are JointStates
    double* command          # (n,) the last command in the drives' units
    double* cut              # (5, n) how many commands the drives' own limits cut,
    double* squared          # integral of the squared currents [A^2 s],
    double* echo             # and (3, n) sums of squared commands, of squared measured efforts, and
                             # of the products of both
    int64_t sent             # when the last one was [ns]

cdef struct ControlCycle:
    Controller controller
    DriveConversion drives
    JointNames names
    Reader reader
    JointStateMessage message
    JointNames links         # on which a wrench may be measured, and
    const double* link_pose  # (links, 16) their poses in the end effector's frame
    int32_t wrench_link      # that of wrenches whose frame is none of them; -1: refused
    Refusals refusals
    LockedJoints locked
    int64_t locked_at        # when they were moved last
    Template command, desired, error, pose, twist
    JointParts parts         # of the next state, as the messages bring them
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
    int64_t heard            # when the last of them came [ns]
    int64_t told             # stamp of the last joint command [ns]
    long long foreign        # messages that name none of our joints
    long long malformed
    Output* output           # of the call that is being answered
    int64_t now
    int64_t answered         # time of the last command; -1: none yet
    bint untimed             # when the last state was received is unknown: time may be simulated
    int64_t written          # then: when the last command was published, by the system's clock [ns]


cdef inline void begin_call(ControlCycle* cycle, int64_t now, Output* output) noexcept nogil:
    cdef int64_t silence = output.silence(output.loop)
    cycle.now, cycle.output = now, output
    cycle.controller.heartbeat = (now - silence) * 1e-9 if silence >= 0 else INFINITY


cdef inline void record_note(void* listener, NoteKind kind, Py_ssize_t index, double a, double b,
                             double c, double d) noexcept nogil:
    """Pass on what the controller notes (StateMachine.notify)."""
    cdef const ControlCycle* cycle = <const ControlCycle*> listener
    record_values(cycle.output, kind, <int32_t> index, cycle.now, a, b, c, d, 0)


cdef inline void release(ControlCycle* cycle, uint64_t number) noexcept nogil:
    """Tell Python that it may free an object."""
    if number:
        record_values(cycle.output, NOTE_RELEASED, 0, cycle.now, 0.0, 0.0, 0.0, 0.0, number)


cdef inline void release_unused(ControlCycle* cycle) noexcept nogil:
    """Release the path once no motion uses it, and the models that have lost their weight."""
    cdef const Controller* c = &cycle.controller
    if cycle.path_number and c.task.motion.path == NULL:
        release(cycle, cycle.path_number)
        cycle.path_number = 0
    for k in range(cycle.model_count):
        if not uses(&c.arm.models, cycle.models[k]):
            release(cycle, cycle.models[k])
    for k in range(c.arm.models.olds):
        cycle.models[k] = c.arm.models.old[k].number
    cycle.models[c.arm.models.olds] = c.arm.models.newest.number
    cycle.model_count = c.arm.models.olds + 1


cdef inline void stand_locked(ControlCycle* cycle) noexcept nogil:
    """Move the locked joints of the models to where they are now; at once without commands."""
    cdef Controller* c = &cycle.controller
    cdef ModelBlend* models = &c.arm.models
    cdef double duration = (min(cycle.now - cycle.locked_at, LOCKED_GAP) * 1e-9
                            if is_commanding(&c.machine) else INFINITY)
    cycle.locked_at = cycle.now
    if not follow_locked(&cycle.locked, duration):
        return
    models.newest.model.place(models.newest.model.self, cycle.locked.at)
    for k in range(models.olds):
        models.old[k].model.place(models.old[k].model.self, cycle.locked.at)


# Commands that come too late: how many within the last second, and what follows.

cdef inline int count_late(Deadline* deadline, int64_t now, bint late) noexcept nogil:
    """Count a command; returns how many were late within the last second."""
    cdef int64_t bucket = now // 100000000
    cdef int total = 0
    while deadline.bucket < bucket:
        deadline.bucket = max(deadline.bucket + 1, bucket - BUCKETS)
        deadline.counts[deadline.bucket % BUCKETS] = 0
    deadline.counts[bucket % BUCKETS] += late
    for k in range(BUCKETS):
        total += deadline.counts[k]
    return total


cdef inline void check_deadline(ControlCycle* cycle, double taken) noexcept nogil:
    """Count a command that took so long [s]; while too many are late, hold the arm if so asked."""
    cdef Deadline* deadline = &cycle.deadline
    cdef Reason reason = because(CAUSE_LATE_COMMANDS, -1, deadline.allowed, deadline.cycle_time)
    cdef bint missed
    if deadline.cycle_time <= 0.0:
        return
    missed = count_late(deadline, cycle.now, taken > deadline.cycle_time) > deadline.allowed
    if missed and deadline.holds:
        respond(&cycle.controller, cycle.now * 1e-9, &reason)
    elif missed and not deadline.missed:
        record_note(cycle, NOTE_CAUSE, -1, <int> CAUSE_LATE_COMMANDS, deadline.allowed,
                    deadline.cycle_time, 0.0)
    deadline.missed = missed


# What the controller publishes: the command, as drives are told it, and the motion, for subscribers
# that watch it.

cdef inline void publish_command(ControlCycle* cycle) noexcept nogil:
    """Publish the last command, for the first time or again."""
    cycle.output.publish(cycle.output.loop, OUTPUT_COMMANDS, cycle.command.data, cycle.command.size)
    cycle.answered = cycle.now
    if cycle.untimed:
        cycle.written = clock_now(CLOCK_REALTIME)


cdef inline void send_command(ControlCycle* cycle) noexcept nogil:
    cdef const double* command = cycle.controller.sent.governor.command
    if cycle.drives.units.converts:
        convert_command(&cycle.drives, &cycle.controller, cycle.now)
        command = cycle.drives.command
    if cycle.drives.sends_joints:
        write_drives_motion(cycle)
        if cycle.drives.units.any_position:
            command = without_positions(cycle)
    write_last(&cycle.command, cycle.parts.n, 0, command)
    publish_command(cycle)


cdef inline void convert_command(DriveConversion* drives, const Controller* c,
                                 int64_t now) noexcept nogil:
    """Put the command in the drives' units, within their own limits."""
    cdef const DriveUnits* u = &drives.units
    cdef const double* torque = c.sent.governor.command
    cdef double duration = min(now - drives.sent, SHORT) * 1e-9 if drives.sent else 0.0
    for i in range(c.n):
        if u.law[i] == LAW_POSITION:
            drives.command[i] = c.servos.governor.q[i] - c.turned[i]
            drives.cut[i] += c.servos.goal[i] != c.positions.q[i] + c.servos.offset[i]
        else:
            asked = drive_command(u, i, torque[i], c.observer.qd[i])
            drives.command[i] = clipped(asked, u.max_command[i])
            drives.cut[i] += drives.command[i] != asked
        asked = clipped(current_for(u, i, torque[i], c.observer.qd[i]), u.max_current[i])
        drives.squared[i] += asked * asked * duration
    drives.sent = now


cdef inline void take_torques(const DriveUnits* u, const ModelBlend* models, const double* q,
                              double* weight, double* effort) noexcept nogil:
    """Make torques of measured efforts (n,). weight: (n,) scratch."""
    if not u.measures:
        return
    if u.hides:
        gravity(models, q, weight)
    for i in range(models.n):
        effort[i] = torque_of(u, i, effort[i], weight[i] if u.hides else 0.0)


cdef inline void compare_efforts(DriveConversion* drives, const Controller* c,
                                 const double* effort) noexcept nogil:
    """Compare measured torques (n,) with the last command: drives exert what they are told."""
    cdef const double* command = c.sent.governor.command
    cdef Py_ssize_t n = c.n
    if not c.sent.has_begun or c.positions.used or not is_measured(c, effort):
        return
    for i in range(n):
        if isfinite(effort[i]):
            drives.echo[i] += command[i] * command[i]
            drives.echo[n + i] += effort[i] * effort[i]
            drives.echo[2 * n + i] += command[i] * effort[i]


cdef inline void write_drives_motion(ControlCycle* cycle) noexcept nogil:
    """Write the position and velocity that the drives' own loops are to follow, of the turn on
    which they measure. Its stamp goes on where no joint state comes, and not back where the next
    one was measured sooner than it came.
    """
    cdef const Controller* c = &cycle.controller
    cdef bint with_torque = cycle.drives.units.any_position
    cdef const double* q = c.servos.governor.q if with_torque else c.positions.q
    cdef int64_t stamp = <int64_t> cycle.sec * SECOND + cycle.nanosec
    cdef int32_t n = cycle.parts.n
    for i in range(n):
        cycle.parts.scratch[i] = q[i] - c.turned[i]
    if stamp != 0:
        stamp += cycle.now - cycle.heard
        if 0 <= cycle.told - stamp < SECOND:                    # else the clock was set
            stamp = cycle.told + 1000                           # seen in a double, too
        cycle.told = stamp
    write_stamp(&cycle.command, <int32_t> (stamp // SECOND), <uint32_t> (stamp % SECOND))
    write_last(&cycle.command, n, 2, cycle.parts.scratch)
    write_last(&cycle.command, n, 1, c.servos.governor.qd if with_torque else c.positions.qd)


cdef inline const double* without_positions(ControlCycle* cycle) noexcept nogil:
    """What drives are told, 0 for positions: in JointStates these have a place of their own."""
    cdef const DriveConversion* drives = &cycle.drives
    for i in range(cycle.controller.n):
        cycle.parts.scratch[i] = 0.0 if drives.units.law[i] == LAW_POSITION else drives.command[i]
    return cycle.parts.scratch


cdef inline void work_out_model_torque(const Controller* c, double* torque) noexcept nogil:
    """Find the model's part of the last command: gravity alone if no motion is followed."""
    if floats_free(&c.arm):
        gravity(&c.arm.models, c.observer.q, torque)
    else:
        model_torque(&c.arm, c.task.desired, c.task.presliding, torque)


cdef inline void write_error(ControlCycle* cycle, int before, const double* desired,
                             const double* actual) noexcept nogil:
    """Write an error in place of one of the message's arrays."""
    for i in range(cycle.parts.n):
        cycle.parts.scratch[i] = desired[i] - actual[i]
    write_last(&cycle.error, cycle.parts.n, before, cycle.parts.scratch)


cdef inline bint any_is_watched(const ControlCycle* cycle, int one, int other) noexcept nogil:
    return (cycle.output.is_watched(cycle.output.loop, one)
            or cycle.output.is_watched(cycle.output.loop, other))


cdef inline void show(ControlCycle* cycle) noexcept nogil:
    """Publish the motion, if that is due and somebody subscribes."""
    cdef Controller* c = &cycle.controller
    cdef int32_t sec = cycle.sec
    cdef uint32_t nanosec = cycle.nanosec
    if cycle.now < cycle.show_due:
        return
    cycle.show_due = max(cycle.show_due + cycle.show_period, cycle.now)
    if not (is_tracking(&c.machine) or c.machine.phase == FLOATING):
        return
    if sec == 0 and nanosec == 0:
        time = cycle.output.ros_time(cycle.output.loop)
        sec, nanosec = <int32_t> (time // SECOND), <uint32_t> (time % SECOND)
    if any_is_watched(cycle, OUTPUT_DESIRED, OUTPUT_ERROR):
        show_joints(cycle, sec, nanosec)
    if c.task.cartesian.law.link >= 0 and any_is_watched(cycle, OUTPUT_POSE, OUTPUT_TWIST):
        show_end_effector(cycle, sec, nanosec)


cdef inline void show_end_effector(ControlCycle* cycle, int32_t sec,
                                   uint32_t nanosec) noexcept nogil:
    """Publish pose and velocity of the end effector, by the last good state."""
    cdef Controller* c = &cycle.controller
    cdef Impedance* law = &c.task.cartesian.law
    cdef double[7] pose                                         # position and quaternion x y z w
    update_kinematics(law, c.arm.models.newest.model, c.observer.q, c.observer.qd)
    for k in range(3):
        pose[k] = law.pose[4 * k + 3]
    quaternion_of(law.pose, 4, pose + 3)
    write_stamp(&cycle.pose, sec, nanosec)
    write_last(&cycle.pose, 7, 0, pose)
    write_stamp(&cycle.twist, sec, nanosec)
    write_last(&cycle.twist, 6, 0, law.velocity)
    cycle.output.publish(cycle.output.loop, OUTPUT_POSE, cycle.pose.data, cycle.pose.size)
    cycle.output.publish(cycle.output.loop, OUTPUT_TWIST, cycle.twist.data, cycle.twist.size)


cdef inline void show_joints(ControlCycle* cycle, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish the desired state of the joints and the error."""
    cdef Controller* c = &cycle.controller
    cdef int32_t n = cycle.parts.n
    work_out_model_torque(c, c.sent.torque)
    write_stamp(&cycle.desired, sec, nanosec)
    write_stamp(&cycle.error, sec, nanosec)
    write_last(&cycle.desired, n, 2, c.task.desired)
    write_last(&cycle.desired, n, 1, c.task.desired + n)
    write_last(&cycle.desired, n, 0, c.sent.torque)
    write_error(cycle, 2, c.task.desired, c.observer.q)
    write_error(cycle, 1, c.task.desired + n, c.observer.qd)
    if c.arm.settings.hardware_adds_gravity:
        gravity(&c.arm.models, c.observer.q, c.sent.gravity_torque)
        for i in range(n):
            c.sent.torque[i] -= c.sent.gravity_torque[i]
    write_error(cycle, 0, c.sent.governor.command, c.sent.torque)
    cycle.output.publish(cycle.output.loop, OUTPUT_DESIRED, cycle.desired.data, cycle.desired.size)
    cycle.output.publish(cycle.output.loop, OUTPUT_ERROR, cycle.error.data, cycle.error.size)

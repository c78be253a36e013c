# The shadow as a loop's Cycle: joint states and commands in, predictions and residuals out.

cdef enum ShadowInput:
    JOINT_STATES, COMMANDS

cdef enum ShadowOutput:
    PREDICTED, RESIDUAL, WRENCH, CONTACT

cdef enum ShadowRequest:
    USE_SETTINGS             # payload: Settings*, in use until the next such request
    COLLECT                  # payload: StateRing* for states from now on, or NULL

cdef enum ShadowRecord:      # beside REFUSED
    RESTARTED = 1            # the observer; index: joint; value: RestartReason, figure
    RESTED                   # a standstill has ended; index: joint; value: mean effort, its
                             # standard error, gravity, number of the settings
    SLID                     # value: Outcome.share, number of the settings

cdef struct ShadowCycle:
    Shadow shadow
    Refusals refusals
    JointNames joints
    JointStateMessage message
    JointParts parts
    Template predicted, residual, contact
    double* command          # (n,) from a message that is not checked yet
    StateRing* ring          # of whoever collects states; NULL: nobody does
    int unstamped            # consecutive states without a stamp
    int64_t states           # used so far
    int64_t received         # when the last of them came [ns]; 0: none yet


# Out.

cdef void stamp(Template* message, int64_t time) noexcept nogil:
    cdef int64_t sec = time // SECOND - (time % SECOND < 0)
    write_stamp(message, <int32_t> sec, <uint32_t> (time - sec * SECOND))


cdef void publish(Output* output, int topic, const Template* message) noexcept nogil:
    output.publish(output.loop, topic, message.data, message.size)


cdef void publish_joints(Output* output, int topic, Template* message, int64_t time, int32_t n,
                         const double* values) noexcept nogil:
    """A JointState of values (3, n), if the topic has subscribers."""
    cdef int32_t k
    if not output.is_watched(output.loop, topic):
        return
    stamp(message, time)
    for k in range(3):
        write_last(message, n, 2 - k, values + k * n)
    publish(output, topic, message)


cdef void publish_residual(ShadowCycle* its, int64_t time, Output* output) noexcept nogil:
    cdef const Shadow* shadow = &its.shadow
    cdef Template wrench = shadow.settings.wrench
    publish_joints(output, RESIDUAL, &its.residual, time, its.joints.n, shadow.residual)
    if output.is_watched(output.loop, WRENCH):
        stamp(&wrench, time)
        write_last(&wrench, 6, 0, shadow.wrench)
        publish(output, WRENCH, &wrench)
    if output.is_watched(output.loop, CONTACT):
        its.contact.data[HEADER_SIZE] = shadow.in_contact
        publish(output, CONTACT, &its.contact)


cdef void put_record(int kind, int32_t index, double a, double b, double c, double d, int64_t now,
                     Output* output) noexcept nogil:
    cdef Record record
    record.kind, record.index, record.time, record.object = kind, index, now, 0
    record.value[0], record.value[1], record.value[2], record.value[3] = a, b, c, d
    output.record(output.loop, &record)


cdef void record_outcome(const Shadow* shadow, int64_t now, Output* output) noexcept nogil:
    """Records of the last state's results for Python."""
    cdef const Outcome* outcome = &shadow.outcome
    cdef int32_t i
    if outcome.restart_reason != NO_RESTART:
        put_record(RESTARTED, outcome.joint, <int> outcome.restart_reason, outcome.figure, 0.0, 0.0,
                   now, output)
    for i in range(<int32_t> shadow.n if outcome.has_rested else 0):
        put_record(RESTED, i, shadow.rest.effort[i], shadow.rest.square[i], shadow.gravity[i],
                   shadow.settings.number, now, output)
    if outcome.has_slid:
        put_record(SLID, 0, outcome.share, shadow.settings.number, 0.0, 0.0, now, output)


cdef void buffer_state(ShadowCycle* its, int64_t time) noexcept nogil:
    """Put time [s], position, velocity and joint torque of the last good state into the ring."""
    cdef Py_ssize_t n = its.shadow.n
    cdef double* row = next_row(its.ring) if its.ring != NULL else NULL
    if row == NULL:
        return
    row[0] = time / 1e9
    memcpy(row + 1, its.parts.values, 2 * n * sizeof(double))
    memcpy(row + 1 + 2 * n, its.shadow.torque, n * sizeof(double))
    put_row(its.ring)


# In.

cdef int64_t time_of_state(ShadowCycle* its, Output* output) noexcept nogil:
    """When a state was measured [ns]: its stamp, or, if stamps stay 0, the time of its arrival.

    A single stamp of 0 may be the beginning of a simulation or a recording.
    """
    cdef int64_t time = its.message.sec * <int64_t> SECOND + its.message.nanosec
    its.unstamped = min(its.unstamped + 1, 3) if time == 0 else 0
    if its.unstamped < 2:
        return time
    if its.unstamped == 2:
        restart(&its.shadow)
    return output.ros_time(output.loop)


cdef bint is_measured(ShadowCycle* its, const Doubles* values, Field field) noexcept nogil:
    if values.length:
        return True
    refuse_figure(&its.refusals, NOT_MEASURED, field, -1, its.joints.n, 0.0)
    return False


cdef bint read_state(ShadowCycle* its, Reader* r) noexcept nogil:
    """Read a JointState of all joints or of some; whether it is valid and about this arm."""
    cdef JointStateMessage* message = &its.message
    cdef Refusals* refusals = &its.refusals
    read_joint_state(r, &its.joints, message)
    if r.fault == FOREIGN:
        return False                                            # a gripper's or another arm's
    if r.fault == OTHER_LENGTH and r.claimed == 0 and message.found < its.joints.n:
        refuse_joints(refusals, MISSING_JOINTS, FIELD_NAME, message.place, its.joints.n)
        return False
    if r.fault != MESSAGE_WHOLE:
        refuse_reader(refusals, r)
        return False
    return (is_measured(its, &message.velocity, FIELD_VELOCITY)
            and is_measured(its, &message.effort, FIELD_EFFORT))


cdef void take_state(ShadowCycle* its, Reader* r, int64_t now, Output* output) noexcept nogil:
    """sensor_msgs/JointState of the arm."""
    cdef Shadow* shadow = &its.shadow
    cdef int32_t n = its.joints.n, bad
    cdef const double* state = its.parts.values
    cdef int64_t time
    if not (read_state(its, r) and collect_joints(&its.parts, &its.message)):
        return
    time = time_of_state(its, output)
    bad = <int32_t> first_absurd(state, 3 * n)
    if bad >= 0:
        within(&its.refusals, FIELD_POSITION + bad // n, bad % n, state[bad], ABSURD)
        return
    if not update(shadow, time, state):
        return
    its.states += 1
    its.received = now
    buffer_state(its, time)
    record_outcome(shadow, now, output)
    if shadow.outcome.has_residual:
        publish_residual(its, time, output)
    if shadow.outcome.has_prediction:
        publish_joints(output, PREDICTED, &its.predicted,
                       time + <int64_t> rint(shadow.settings.horizon * SECOND), n, shadow.predicted)


cdef void on_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                     Output* output) noexcept nogil:
    cdef ShadowCycle* its = <ShadowCycle*> self
    cdef Reader r
    begin_message(&its.refusals, input, incoming, now, output, &r)
    if input == JOINT_STATES:
        take_state(its, &r, now, output)
    elif input == COMMANDS and read_efforts(&its.refusals, &r, its.joints.n, ABSURD, its.command):
        command(&its.shadow, its.command)


cdef void on_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    cdef ShadowCycle* its = <ShadowCycle*> self
    request.answer = 0
    if request.kind == USE_SETTINGS:
        adopt(&its.shadow, <const Settings*> request.payload)
    elif request.kind == COLLECT:
        its.ring = <StateRing*> request.payload
    elif request.kind != STOP_REQUESTED:
        request.answer = 1


cdef int64_t never_due(void* self) noexcept nogil:
    return INT64_MAX


cdef void on_tick(void* self, int64_t now, Output* output) noexcept nogil:
    pass


cdef bint is_safe_to_end(void* self, int64_t now) noexcept nogil:
    return True                        # it moves nothing

# The shadow as a loop's Cycle: joint states and commands in, predictions and residuals out.

cdef enum ShadowInput:
    JOINT_STATES, COMMANDS

cdef enum ShadowOutput:
    PREDICTED, RESIDUAL, WRENCH, CONTACT

cdef enum ShadowRequest:
    USE_SETTINGS             # payload: ShadowSettings*, in use until the next such request
    COLLECT                  # payload: StateRing* for states from now on, or NULL
    PLACE                    # payload: (m,) where parameters have the locked joints

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
    LockedJoints locked
    Template predicted, residual, contact
    double* command          # (n,) from a message that is not checked yet
    StateRing* ring          # of whoever collects states; NULL: nobody does
    int unstamped            # consecutive states without a stamp
    int64_t states           # used so far
    int64_t received         # when the last of them came [ns]; 0: none yet


# Out.

cdef void publish(Output* output, int topic, const Template* message) noexcept nogil:
    output.publish(output.loop, topic, message.data, message.size)


cdef void publish_joints(Output* output, int topic, Template* message, int64_t time, int32_t n,
                         const double* values) noexcept nogil:
    """A JointState of values (3, n), if the topic has subscribers."""
    if not output.is_watched(output.loop, topic):
        return
    write_time(message.data + HEADER_SIZE, time)
    for k in range(3):
        write_last(message, n, 2 - k, values + k * n)
    publish(output, topic, message)


cdef void publish_residual(ShadowCycle* cycle, int64_t time, Output* output) noexcept nogil:
    cdef const Shadow* shadow = &cycle.shadow
    cdef Template wrench = shadow.settings.wrench
    publish_joints(output, RESIDUAL, &cycle.residual, time, cycle.joints.n, shadow.residual)
    if output.is_watched(output.loop, WRENCH):
        write_time(wrench.data + HEADER_SIZE, time)
        write_last(&wrench, 6, 0, shadow.wrench)
        publish(output, WRENCH, &wrench)
    if output.is_watched(output.loop, CONTACT):
        cycle.contact.data[HEADER_SIZE] = shadow.in_contact
        publish(output, CONTACT, &cycle.contact)


cdef void record_outcome(const Shadow* shadow, int64_t now, Output* output) noexcept nogil:
    """Records of the last state's results for Python."""
    cdef const Outcome* outcome = &shadow.outcome
    if outcome.restart_reason != NO_RESTART:
        record_values(output, RESTARTED, <int32_t> outcome.joint, now,
                      <int> outcome.restart_reason, outcome.figure, 0.0, 0.0, 0)
    for i in range(<int32_t> shadow.n if outcome.has_rested else 0):
        record_values(output, RESTED, i, now, shadow.rest.effort[i], shadow.rest.square[i],
                      shadow.gravity[i], shadow.settings.number, 0)
    if outcome.has_slid:
        record_values(output, SLID, 0, now, outcome.share, shadow.settings.number, 0.0, 0.0, 0)


cdef void buffer_state(ShadowCycle* cycle, int64_t time) noexcept nogil:
    """Put time [s], position, velocity and joint torque of the last good state into the ring."""
    cdef Py_ssize_t n = cycle.shadow.n
    cdef double* row = next_row(cycle.ring) if cycle.ring != NULL else NULL
    if row == NULL:
        return
    row[0] = time / 1e9
    memcpy(row + 1, cycle.parts.values, 2 * n * sizeof(double))
    memcpy(row + 1 + 2 * n, cycle.shadow.torque, n * sizeof(double))
    put_row(cycle.ring)


# In.

cdef int64_t time_of_state(ShadowCycle* cycle, Output* output) noexcept nogil:
    """When a state was measured [ns]: its stamp, or, if stamps stay 0, the time of its arrival.

    A single stamp of 0 may be the beginning of a simulation or a recording.
    """
    cdef int64_t time = cycle.message.sec * <int64_t> SECOND + cycle.message.nanosec
    cycle.unstamped = min(cycle.unstamped + 1, 3) if time == 0 else 0
    if cycle.unstamped < 2:
        return time
    if cycle.unstamped == 2:
        restart(&cycle.shadow)
    return output.ros_time(output.loop)


cdef bint is_given(ShadowCycle* cycle, const Doubles* values, Field field) noexcept nogil:
    if values.length:
        return True
    refuse_figure(&cycle.refusals, NOT_MEASURED, field, -1, cycle.joints.n, 0.0)
    return False


cdef void place_locked(ShadowCycle* cycle) noexcept nogil:
    """Move the locked joints of both models to where they stand."""
    cdef const DynamicsInterface* dynamics = cycle.shadow.dynamics
    cdef const SimulatorInterface* simulator = cycle.shadow.settings.simulator
    dynamics.place(dynamics.self, cycle.locked.at)
    simulator.place(simulator.simulator, cycle.locked.at)


cdef bint read_state(ShadowCycle* cycle, Reader* r, int64_t now, Output* output) noexcept nogil:
    """Read a JointState of all joints or of some; whether it is valid and about this arm."""
    cdef JointStateMessage* message = &cycle.message
    cdef Refusals* refusals = &cycle.refusals
    read_joint_state(r, &cycle.joints, message)
    if r.fault == MESSAGE_WHOLE or r.fault == FOREIGN:
        hear_message(&cycle.locked, message, cycle.joints.n, now, output)
    if r.fault == FOREIGN:
        return False                                            # a gripper's or another arm's
    if r.fault == OTHER_LENGTH and r.claimed == 0 and message.found < cycle.joints.n:
        refuse_joints(refusals, MISSING_JOINTS, FIELD_NAME, message.index, cycle.joints.n)
        return False
    if r.fault != MESSAGE_WHOLE:
        refuse_reader(refusals, r)
        return False
    return (is_given(cycle, &message.velocity, FIELD_VELOCITY)
            and is_given(cycle, &message.effort, FIELD_EFFORT))


cdef void hear_state(ShadowCycle* cycle, Reader* r, int64_t now, Output* output) noexcept nogil:
    """sensor_msgs/JointState of the arm."""
    cdef Shadow* shadow = &cycle.shadow
    cdef int32_t n = cycle.joints.n
    cdef const double* state = cycle.parts.values
    if not (read_state(cycle, r, now, output) and collect_joints(&cycle.parts, &cycle.message)):
        return
    time = time_of_state(cycle, output)
    bad = <int32_t> first_absurd(state, 3 * n)
    if bad >= 0:
        within(&cycle.refusals, FIELD_POSITION + bad // n, bad % n, state[bad], ABSURD)
        return
    if follow_locked(&cycle.locked, (now - cycle.received) * 1e-9 if cycle.received else INFINITY):
        place_locked(cycle)
    if not update(shadow, time, state):
        return
    cycle.states += 1
    cycle.received = now
    buffer_state(cycle, time)
    record_outcome(shadow, now, output)
    if shadow.outcome.has_residual:
        publish_residual(cycle, time, output)
    if shadow.outcome.has_prediction:
        publish_joints(output, PREDICTED, &cycle.predicted,
                       time + <int64_t> rint(shadow.settings.horizon * SECOND), n, shadow.predicted)


cdef void on_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                     Output* output) noexcept nogil:
    cdef ShadowCycle* cycle = <ShadowCycle*> self
    cdef Reader r
    begin_message(&cycle.refusals, input, incoming, now, output, &r)
    if input == JOINT_STATES:
        hear_state(cycle, &r, now, output)
    elif input == COMMANDS and read_efforts(&cycle.refusals, &r, cycle.joints.n, ABSURD,
                                            cycle.command):
        remember_command(&cycle.shadow, cycle.command)


cdef void on_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    cdef ShadowCycle* cycle = <ShadowCycle*> self
    request.answer = 0
    if request.kind == USE_SETTINGS:
        adopt(&cycle.shadow, <const ShadowSettings*> request.payload)
        place_locked(cycle)
    elif request.kind == PLACE:
        memcpy(cycle.locked.given, request.payload, cycle.locked.n * sizeof(double))
    elif request.kind == COLLECT:
        cycle.ring = <StateRing*> request.payload
    elif request.kind != STOP_REQUESTED:
        request.answer = 1


cdef int64_t never_due(void* self) noexcept nogil:
    return INT64_MAX


cdef void on_tick(void* self, int64_t now, Output* output) noexcept nogil:
    pass


cdef bint is_safe_to_end(void* self, int64_t now) noexcept nogil:
    return True                        # it moves nothing

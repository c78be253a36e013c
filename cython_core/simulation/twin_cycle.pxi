# The twin as a loop's Cycle: when the arm advances (with real time, with commands, or step by
# step), what messages and requests do, and the published states.

cdef enum TwinInput:
    COMMANDS, JOINT_COMMANDS, EXTERNAL_WRENCH, SET_STATE
    OWN_COMMANDS             # of some joints, the first of as many topics as there are; after
                             # these joint states, for the locked joints

cdef enum: MAX_TOPICS = 12            # refusals know 16 inputs; of the last, nothing is refused

cdef enum TwinOutput:
    JOINT_STATES
    CLOCK                    # if there is one; then messages about a floating base, the sensor's

cdef enum: MAX_BASE_MESSAGES = 2

cdef enum TwinRequest:
    START                    # begin to run, e.g. after an activation
    USE_SETTINGS             # payload: SimulatorSettings*, in use until the next such request
    RESET
    PAUSE
    RESUME
    STEP                     # payload: Steps*

cdef enum TwinAnswer:
    DONE
    NOT_PAUSED
    STOPPED                  # by a fault
    UNKNOWN

cdef enum TwinRecord:        # beside REFUSED
    FAULT = 1                # index: joint, negative: the floating base; value: FaultKind,
                             # position, velocity

cdef enum:                   # [ns]
    LOCKSTEP_REPEAT = 80_000_000       # after which an unanswered state is published again
    PAUSED_REPEAT = 500_000_000        # for late subscribers: with an unchanged stamp
    DISCOVERY = 500_000_000            # until publishers and subscriptions have found each other
    EPOCH_GRID = 125_000_000           # on which simulated time begins by the wall: stamps in
                                       # double precision are rounded alike in each run

cdef struct Steps:
    int64_t count            # integration steps
    int64_t time             # simulation time after them [ns]

cdef struct BaseMessage:     # about the motion of a floating base
    Template message
    size_t stamp, pose, twist          # their offsets in it; 0: no twist

cdef struct CommandTopic:     # std_msgs/Float64MultiArray: what each of its joints' drives is told
    int32_t n
    int32_t* joint           # (n,)

cdef struct Answers:         # to a lockstep's states, on one topic
    bint has_come            # a valid one has since the last period
    uint64_t digest          # of its bytes
    int64_t spare            # repetitions of an answered state, to each of which it may come again

cdef struct TwinCycle:
    TwinArm arm
    Pace pace
    bint paused
    bint answered                      # in lockstep: every command has come since the last period
    int64_t begin                      # no tick before this time
    int64_t idle_since, idle_interval  # paused or in lockstep: time of the last state, and from it
                                       # to its repetition
    int64_t repeats, repeated          # of the state in lockstep: how many, and when by the
                                       # system's clock
    Answers[OWN_COMMANDS + MAX_TOPICS] answers     # by input
    bint is_new                        # the state has not been published yet
    int64_t stamp                      # of the last published state [ns]
    int64_t epoch                      # ROS time at simulation time 0 [ns]
    JointNames joints                  # the arm's, then those that are ignored
    JointStateMessage names
    JointNames locked                  # names, others alone
    JointStateMessage of_locked
    JointNames links
    int32_t wrench_link                # of wrenches whose frame is none of them; -1: refused
    double* wanted                     # (3, n) from a message that is not checked yet
    bint* commanded                    # (n,) the joints that a message commands
    CommandTopic commands              # of all joints
    CommandTopic[MAX_TOPICS] own
    int own_count
    Template states, clock
    BaseMessage[MAX_BASE_MESSAGES] base
    int base_count
    Template sensed                    # WrenchStamped of a force-torque sensor, if there is one
    int32_t sensor                     # the link on which it is
    Refusals refusals
    bint fault_reported


# Publishing.

cdef int64_t stamp_now(const TwinCycle* twin, int64_t lag, Output* output) noexcept nogil:
    """The stamp of the state that was due ``lag`` [ns] ago."""
    if twin.arm.settings.owns_time:
        return twin.epoch + simulation_time(&twin.arm)
    if not twin.is_new:
        return twin.stamp              # so that an old state does not look new
    stamp = output.ros_time(output.loop) - lag
    if twin.paused or twin.arm.settings.lockstep or stamp < twin.stamp - SECOND:
        return stamp                   # or the clock was set back
    # The last stamp may be too late, if the loop was delayed then; stamps must still increase.
    return max(stamp, twin.stamp + <int64_t> (0.5 * twin.pace.real_period))


cdef void publish_base(TwinCycle* twin, int64_t stamp, Output* output) noexcept nogil:
    """Messages about a floating base, if their topics have subscribers."""
    cdef int first = CLOCK + (twin.clock.data != NULL)
    for k in range(twin.base_count):
        base = &twin.base[k]
        if not output.is_watched(output.loop, first + k):
            continue
        write_time(base.message.data + base.stamp, stamp)
        memcpy(base.message.data + base.pose, twin.arm.q_all, 7 * sizeof(double))
        if base.twist:
            memcpy(base.message.data + base.twist, twin.arm.qd_all, 6 * sizeof(double))
        output.publish(output.loop, first + k, base.message.data, base.message.size)


cdef void publish_sensor(TwinCycle* twin, int64_t stamp, Output* output) noexcept nogil:
    """The external wrench on the sensor's link, before the state of the same time."""
    cdef double[6] wrench
    if twin.sensed.data == NULL:
        return
    external_wrench(&twin.arm, twin.sensor, wrench)
    write_time(twin.sensed.data + HEADER_SIZE, stamp)
    write_last(&twin.sensed, 6, 0, wrench)
    output.publish(output.loop, CLOCK + (twin.clock.data != NULL) + twin.base_count,
                   twin.sensed.data, twin.sensed.size)


cdef void count_repetition(TwinCycle* twin) noexcept nogil:
    """Note a repetition that has been published: an answer that is older may come again."""
    twin.repeats, twin.repeated = twin.repeats + 1, clock_now(CLOCK_REALTIME)
    for k in range(OWN_COMMANDS + MAX_TOPICS):
        twin.answers[k].spare += twin.answers[k].has_come


cdef bint is_answerable(const TwinCycle* twin, Output* output) noexcept nogil:
    """Whether anybody is there who may have seen a state and answer it."""
    if output.is_fed(output.loop, COMMANDS) or output.is_fed(output.loop, JOINT_COMMANDS):
        return True
    for k in range(twin.own_count):
        if output.is_fed(output.loop, OWN_COMMANDS + k):
            return True
    return False


cdef void begin_by_wall(TwinCycle* twin, int64_t now, Output* output) noexcept nogil:
    """If so set, let simulated time begin at ROS time, or at most EPOCH_GRID later."""
    if twin.arm.settings.wall_time and simulation_time(&twin.arm) == 0:
        ros_time = output.ros_time(output.loop)
        twin.epoch = (ros_time + EPOCH_GRID - 1) // EPOCH_GRID * EPOCH_GRID
        restart_pace(&twin.pace, now + twin.epoch - ros_time)


cdef void publish_state(TwinCycle* twin, int64_t lag, int64_t now, Output* output) noexcept nogil:
    """Publish the clock, then the state that was due ``lag`` [ns] ago.

    Until somebody can answer, a lockstep's state is new each time, and its time may be the wall's;
    from then on time never leaps: who has answered would miss the states of a leap.
    """
    cdef int32_t n = <int32_t> twin.arm.n
    if twin.arm.settings.lockstep and not is_answerable(twin, output):
        twin.is_new = True
    if twin.is_new:
        begin_by_wall(twin, now, output)
    stamp = stamp_now(twin, lag, output)
    if twin.clock.data != NULL:
        write_time(twin.clock.data + HEADER_SIZE, stamp)
        output.publish(output.loop, CLOCK, twin.clock.data, twin.clock.size)
    publish_base(twin, stamp, output)
    publish_sensor(twin, stamp, output)
    write_time(twin.states.data + HEADER_SIZE, stamp)
    for k in range(3):
        write_last(&twin.states, n, 2 - k, twin.arm.measured + k * n)
    output.publish(output.loop, JOINT_STATES, twin.states.data, twin.states.size)
    if not twin.is_new:
        count_repetition(twin)
    twin.stamp, twin.is_new, twin.idle_since = stamp, False, now


cdef void report_fault(TwinCycle* twin, int64_t now, Output* output) noexcept nogil:
    cdef const Fault* fault = &twin.arm.fault
    if fault.kind == NO_FAULT or twin.fault_reported:
        return
    twin.fault_reported = record_values(output, FAULT, fault.joint, now, <int> fault.kind,
                                        fault.position, fault.velocity, 0.0, 0)


# Time.

cdef double pace_of(const SimulatorSettings* settings) noexcept nogil:
    """The real-time factor at most; 0: as fast as possible."""
    return settings.real_time_factor if settings.paced or not settings.lockstep else 0.0


cdef void restart_pacing(TwinCycle* twin, int64_t now) noexcept nogil:
    """Restart pacing by the settings; if time stands still, the state is due at once."""
    cdef const SimulatorSettings* settings = twin.arm.settings
    set_pace(&twin.pace, settings.period * SECOND, pace_of(settings), now)
    twin.idle_interval = LOCKSTEP_REPEAT if settings.lockstep else PAUSED_REPEAT
    twin.idle_since = now - twin.idle_interval


cdef bint is_free_to_go(const TwinCycle* twin) noexcept nogil:
    """Whether the next period of a lockstep may begin."""
    return twin.arm.settings.lockstep and twin.answered and not twin.paused


cdef int64_t twin_due(void* self) noexcept nogil:
    cdef TwinCycle* twin = <TwinCycle*> self
    if twin.arm.fault.kind != NO_FAULT:
        return NEVER if twin.fault_reported else 0
    if is_free_to_go(twin):
        return max(period_due(&twin.pace), twin.begin)
    if twin.paused or twin.arm.settings.lockstep:
        return max(twin.idle_since + twin.idle_interval, twin.begin)
    return max(next_due(&twin.pace), twin.begin)


cdef void await_commands(TwinCycle* twin) noexcept nogil:
    twin.answered, twin.repeats = False, 0
    for k in range(OWN_COMMANDS + MAX_TOPICS):
        twin.answers[k].has_come = False


cdef void advance_and_publish(TwinCycle* twin, int64_t lag, int64_t now,
                              Output* output) noexcept nogil:
    advance_arm(&twin.arm, 0, command_clock(twin, now))
    twin.is_new = True
    await_commands(twin)
    if twin.arm.fault.kind == NO_FAULT:
        publish_state(twin, lag, now, output)


cdef void begin_period(TwinCycle* twin, int64_t now, Output* output) noexcept nogil:
    """Begin the next period of a lockstep, if it is due."""
    if now >= period_due(&twin.pace):
        take_period(&twin.pace, now)
        advance_and_publish(twin, 0, now, output)


cdef void twin_tick(void* self, int64_t now, Output* output) noexcept nogil:
    cdef TwinCycle* twin = <TwinCycle*> self
    cdef double lag
    if now < twin.begin:
        return
    if twin.arm.fault.kind == NO_FAULT:
        if is_free_to_go(twin):
            begin_period(twin, now, output)
        elif twin.paused or twin.arm.settings.lockstep:
            if now - twin.idle_since >= twin.idle_interval:
                publish_state(twin, 0, now, output)
        else:
            count = count_due(&twin.pace, now, twin.arm.settings.follows_ros_time, &lag)
            for k in range(count):
                advance_and_publish(twin, <int64_t> (lag - k * twin.pace.real_period), now, output)
    report_fault(twin, now, output)


# Messages.

cdef uint64_t digest(const uint8_t* data, size_t size) noexcept nogil:
    """FNV-1a."""
    cdef uint64_t d = 0xcbf29ce484222325, prime = 0x100000001b3
    for k in range(size):
        d = (d ^ data[k]) * prime
    return d


cdef bint is_spare(TwinCycle* twin, int input, const IncomingMessage* incoming) noexcept nogil:
    """Whether a lockstep's command is one that has been used already: a controller that was only
    late gives it again to a state that was repeated meanwhile.

    Each answer to a repetition is the same to the bit, and comes before those to later states. One
    that is dropped although it was a new one is asked for again.
    """
    cdef Answers* answers = &twin.answers[input]
    cdef uint64_t d = digest(incoming.data, incoming.size)
    if answers.spare > 0 and d == answers.digest:
        answers.spare -= 1
        return True
    answers.spare = 0
    if not answers.has_come and 0 < incoming.written < twin.repeated:
        answers.spare = twin.repeats
    answers.digest = d
    return False


cdef bint all_have_answered(const TwinCycle* twin) noexcept nogil:
    """Whether every topic of some joints has brought a command since the last period."""
    for k in range(twin.own_count):
        if not twin.answers[OWN_COMMANDS + k].has_come:
            return False
    return True


cdef int64_t command_clock(const TwinCycle* twin, int64_t now) noexcept nogil:
    """The time by which commands time out [ns]: where the twin owns ROS time, its own."""
    return simulation_time(&twin.arm) if twin.arm.settings.owns_time else now


cdef void command_taken(TwinCycle* twin, int input, int64_t now, Output* output) noexcept nogil:
    """Apply a command; in lockstep a complete one advances the arm by a period."""
    take_command(&twin.arm, twin.commanded, command_clock(twin, now))
    twin.answers[input].has_come = True
    twin.answered |= input < OWN_COMMANDS or all_have_answered(twin)
    if is_free_to_go(twin) and twin.arm.fault.kind == NO_FAULT:
        begin_period(twin, now, output)
        report_fault(twin, now, output)


cdef void take_commands(TwinCycle* twin, int input, Reader* r, int64_t now,
                        Output* output) noexcept nogil:
    cdef const CommandTopic* topic = (&twin.commands if input == COMMANDS
                                      else &twin.own[input - OWN_COMMANDS])
    if not read_efforts(&twin.refusals, r, topic.n, DBL_MAX, twin.wanted):
        return
    memset(twin.commanded, 0, twin.arm.n * sizeof(bint))
    for k in range(topic.n):
        command_drive(&twin.arm, topic.joint[k], twin.wanted[k])
        twin.commanded[topic.joint[k]] = True
    command_taken(twin, input, now, output)


cdef bint read_some_joints(TwinCycle* twin, Reader* r, bint with_position) noexcept nogil:
    """Read a JointState that names at least one of the arm's joints and no unknown ones; whether it
    is valid.
    """
    cdef int32_t ours = 0
    cdef JointStateMessage* names = &twin.names
    read_joint_names(r, &twin.joints, names)
    if r.fault == MESSAGE_WHOLE and <size_t> names.found < names.count:
        refuse_name(&twin.refusals, UNKNOWN_JOINT, FIELD_NAME, &names.unknown)
        return False
    read_joint_values(r, names, with_position)
    if r.fault != MESSAGE_WHOLE:
        refuse_reader(&twin.refusals, r)
        return False
    for joint in range(<int32_t> twin.arm.n):
        ours += names.index[joint] >= 0
    if ours == 0:
        refuse_figure(&twin.refusals, NO_JOINT, FIELD_NAME, -1, 0.0, 0.0)
    return ours > 0


cdef bint gather_field(TwinCycle* twin, const Doubles* values, Field field, double limit,
                       double* out) noexcept nogil:
    """out (n,): values of the named joints; False if one exceeds ``limit`` in size."""
    gather(&twin.names, values, <int32_t> twin.arm.n, out)
    for i in range(<int32_t> twin.arm.n):
        if (values.length and twin.names.index[i] >= 0
                and not within(&twin.refusals, field, i, out[i], limit)):
            return False
    return True


cdef bint gather_motion(TwinCycle* twin) noexcept nogil:
    """Position and velocity of the named joints into ``wanted``, if the message has them."""
    return (gather_field(twin, &twin.names.position, FIELD_POSITION, ABSURD, twin.wanted)
            and gather_field(twin, &twin.names.velocity, FIELD_VELOCITY, ABSURD_SPEED,
                             twin.wanted + twin.arm.n))


cdef void take_joint_commands(TwinCycle* twin, Reader* r, int64_t now,
                              Output* output) noexcept nogil:
    """sensor_msgs/JointState: efforts; or positions and velocities for the drives to follow, with
    efforts as feed-forward. A drive that is told something else than a torque takes that alone.
    """
    cdef TwinArm* arm = &twin.arm
    cdef JointStateMessage* names = &twin.names
    cdef Py_ssize_t n = arm.n
    cdef const double* wanted = twin.wanted
    cdef bint takes_position
    if not read_some_joints(twin, r, False):
        return
    if not (names.position.length or names.velocity.length or names.effort.length):
        r.claimed, r.expected = 0, names.count
        refuse_message(r, OTHER_LENGTH, FIELD_EFFORT)
        refuse_reader(&twin.refusals, r)
        return
    if not (gather_motion(twin) and gather_field(twin, &names.effort, FIELD_EFFORT, DBL_MAX,
                                                 twin.wanted + 2 * n)):
        return
    for i in range(n):
        takes_position = law_of(arm, i) == LAW_POSITION
        twin.commanded[i] = names.index[i] >= 0 and (names.position.length or not takes_position)
        if twin.commanded[i] and law_of(arm, i) != LAW_TORQUE:
            command_drive(arm, i, wanted[i] if takes_position else
                          wanted[2 * n + i] if names.effort.length else 0.0)
        elif twin.commanded[i]:
            arm.follows_position[i] = names.position.length != 0
            arm.follows_velocity[i] = names.position.length != 0 or names.velocity.length != 0
            arm.desired_q[i] = wanted[i]
            arm.desired_qd[i] = wanted[n + i] if names.velocity.length else 0.0
            arm.command[i] = wanted[2 * n + i] if names.effort.length else 0.0
    if not is_idle_command(arm, twin.commanded):
        command_taken(twin, JOINT_COMMANDS, now, output)


cdef bint is_idle_command(const TwinArm* arm, const bint* commanded) noexcept nogil:
    """Whether a command does not count as the first one, which releases the brakes.

    topic_based_ros2_control sends zero efforts before any controller is active.
    """
    for i in range(arm.n):
        if commanded[i] and (arm.command[i] != 0.0 or not arm.braked[i]
                             or (arm.follows_velocity[i] and law_of(arm, i) != LAW_DUTY)
                             or arm.command_time[i] != NEVER):
            return False
    return not arm.settings.lockstep


cdef void take_set_state(TwinCycle* twin, Reader* r, int64_t now) noexcept nogil:
    """sensor_msgs/JointState: move joints without touching time, command and brakes."""
    cdef TwinArm* arm = &twin.arm
    cdef Py_ssize_t n = arm.n
    if not (read_some_joints(twin, r, True) and gather_motion(twin)):
        return
    for i in range(n):
        if twin.names.index[i] >= 0:
            arm.q[i] = twin.wanted[i]
            arm.qd[i] = twin.wanted[n + i] if twin.names.velocity.length else 0.0
    state_was_set(arm)
    publish_soon(twin, now)


cdef void publish_soon(TwinCycle* twin, int64_t now) noexcept nogil:
    """Mark the state as new; if paused, it is published at the next tick."""
    twin.is_new = True
    if twin.paused:
        twin.idle_since = now - twin.idle_interval


cdef void take_external_wrench(TwinCycle* twin, Reader* r) noexcept nogil:
    """geometry_msgs/WrenchStamped on the link that its frame names."""
    cdef double stamp
    cdef int32_t link = read_wrench(&twin.refusals, r, &twin.links, twin.wrench_link, twin.wanted,
                                    &stamp)
    if link >= 0 and not apply_load(&twin.arm, link, twin.wanted):
        refuse_figure(&twin.refusals, TOO_MANY_LOADS, FIELD_FRAME, -1, MAX_LOADS, 0.0)


cdef void take_locked(TwinCycle* twin, const IncomingMessage* incoming, int64_t now,
                      Output* output) noexcept nogil:
    """Take what a joint state says of joints that others move."""
    cdef Reader r
    open_message(&r, incoming.data, incoming.size)
    read_joint_names(&r, &twin.locked, &twin.of_locked)
    read_joint_values(&r, &twin.of_locked, False)
    if r.fault == MESSAGE_WHOLE:       # else it is not for the twin to judge
        hear_message(&twin.arm.locked, &twin.of_locked, 0, now, output)


cdef void twin_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                       Output* output) noexcept nogil:
    cdef TwinCycle* twin = <TwinCycle*> self
    cdef Reader r
    if input == OWN_COMMANDS + twin.own_count:
        take_locked(twin, incoming, now, output)
        return
    begin_message(&twin.refusals, input, incoming, now, output, &r)
    if (twin.arm.settings.lockstep and input not in (EXTERNAL_WRENCH, SET_STATE)
            and is_spare(twin, input, incoming)):
        return
    if input == JOINT_COMMANDS:
        take_joint_commands(twin, &r, now, output)
    elif input == EXTERNAL_WRENCH:
        take_external_wrench(twin, &r)
    elif input == SET_STATE:
        take_set_state(twin, &r, now)
    else:
        take_commands(twin, input, &r, now, output)


# Requests.

cdef void use_settings(TwinCycle* twin, const SimulatorSettings* settings,
                       int64_t now) noexcept nogil:
    """Go over to other settings; a lockstep of the same pace stays as far behind real time."""
    cdef const SimulatorSettings* before = twin.arm.settings
    cdef bint same = (settings.lockstep and before.lockstep and settings.period == before.period
                      and pace_of(settings) == pace_of(before))
    adopt_settings(&twin.arm, settings)
    if not same:
        restart_pacing(twin, now)


cdef int step_twin(TwinCycle* twin, Steps* steps, int64_t now, Output* output) noexcept nogil:
    """Advance by integration steps while time stands still."""
    if not twin.paused:
        return NOT_PAUSED
    restart_timeout(&twin.arm, command_clock(twin, now))
    advance_arm(&twin.arm, steps.count, command_clock(twin, now))
    steps.time = simulation_time(&twin.arm)
    if twin.arm.fault.kind != NO_FAULT:
        report_fault(twin, now, output)
        return STOPPED
    twin.is_new = True
    await_commands(twin)
    publish_state(twin, 0, now, output)
    return DONE


cdef void twin_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    cdef TwinCycle* twin = <TwinCycle*> self
    request.answer = DONE
    if request.kind == START:          # in lockstep after DISCOVERY: all who listen see all of it
        restart_pacing(twin, now)
        restart_timeout(&twin.arm, command_clock(twin, now))
        twin.begin = now + (DISCOVERY if twin.arm.settings.lockstep else 0)
        twin.is_new = True
    elif request.kind == USE_SETTINGS:
        use_settings(twin, <const SimulatorSettings*> request.payload, now)
    elif request.kind == RESET:
        reset_arm(&twin.arm)
        await_commands(twin)
        twin.is_new, twin.fault_reported = True, False
        restart_pacing(twin, now)
    elif request.kind == PAUSE:
        if not twin.paused:
            twin.paused, twin.idle_since, twin.idle_interval = True, now, PAUSED_REPEAT
    elif request.kind == RESUME:
        if twin.paused:
            twin.paused = False
            restart_pacing(twin, now)
            restart_timeout(&twin.arm, command_clock(twin, now))
    elif request.kind == STEP:
        request.answer = step_twin(twin, <Steps*> request.payload, now, output)
    elif request.kind != STOP_REQUESTED:
        request.answer = UNKNOWN


cdef bint twin_is_safe_to_end(void* self, int64_t now) noexcept nogil:
    return True                        # a simulation may end at any time

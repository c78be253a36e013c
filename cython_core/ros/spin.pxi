# The loop itself: from ``spin`` on it runs without the interpreter.

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigfillset(sigset_t* signals) noexcept
    int pthread_sigmask(int how, const sigset_t* signals, sigset_t* before) noexcept
    enum: SIG_SETMASK

cdef extern from "<unistd.h>" nogil:
    ssize_t write(int fd, const void* data, size_t size) noexcept

cdef enum:
    MAX_AT_ONCE = 16         # messages of one topic before those of the next
    PLAUSIBLE = 3600         # [s] between arrival and now; more means that MessageInfo is laid out
                             # otherwise
    POLL_PERIOD = 20000000   # [ns] between checks for what does not wake the loop up
    REPORT_PERIOD = 100000000  # [ns] between records of the same failure

cdef struct Failures:
    uint64_t count
    int64_t reported         # when the last one was recorded

cdef struct Topic:
    Loop* loop
    void* subscription
    uint32_t waiting         # messages
    uint32_t counted         # of them, in this round
    Sequences sequences
    Failures too_large, take_failed

cdef struct Destination:
    void* publisher
    uint32_t is_watched
    Failures failed

cdef struct Loop:
    Cycle* cycle
    Output output
    Requests requests
    Records records
    Timing timing
    int64_t heartbeat        # last sign of life from Python
    int64_t stop_by          # when to end, safe or not; 0: go on
    bint is_stopping         # the cycle has been asked to stop
    uint32_t is_signalled    # ``records_fd`` has been written to since records were taken
    int records_fd           # eventfd(2)
    bint has_published       # in this call of the cycle
    Rcl rcl
    Topic* topics
    int topic_count
    Destination* destinations
    int destination_count
    void* clock              # rcl's
    LoopClock time
    uint32_t follows_ros_time  # as asked for
    int clock_topic          # of ``topics``; -1: there is none
    bint is_stamped          # messages of the first topic have a stamp, which tells the time
    bint at_once
    uint32_t signal          # changes when there is something to do
    uint32_t is_asleep
    uint32_t is_running
    Serialized incoming, outgoing
    MessageInfo info
    bint is_untimed          # ``info`` was not plausible
    uint8_t* memory          # of the incoming message
    size_t largest
    size_t refused           # size of a message that is larger
    int64_t last_poll        # when ``take_unnoticed`` was last called
    uint64_t messages_at_poll  # number of them then

cdef int64_t all_stop_by = 0 # as ``stop_by``, for all loops of the process


# Called by other threads and by the middleware.

cdef void wake_up(Loop* loop) noexcept nogil:
    add32(&loop.signal, 1, IN_ONE_ORDER)
    if load32(&loop.is_asleep, IN_ONE_ORDER):
        wake(&loop.signal)


cdef void on_message(const void* data, size_t count) noexcept nogil:
    """New messages have arrived; called by the middleware's threads."""
    cdef Topic* topic = <Topic*> data
    add32(&topic.waiting, <uint32_t> count, IN_ONE_ORDER)
    if takes_at_once(topic.loop):
        wake_up(topic.loop)


cdef void* refuse_to_grow(void* memory, size_t size, void* state) noexcept nogil:
    """Note the size of a message that is too large, for which the middleware wants more memory."""
    (<Loop*> state).refused = size
    return NULL


cdef void* refuse_to_allocate(size_t size, void* state) noexcept nogil:
    return NULL


# The functions of Output.

cdef int publish(void* self, int output, const uint8_t* data, size_t size) noexcept nogil:
    cdef Loop* loop = <Loop*> self
    cdef Destination* destination = &loop.destinations[output]
    if output >= loop.destination_count:   # after ``close``
        return PUBLISH_FAILED
    loop.outgoing.buffer, loop.outgoing.length, loop.outgoing.capacity = <uint8_t*> data, size, size
    code = loop.rcl.publish(destination.publisher, &loop.outgoing, NULL)
    if code == 0:
        loop.has_published = True
    else:
        loop.rcl.forget_error()            # else rcl prints a warning at the next error
        loop.timing.publish_failed += 1
        put_failure(loop, &destination.failed, PUBLISH_FAILED, output, code)
    return code


cdef bint is_watched(void* self, int output) noexcept nogil:
    cdef Loop* loop = <Loop*> self
    return (output < loop.destination_count
            and load32(&loop.destinations[output].is_watched, ACQUIRE) > 0)


cdef bint is_fed(void* self, int input) noexcept nogil:
    cdef Loop* loop = <Loop*> self
    cdef size_t count = 0
    if loop.rcl.publisher_count(loop.topics[input].subscription, &count) != 0:
        loop.rcl.forget_error()
    return count > 0


cdef int64_t ros_time(void* self) noexcept nogil:
    cdef Loop* loop = <Loop*> self
    cdef int64_t now = 0
    if loop.time.simulated or loop.clock == NULL:
        return ros_time_now(&loop.time)
    if loop.rcl.ros_time(loop.clock, &now) != 0:
        loop.rcl.forget_error()
    return now


cdef bint put(void* self, const Record* record) noexcept nogil:
    """Output.record."""
    cdef Loop* loop = <Loop*> self
    cdef uint64_t one = 1
    cdef bint there = put_record(&loop.records, record)
    if exchange32(&loop.is_signalled, 1, IN_ONE_ORDER) == 0:
        write(loop.records_fd, &one, sizeof(one))  # blocks only at 2^64 - 1
    return there


cdef int64_t silence(void* self) noexcept nogil:
    """Output.silence."""
    return max(0, steady_now() - load_time(&(<Loop*> self).heartbeat, ACQUIRE))


cdef void record_own_event(Loop* loop, int kind, int index, double value,
                           double count) noexcept nogil:
    """Record an event of the loop itself."""
    record_values(&loop.output, kind, index, steady_now(), value, count, 0.0, 0.0, 0)


cdef void put_failure(Loop* loop, Failures* failures, int kind, int index,
                      double value) noexcept nogil:
    """Count a failure, and record it unless one was recorded a moment ago."""
    cdef int64_t now = steady_now()
    failures.count += 1
    if failures.count == 1 or now - failures.reported > REPORT_PERIOD:
        failures.reported = now
        record_own_event(loop, kind, index, value, <double> failures.count)


# Calls of the cycle.

cdef void handle_message(Loop* loop, int input, const IncomingMessage* incoming,
                         int64_t published) noexcept nogil:
    """Pass a message to the cycle.

    published: when it was published [ns], for the jitter; 0 leaves the jitter out.
    """
    cdef int64_t begin = steady_now()
    loop.has_published = False
    loop.cycle.message(loop.cycle.self, input, incoming, time_now(&loop.time), &loop.output)
    loop.timing.messages += 1
    if published:
        count_wake_up(&loop.timing, published, begin)
    if loop.has_published:
        end = steady_now()
        count_response(&loop.timing, (clock_now(CLOCK_REALTIME) - incoming.received
                                      if incoming.received else end - begin), end)


cdef void handle_tick(Loop* loop, int64_t woken) noexcept nogil:
    """Call ``tick`` if it is due.

    woken: when the loop woke up for it [ns], for the jitter; 0 leaves the jitter out.
    """
    cdef int64_t begin = steady_now()
    cdef int64_t due = steady_time_of(&loop.time, loop.cycle.due(loop.cycle.self))
    if begin < due:
        return
    if loop.time.simulated:
        due, woken = begin, 0
    loop.has_published = False
    loop.cycle.tick(loop.cycle.self, time_now(&loop.time), &loop.output)
    loop.timing.ticks += 1
    if woken:
        count_wake_up(&loop.timing, due, woken)
    if loop.has_published:
        end = steady_now()
        count_response(&loop.timing, end - max(due, loop.timing.last), end)


cdef void handle_requests(Loop* loop) noexcept nogil:
    """Pass on the requests that have not been withdrawn."""
    cdef Slot* slot = take_request(&loop.requests)
    while slot != NULL:
        if claim(&slot.state, WAITING, TAKEN):
            loop.cycle.request(loop.cycle.self, &slot.request, time_now(&loop.time), &loop.output)
            store32(&slot.state, DONE if slot.is_awaited else FREE, RELEASE)
            wake(&slot.state)
        else:
            store32(&slot.state, FREE, RELEASE)
        slot = take_request(&loop.requests)


cdef int64_t end_of(Loop* loop) noexcept nogil:
    """When to end, safe or not; 0: go on."""
    return load_time(&loop.stop_by, ACQUIRE) or load_time(&all_stop_by, ACQUIRE)


cdef bint may_end(Loop* loop, int64_t now) noexcept nogil:
    """Whether it is time to end. When a stop is first requested, the cycle is asked to prepare for
    it.
    """
    cdef int64_t stop_by = end_of(loop)
    cdef Request request
    if not stop_by:
        return False
    if not loop.is_stopping:
        loop.is_stopping = True
        request.kind, request.answer, request.payload = STOP_REQUESTED, 0, NULL
        loop.cycle.request(loop.cycle.self, &request, time_now(&loop.time), &loop.output)
    is_safe = loop.cycle.is_safe_to_end(loop.cycle.self, time_now(&loop.time))
    if not is_safe and now < stop_by and standstill(&loop.time) < STANDING:
        return False
    record_own_event(loop, ENDED, 0, is_safe, 0)
    return True


# The loop.

cdef void spin(Loop* loop) noexcept nogil:
    """Run the cycle until it is time to end."""
    cdef int64_t now = steady_now()
    while not may_end(loop, now):
        wait(loop, now)
        now = steady_now()
        loop.timing.rounds += 1
        if loop.time.simulated != <bint> load32(&loop.follows_ros_time, ACQUIRE):
            follow(&loop.time, not loop.time.simulated)
        if (takes_at_once(loop)
                or now >= steady_time_of(&loop.time, loop.cycle.due(loop.cycle.self))):
            take_all(loop)
        else:
            handle_requests(loop)
        handle_tick(loop, 0 if takes_at_once(loop) else now)
        if now - loop.last_poll >= POLL_PERIOD // 2:
            take_unnoticed(loop, now)


cdef void wait(Loop* loop, int64_t now) noexcept nogil:
    """Sleep until there is something to do."""
    cdef int64_t until = min(steady_time_of(&loop.time, loop.cycle.due(loop.cycle.self)),
                             now + POLL_PERIOD)
    store32(&loop.is_asleep, 1, IN_ONE_ORDER)
    signal = load32(&loop.signal, IN_ONE_ORDER)
    if until > now and not has_work(loop):
        sleep_while(&loop.signal, signal, until)
    store32(&loop.is_asleep, 0, RELEASE)


cdef bint takes_at_once(const Loop* loop) noexcept nogil:
    """Whether messages are handled as they come; in simulated time they are what tells the time."""
    return loop.at_once or loop.time.simulated


cdef bint has_work(Loop* loop) noexcept nogil:
    if takes_at_once(loop):
        for i in range(loop.topic_count):
            if load32(&loop.topics[i].waiting, IN_ONE_ORDER):
                return True
    return (load64(&loop.requests.put, IN_ONE_ORDER) != loop.requests.taken
            or (end_of(loop) and not loop.is_stopping))


cdef void take_unnoticed(Loop* loop, int64_t now) noexcept nogil:
    """Take the messages that no callback has told of, in case one was missed.

    In simulated time only where none has come since the last look: one that is not counted may be
    taken before what was published before it.
    """
    cdef bint come = loop.timing.messages != loop.messages_at_poll
    loop.last_poll, loop.messages_at_poll = now, loop.timing.messages
    if loop.time.simulated and come:
        return
    for i in range(loop.topic_count):
        add32(&loop.topics[i].waiting, 1, RELEASE)
    take_all(loop)  # now, since just before a tick it would delay the tick


cdef void take_all(Loop* loop) noexcept nogil:
    """Pass all waiting messages to the cycle; last those of the first topic, which it answers: what
    was published, or asked for, before them counts. So they are counted first: with one that comes
    only now, what came before it may not have been seen.
    """
    cdef uint32_t taken
    for i in range(loop.topic_count):
        topic = &loop.topics[i]
        topic.counted = exchange32(&topic.waiting, 0, IN_ONE_ORDER)
    handle_requests(loop)
    for i in reversed(range(loop.topic_count)):
        topic, taken = &loop.topics[i], 0
        while taken < min(topic.counted, <uint32_t> MAX_AT_ONCE) and take(loop, i):
            taken += 1
        if topic.counted > MAX_AT_ONCE == taken:
            add32(&topic.waiting, topic.counted - taken, IN_ONE_ORDER)


cdef bint take(Loop* loop, int input) noexcept nogil:
    """Pass a topic's oldest message to the cycle; return whether there was one."""
    cdef Topic* topic = &loop.topics[input]
    cdef IncomingMessage incoming
    loop.incoming.buffer, loop.incoming.length, loop.incoming.capacity = (
        loop.memory, 0, loop.largest)
    code = loop.rcl.take(topic.subscription, &loop.incoming, &loop.info, NULL)
    if code == NOTHING_TAKEN:
        return False
    if code != 0:
        count_failed_take(loop, input, code)
        return True
    incoming.data, incoming.size = loop.memory, loop.incoming.length
    incoming.received, incoming.sent, incoming.written, incoming.sequence = 0, 0, 0, -1
    tell_time(loop, &incoming, input)
    incoming.ros_time = ros_time_now(&loop.time)
    if input == loop.clock_topic:
        return True
    if llabs(loop.info.received - clock_now(CLOCK_REALTIME)) // SECOND < PLAUSIBLE:
        incoming.written = loop.info.published
        if not loop.time.simulated:           # else nothing depends on this machine's speed
            incoming.received, incoming.sent = loop.info.received, loop.info.published
        if <int64_t> loop.info.sequence >= 0:     # -1: unsupported
            incoming.sequence = <int64_t> loop.info.sequence
            loop.timing.lost += count_missing(&topic.sequences, loop.info.publisher,
                                              incoming.sequence)
    elif not loop.is_untimed:
        loop.is_untimed = True
        record_own_event(loop, UNTIMED, input, 0, 0)
    handle_message(loop, input, &incoming, incoming.sent if loop.at_once and input == 0 else 0)
    return True


cdef void tell_time(Loop* loop, const IncomingMessage* incoming, int input) noexcept nogil:
    """Take the time that a message tells: of /clock, or a joint state's stamp."""
    cdef Reader r
    cdef int64_t stamp
    if not loop.time.simulated:
        return
    open_message(&r, incoming.data, incoming.size)
    stamp = <int32_t> read_uint32(&r, FIELD_STAMP) * <int64_t> SECOND
    stamp += read_uint32(&r, FIELD_STAMP)
    if r.fault != MESSAGE_WHOLE:
        return
    if input == loop.clock_topic:
        hear_clock(&loop.time, stamp)
    elif input == 0 and loop.is_stamped:
        hear_stamp(&loop.time, stamp)


cdef void count_failed_take(Loop* loop, int input, int code) noexcept nogil:
    """Count a message that could not be taken."""
    cdef Topic* topic = &loop.topics[input]
    loop.rcl.forget_error()
    if loop.refused:
        loop.timing.too_large += 1
        put_failure(loop, &topic.too_large, TOO_LARGE, input, <double> loop.refused)
        loop.refused = 0
    else:
        loop.timing.take_failed += 1
        put_failure(loop, &topic.take_failed, TAKE_FAILED, input, code)

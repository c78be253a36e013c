# The loop itself: from ``spin`` on it runs without the interpreter.

cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, ...) noexcept
    enum: PR_SET_TIMERSLACK

cdef extern from "<sys/syscall.h>" nogil:
    enum: SYS_sched_getattr
    enum: SYS_sched_setattr

cdef extern from "<sched.h>" nogil:
    enum: SCHED_OTHER

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigfillset(sigset_t* signals) noexcept
    int pthread_sigmask(int how, const sigset_t* signals, sigset_t* before) noexcept
    enum: SIG_SETMASK

cdef enum:
    MOST_AT_ONCE = 16                     # messages of one topic before those of the next
    PLAUSIBLE = 3600                      # [s] between arrival and now; more means that MessageInfo
                                          # is laid out otherwise

cdef struct Topic:
    Loop* loop
    void* subscription
    uint32_t waiting                      # messages
    Sequences sequences
    Failures too_large, take_failed

cdef struct Destination:
    void* publisher
    uint32_t is_watched
    Failures failed

cdef struct Loop:
    RunnerCore* core
    Rcl rcl
    Topic* topics
    int topic_count
    Destination* destinations
    int destination_count
    void* clock
    bint at_once
    uint32_t signal                       # changes when there is something to do
    uint32_t is_asleep
    uint32_t is_running
    Serialized incoming, outgoing
    MessageInfo info
    uint8_t* memory                       # of the incoming message
    size_t largest
    size_t refused                        # size of a message that is larger
    int64_t last_poll                     # when ``take_unnoticed`` was last called


# Wake-up latency.

cdef enum: SHORT_SLICE = 100000           # [ns], the shortest that Linux allows

cdef struct SchedulingAttributes:         # struct sched_attr, see sched_setattr(2)
    uint32_t size, policy
    uint64_t flags
    int32_t nice
    uint32_t priority
    uint64_t runtime, deadline, period    # runtime: time slice under default scheduling; 0: the
                                          # default one


cdef void reduce_wake_up_latency(bint begin) noexcept nogil:
    """Let the calling thread wake up with little delay, or (begin False) as usual again.

    Its timers become exact, as for real-time threads, and its time slice short, so that it preempts
    threads with a longer one when it wakes up (Linux 6.12 and newer).
    """
    cdef SchedulingAttributes its
    prctl(PR_SET_TIMERSLACK, 1 if begin else 0, 0, 0, 0)
    if syscall(SYS_sched_getattr, 0, &its, sizeof(its), 0) == 0 and its.policy == SCHED_OTHER:
        its.runtime = SHORT_SLICE if begin else 0
        syscall(SYS_sched_setattr, 0, &its, 0)


# Called by other threads and by the middleware.

cdef void wake_up(Loop* loop) noexcept nogil:
    add32(&loop.signal, 1, IN_ONE_ORDER)
    if load32(&loop.is_asleep, IN_ONE_ORDER):
        wake(&loop.signal)


cdef void on_message(const void* data, size_t count) noexcept nogil:
    """New messages have arrived; called by the middleware's threads."""
    cdef Topic* topic = <Topic*> data
    add32(&topic.waiting, <uint32_t> count, IN_ONE_ORDER)
    if topic.loop.at_once:
        wake_up(topic.loop)


cdef void* refuse_to_grow(void* memory, size_t size, void* state) noexcept nogil:
    """Note the size of a message that is too large, for which the middleware wants more memory."""
    (<Loop*> state).refused = size
    return NULL


cdef void* refuse_to_allocate(size_t size, void* state) noexcept nogil:
    return NULL


cdef void* refuse_to_clear(size_t count, size_t size, void* state) noexcept nogil:
    return NULL


cdef void keep(void* memory, void* state) noexcept nogil:
    pass


# The functions of Output.

cdef int publish(void* core, int output, const uint8_t* data, size_t size) noexcept nogil:
    cdef Loop* loop = <Loop*> (<RunnerCore*> core).runner
    cdef Destination* destination = &loop.destinations[output]
    cdef int code
    if output >= loop.destination_count:    # after ``close``
        return PUBLISH_FAILED
    loop.outgoing.buffer, loop.outgoing.length, loop.outgoing.capacity = <uint8_t*> data, size, size
    code = loop.rcl.publish(destination.publisher, &loop.outgoing, NULL)
    if code == 0:
        loop.core.has_published = True
    else:
        loop.rcl.forget_error()             # else rcl prints a warning at the next error
        loop.core.timing.publish_failed += 1
        put_failure(loop.core, &destination.failed, PUBLISH_FAILED, output, code)
    return code


cdef bint is_watched(void* core, int output) noexcept nogil:
    cdef Loop* loop = <Loop*> (<RunnerCore*> core).runner
    return (output < loop.destination_count
            and load32(&loop.destinations[output].is_watched, ACQUIRE) > 0)


cdef int64_t ros_time(void* core) noexcept nogil:
    cdef Loop* loop = <Loop*> (<RunnerCore*> core).runner
    cdef int64_t now = 0
    if loop.clock == NULL:
        return clock_now(CLOCK_REALTIME)
    if loop.rcl.ros_time(loop.clock, &now) != 0:
        loop.rcl.forget_error()
    return now


# The loop.

cdef void spin(Loop* loop) noexcept nogil:
    """Run the cycle until it is time to end."""
    cdef int64_t now = steady_now()
    while not may_end(loop.core, now):
        wait(loop, now)
        now = steady_now()
        loop.core.timing.rounds += 1
        if loop.at_once or now >= loop.core.cycle.due(loop.core.cycle.self):
            take_all(loop)
        handle_requests(loop.core)
        handle_tick(loop.core, 0 if loop.at_once else now)
        if now - loop.last_poll >= POLL_PERIOD // 2:
            take_unnoticed(loop, now)


cdef void wait(Loop* loop, int64_t now) noexcept nogil:
    """Sleep until there is something to do."""
    cdef int64_t until = min(loop.core.cycle.due(loop.core.cycle.self), now + POLL_PERIOD)
    cdef uint32_t signal
    store32(&loop.is_asleep, 1, IN_ONE_ORDER)
    signal = load32(&loop.signal, IN_ONE_ORDER)
    if until > now and not has_work(loop):
        sleep_while(&loop.signal, signal, until)
    store32(&loop.is_asleep, 0, RELEASE)


cdef bint has_work(Loop* loop) noexcept nogil:
    cdef int i
    if loop.at_once:
        for i in range(loop.topic_count):
            if load32(&loop.topics[i].waiting, IN_ONE_ORDER):
                return True
    return (load64(&loop.core.requests.put, IN_ONE_ORDER) != loop.core.requests.taken
            or (load_time(&loop.core.stop_by, ACQUIRE) and not loop.core.is_stopping))


cdef void take_unnoticed(Loop* loop, int64_t now) noexcept nogil:
    """Take the messages that no callback has told of, in case one was missed."""
    cdef int i
    loop.last_poll = now
    for i in range(loop.topic_count):
        add32(&loop.topics[i].waiting, 1, RELEASE)
    take_all(loop)  # now, since just before a tick it would delay the tick


cdef void take_all(Loop* loop) noexcept nogil:
    """Pass all waiting messages to the cycle."""
    cdef uint32_t waiting, taken
    cdef int i
    for i in range(loop.topic_count):
        waiting, taken = exchange32(&loop.topics[i].waiting, 0, IN_ONE_ORDER), 0
        while taken < min(waiting, <uint32_t> MOST_AT_ONCE) and take(loop, i):
            taken += 1
        if waiting > MOST_AT_ONCE == taken:
            add32(&loop.topics[i].waiting, waiting - taken, IN_ONE_ORDER)


cdef bint take(Loop* loop, int input) noexcept nogil:
    """Pass a topic's oldest message to the cycle; return whether there was one."""
    cdef Topic* topic = &loop.topics[input]
    cdef IncomingMessage incoming
    cdef int code
    loop.incoming.buffer, loop.incoming.length, loop.incoming.capacity = (
        loop.memory, 0, loop.largest)
    code = loop.rcl.take(topic.subscription, &loop.incoming, &loop.info, NULL)
    if code == NOTHING_TAKEN:
        return False
    if code != 0:
        count_failed_take(loop, input, code)
        return True
    incoming.data, incoming.size = loop.memory, loop.incoming.length
    incoming.received, incoming.sent, incoming.sequence = 0, 0, -1
    if llabs(loop.info.received - clock_now(CLOCK_REALTIME)) // SECOND < PLAUSIBLE:
        incoming.received, incoming.sent = loop.info.received, loop.info.published
        if <int64_t> loop.info.sequence >= 0:     # -1: unsupported
            incoming.sequence = <int64_t> loop.info.sequence
            loop.core.timing.lost += count_missing(&topic.sequences, loop.info.publisher,
                                                 incoming.sequence)
    handle_message(loop.core, input, &incoming,
                 loop.info.published if loop.at_once and input == 0 else 0)
    return True


cdef void count_failed_take(Loop* loop, int input, int code) noexcept nogil:
    """Count a message that could not be taken."""
    cdef Topic* topic = &loop.topics[input]
    loop.rcl.forget_error()
    if loop.refused:
        loop.core.timing.too_large += 1
        put_failure(loop.core, &topic.too_large, TOO_LARGE, input, <double> loop.refused)
        loop.refused = 0
    else:
        loop.core.timing.take_failed += 1
        put_failure(loop.core, &topic.take_failed, TAKE_FAILED, input, code)

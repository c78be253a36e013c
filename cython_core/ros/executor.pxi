# A runner on rclpy's executor, without a thread of its own.

cdef int publish_by_rclpy(void* core, int output, const uint8_t* data,
                          size_t size) noexcept with gil:
    runner = <ExecutorRunner> (<RunnerCore*> core).runner
    try:
        runner.publishers[output].publish(PyBytes_FromStringAndSize(<const char*> data, size))
    except Exception:                       # the context has ended
        runner.core.timing.publish_failed += 1
        put_failure(runner.core, &runner.failed[0], PUBLISH_FAILED, output, 1)
        return 1
    runner.core.has_published = True
    return 0


cdef bint is_watched_by_rclpy(void* core, int output) noexcept with gil:
    return (<ExecutorRunner> (<RunnerCore*> core).runner).watched[output]


cdef int64_t ros_time_by_rclpy(void* core) noexcept with gil:
    clock = (<ExecutorRunner> (<RunnerCore*> core).runner).clock
    return clock.now().nanoseconds if clock else clock_now(CLOCK_REALTIME)


cdef class ExecutorRunner(Runner):
    """Runs a cycle in the thread that calls it, e.g. rclpy's executor; rclpy takes and publishes
    the messages.
    """

    cdef list publishers, watched
    cdef object clock, lock
    cdef Failures[1] failed, too_large
    cdef Sequences* sequences
    cdef size_t largest

    def __init__(self, cycle, int inputs, publishers, clock=None, *, size_t largest_message=65536):
        """Prepare.

        Args:
            cycle: The cycle to run.
            inputs: Number of topics subscribed to.
            publishers: Those of rclpy, in the order of the cycle's outputs.
            clock: The node's rclpy clock; None for the system clock.
            largest_message: Larger ones are dropped [bytes].
        """
        super().__init__(cycle)
        self.publishers, self.watched = list(publishers), [False] * len(publishers)
        self.clock, self.lock, self.largest = clock, threading.RLock(), largest_message
        self.sequences = <Sequences*> calloc(max(inputs, 1), sizeof(Sequences))
        if self.sequences == NULL:
            raise MemoryError()
        self.core.runner = <void*> self
        self.core.output.publish, self.core.output.is_watched = (
            publish_by_rclpy, is_watched_by_rclpy)
        self.core.output.ros_time = ros_time_by_rclpy
        self.beat()

    def __dealloc__(self):
        free(self.sequences)

    cdef int serve(self) except -1:
        with self.lock:
            handle_requests(self.core)
        return 0

    cpdef beat(self):
        self.watched = [publisher.get_subscription_count() > 0 for publisher in self.publishers]
        Runner.beat(self)

    def message(self, int input, bytes data not None, info):
        """Pass a serialised message to the cycle.

        Args:
            input: Index of the topic.
            data: CDR, with its header.
            info: rclpy's dictionary about the message: timestamps and sequence number.
        """
        cdef IncomingMessage incoming
        cdef uint64_t[2] nobody = [0, 0]   # rclpy does not say which publisher sent it
        cdef int64_t number = (-1 if info["publication_sequence_number"] is None
                               else info["publication_sequence_number"])
        if <size_t> len(data) > self.largest:
            self.core.timing.too_large += 1
            put_failure(self.core, &self.too_large[0], TOO_LARGE, input, len(data))
            return
        incoming.data, incoming.size = (
            <const uint8_t*> PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data))
        incoming.received, incoming.sent = info["received_timestamp"], info["source_timestamp"]
        incoming.sequence = number
        with self.lock:
            if number >= 0:
                self.core.timing.lost += count_missing(&self.sequences[input], nobody, number)
            handle_message(self.core, input, &incoming,
                           info["source_timestamp"] if input == 0 else 0)

    def due(self):
        """Return the steady time [s] when ``spin_once`` is to be called next; infinity: not before
        a message.
        """
        cdef int64_t due = self.core.cycle.due(self.core.cycle.self)
        return float("inf") if due == INT64_MAX else due * 1e-9

    def spin_once(self):
        """Do what is due; return whether to go on."""
        with self.lock:
            self.core.timing.rounds += 1
            handle_tick(self.core, 0)
            return not may_end(self.core, steady_now())

    def stop(self, double within=1.0):
        """As ``RclLoop.stop``; ``spin_once`` then returns False once the cycle has ended."""
        store_time(&self.core.stop_by, steady_now() + <int64_t> (within * 1e9), RELEASE)

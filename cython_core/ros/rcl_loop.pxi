# The Python side of the loop on librcl.

cdef class RclLoop(Runner):
    """A loop in its own thread, which runs without the interpreter.

    It sleeps on a futex until a message, a request or its time comes. The middleware's threads,
    which call ``on_message``, and Python wake it up. rcl's wait set is not used: it would have to
    be filled and cleared for every message.
    """

    cdef Loop* loop
    cdef object _in_use                     # keeps rclpy from destroying the handles
    cdef int pid                            # where it runs: a forked child has no such thread
    cdef bint _is_open

    def __cinit__(self):
        self.loop = <Loop*> calloc(1, sizeof(Loop))
        if self.loop == NULL:
            raise MemoryError()

    def __init__(self, cycle, subscriptions, publishers, clock=None, *, bint at_once=True,
                 size_t largest_message=65536):
        """Prepare; messages are queued from now on.

        Args:
            cycle: The cycle to run.
            subscriptions: Those of rclpy, in the order of the cycle's inputs; no executor may take
                from them.
            publishers: Those of rclpy, in the order of the cycle's outputs.
            clock: The node's rclpy clock; None for the system clock.
            at_once: Handle messages as they come; False: at the latest just before the next tick.
            largest_message: Larger ones are dropped [bytes].

        Raises:
            MiddlewareError: librcl or rclpy's handles are not as expected.
        """
        super().__init__(cycle)
        self._in_use = ExitStack()
        self._find_rcl()
        self._make_room(largest_message, len(subscriptions), len(publishers))
        self.loop.at_once = at_once
        if clock is not None:
            self.loop.clock = self._use(clock)
        for i, publisher in enumerate(publishers):
            self.loop.destinations[i].publisher = self._use(publisher)
        for i, subscription in enumerate(subscriptions):
            self.loop.topics[i].subscription, self.loop.topics[i].loop = (
                self._use(subscription), self.loop)
        self.core.runner = self.loop
        self.core.output.publish, self.core.output.is_watched, self.core.output.ros_time = (
            publish, is_watched, ros_time)
        self._listen()
        self.beat()

    def __dealloc__(self):
        if self.loop != NULL:
            free(self.loop.topics)
            free(self.loop.destinations)
            free(self.loop.memory)
        free(self.loop)

    cdef int _find_rcl(self) except -1:
        cdef const char* missing = find_functions(&self.loop.rcl)
        if missing != NULL:
            raise MiddlewareError(f"{missing.decode()} is not there")
        if not check_layout(&self.loop.rcl):
            raise MiddlewareError("serialised messages are laid out in another way than expected")
        return 0

    cdef int _make_room(self, size_t largest, int topics, int destinations) except -1:
        cdef Loop* loop = self.loop
        cdef Allocator* allocator = &loop.incoming.allocator
        loop.core, loop.largest = self.core, largest
        loop.memory = <uint8_t*> malloc(largest)
        loop.topics = <Topic*> calloc(topics, sizeof(Topic))
        loop.destinations = <Destination*> calloc(destinations, sizeof(Destination))
        if loop.memory == NULL or loop.topics == NULL or loop.destinations == NULL:
            raise MemoryError()
        loop.topic_count, loop.destination_count = topics, destinations
        memset(loop.memory, 0, largest)     # so that no page is missing later
        allocator.allocate, allocator.zero_allocate = refuse_to_allocate, refuse_to_clear
        allocator.reallocate, allocator.deallocate, allocator.state = refuse_to_grow, keep, loop
        loop.outgoing.allocator = allocator[0]
        return 0

    cdef void* _use(self, entity) except NULL:
        """Return the address of the rcl object of rclpy's handle; it lives until ``close``."""
        cdef size_t address
        try:
            address = entity.handle.pointer
            self._in_use.enter_context(entity.handle)
        except (AttributeError, TypeError) as error:
            self._in_use.close()
            raise MiddlewareError(f"rclpy's handles are not as expected: {error}") from None
        return <void*> address

    cdef int _listen(self) except -1:
        """Register for new messages; from now on the loop lives until ``close``."""
        cdef int code = self._tell(True)
        if code != 0:
            self._tell(False)
            self._in_use.close()
            raise MiddlewareError(f"the middleware does not tell of messages (code {code})")
        Py_INCREF(self)
        self._is_open = True
        return 0

    cdef int _tell(self, bint begin) noexcept:
        """Register the callback for new messages, or remove it; return rcl's code."""
        cdef OnMessage call = NULL
        cdef Topic* topic
        cdef int i, code = 0
        if begin:
            call = on_message
        for i in range(self.loop.topic_count):
            topic = &self.loop.topics[i]
            with nogil:                     # the callback may be running
                code = self.loop.rcl.on_message(topic.subscription, call, topic)
            if code != 0:
                self.loop.rcl.forget_error()
                break
        return code

    cdef bint is_served(self) noexcept:
        return self.is_running

    cdef int serve(self) except -1:
        if self.is_running:
            wake_up(self.loop)
        else:
            handle_requests(self.core)
        return 0

    cpdef beat(self):
        cdef size_t count = 0
        cdef int i
        for i in range(self.loop.destination_count):
            if self.loop.rcl.subscription_count(self.loop.destinations[i].publisher, &count) != 0:
                self.loop.rcl.forget_error()
                count = 0
            store32(&self.loop.destinations[i].is_watched, 1 if count else 0, RELEASE)
        Runner.beat(self)

    @property
    def is_running(self):
        """Whether a thread is in ``run``."""
        return load32(&self.loop.is_running, ACQUIRE) and self.pid == getpid()

    def run(self):
        """Run the cycle in the calling thread, without the interpreter, until it has been stopped.

        Signals are blocked in this thread; its timers are exact even without real-time priority.

        Raises:
            RuntimeError: The loop runs, or has run, already.
        """
        cdef sigset_t all_signals, before
        if self.is_running or load_time(&self.core.stop_by, ACQUIRE):
            raise RuntimeError("the loop runs, or has run, already")
        sigfillset(&all_signals)
        pthread_sigmask(SIG_SETMASK, &all_signals, &before)
        reduce_wake_up_latency(True)
        self.pid = getpid()
        store32(&self.loop.is_running, 1, RELEASE)
        with nogil:
            spin(self.loop)
            store32(&self.loop.is_running, 0, RELEASE)
        pthread_sigmask(SIG_SETMASK, &before, NULL)

    def stop(self, double within=1.0):
        """Stop as soon as the cycle says that it is safe, after ``within`` seconds at the latest.

        Returns at once; the thread ends later. A further call changes the time.
        """
        store_time(&self.core.stop_by, steady_now() + <int64_t> (within * 1e9), RELEASE)
        if self.is_running:
            wake_up(self.loop)

    def close(self):
        """Release rclpy's handles, so that they can be destroyed.

        Raises:
            RuntimeError: The loop runs.
        """
        if self.is_running:
            raise RuntimeError("the loop runs; stop it first")
        if not self._is_open:
            return
        self._is_open = False
        # Otherwise this is a forked child, and the loop runs in its parent.
        if not load32(&self.loop.is_running, ACQUIRE):
            self._tell(False)
        self.loop.topic_count = self.loop.destination_count = 0
        self._in_use.close()
        Py_DECREF(self)

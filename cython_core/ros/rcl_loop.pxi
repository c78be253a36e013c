# The Python side of the loop: rclpy's handles, requests to the cycle, records from it, its timing.

cdef Cycle* cycle_of(object owner) except NULL:
    return <Cycle*> PyCapsule_GetPointer(owner.capsule, "featherstone_ros.Cycle")


cdef class RclLoop:
    """Runs a cycle in a thread of its own, without the interpreter.

    A cycle is a compiled object whose ``capsule`` is a PyCapsule "featherstone_ros.Cycle"
    (cycle.pxd). The loop sleeps on a futex until a message, a request or its time comes. The
    middleware's threads, which call ``on_message``, and Python wake it up. rcl's wait set is not
    used: it would have to be filled and cleared for every message. ``records_fd`` is an eventfd(2),
    written to when there are ``records``.
    """

    cdef Loop* loop
    cdef object cycle                       # keeps what ``loop.cycle`` points to
    cdef object _in_use                     # keeps rclpy from destroying the handles
    cdef list owners                        # (REQUESTS,) own what the requests point to
    cdef readonly int records_fd
    cdef bint _is_open

    def __cinit__(self):
        self.records_fd = -1
        self.loop = <Loop*> calloc(1, sizeof(Loop))
        if self.loop == NULL:
            raise MemoryError()
        self.owners = [None] * REQUESTS
        self.records_fd = self.loop.records_fd = eventfd(0, EFD_CLOEXEC)
        if self.records_fd < 0:
            raise OSError(errno, "eventfd")

    def __init__(self, cycle, subscriptions, publishers, clock=None, *, bint at_once=True,
                 bint is_stamped=False, size_t largest_message=65536):
        """Prepare; messages are queued from now on.

        ``subscriptions``, ``publishers``: those of rclpy, in the order of the cycle's inputs and
        outputs, no executor may take from them; ``clock``: the node's, None: the system's;
        ``at_once``: handle messages as they come, False: at the latest just before the next tick;
        ``is_stamped``: those of the first topic have a stamp, which tells ROS time, too;
        ``largest_message`` [bytes]: larger ones are dropped.
        """
        self.loop.cycle = cycle_of(cycle)
        self.cycle = cycle
        self._in_use = ExitStack()
        self._find_rcl()
        self._make_room(largest_message, len(subscriptions), len(publishers))
        self.loop.at_once, self.loop.is_stamped = at_once, is_stamped
        self.loop.clock_topic = -1
        if clock is not None:
            self.loop.clock = self._use(clock)
        for i, publisher in enumerate(publishers):
            self.loop.destinations[i].publisher = self._use(publisher)
        for i, subscription in enumerate(subscriptions):
            self.loop.topics[i].subscription, self.loop.topics[i].loop = (
                self._use(subscription), self.loop)
        self.loop.output.loop = self.loop
        self.loop.output.publish, self.loop.output.is_watched = publish, is_watched
        self.loop.output.is_fed = is_fed
        self.loop.output.ros_time, self.loop.output.record = ros_time, put
        self.loop.output.silence = silence
        self._listen()
        self.beat()

    def __dealloc__(self):
        if self.records_fd >= 0:
            close(self.records_fd)
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
        loop.largest = largest
        loop.memory = <uint8_t*> malloc(largest)
        loop.topics = <Topic*> calloc(topics + 1, sizeof(Topic))  # /clock may be the last
        loop.destinations = <Destination*> calloc(destinations, sizeof(Destination))
        if loop.memory == NULL or loop.topics == NULL or loop.destinations == NULL:
            raise MemoryError()
        loop.topic_count, loop.destination_count = topics, destinations
        memset(loop.memory, 0, largest)     # so that no page is missing later
        allocator.allocate, allocator.reallocate = refuse_to_allocate, refuse_to_grow
        allocator.zero_allocate, allocator.deallocate = no_zero_allocate, no_deallocate
        allocator.state = loop
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

    def follow_ros_time(self, clock_topic):
        """Go by ROS time, from rclpy's subscription to /clock that no executor serves and of which
        the first is used for good; None: by the steady clock again.
        """
        cdef Loop* loop = self.loop
        cdef Topic* topic = &loop.topics[loop.topic_count]
        if clock_topic is not None and loop.clock_topic < 0:
            topic.subscription, topic.loop = self._use(clock_topic), loop
            loop.clock_topic = loop.topic_count
            loop.topic_count += 1            # the thread may use it from here on
            self._tell(True)
        store32(&loop.follows_ros_time, clock_topic is not None, RELEASE)
        if not self.is_running:
            loop.time.simulated, loop.time.heard = loop.follows_ros_time, steady_now()
        wake_up(loop)

    def listen_again(self):
        """Register again, after somebody else, as rclpy's EventsExecutor, has done so instead."""
        if self._is_open:
            self._tell(True)

    cdef int _tell(self, bint begin) noexcept:
        """Register the callback for new messages, or remove it; return rcl's code."""
        cdef OnMessage call = NULL
        cdef int code = 0
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

    def beat(self):
        """Show the cycle that Python is alive, and who subscribes; to be called periodically."""
        cdef size_t count = 0
        for i in range(self.loop.destination_count):
            if self.loop.rcl.subscription_count(self.loop.destinations[i].publisher, &count) != 0:
                self.loop.rcl.forget_error()
                count = 0
            store32(&self.loop.destinations[i].is_watched, 1 if count else 0, RELEASE)
        store_time(&self.loop.heartbeat, steady_now(), RELEASE)

    @property
    def now(self):
        """The loop's time [s], as the cycle has it: of the steady clock, or simulated."""
        cdef LoopClock* time = &self.loop.time
        return (time.now if time.simulated else steady_now() + time.ahead) * 1e-9

    @property
    def ros_time(self):
        """The newest simulated time that was heard [s]; None: the loop goes by the steady clock, or
        has heard none.
        """
        heard = self.loop.time.simulated and self.loop.time.begun
        return self.loop.time.ros_time * 1e-9 if heard else None

    @property
    def stands(self):
        """For how long simulated time has stood still, by the steady clock [s]; 0 where the loop
        goes by that.
        """
        return standstill(&self.loop.time) * 1e-9

    @property
    def is_running(self):
        """Whether a thread is in ``run``."""
        return load32(&self.loop.is_running, ACQUIRE) != 0

    def run(self):
        """Run the cycle in the calling thread, without the interpreter, until it has been stopped;
        a loop runs once.

        Signals are blocked in this thread; its timers are exact even without real-time priority.
        """
        cdef sigset_t all_signals, before
        if self.is_running or load_time(&self.loop.stop_by, ACQUIRE):
            raise RuntimeError("the loop runs, or has run, already")
        sigfillset(&all_signals)
        pthread_sigmask(SIG_SETMASK, &all_signals, &before)
        reduce_wake_up_latency()
        store32(&self.loop.is_running, 1, RELEASE)
        with nogil:
            spin(self.loop)
            store32(&self.loop.is_running, 0, RELEASE)
        pthread_sigmask(SIG_SETMASK, &before, NULL)

    def stop(self, double within=1.0):
        """Stop as soon as the cycle says that it is safe, after ``within`` seconds at the latest.

        Returns at once; the thread ends later. A further call changes the time.
        """
        store_time(&self.loop.stop_by, steady_now() + <int64_t> (within * 1e9), RELEASE)
        if self.is_running:
            wake_up(self.loop)

    def close(self):
        """Release the handles of rclpy, so that they can be destroyed; not while the loop runs."""
        if self.is_running:
            raise RuntimeError("the loop runs; stop it first")
        if not self._is_open:
            return
        self._is_open = False
        self._tell(False)
        self.loop.topic_count = self.loop.destination_count = 0
        self._in_use.close()
        Py_DECREF(self)

    # Requests.

    def request(self, int kind, size_t payload=0, owner=None, double timeout=1.0):
        """Ask the cycle for something and wait for its answer, 0 if it has done it. ``owner``: of
        the payload at that address, kept alive until then; a TimeoutError withdraws the request.
        """
        cdef Slot* slot = self.ask(kind, payload, owner, True)
        try:
            self.await_answer(slot, steady_now() + <int64_t> (timeout * 1e9))
        except TimeoutError:
            if self.withdraw(slot):
                raise
        except BaseException:                   # what a signal's handler raises
            if not self.withdraw(slot):
                self.release(slot)
            raise
        return self.release(slot)

    def post(self, int kind, size_t payload=0, owner=None):
        """Ask the cycle for something without waiting; the order with ``request`` is kept. Too many
        that wait already are a TimeoutError.
        """
        self.ask(kind, payload, owner, False)

    cdef Slot* ask(self, int kind, size_t payload, owner, bint is_awaited) except NULL:
        cdef Slot* slot = free_slot(&self.loop.requests)
        cdef Py_ssize_t number = slot - self.loop.requests.slots
        if slot == NULL:
            raise TimeoutError(f"{REQUESTS} requests wait already")
        # The old owner is released only on return: its destructor may run any code.
        before, self.owners[number] = self.owners[number], owner
        slot.request.kind, slot.request.answer, slot.request.payload = kind, 0, <void*> payload
        slot.is_awaited = is_awaited
        store_time(&self.loop.heartbeat, steady_now(), RELEASE)      # who asks is alive
        put_request(&self.loop.requests, slot)
        if self.is_running:
            wake_up(self.loop)
        else:
            handle_requests(self.loop)
        return slot

    cdef int await_answer(self, Slot* slot, int64_t deadline) except -1:
        cdef uint32_t state = load32(&slot.state, ACQUIRE)
        while state != DONE:
            now = steady_now()
            if now > deadline and state == WAITING:
                raise TimeoutError("the loop has no time for it")
            if not self.is_running:
                handle_requests(self.loop)
            else:
                with nogil:
                    sleep_while(&slot.state, state, min(deadline, now + POLL_PERIOD))
                PyErr_CheckSignals()
            state = load32(&slot.state, ACQUIRE)
        return 0

    cdef bint withdraw(self, Slot* slot) noexcept:
        """Withdraw a request, or wait for its end if the cycle is at it; return whether it was
        withdrawn.
        """
        if claim(&slot.state, WAITING, WITHDRAWN):
            self.owners[slot - self.loop.requests.slots] = None
            return True
        while load32(&slot.state, ACQUIRE) != DONE:
            with nogil:
                sleep_while(&slot.state, TAKEN, steady_now() + POLL_PERIOD)
        return False

    cdef int32_t release(self, Slot* slot) noexcept:
        """Free the slot of a request that is done; return the answer."""
        cdef int32_t answer = slot.request.answer
        self.owners[slot - self.loop.requests.slots] = None
        store32(&slot.state, FREE, RELEASE)
        return answer

    # Records.

    def records(self):
        """Take all records: a list of tuples (kind, index, time [ns], four values, object)."""
        cdef Record record
        cdef list taken = []
        store32(&self.loop.is_signalled, 0, IN_ONE_ORDER)
        while take_record(&self.loop.records, &record):
            taken.append((record.kind, record.index, record.time,
                          (record.value[0], record.value[1], record.value[2], record.value[3]),
                          record.object))
        return taken

    # Timing.

    @property
    def allowed(self):
        """Latency beyond which a cycle counts as an overrun [s]; 0: the time since the last one."""
        return self.loop.timing.allowed * 1e-9

    @allowed.setter
    def allowed(self, double seconds):
        store_time(&self.loop.timing.allowed, <int64_t> (seconds * 1e9), RELEASE)

    def counters(self):
        """Return all counters since the beginning, by name."""
        cdef Timing* timing = &self.loop.timing
        return {
            "rounds": timing.rounds, "messages": timing.messages, "ticks": timing.ticks,
            "overruns": timing.overruns, "lost": timing.lost, "too_large": timing.too_large,
            "take_failed": timing.take_failed, "publish_failed": timing.publish_failed,
            "time_leaps": self.loop.time.leapt,
            "records_dropped": load64(&self.loop.records.dropped, ACQUIRE),
        }

    def latency(self):
        """Return the counts so far in the buckets of LatencyHistogram, as bytes, and the longest
        latency since the last call [s].
        """
        return snapshot(&self.loop.timing.latency)

    def jitter(self):
        """Return the same as ``latency`` for the deviations from the period."""
        return snapshot(&self.loop.timing.jitter)


cdef tuple snapshot(Histogram* histogram):
    cdef bytes counts = PyBytes_FromStringAndSize(<char*> histogram.counts,
                                                  sizeof(histogram.counts))
    return counts, exchange_time(&histogram.longest, 0, IN_ONE_ORDER) * 1e-9

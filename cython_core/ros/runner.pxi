# The Python side of a running cycle: requests to it, records from it, its timing.

cdef Cycle* cycle_of(object owner) except NULL:
    return <Cycle*> PyCapsule_GetPointer(owner.capsule, "featherstone_ros.Cycle")


cdef class Runner:
    """Base class of what runs a cycle.

    A cycle is a compiled object whose ``capsule`` is a PyCapsule "featherstone_ros.Cycle"
    (cycle.pxd).

    Attributes:
        records_fd: File descriptor, an eventfd(2), readable when there are ``records``.
    """

    cdef RunnerCore* core
    cdef object cycle                       # keeps what ``core.cycle`` points to
    cdef list owners                        # (REQUESTS,) own what the requests point to
    cdef readonly int records_fd

    def __cinit__(self):
        self.records_fd = -1
        self.core = <RunnerCore*> calloc(1, sizeof(RunnerCore))
        if self.core == NULL:
            raise MemoryError()
        self.owners = [None] * REQUESTS
        self.records_fd = self.core.records_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        if self.records_fd < 0:
            raise OSError(errno, "eventfd")

    def __init__(self, cycle):
        self.core.cycle = cycle_of(cycle)
        self.cycle = cycle
        self.core.output.record, self.core.output.heartbeat = put, heartbeat
        self.core.output.loop = self.core
        self.core.heartbeat = steady_now()

    def __dealloc__(self):
        if self.records_fd >= 0:
            close(self.records_fd)
        free(self.core)

    # For derived classes to override.

    cdef bint is_served(self) noexcept:
        """Whether another thread passes the requests on."""
        return False

    cdef int serve(self) except -1:
        """Pass the requests on, or wake the thread that does."""
        handle_requests(self.core)
        return 0

    cpdef beat(self):
        """Show the cycle that Python is alive; the node calls it periodically."""
        store_time(&self.core.heartbeat, steady_now(), RELEASE)

    # Requests.

    def request(self, int kind, size_t payload=0, owner=None, double timeout=1.0):
        """Ask the cycle for something and wait for its answer.

        Args:
            kind: One of the cycle's request numbers.
            payload: Address of the request's data.
            owner: Kept alive until the cycle has answered.
            timeout: [s].

        Returns:
            The cycle's answer, 0 if it has done it.

        Raises:
            TimeoutError: The cycle had not begun with it in time; the request is withdrawn.
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
        """Ask the cycle for something without waiting; the order with ``request`` is kept.

        Raises:
            TimeoutError: Too many requests are waiting already.
        """
        self.ask(kind, payload, owner, False)

    cdef Slot* ask(self, int kind, size_t payload, owner, bint is_awaited) except NULL:
        cdef Slot* slot = free_slot(&self.core.requests)
        cdef Py_ssize_t number = slot - self.core.requests.slots
        if slot == NULL:
            raise TimeoutError(f"{REQUESTS} requests wait already")
        # The old owner is released only on return: its destructor may run any code.
        before, self.owners[number] = self.owners[number], owner
        slot.request.kind, slot.request.answer, slot.request.payload = kind, 0, <void*> payload
        slot.is_awaited = is_awaited
        put_request(&self.core.requests, slot)
        self.serve()
        return slot

    cdef int await_answer(self, Slot* slot, int64_t deadline) except -1:
        cdef uint32_t state = load32(&slot.state, ACQUIRE)
        cdef int64_t now
        while state != DONE:
            now = steady_now()
            if now > deadline and state == WAITING:
                raise TimeoutError("the loop has no time for it")
            if not self.is_served():
                self.serve()
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
            self.owners[slot - self.core.requests.slots] = None
            return True
        while load32(&slot.state, ACQUIRE) != DONE:
            with nogil:
                sleep_while(&slot.state, TAKEN, steady_now() + POLL_PERIOD)
        return False

    cdef int32_t release(self, Slot* slot) noexcept:
        """Free the slot of a request that is done; return the answer."""
        cdef int32_t answer = slot.request.answer
        self.owners[slot - self.core.requests.slots] = None
        store32(&slot.state, FREE, RELEASE)
        return answer

    # Records.

    def records(self):
        """Take all records: a list of tuples (kind, index, time [ns], four values, object)."""
        cdef Record record
        cdef uint64_t number
        cdef list taken = []
        store32(&self.core.is_signalled, 0, IN_ONE_ORDER)
        read(self.records_fd, &number, sizeof(number))
        while take_record(&self.core.records, &record):
            taken.append((record.kind, record.index, record.time,
                          (record.value[0], record.value[1], record.value[2], record.value[3]),
                          record.object))
        return taken

    # Timing.

    @property
    def allowed(self):
        """Latency beyond which a cycle counts as an overrun [s]; 0: the time since the last one."""
        return self.core.timing.allowed * 1e-9

    @allowed.setter
    def allowed(self, double seconds):
        store_time(&self.core.timing.allowed, <int64_t> (seconds * 1e9), RELEASE)

    def counters(self):
        """Return all counters since the beginning, by name."""
        cdef Timing* timing = &self.core.timing
        return {
            "rounds": timing.rounds, "messages": timing.messages, "ticks": timing.ticks,
            "overruns": timing.overruns, "lost": timing.lost, "too_large": timing.too_large,
            "take_failed": timing.take_failed, "publish_failed": timing.publish_failed,
            "records_dropped": load64(&self.core.records.dropped, ACQUIRE),
        }

    def latency(self):
        """Return the counts so far in the buckets of LatencyHistogram, as bytes, and the longest
        latency since the last call [s].
        """
        return snapshot(&self.core.timing.latency)

    def jitter(self):
        """Return the same as ``latency`` for the deviations from the period."""
        return snapshot(&self.core.timing.jitter)


cdef tuple snapshot(Histogram* histogram):
    cdef bytes counts = PyBytes_FromStringAndSize(<char*> histogram.counts,
                                                  sizeof(histogram.counts))
    return counts, exchange_time(&histogram.longest, 0, IN_ONE_ORDER) * 1e-9


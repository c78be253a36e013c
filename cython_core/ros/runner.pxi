# What Python sees of a cycle that runs: requests to it, records from it, how punctual it is.

cdef Cycle* cycle_of(object owner) except NULL:
    return <Cycle*> PyCapsule_GetPointer(owner.capsule, "featherstone_ros.Cycle")


cdef class Runner:
    """Runs a cycle; the base of those that do.

    A cycle is an object of compiled code whose ``capsule`` is a PyCapsule "featherstone_ros.Cycle"
    (cycle.pxd).

    Attributes:
        records_fd: File descriptor, eventfd(2), which gets readable when there are ``records``.
    """

    cdef Core* core
    cdef object cycle                       # keeps what ``core.cycle`` points to
    cdef list owners                        # of what the requests point to
    cdef readonly int records_fd

    def __cinit__(self):
        self.records_fd = -1
        self.core = <Core*> calloc(1, sizeof(Core))
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

    # What the kinds of runners have of their own.

    cdef bint is_served(self) noexcept:
        """Whether somebody else will hand over the requests."""
        return False

    cdef int serve(self) except -1:
        """Hand the requests over, or have it done."""
        give_requests(self.core)
        return 0

    cpdef beat(self):
        """Give the cycle a sign of life of Python; to be called now and then by who answers for the
        node.
        """
        store_time(&self.core.heartbeat, steady_now(), RELEASE)

    # Requests.

    def request(self, int kind, size_t payload=0, owner=None, double timeout=1.0):
        """Ask the cycle for something and wait for its answer.

        Args:
            kind: What; the cycle's numbers.
            payload: Address of what belongs to it.
            owner: Kept until the cycle has answered.
            timeout: [s].

        Returns:
            The cycle's answer, 0 if it has done it.

        Raises:
            TimeoutError: It has not been begun until then, and will not be.
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
        """Ask the cycle for something, in the same order as ``request``, without waiting.

        Raises:
            TimeoutError: Too many requests wait already.
        """
        self.ask(kind, payload, owner, False)

    cdef Slot* ask(self, int kind, size_t payload, owner, bint is_awaited) except NULL:
        cdef Slot* slot = free_slot(&self.core.requests)
        cdef Py_ssize_t number = slot - self.core.requests.slots
        if slot == NULL:
            raise TimeoutError(f"{REQUESTS} requests wait already")
        # its end may run anything: not here
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
                    sleep_while(&slot.state, state, min(deadline, now + GLANCE))
                PyErr_CheckSignals()
            state = load32(&slot.state, ACQUIRE)
        return 0

    cdef bint withdraw(self, Slot* slot) noexcept:
        """Give a request up, or await its end if it is being done just now; return whether it is
        given up.
        """
        if claim(&slot.state, WAITING, WITHDRAWN):
            self.owners[slot - self.core.requests.slots] = None
            return True
        while load32(&slot.state, ACQUIRE) != DONE:
            with nogil:
                sleep_while(&slot.state, TAKEN, steady_now() + GLANCE)
        return False

    cdef int32_t release(self, Slot* slot) noexcept:
        """Make room for another request; return the answer."""
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
        store32(&self.core.is_told, 0, IN_ONE_ORDER)
        read(self.records_fd, &number, sizeof(number))
        while take_record(&self.core.records, &record):
            taken.append((record.kind, record.index, record.time,
                          (record.value[0], record.value[1], record.value[2], record.value[3]),
                          record.object))
        return taken

    # Timing.

    @property
    def allowed(self):
        """What a cycle may take before it is an overrun [s]; 0: the time since the last one."""
        return self.core.timing.allowed * 1e-9

    @allowed.setter
    def allowed(self, double seconds):
        store_time(&self.core.timing.allowed, <int64_t> (seconds * 1e9), RELEASE)

    def counters(self):
        """Return what was counted since the beginning, by name."""
        cdef Timing* timing = &self.core.timing
        return {
            "rounds": timing.rounds, "messages": timing.messages, "ticks": timing.ticks,
            "overruns": timing.overruns, "lost": timing.lost, "too_large": timing.too_large,
            "take_failed": timing.take_failed, "publish_failed": timing.publish_failed,
            "records_dropped": load64(&self.core.records.dropped, ACQUIRE),
        }

    def latency(self):
        """Return counts so far in the buckets of LatencyHistogram, and the longest since the last
        call [s].
        """
        return snapshot(&self.core.timing.latency)

    def jitter(self):
        """Return what ``latency`` does of the deviations of the period."""
        return snapshot(&self.core.timing.jitter)


cdef tuple snapshot(Histogram* histogram):
    cdef bytes counts = PyBytes_FromStringAndSize(<char*> histogram.counts,
                                                  sizeof(histogram.counts))
    return counts, exchange_time(&histogram.longest, 0, IN_ONE_ORDER) * 1e-9


# What all runners of a cycle share: they hand it messages and requests, take its records, and
# measure its latency and jitter.

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from cycle cimport ENDED, STOP_REQUESTED, Cycle, IncomingMessage, Output, Record, Request
from ros.atomic cimport (ACQUIRE, CLOCK_REALTIME, IN_ONE_ORDER, RELEASE, claim, clock_now,
                         exchange32, load32, load_time, steady_now, store32, store_time, wake)
from ros.queue cimport DONE, FREE, TAKEN, WAITING, Records, Requests, Slot, put_record, take_request
from ros.timing cimport Timing, count_response, count_wake_up

cdef extern from "<unistd.h>" nogil:
    ssize_t write(int fd, const void* data, size_t size) noexcept

cdef enum: REPORT_PERIOD = 100000000   # between records of the same failure [ns]

cdef struct RunnerCore:
    Cycle* cycle
    void* runner             # what ``Output``'s functions need
    Output output
    Requests requests
    Records records
    Timing timing
    int64_t heartbeat        # last sign of life from Python
    int64_t stop_by          # when to end, safe or not; 0: go on
    bint is_stopping         # the cycle has been asked to stop
    uint32_t is_signalled    # ``records_fd`` is readable
    int records_fd           # eventfd(2), readable when there are records
    bint has_published       # in this call of the cycle


cdef inline bint put(void* loop, const Record* record) noexcept nogil:
    """Output.record."""
    cdef RunnerCore* core = <RunnerCore*> loop
    cdef uint64_t one = 1
    cdef bint there = put_record(&core.records, record)
    if exchange32(&core.is_signalled, 1, IN_ONE_ORDER) == 0:
        write(core.records_fd, &one, sizeof(one))  # cannot block: its counter is 0
    return there


cdef inline int64_t heartbeat(void* loop) noexcept nogil:
    """Output.heartbeat."""
    return load_time(&(<RunnerCore*> loop).heartbeat, ACQUIRE)


cdef inline void record_own_event(RunnerCore* core, int kind, int index, double value,
                                  double count) noexcept nogil:
    """Record an event of the loop itself."""
    cdef Record record
    memset(&record, 0, sizeof(record))
    record.kind, record.index, record.time = kind, index, steady_now()
    record.value[0], record.value[1] = value, count
    put(core, &record)


cdef struct Failures:
    uint64_t count
    int64_t reported         # when the last one was recorded


cdef inline void put_failure(RunnerCore* core, Failures* failures, int kind, int index,
                             double value) noexcept nogil:
    """Count a failure, and record it unless one was recorded a moment ago."""
    cdef int64_t now = steady_now()
    failures.count += 1
    if failures.count == 1 or now - failures.reported > REPORT_PERIOD:
        failures.reported = now
        record_own_event(core, kind, index, value, <double> failures.count)


cdef inline void handle_message(RunnerCore* core, int input, const IncomingMessage* incoming,
                                int64_t published) noexcept nogil:
    """Pass a message to the cycle.

    published: when it was published [ns], for the jitter; 0 leaves the jitter out.
    """
    cdef int64_t now = steady_now(), end
    core.has_published = False
    core.cycle.message(core.cycle.self, input, incoming, now, &core.output)
    core.timing.messages += 1
    if published:
        count_wake_up(&core.timing, published, now)
    if core.has_published:
        end = steady_now()
        count_response(&core.timing,
                 clock_now(CLOCK_REALTIME) - incoming.received if incoming.received else end - now,
                 end)


cdef inline void handle_tick(RunnerCore* core, int64_t woken) noexcept nogil:
    """Call ``tick`` if it is due.

    woken: when the loop woke up for it [ns], for the jitter; 0 leaves the jitter out.
    """
    cdef int64_t due = core.cycle.due(core.cycle.self), now = steady_now(), end
    if now < due:
        return
    core.has_published = False
    core.cycle.tick(core.cycle.self, now, &core.output)
    core.timing.ticks += 1
    if woken:
        count_wake_up(&core.timing, due, woken)
    if core.has_published:
        end = steady_now()
        count_response(&core.timing, end - max(due, core.timing.last), end)


cdef inline void handle_requests(RunnerCore* core) noexcept nogil:
    """Pass on the requests that have not been withdrawn."""
    cdef Slot* slot = take_request(&core.requests)
    while slot != NULL:
        if claim(&slot.state, WAITING, TAKEN):
            core.cycle.request(core.cycle.self, &slot.request, steady_now(), &core.output)
            store32(&slot.state, DONE if slot.is_awaited else FREE, RELEASE)
            wake(&slot.state)
        else:
            store32(&slot.state, FREE, RELEASE)
        slot = take_request(&core.requests)


cdef inline bint may_end(RunnerCore* core, int64_t now) noexcept nogil:
    """Whether it is time to end. When a stop is first requested, the cycle is asked to prepare for
    it.
    """
    cdef int64_t stop_by = load_time(&core.stop_by, ACQUIRE)
    cdef Request request
    cdef bint is_safe
    if not stop_by:
        return False
    if not core.is_stopping:
        core.is_stopping = True
        request.kind, request.answer, request.payload = STOP_REQUESTED, 0, NULL
        core.cycle.request(core.cycle.self, &request, now, &core.output)
    is_safe = core.cycle.is_safe_to_end(core.cycle.self, now)
    if not is_safe and now < stop_by:
        return False
    record_own_event(core, ENDED, 0, is_safe, 0)
    return True

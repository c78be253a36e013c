"""A cycle that answers every message with the same bytes, and a loop that only sleeps: to test and to
measure the loop itself. See __init__.py.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from cycle cimport STOP_REQUESTED, Cycle, IncomingMessage, Output, Record, Request
from ros.atomic cimport CLOCK_MONOTONIC, SECOND, reduce_wake_up_latency, steady_now, timespec

import numpy as np

cdef extern from "<time.h>" nogil:
    int clock_nanosleep(int clock, int flags, const timespec* until, timespec* left) noexcept
    enum: TIMER_ABSTIME

cdef enum: FIRST = 8        # calls that are noted

cdef struct Echo:
    Cycle cycle
    const uint8_t* answer
    size_t answer_size
    size_t size              # of the messages that are answered; 0: any
    int64_t period           # between two ticks [ns]; 0: none
    int64_t due
    int64_t duration         # of simulated work before an answer [ns]
    int64_t rest             # from a request to stop until it is safe to end [ns]
    int64_t stop_at
    uint64_t messages, ticks, requests
    int[FIRST] calls         # the first: a message's input, or -1: a request
    int noted


cdef void note_call(Echo* echo, int call) noexcept nogil:
    if echo.noted < FIRST:
        echo.calls[echo.noted] = call
        echo.noted += 1


cdef void echo_answer(Echo* echo, Output* output) noexcept nogil:
    cdef int64_t end = steady_now() + echo.duration
    cdef timespec until
    if echo.duration:
        until.tv_sec, until.tv_nsec = <long> (end // SECOND), <long> (end % SECOND)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)
    output.publish(output.loop, 0, echo.answer, echo.answer_size)


cdef void echo_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                       Output* output) noexcept nogil:
    cdef Echo* echo = <Echo*> self
    note_call(echo, input)
    echo.messages += 1
    if echo.period == 0 and echo.size in (0, incoming.size):
        echo_answer(echo, output)


cdef void echo_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    """Record a request; its answer is its number. A request to stop is not counted."""
    cdef Echo* echo = <Echo*> self
    cdef Record record
    if request.kind == STOP_REQUESTED:
        echo.stop_at = now + echo.rest
        return
    note_call(echo, -1)
    echo.requests += 1
    request.answer = <int32_t> echo.requests
    memset(&record, 0, sizeof(record))
    record.kind, record.time, record.object = request.kind, now, <uint64_t> request.payload
    output.record(output.loop, &record)


cdef int64_t echo_due(void* self) noexcept nogil:
    return (<Echo*> self).due


cdef void echo_tick(void* self, int64_t now, Output* output) noexcept nogil:
    cdef Echo* echo = <Echo*> self
    echo.ticks += 1
    while echo.due <= now:
        echo.due += echo.period
    echo_answer(echo, output)


cdef bint echo_is_safe_to_end(void* self, int64_t now) noexcept nogil:
    return now >= (<Echo*> self).stop_at


cdef class EchoCycle:
    """A cycle that always publishes the same bytes, for every message or periodically.

    Attributes:
        capsule: PyCapsule "featherstone_ros.Cycle", for a runner.
    """

    cdef Echo* echo
    cdef bytes answer
    cdef readonly object capsule

    def __cinit__(self):
        self.echo = <Echo*> calloc(1, sizeof(Echo))
        if self.echo == NULL:
            raise MemoryError()

    def __init__(self, bytes answer not None, size_t size=0, double period=0.0, double duration=0.0,
                 double rest=0.0):
        """Prepare.

        Args:
            answer: A serialised message.
            size: Answer only messages of this size [bytes]; 0: all.
            period: Publish periodically [s]; 0: for every message.
            duration: Simulated work before each answer [s].
            rest: From a request to stop until it is safe to end [s].
        """
        cdef Cycle* cycle = &self.echo.cycle
        self.answer = answer
        self.echo.answer, self.echo.answer_size, self.echo.size = answer, <size_t> len(answer), size
        self.echo.period = <int64_t> (period * 1e9)
        self.echo.due = steady_now() + self.echo.period if period else INT64_MAX
        self.echo.duration = <int64_t> (duration * 1e9)
        self.echo.rest = <int64_t> (rest * 1e9)
        cycle.self, cycle.message, cycle.request, cycle.due = (
            self.echo, echo_message, echo_request, echo_due)
        cycle.tick, cycle.is_safe_to_end = echo_tick, echo_is_safe_to_end
        self.capsule = PyCapsule_New(cycle, "featherstone_ros.Cycle", NULL)

    def __dealloc__(self):
        free(self.echo)

    @property
    def messages(self):
        """Number of messages so far."""
        return self.echo.messages

    @property
    def calls(self):
        """What the first eight calls were, in that order: a message's input, or -1: a request."""
        return [self.echo.calls[k] for k in range(self.echo.noted)]

    @property
    def ticks(self):
        """Number of ticks that have begun so far."""
        return self.echo.ticks

    @property
    def requests(self):
        """Number of requests so far."""
        return self.echo.requests


def wake_times(int64_t period, Py_ssize_t count):
    """Sleep until each of ``count`` times that are ``period`` [ns] apart, without the interpreter.

    To be called in a thread of its own, which gets the settings of that of ``RclLoop.run``: these are
    the best wake-up times that a periodic loop can have on this machine.

    Returns:
        (count,) steady times of the wake-ups [ns].
    """
    woke = np.empty(count, np.int64)
    cdef int64_t[::1] times = woke
    cdef int64_t due = steady_now()
    cdef Py_ssize_t k
    cdef timespec until
    reduce_wake_up_latency()
    with nogil:
        for k in range(count):
            due += period
            until.tv_sec, until.tv_nsec = <long> (due // SECOND), <long> (due % SECOND)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)
            times[k] = steady_now()
    return woke

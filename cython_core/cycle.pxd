# What a loop runs (Cycle) and what it gives to it (Output): C structures, without Python and
# without ROS.
#
# A loop (ros/loop.pyx) waits for messages, requests and the time, and calls the cycle's functions
# one at a time, in one thread, without the GIL. A cycle (the controller's, the twin's) decodes,
# computes and encodes; it never waits, allocates or raises. What Python is to know of it goes out
# as records; what Python asks for comes in as requests. Times are the loop's [ns] unless said
# otherwise: of the steady clock (CLOCK_MONOTONIC), or simulated (ros/loop_clock.pxd).

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    STOP_REQUESTED = -1      # kind of a request without payload: lead to where it is safe to end,
                             # see ``is_safe_to_end``
    # Kinds of the loop's own records:
    TOO_LARGE = -1           # index: input; value: size of the message [bytes], how many so far
    TAKE_FAILED = -2         # index: input; value: rcl's code, how many so far
    PUBLISH_FAILED = -3      # index: output; value: rcl's code, how many so far
    ENDED = -4               # value: 1 if it was safe to end, 0 if the time for it was over
    UNTIMED = -5             # once: times and numbers of messages are unknown, since MessageInfo
                             # (ros/rcl.pxd) is not plausible

cdef struct IncomingMessage: # serialised
    const uint8_t* data      # CDR, with its encapsulation header; the cycle does not keep it
    size_t size
    int64_t received         # when the middleware took it in, by the system clock [ns]; 0: unknown,
                             # or the time is simulated
    int64_t sent             # when it was published, by that computer's system clock [ns]; likewise
    int64_t written          # the same although the time is simulated: for the order of questions
                             # and answers alone
    int64_t ros_time         # when it was taken, by the clock of stamps [ns]
    int64_t sequence         # its publisher's number of it; -1: unknown

cdef struct Request:         # in the order in which they were asked for; lives until its answer has
                             # been read
    int32_t kind             # which one: the cycle's own numbers, from 0
    int32_t answer           # written by the cycle: 0 done, else why not (its own numbers)
    void* payload            # what belongs to it

cdef struct Record:          # one event that Python formats, logs, counts or answers
    int32_t kind             # the cycle's own numbers, from 0
    int32_t index            # e.g. a joint
    int64_t time
    double[4] value
    uint64_t object          # the number of what is no longer in use: such records are not lost; 0:
                             # none

cdef struct Output:
    void* loop
    # 0, or rcl's code
    int (*publish)(void* loop, int output, const uint8_t* data, size_t size) noexcept nogil
    bint (*is_watched)(void* loop, int output) noexcept nogil  # whether anybody subscribes
    bint (*is_fed)(void* loop, int input) noexcept nogil       # whether anybody publishes
    bint (*record)(void* loop, const Record* record) noexcept nogil  # False: no room, it is lost
    int64_t (*ros_time)(void* loop) noexcept nogil  # the node's clock [ns]
    int64_t (*silence)(void* loop) noexcept nogil  # since Python's last sign of life, by the steady
                                                   # clock [ns]; negative: none is needed


cdef inline bint record_values(const Output* output, int kind, int32_t index, int64_t now, double a,
                               double b, double c, double d, uint64_t object) noexcept nogil:
    """Report something to Python; returns whether there was room for it."""
    cdef Record record
    record.kind, record.index, record.time, record.object = kind, index, now, object
    record.value[0], record.value[1], record.value[2], record.value[3] = a, b, c, d
    return output.record(output.loop, &record)


cdef struct Cycle:
    void* self
    void (*message)(void* self, int input, const IncomingMessage* incoming, int64_t now,
                    Output* output) noexcept nogil
    void (*request)(void* self, Request* request, int64_t now, Output* output) noexcept nogil
    int64_t (*due)(void* self) noexcept nogil  # when ``tick`` is wanted next; INT64_MAX: never
    void (*tick)(void* self, int64_t now, Output* output) noexcept nogil
    # e.g. the arm stands: silence may follow
    bint (*is_safe_to_end)(void* self, int64_t now) noexcept nogil

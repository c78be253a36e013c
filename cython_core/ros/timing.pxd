# Latency and jitter of a loop, counted by the loop and read by another thread meanwhile
# (realtime/loop_timing.py).

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport llabs

cdef enum:
    FINE = 4096              # buckets of 1 us
    COARSE = 4096            # buckets of 64 us above them, up to 266 ms
    COARSE_WIDTH = 64
    BUCKETS = FINE + COARSE + 1  # and one for the rest
    MAX_PUBLISHERS = 4      # of a topic that are followed; with more, some losses are not seen

cdef struct Histogram:
    uint64_t[BUCKETS] counts
    int64_t longest          # since it was last read [ns]

cdef struct Timing:
    Histogram latency        # from arrival of a message, or when a tick was due, to the publish
    Histogram jitter         # |time between two wake-ups - time between what they were due for|
    int64_t allowed          # latency beyond which a cycle is an overrun [ns]; 0: the time since
                             # the last one
    int64_t last             # end of the last cycle that published
    int64_t last_due, last_woke
    uint64_t rounds, messages, ticks, overruns, lost, too_large, take_failed, publish_failed


cdef inline void add(Histogram* histogram, int64_t duration) noexcept nogil:
    cdef int64_t us = duration // 1000
    if us < 0:
        us = 0
    if us >= FINE:
        us = min(FINE + (us - FINE) // COARSE_WIDTH, FINE + COARSE)
    histogram.counts[us] += 1
    if duration > histogram.longest:
        histogram.longest = duration


cdef inline void count_wake_up(Timing* timing, int64_t due, int64_t now) noexcept nogil:
    """Count a wake-up at ``now`` for what was due at ``due``; the two clocks may differ [ns]."""
    if timing.last_woke and due:
        add(&timing.jitter, llabs((now - timing.last_woke) - (due - timing.last_due)))
    timing.last_due, timing.last_woke = due, (now if due else 0)


cdef inline void count_response(Timing* timing, int64_t taken, int64_t now) noexcept nogil:
    """Count the latency [ns] of a cycle that published and ended at steady time ``now``."""
    cdef int64_t allowed = timing.allowed or (now - timing.last if timing.last else 0)
    add(&timing.latency, taken)
    timing.overruns += taken > allowed > 0
    timing.last = now


cdef struct Sequence:        # of a publisher's messages
    uint64_t[2] publisher    # its identifier; 0: unknown
    int64_t newest, gap
    bint is_known

cdef struct Sequences:       # of a topic's messages
    Sequence[MAX_PUBLISHERS] of
    int next                 # to be reused for a new publisher


cdef inline Sequence* sequence_of(Sequences* sequences, const uint64_t* publisher) noexcept nogil:
    """Return the entry of a publisher; a new one replaces another's."""
    for k in range(MAX_PUBLISHERS):
        sequence = &sequences.of[k]
        if (sequence.is_known and sequence.publisher[0] == publisher[0]
                and sequence.publisher[1] == publisher[1]):
            return sequence
    sequence = &sequences.of[sequences.next]
    sequences.next = (sequences.next + 1) % MAX_PUBLISHERS
    sequence.publisher[0], sequence.publisher[1], sequence.is_known = (
        publisher[0], publisher[1], False)
    return sequence


cdef inline int64_t count_missing(Sequences* sequences, const uint64_t* publisher,
                                int64_t number) noexcept nogil:
    """Return how many messages are newly known to be lost, given the number of the newest one.

    Without publisher identifiers the numbers of several publishers mix, so a gap counts only when
    the next number continues after it.
    """
    cdef Sequence* sequence = sequence_of(sequences, publisher)
    cdef int64_t lost = 0
    if not sequence.is_known or number < sequence.newest:
        sequence.gap = 0
    else:
        lost, sequence.gap = sequence.gap, number - sequence.newest - 1
    sequence.newest, sequence.is_known = number, True
    return lost

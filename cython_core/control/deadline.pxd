# Commands that come too late: how many within the last second, and what follows.

from libc.stdint cimport int64_t
from libc.string cimport memset

from control.cycle_state cimport BUCKETS, ControlCycle, Deadline, record_note
from control.events cimport CAUSE_LATE_COMMANDS, NOTE_CAUSE
from control.phase_changes cimport respond
from control.state_machine cimport Hold, hold_reason

cdef struct DeadlinePayload:
    double cycle_time
    int allowed
    bint holds


cdef inline void take_deadline(ControlCycle* cycle, const DeadlinePayload* payload) noexcept nogil:
    memset(&cycle.deadline, 0, sizeof(Deadline))
    cycle.deadline.cycle_time, cycle.deadline.allowed = payload.cycle_time, payload.allowed
    cycle.deadline.holds = payload.holds


cdef inline int count_late(Deadline* deadline, int64_t now, bint late) noexcept nogil:
    """Count a command; returns how many were late within the last second."""
    cdef int64_t bucket = now // 100000000
    cdef int k, total = 0
    while deadline.bucket < bucket:
        deadline.bucket = max(deadline.bucket + 1, bucket - BUCKETS)
        deadline.counts[deadline.bucket % BUCKETS] = 0
    deadline.counts[bucket % BUCKETS] += late
    for k in range(BUCKETS):
        total += deadline.counts[k]
    return total


cdef inline void check_deadline(ControlCycle* cycle, double taken) noexcept nogil:
    """Count a command that took so long [s]; while too many are late, hold the arm if so asked."""
    cdef Deadline* deadline = &cycle.deadline
    cdef Hold reason = hold_reason(CAUSE_LATE_COMMANDS, -1, deadline.allowed, deadline.cycle_time)
    cdef bint missed
    if deadline.cycle_time <= 0.0:
        return
    missed = count_late(deadline, cycle.now, taken > deadline.cycle_time) > deadline.allowed
    if missed and deadline.holds:
        respond(&cycle.controller, cycle.now * 1e-9, &reason)
    elif missed and not deadline.missed:
        record_note(cycle, NOTE_CAUSE, -1, <int> CAUSE_LATE_COMMANDS, deadline.allowed,
                    deadline.cycle_time, 0.0)
    deadline.missed = missed

# Joint states as messages bring them: in parts, from several publishers, some time after they were
# measured.
#
# A state is complete when every joint has come since the last complete one.

from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t

from control.cycle_state cimport FALLS, ControlCycle
from control.state_clock cimport age_by_stamp
from cycle cimport IncomingMessage
from ros.atomic cimport CLOCK_REALTIME, clock_now
from ros.messages cimport JointParts, collect_joints


cdef inline bint collect(ControlCycle* cycle) noexcept nogil:
    """Take over what a message says; returns whether the state is complete with it."""
    cdef JointParts parts
    parts.n, parts.values = <int32_t> cycle.controller.n, cycle.part
    parts.there, parts.scratch = cycle.there, cycle.shown
    return collect_joints(&parts, &cycle.message)


cdef inline void note_sequence(ControlCycle* cycle, int64_t sequence) noexcept nogil:
    """Note when sequence numbers fall back, as those of several publishers often do."""
    cdef bint falls = False
    cdef Py_ssize_t i
    if sequence < 0:
        return
    for i in range(cycle.controller.n):
        if cycle.message.place[i] >= 0:
            falls |= sequence <= cycle.sequence[i]
            cycle.sequence[i] = sequence
    if falls:
        cycle.falls[cycle.fall] = cycle.now
        cycle.fall = (cycle.fall + 1) % FALLS


cdef inline double transit_time(const IncomingMessage* incoming, double stamp) noexcept nogil:
    """How long ago a state was measured, or else was sent [s]; NaN: unknown.

    By its stamp, unless that is of another clock than the system's.
    """
    cdef int64_t now = clock_now(CLOCK_REALTIME)
    cdef double age = age_by_stamp(now * 1e-9, stamp)
    if not isnan(age):
        return age
    return (now - incoming.sent) * 1e-9 if incoming.sent else NAN


cdef inline bint is_live(double stamp) noexcept nogil:
    """Whether the arm moves by this computer's clock: stamps of another may be a simulation's."""
    return stamp == 0.0 or not isnan(age_by_stamp(clock_now(CLOCK_REALTIME) * 1e-9, stamp))

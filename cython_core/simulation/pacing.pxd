# Simulation time follows real time: periods are counted against a steady clock, without drift; or
# against another simulation's, which advances in steps.
#
# After a stall at most twice the usual number of periods is due at once, so that commands can
# arrive between them. A step of another's time is no stall: all of it is due.

from libc.math cimport rint
from libc.stdint cimport int64_t

cdef enum:
    CATCH_UP = 100_000_000             # [ns] of real time that is caught up after a stall; the rest
                                       # is skipped
    LONGEST_STEP = 1_000_000_000       # [ns] of another's time; more means that it begins
    ONE_BY_ONE = 1_000_000_000         # [ns] likewise, where each period waits for commands
    SHORTEST_TICK = 1_000_000          # [ns] shortest time between two checks of the clock

cdef struct Pace:
    double real_period                 # [ns] of real time; 0: as fast as possible
    int64_t per_tick                   # periods that are usually due at once
    double origin, looked              # beginning of the count, last check of the clock [ns]
    int64_t done                       # periods since the origin
    int64_t overruns                   # stalls too long to be caught up


cdef inline void restart_pace(Pace* pace, int64_t now) noexcept nogil:
    """Count from now, e.g. after a pause."""
    # Half a period back: a check slightly early or late still finds one period due.
    pace.origin, pace.looked, pace.done = now - 0.5 * pace.real_period, -1e300, 0


cdef inline void set_pace(Pace* pace, double period, double factor, int64_t now) noexcept nogil:
    """Start with this period of simulation time [ns] and real-time factor; 0: as fast as possible.
    """
    pace.real_period = period / factor if factor > 0.0 else 0.0
    pace.per_tick = 1
    if pace.real_period > 0.0:
        pace.per_tick = max(1,
                            <int64_t> rint(max(pace.real_period, <double> SHORTEST_TICK)
                                           / pace.real_period))
    restart_pace(pace, now)


cdef inline int64_t next_due(const Pace* pace) noexcept nogil:
    """When to check the clock next [ns]; 0: at once."""
    if pace.real_period == 0.0:
        return 0
    punctual = pace.origin + (pace.done + pace.per_tick + 0.5) * pace.real_period
    # After a stall this leaves time for commands between two checks.
    return <int64_t> max(punctual, pace.looked + 0.5 * pace.per_tick * pace.real_period)


cdef inline int64_t count_due(Pace* pace, int64_t now, bint in_steps, double* lag) noexcept nogil:
    """Number of periods that are due; lag: how long ago the first of them was due [ns].

    in_steps: ``now`` is another simulation's time, to which the last of them belongs.
    """
    lag[0] = 0.0
    if pace.real_period == 0.0:
        return 1
    pace.looked = -1e300 if in_steps else <double> now
    behind = <int64_t> ((now - pace.origin) / pace.real_period) - pace.done
    max_behind = max(1, <int64_t> rint(<double> CATCH_UP / pace.real_period))
    if in_steps:
        if behind > LONGEST_STEP / pace.real_period:
            restart_pace(pace, now)
            behind = 0
        behind = max(0, behind)
        lag[0] = (behind - 1) * pace.real_period
    else:
        if behind > max_behind:
            pace.overruns += 1
            pace.done += behind - max_behind
            behind = max_behind
        behind = max(0, min(behind, 2 * pace.per_tick))
        lag[0] = now - pace.origin - (pace.done + 1.5) * pace.real_period
    pace.done += behind
    return behind


# Periods that wait for commands: they begin one by one, when they are due or later.

cdef inline int64_t period_due(const Pace* pace) noexcept nogil:
    """When the next period may begin [ns]; 0: at once."""
    if pace.real_period == 0.0:
        return 0
    return <int64_t> (pace.origin + (pace.done + 1.5) * pace.real_period)


cdef inline bint has_fallen_behind(const Pace* pace, int64_t now) noexcept nogil:
    """Whether more has been missed than is caught up."""
    return pace.real_period > 0.0 and now - period_due(pace) > ONE_BY_ONE


cdef inline void take_period(Pace* pace, int64_t now) noexcept nogil:
    """Count a period that begins now."""
    if has_fallen_behind(pace, now):
        pace.done += <int64_t> ((now - period_due(pace) - ONE_BY_ONE) / pace.real_period)
    pace.done += 1

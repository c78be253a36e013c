# Stamps and clocks of joint states: is a state newer than the last, how much time lies between
# them, and was it on its way for too long? Class 1 of docs/faults.md.
#
# The controller's time is the sum of the times between joint states: by their stamps, or by their
# arrival where they have none or another clock has set them; and how late the last of them came.

from libc.math cimport INFINITY, NAN, exp, fabs, isnan

from control.fault_bounds cimport (CLOCK_DRIFT, CLOCK_JUMP, FEW, REMEMBERED, RESOLUTION, SAME_PACE,
                                   STAMP_JITTER, UNSURE)
from stamp_order cimport NEWER, OLDER, SAME, stamp_order

cdef struct StateClock:
    double time              # the controller's, as the last state came [s]
    double origin            # stamp at which it was zero; NaN: states have no stamps
    double dt                # between the last two states [s]; 0 for the first
    double gap               # the same, or what passed between their arrivals if that is more
    double late              # age of the last state as it came [s]
    double interval          # the longest recent time for which a command acted [s]: states may
                             # come in bursts
    double usual             # the same before the last state [s]
    double strayed           # by how much the stamps' clock has recently fallen behind this one
                             # [s]: a simulation's, by which the arm moves, may do so
    double since             # steady time from which on states count; -inf: all
    double received          # steady time at which the last one arrived; -inf before the first
    double stamp             # its stamp; 0: none
    double older             # stamp of the last older one that came since; 0: none has
    double in_order_since    # steady time from which older ones have come in their order
    bint set_back            # only older ones have come since, for a while
    double newest            # of all stamps, also of states that were on their way for too long
    double transit           # [s] shortest time on the way, by two clocks: the smallest that three
                             # states in a row did not exceed
    double transit_at        # steady time to which it belongs
    double transits[2]       # of the last two states; -inf before there were two
    int too_late             # states in a row that cannot be as late as they seem


cdef inline void forget_transit(StateClock* k) noexcept nogil:
    """Forget how long states were on their way: a clock may have been set."""
    k.transit, k.transit_at = INFINITY, 0.0
    k.transits[0] = k.transits[1] = -INFINITY
    k.too_late = 0


cdef inline void start_clock(StateClock* k, double since) noexcept nogil:
    """Begin without a state; those that were measured before ``since`` do not count."""
    k.since = since
    k.received, k.origin, k.stamp, k.newest = -INFINITY, NAN, 0.0, 0.0
    k.late = k.interval = k.usual = k.older = 0.0
    k.set_back = False
    forget_transit(k)


cdef inline bint is_of_before(const StateClock* k, double now, double on_its_way) noexcept nogil:
    """Whether a state was measured before the clock was started, as far as its age is known: where
    the arm is may have changed since. One of that very time counts: simulated time may stand at it.
    """
    return now - k.since + RESOLUTION < on_its_way < CLOCK_JUMP


cdef inline double age_by_stamp(double now, double stamp) noexcept nogil:
    """Age of a state [s] by the clock of its stamp; NaN: that is another one, or there is none."""
    return now - stamp if stamp > 0.0 and fabs(now - stamp) < CLOCK_JUMP else NAN


cdef inline double age_of_state(const StateClock* k, double now) noexcept nogil:
    """Time since the last state was measured [s]."""
    return now - k.received + k.late


cdef inline double overdue_at(const StateClock* k, double state_timeout) noexcept nogil:
    """Steady time from which on the next state is missing [s]: some of their periods so far,
    half-way to ``state_timeout`` at the latest; inf where the arm moves by another clock.
    """
    cdef double latest = 0.5 * (k.interval + state_timeout)
    if fabs(k.strayed) > SAME_PACE:
        return INFINITY
    return k.received + min(max(STAMP_JITTER, FEW * k.interval), latest) - RESOLUTION


cdef inline double elapsed(const StateClock* k, double now, double stamp) noexcept nogil:
    """Time since the last state [s], by arrival if stamps were set back; <= 0 for older ones."""
    if stamp > 0.0:  # the last one may have been 0: a simulation's first state
        dt = stamp - k.stamp
        if stamp_order(dt, CLOCK_JUMP) in (OLDER, SAME, NEWER):
            return now - k.received if k.set_back else dt
    return max(now - k.received, 1e-6)


cdef inline bint is_old(const StateClock* k, double now, double stamp) noexcept nogil:
    """Whether a state is not newer than those before it."""
    return (stamp > 0.0 and stamp_order(stamp - k.newest, CLOCK_JUMP) in (OLDER, SAME)
            or elapsed(k, now, stamp) <= 0.0)


cdef inline void note_old(StateClock* k, double now, double stamp,
                          double state_timeout) noexcept nogil:
    """Note a state that is not newer. Those that were overtaken come at once, or in any order:
    where older ones come one after the other for a while, their clock was set back.
    """
    if stamp < k.newest:
        if k.older == 0.0:
            k.in_order_since = k.received
        elif stamp <= k.older:
            k.in_order_since = now
        k.older, k.set_back = stamp, now - k.in_order_since > STAMP_JITTER
        if k.set_back:
            forget_transit(k)
    if now - k.received > state_timeout:
        k.set_back = True


cdef inline void watch_clocks(StateClock* k, double now, double on_its_way) noexcept nogil:
    """Forget how long states were on their way when one of two clocks was set: then a delay seems
    to grow by more than the time in three states in a row; in one, its stamp is wrong.
    """
    cdef double before = max(k.transits[0], k.transits[1])
    if before == -INFINITY or not on_its_way - before > now - k.transit_at + STAMP_JITTER:
        k.too_late = 0
        return
    k.too_late += 1
    if k.too_late == 3:
        forget_transit(k)


cdef inline double lateness(StateClock* k, double now, double on_its_way) noexcept nogil:
    """How much longer than the shortest a state was on its way [s], by two clocks, of which only
    the growth counts; NaN: unknown. The shortest is that of three in a row: a single early one has
    a wrong stamp, and all states after it would seem late.
    """
    if isnan(on_its_way):
        return 0.0
    longest_of_three = max(on_its_way, k.transits[0], k.transits[1])
    if k.transits[0] == -INFINITY:
        k.transit = longest_of_three
    else:
        k.transit = min(k.transit + CLOCK_DRIFT * (now - k.transit_at), longest_of_three)
    if not k.too_late:
        k.transits[0], k.transits[1] = k.transits[1], on_its_way
        k.transit_at = now
    return on_its_way - k.transit


cdef inline double late_by(const StateClock* k, double on_its_way,
                           double state_timeout) noexcept nogil:
    """Age of a state as it comes [s], as far as two clocks tell: what they say if they agree, since
    all states were on their way for a little time; else counted from the shortest.
    """
    cdef double late = on_its_way
    if isnan(late) or k.too_late:
        return 0.0
    if not 0.0 < k.transit < state_timeout:
        late -= k.transit
    return late if STAMP_JITTER < late < CLOCK_JUMP else 0.0


cdef inline double between(const StateClock* k, double now, double stamp,
                           bint live) noexcept nogil:
    """Time since the last state [s]. Stamps exceed arrivals by no more than the last one was late;
    else the clock was set ahead, and the arm has not moved by as much.
    """
    cdef double dt = elapsed(k, now, stamp), apart = now - k.received
    cdef double late = k.late + STAMP_JITTER if k.transit < INFINITY else CLOCK_JUMP
    return max(apart, 1e-6) if live and dt - apart > late else dt


cdef inline void pass_time(StateClock* k, double now, double stamp, double on_its_way, bint live,
                           double state_timeout) noexcept nogil:
    """Advance to a state; by the difference of its stamp from the first, so that rounding errors do
    not add up. live: the arm has moved meanwhile, which a simulation need not have.
    """
    cdef double late = late_by(k, on_its_way, state_timeout) if live else 0.0
    k.dt = k.gap = 0.0
    if k.received == -INFINITY or live:
        k.strayed = 0.0 if live else UNSURE
    if k.received > -INFINITY:
        k.dt = between(k, now, stamp, live)
        k.gap = max(k.dt, now - k.received)
        apart = now - k.received if live else k.dt
        left = exp(-apart / REMEMBERED)
        k.usual = k.interval * left
        if not live:
            k.strayed = left * k.strayed + now - k.received - k.dt
        k.interval = max(apart if apart < state_timeout else 0.0, k.usual)
    if k.stamp > 0.0 and k.dt == stamp - k.stamp:
        k.time = stamp - k.origin
    else:
        k.time += k.dt - k.late
        k.origin = stamp - k.time if stamp > 0.0 else NAN
    k.time += late
    k.received, k.stamp, k.late, k.older, k.set_back = now, stamp, late, 0.0, False

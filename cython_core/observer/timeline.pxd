# Whether a joint state continues the stream: repeated and late states are skipped, gaps and jumps
# of time are found.
#
# A state is repeated if it has the stamp of the one before, or the same values although the arm
# moves: a driver or recorder that samples faster than the arm measures sends each state twice, and
# a driver that hangs sends the same state for ever. An arm at rest may measure the same twice.

from libc.stdint cimport int64_t

from stamp_order cimport NEWER, OLDER, SAME, SET_BACK, StampOrder, stamp_order

cdef enum Continuity:
    FIRST                    # there is no state before it
    FOLLOWS                  # on the last one
    AFTER_JUMP_BACK          # time has jumped back: a new beginning
    AFTER_GAP                # too much time has passed: a new beginning
    REPEATED                 # skipped
    LATE                     # skipped: older than the last one

cdef struct Timeline:
    bint begun               # there is a last good state
    int64_t time             # when it was measured [ns]
    double dt                # from the last good state to the newest, skipped or not [s]
    int64_t repeated, late   # states skipped


cdef inline bint is_repeated(Py_ssize_t n, const double* last, const double* state) noexcept nogil:
    """Whether a state (3, n) equals the last one although some joint has a velocity."""
    cdef bint moves = False
    for k in range(3 * n):
        if state[k] != last[k]:
            return False
        moves |= n <= k < 2 * n and state[k] != 0.0
    return moves


cdef inline Continuity check_continuity(Timeline* its, double max_gap, Py_ssize_t n, int64_t time,
                                        const double* last, const double* state) noexcept nogil:
    """How a state (3, n), measured at a time [ns], follows on the last good one; sets ``dt``."""
    cdef bint begun = its.begun
    its.dt = (time - its.time) / 1e9
    order = stamp_order(its.dt, max_gap)
    if begun and order != SET_BACK and (order == SAME or is_repeated(n, last, state)):
        its.repeated += 1
        return REPEATED
    if begun and order == OLDER:
        its.late += 1
        return LATE
    its.time, its.begun = time, True
    if not begun:
        return FIRST
    if order == SET_BACK:
        return AFTER_JUMP_BACK
    return FOLLOWS if order == NEWER else AFTER_GAP

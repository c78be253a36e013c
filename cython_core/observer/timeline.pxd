# Which joint states follow on which: repeated and late ones are passed over, gaps found.
#
# A state is repeated if it has the stamp of the one before, or its very figures although the arm
# moves: a driver or a recorder that samples faster than the arm measures sends it twice, and a
# driver that hangs sends nothing else. An arm that stands still may well measure the same twice.

from libc.stdint cimport int64_t

cdef enum Passage:
    FIRST                    # follows on nothing, as nothing was before
    FOLLOWS
    AFTER_JUMP_BACK          # follows on nothing: time jumped back
    AFTER_GAP                # the same: too much time passed
    REPEATED                 # passed over
    LATE                     # the same

cdef struct Timeline:
    bint begun               # there is a last good state
    int64_t time             # when it was measured [ns]
    double dt                # between the last state and the one before, whatever became of it [s]
    int64_t repeated, late   # states passed over


cdef inline bint is_repeated(Py_ssize_t n, const double* last, const double* state) noexcept nogil:
    """Whether a state (3, n) has the figures of the last one although it has a velocity."""
    cdef bint moves = False
    cdef Py_ssize_t k
    for k in range(3 * n):
        if state[k] != last[k]:
            return False
        moves |= n <= k < 2 * n and state[k] != 0.0
    return moves


cdef inline Passage pass_state(Timeline* its, double max_gap, Py_ssize_t n, int64_t time,
                               const double* last, const double* state) noexcept nogil:
    """How a state (3, n) follows on the last good one; sets ``dt``."""
    cdef int64_t before = its.time
    cdef bint begun = its.begun
    its.dt = (time - before) / 1e9
    if begun and its.dt > -max_gap:
        if its.dt == 0.0 or is_repeated(n, last, state):
            its.repeated += 1
            return REPEATED
        if its.dt < 0.0:
            its.late += 1
            return LATE
    its.time, its.begun = time, True
    if not begun:
        return FIRST
    if its.dt <= -max_gap:
        return AFTER_JUMP_BACK
    return FOLLOWS if its.dt <= max_gap else AFTER_GAP

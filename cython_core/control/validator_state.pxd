# What is known of the joint states so far (state_validator.pxd), and what was wrong with the last
# one.

from libc.math cimport INFINITY, fabs

cdef enum Rejection:         # why a state is not believed; the texts are in
                             # featherstone_ros/control/events.py
    ACCEPTED = 0
    NOT_FINITE
    NOT_NEWER                # stamp not newer than the last
    JUMPED                   # position
    ABSURD                   # position far beyond the limits
    TOO_FAST                 # velocity not plausible
    DISTRUSTED               # too many before were not plausible
    REPEATED                 # a position that does not change while the arm moves, or is asked to
    CONTRADICTORY            # velocities that the positions do not show
    LATE                     # on its way for longer than state_timeout
    REJECTIONS

cdef extern from *:
    """
    #define FALLBACK_SPEED (20.0)
    """
    const double FALLBACK_SPEED   # [rad/s, m/s] believed where the robot description gives no limit

cdef struct Judged:          # what was wrong with a state
    Rejection rejection
    Py_ssize_t joint         # -1: all
    double found, bound

cdef struct StateValidator:
    Py_ssize_t n
    double* q                # (n,) of the last good state, and so on
    double* qd               # measured, or estimated from the positions
    double* last_q           # of the good state before
    double* last_qd
    double* likely_q         # what the laws go by: see ``find_likely_state``
    double* likely_qd
    double* seen             # last position that was not believed
    double* plausible_speed  # twice the limits
    double* middle           # of the position range
    double* half_range
    double* compared_q       # of the last state whose positions and velocities were compared,
                             # believed or not
    double* compared_qd
    double* pace             # velocity that the last two different positions show
    double* shown            # velocity that they show in common with those before, filtered
    double* discrepancy      # position minus integral of the velocity, of late
    double* travelled        # integral of the speed, of late
    double* smallest_step    # that the position has ever made; 0: none
    double* moved            # integral of the velocity since the position last changed
    double* repeated_from    # desired position when the position last changed
    Judged frozen            # joint whose position does not change although the arm was asked to
                             # move; -1: none
    bint all_frozen          # nor do the others
    double time              # the controller's: sum of all times between good states [s]
    double origin            # stamp at which it was zero, as long as stamps go on; NaN: they have
                             # none
    double dt                # between the last two good states; 0 after ``forget``
    double interval          # the longest such time of late, if shorter than state_timeout [s]
    double received          # steady time at which the last good one arrived; -inf before the first
    double stamp             # its stamp; 0: none
    double newest_stamp      # of all that were seen
    double seen_at
    double compared_at
    double compared_stamp
    double unchanged         # time for which the compared position had been the same [s]
    double jumped            # time from the last good state to the first one that jumped
    double transit           # shortest time on the way that three states in a row took at most so
                             # far, by two clocks [s]
    double transit_at
    double transits[2]       # of the last two states; -inf before there were two
    int too_late             # states in a row that cannot be as late as they seem
    bint fresh               # the next state follows on nothing
    bint misled              # the last state has shown that the likely position before was wrong
    int implausible          # states that were not plausible and have not been made up for
    long long accepted
    long long rejected[REJECTIONS]
    Judged last              # what became of the last state


cdef inline void forget(StateValidator* v) noexcept nogil:
    """Believe that the arm is elsewhere if two states say so: too much time has passed since the
    last.

    They have to be newer, and after states that were not plausible it takes more.
    """
    v.fresh, v.jumped = True, INFINITY


cdef inline void forget_clocks(StateValidator* v) noexcept nogil:
    """Forget how long states were on their way."""
    v.transit, v.transit_at = INFINITY, 0.0
    v.transits[0] = v.transits[1] = -INFINITY
    v.too_late = 0


cdef inline void trust(StateValidator* v) noexcept nogil:
    """No longer take positions that stay the same for frozen."""
    v.frozen.joint, v.all_frozen = -1, False


cdef inline bint is_frozen(const StateValidator* v) noexcept nogil:
    """Whether a joint's position does not change although it was asked to, or pushed."""
    return v.frozen.joint >= 0


cdef inline Judged judged(Rejection rejection, Py_ssize_t joint, double found,
                          double bound) noexcept nogil:
    cdef Judged result
    result.rejection, result.joint, result.found, result.bound = rejection, joint, found, bound
    return result


cdef inline Judged accepted() noexcept nogil:
    return judged(ACCEPTED, -1, 0.0, 0.0)


cdef inline double common(double a, double b) noexcept nogil:
    """What two numbers have in common: the smaller one, nothing if they differ in sign."""
    if a * b <= 0.0:
        return 0.0
    return a if fabs(a) < fabs(b) else b


cdef inline bint same(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True

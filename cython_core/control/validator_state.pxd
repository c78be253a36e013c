# What is known of the joint states so far (state_validator.pxd), and what was wrong with the last
# one.

from libc.math cimport INFINITY, M_PI, exp, fabs

cdef enum Rejection:         # why a state is not accepted; the texts are in
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

cdef enum: REJECTIONS = LATE + 1         # how many, as in phases.pxd

cdef extern from *:
    """
    #define FALLBACK_SPEED (20.0)
    """
    const double FALLBACK_SPEED   # [rad/s, m/s] assumed where the robot description gives no limit

cdef struct Judgement:       # what was wrong with a state
    Rejection rejection
    Py_ssize_t joint         # -1: all
    double found, bound

cdef struct StateValidator:
    Py_ssize_t n
    double* q                # (n,) of the last good state; all arrays are (n,)
    double* qd               # measured, or estimated from the positions
    double* last_q           # of the good state before
    double* last_qd
    double* likely_q         # what the laws use: see ``find_likely_state``
    double* likely_qd
    double* seen             # last position that was not accepted
    double* plausible_speed  # twice the limits
    double* middle           # of the position range
    double* half_range
    double* compared_q       # of the last state whose positions and velocities were compared,
                             # accepted or not
    double* compared_qd
    double* step_velocity    # velocity that the last two different positions show
    double* shown            # velocity that the positions show, filtered
    double* discrepancy      # recent change of position minus recent integral of the velocity
    double* travelled        # recent integral of the speed
    double* smallest_step    # smallest change of the position so far; 0: none
    double* moved            # integral of the velocity since the position last changed
    double* repeated_from    # desired position when the position last changed
    Judgement frozen         # joint whose position does not change although it should; -1: none
    bint all_frozen          # no position does
    double time              # the controller's: sum of all times between good states [s]
    double origin            # stamp at which it was zero; NaN: states have no stamps
    double dt                # between the last two good states; 0 after ``forget``
    double interval          # the longest recent dt that was shorter than state_timeout [s]
    double received          # steady time at which the last good one arrived; -inf before the first
    double stamp             # its stamp; 0: none
    double newest_stamp      # of all states, good or not
    double seen_at           # when ``seen`` came
    double compared_at
    double compared_stamp
    double unchanged         # time for which the compared position had been the same [s]
    double jumped            # time from the last good state to the first one that jumped
    double transit           # [s] shortest time on the way, by two clocks: the least that three
                             # states in a row did not exceed
    double transit_at
    double transits[2]       # of the last two states; -inf before there were two
    int too_late             # states in a row that cannot be as late as they seem
    bint fresh               # there is no last state to compare the next one with
    bint misled              # the last state has shown that the likely position before was wrong
    int implausible          # implausible states not yet made up for by plausible ones
    long long accepted
    long long rejected[REJECTIONS]
    Judgement last           # what became of the last state


cdef inline void forget(StateValidator* v) noexcept nogil:
    """Accept another position if two states agree on it: too much time has passed since the last.

    They must be newer; after implausible states more than two are needed.
    """
    v.fresh, v.jumped = True, INFINITY


cdef inline void forget_clocks(StateValidator* v) noexcept nogil:
    """Forget how long states were on their way."""
    v.transit, v.transit_at = INFINITY, 0.0
    v.transits[0] = v.transits[1] = -INFINITY
    v.too_late = 0


cdef inline void trust(StateValidator* v) noexcept nogil:
    """No longer regard unchanged positions as frozen."""
    v.frozen.joint, v.all_frozen = -1, False


cdef inline bint is_frozen(const StateValidator* v) noexcept nogil:
    """Whether a joint's position does not change although it was asked to, or pushed."""
    return v.frozen.joint >= 0


cdef inline Judgement judgement(Rejection rejection, Py_ssize_t joint, double found,
                                double bound) noexcept nogil:
    cdef Judgement result
    result.rejection, result.joint, result.found, result.bound = rejection, joint, found, bound
    return result


cdef inline Judgement accepted() noexcept nogil:
    return judgement(ACCEPTED, -1, 0.0, 0.0)


cdef inline double low_pass_weight(double cutoff, double dt) noexcept nogil:
    """Weight of a value that is dt [s] newer than a filtered one; cutoff: of the filter [Hz]."""
    return 1.0 - exp(-2.0 * M_PI * cutoff * dt)


cdef inline double common(double a, double b) noexcept nogil:
    """The number nearer to zero, or zero if the signs differ."""
    if a * b <= 0.0:
        return 0.0
    return a if fabs(a) < fabs(b) else b


cdef inline bint same(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True

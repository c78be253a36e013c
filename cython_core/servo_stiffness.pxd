# The stiffness of drives with position loops, learned: for the controller (position_governor.pxd).
#
# The torque goes to such a drive as an offset of its position, compliance tau + lag qd with the lag
# of its damping, compliance damping; and a compliance that is a third wrong leaves a third of the
# sag. So both, first 1 / stiffness and damping / stiffness, are learned from the error e that is
# left, the compliance of a joint that stands, the lag of one that moves:
#
#     compliance' = rate tau e / (tau^2 + tau0^2),    lag' = rate qd e / (qd^2 + qd0^2)
#
# slowly against the position loop, within bounds, and only by errors of more than friction and play
# can hold, so that it comes to an end (J.-J. Slotine, W. Li, Applied Nonlinear Control, 1991, 8.7,
# without its damping term: the drive has that; the dead zone is of 8.6). Unlike an integral of the
# error it does not wind up where a joint sticks without load, and is right at once where the load
# changes.
#
# Apart from that the deflection d itself, from a joint that stands to what its drive is told, is
# compared with tau: tau / d is the stiffness that the data show. A payload that the model does not
# know looks the same in one posture; friction that it does not know looks like a lag.

from libc.math cimport copysign, fabs, fmax, fmin, isfinite

cdef extern from *:
    """
    #define LEARNING_RATE (4.0)
    #define LEARNED_SHARE (1.0)
    #define LEARNED_FACTOR (2.0)
    #define TEACHING_SPEED (0.05)
    #define TEACHING_BEND (3.0)
    #define FORGETTING (1.0)
    #define LONGEST_STRAY (10.0)
    #define USUAL_TOLERANCE (2e-3)
    #define LEARNED_LAG (0.1)
    #define LAG_BEND (0.2)
    """
    const double LEARNING_RATE     # [1/s]
    const double LEARNED_SHARE     # of the given compliance that is learned within a second at most
    const double LEARNED_FACTOR    # by which a stiffness may be less or more than given
    const double TEACHING_SPEED    # [rad/s, m/s]: slower joints stand: servos lag by less than
                                   # .05 s, which friction and play hide
    const double TEACHING_BEND     # tolerances: a torque that deflects by less teaches little
    const double FORGETTING        # [1/s] of what torques and deflections show
    const double LONGEST_STRAY     # [s] that are kept in mind
    const double USUAL_TOLERANCE   # [rad, m] where none is given: what friction and play hold
    const double LEARNED_LAG       # [s] more than given at most, and within a second
    const double LAG_BEND          # [rad/s, m/s]: a slower motion teaches little

cdef struct ServoStiffness:      # (n,) each
    double* compliance           # as learned so far [rad/(N m), m/N]; 0: not told a position
    const double* given          # likewise, first
    const double* rate           # [1/s]; 0: it stays as given
    const double* tolerance      # error that teaches nothing [rad, m], more than 0
    double* strayed              # [s] for which no stiffness within the bounds has explained the
                                 # deflection; as long again it is remembered
    double* product              # sums that forget: of u d,
    double* square               # of u u,
    double* lag                  # as learned so far [s], at least 0
    const double* given_lag      # first


cdef inline double learned_compliance(const ServoStiffness* s, Py_ssize_t i, double u,
                                      double error, double dt) noexcept nogil:
    cdef double small = TEACHING_BEND * s.tolerance[i] / s.given[i]
    cdef double max_step = LEARNED_SHARE * s.given[i] * dt
    cdef double telling = error if fabs(error) > s.tolerance[i] else 0.0
    cdef double step = s.rate[i] * dt * u * telling / (u * u + small * small)
    return fmin(fmax(s.compliance[i] + fmin(fmax(step, -max_step), max_step),
                     s.given[i] / LEARNED_FACTOR), s.given[i] * LEARNED_FACTOR)


cdef inline double learned_lag(const ServoStiffness* s, Py_ssize_t i, double speed, double error,
                               double dt) noexcept nogil:
    cdef double telling = error if fabs(error) > s.tolerance[i] else 0.0
    cdef double step = s.rate[i] * dt * speed * telling / (speed * speed + LAG_BEND * LAG_BEND)
    return fmin(fmax(s.lag[i] + fmin(fmax(step, -LEARNED_LAG * dt), LEARNED_LAG * dt), 0.0),
                s.given_lag[i] + LEARNED_LAG)


cdef inline bint is_explained(const ServoStiffness* s, Py_ssize_t i, double u,
                              double deflection) noexcept nogil:
    """Whether a stiffness within the bounds makes a torque of a deflection, or neither is enough to
    tell.
    """
    cdef double size = fabs(u), bent = copysign(deflection, u * deflection)
    cdef double little = TEACHING_BEND * s.tolerance[i]
    return (fmax(size * s.given[i], fabs(deflection)) <= little
            or (bent + s.tolerance[i] >= size * s.given[i] / LEARNED_FACTOR
                and bent - s.tolerance[i] <= size * s.given[i] * LEARNED_FACTOR))


cdef inline void learn_stiffness(ServoStiffness* s, Py_ssize_t i, bint learns, double u,
                                 double error, double deflection, double speed,
                                 double dt) noexcept nogil:
    """Take what a joint shows within a time dt [s].

    learns: what is left is not known to be due to something else; u: torque; error, speed: of the
    desired motion; deflection: from the joint to what its drive is told.
    """
    cdef double fade = fmin(FORGETTING * dt, 1.0)
    cdef bint explained
    if s.given[i] == 0.0 or not isfinite(u * error * deflection * dt * speed):
        return
    if fabs(speed) > TEACHING_SPEED:
        if learns:
            s.lag[i] = learned_lag(s, i, speed, error, dt)
        return
    explained = is_explained(s, i, u, deflection)
    s.strayed[i] = fmin(fmax(s.strayed[i] + (-dt if explained else dt), 0.0), LONGEST_STRAY)
    s.product[i] += fade * (u * deflection - s.product[i])
    s.square[i] += fade * (u * u - s.square[i])
    if learns:
        s.compliance[i] = learned_compliance(s, i, u, error, dt)

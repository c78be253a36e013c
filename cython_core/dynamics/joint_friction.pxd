# Coulomb friction of simulated joints: stick and slip.
#
# Coulomb's law holds at the end of a time step: friction is -f sign(qd) in a joint that slips, and
# in one that sticks whatever keeps it at rest, at most f. (If f grows with the load on the gear, it
# is that of the torque that the gear carries in each round.) For a step of length h this is a
# box-constrained complementarity problem with a positive definite matrix. It has exactly one
# solution, which is found as follows:
# 1. If it is known which joints stick and which way the others slip, the step is hybrid dynamics
#    (RBDA section 9.2): qdd = -qd / h is prescribed for those that stick, the torque of the others
#    is known.
# 2. The first guess: joints at rest stick, the others keep slipping. Then a joint that needs more
#    than f to stick is made to slip, against that force, and a joint that slips but has turned
#    round is made to stick. This is repeated until no joint changes.
# 3. Changing all such joints at once rarely takes more than a few rounds, but might cycle. Changing
#    only the first one always ends if the matrix is positive definite: Judice and Pires, Basic-set
#    algorithm for a generalized linear complementarity problem, 1992 (Murty's rule). So that is
#    done after ROUNDS rounds.

from libc.float cimport DBL_MIN

from system cimport System, Workspace
from spatial cimport at_most, less, magnitude, nonzero, put, real
from drives cimport Drives, is_dry
from rnea cimport rnea

cdef enum:
    ROUNDS = 10


cdef inline void guess_sticking(const Drives* drives, Workspace* work, Py_ssize_t n,
                                const real* qd) noexcept nogil:
    """The first guess of ``slip`` and ``sticks`` (note 2)."""
    cdef real* slip = <real*> work.slip
    cdef real* sticks = <real*> work.sticks
    cdef real zero, tiny
    cdef Py_ssize_t i
    put(0.0, &zero)
    put(DBL_MIN, &tiny)
    for i in range(n):
        if not is_dry(drives, i):
            put(0.0, &slip[i])
            put(0.0, &sticks[i])
        else:
            slip[i] = less(zero, qd[i]) - less(qd[i], zero)
            sticks[i] = less(magnitude(qd[i]), tiny)            # 0 of NaN


cdef inline bint any_of(Py_ssize_t n, const real* mask) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if nonzero(mask[i]):
            return True
    return False


cdef inline bint correct_sticking(const System* system, Workspace* work, const Drives* drives,
                                  const real* qd, const real* qdd, bint first_only) noexcept nogil:
    """Release and hold joints (note 2), or the first only (note 3); whether there were any."""
    cdef const real* tau = <real*> work.tau
    cdef const real* applied = <real*> work.applied
    cdef const real* diagonal = <real*> work.diagonal
    cdef real* slip = <real*> work.slip
    cdef real* sticks = <real*> work.sticks
    cdef real f, force, released, turned, zero, one, changed
    cdef Py_ssize_t n = system.n, i
    cdef bint again = False
    put(0.0, &zero)
    put(1.0, &one)
    put(0.0, &changed)
    if any_of[real](n, sticks):
        rnea[real](system, work, qd, qdd, <const real*> work.external, <real*> work.tau)
    for i in range(n):
        if not is_dry(drives, i):
            continue
        force = tau[i] + diagonal[i] * qdd[i] - applied[i]
        put(drives.friction[i], &f)
        if drives.loaded:
            f = f + drives.load[i] * magnitude(applied[i] + force)
        f = (1.0 + 1e-9) * f  # not to be fooled by rounding
        released = sticks[i] * less(f, magnitude(force))
        turned = (1.0 - sticks[i]) * less(slip[i] * (qd[i] + drives.time_step * qdd[i]), zero)
        if first_only:
            released = released * (1.0 - changed)
            turned = turned * (1.0 - changed)
        changed = changed + released + turned
        slip[i] = (1.0 - turned) * slip[i] + released * (less(force, zero) - less(zero, force))
        sticks[i] += turned - released
        again = again or at_most(one, released + turned)
    return again


cdef inline real turning_joints(const Workspace* work, Py_ssize_t n, double h, const real* qd,
                                const real* qdd) noexcept nogil:
    """How many joints come to rest or turn round within a step h under friction, per lane."""
    cdef const real* slip = <real*> work.slip
    cdef const real* sticks = <real*> work.sticks
    cdef real zero, count
    cdef Py_ssize_t i
    put(0.0, &zero)
    put(0.0, &count)
    for i in range(n):
        count = (count + sticks[i] * less(zero, magnitude(qd[i])) + less(slip[i] * qd[i], zero)
                 + less(slip[i] * (qd[i] + h * qdd[i]), zero))
    return count

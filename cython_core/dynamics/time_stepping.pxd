# One time step: forward dynamics with what acts at the joints (drives.pxd), and the integrators.
#
# Motion prescribed over time is hybrid dynamics (RBDA section 9.2): the joint's acceleration is
# given, its force is found. Its position and velocity are not integrated but taken from the given
# motion, so its friction, damping, armature and stops affect only the force.

from system cimport System, Workspace
from spatial cimport choose, less, magnitude, nonzero, put, real, unlikely
from joint cimport jcalc
from displacement cimport displace, rate_of_displacement
from drives cimport RK4, Drives, apply_drives, depth_in_stop, release_stops
from joint_friction cimport ROUNDS, any_of, correct_sticking, guess_sticking, turning_joints
from rnea cimport rnea
from forward_dynamics cimport added_acceleration, forward_dynamics, given_motion


cdef inline Py_ssize_t solve(const System* system, Workspace* work, const Drives* drives,
                             const real* qd, real* qdd) noexcept nogil:
    """qdd under the applied torques; joints that stick are at rest after the step
    (joint_friction.pxd, note 1).
    """
    cdef const real* applied = <real*> work.applied
    cdef const real* diagonal = <real*> work.diagonal
    cdef const real* sticks = <real*> work.sticks
    cdef const real* f_ext = <const real*> work.external
    cdef real* given = <real*> work.given
    cdef real* fixed = <real*> work.fixed
    cdef Py_ssize_t n = system.n, i, failure
    if not drives.motions and not (drives.frictional and any_of(n, sticks)):
        return forward_dynamics(system, work, qd, applied, f_ext, diagonal, qdd)
    for i in range(n):
        put(0.0, &fixed[i])
        if drives.frictional:
            fixed[i] = sticks[i]
        given[i] = fixed[i] * qd[i] * (-1.0 / drives.time_step)
    for i in range(drives.motions):
        put(1.0, &fixed[drives.prescribed[i]])
        put(drives.instant[3 * i + 2], &given[drives.prescribed[i]])
    given_motion(system, work, qd, <const real*> given, f_ext)
    failure = added_acceleration(system, work, applied, diagonal, <const real*> fixed, qdd)
    for i in range(n):
        qdd[i] += given[i]
    return failure


cdef inline void find_prescribed_forces(const System* system, Workspace* work, const Drives* drives,
                                        const real* qd, const real* qdd) noexcept nogil:
    """Forces of joints with prescribed motion: inverse dynamics, friction, armature and stops."""
    cdef const real* applied = <real*> work.applied
    cdef const real* diagonal = <real*> work.diagonal
    cdef real* force = <real*> work.prescribed_tau
    cdef real zero
    cdef Py_ssize_t i, k
    put(0.0, &zero)
    rnea[real](system, work, qd, qdd, <const real*> work.external, <real*> work.tau)
    for k in range(drives.motions):
        i = drives.prescribed[k]
        force[k] = (<real*> work.tau)[i] + diagonal[i] * qdd[i] - applied[i] \
            + drives.prescribed_friction[k] * (less(zero, qd[i]) - less(qd[i], zero))


cdef inline void place_prescribed(const System* system, const Drives* drives, real* q,
                                  real* qd) noexcept nogil:
    """Set position and velocity of joints with prescribed motion to those of this instant."""
    cdef Py_ssize_t k
    for k in range(drives.motions):
        put(drives.instant[3 * k], &q[system.nq - system.n + drives.prescribed[k]])
        put(drives.instant[3 * k + 1], &qd[drives.prescribed[k]])


cdef inline Py_ssize_t driven_acceleration(const System* system, Workspace* work,
                                           const Drives* drives, bint decide, const real* q,
                                           const real* qd, const real* tau,
                                           real* qdd) noexcept nogil:
    """As acceleration, after jcalc; degree of freedom i is at q[i]."""
    cdef Py_ssize_t n = system.n, i, failure, round
    cdef real* engaged = <real*> work.engaged
    cdef real zero
    put(0.0, &zero)
    for i in range(n):
        engaged[i] = less(zero, magnitude(depth_in_stop(drives, i, q[i])))
    if decide and drives.frictional:
        guess_sticking(drives, work, n, qd)
    while True:
        for round in range(ROUNDS * (n + 2)):
            apply_drives(drives, work, n, q, qd, tau)
            failure = solve(system, work, drives, qd, qdd)
            if failure:
                return failure
            if (not (decide and drives.frictional)
                    or not correct_sticking(system, work, drives, qd, qdd, round >= ROUNDS)):
                break
        if not drives.stops or not release_stops(drives, n, q, qd, qdd, engaged):
            break
    if decide and drives.motions:
        find_prescribed_forces(system, work, drives, qd, qdd)
    return 0


cdef inline Py_ssize_t acceleration(const System* system, Workspace* work, const Drives* drives,
                                    bint decide, const real* q, const real* qd, const real* tau,
                                    real* qdd) noexcept nogil:
    """qdd under tau and the drives; stops push but do not pull.

    decide: find out which joints stick; False, in the further stages of a step, keeps the decision.
    """
    jcalc(system, work, q)
    if drives.rigid:
        return forward_dynamics[real](system, work, qd, tau, <const real*> work.external,
                                      <const real*> NULL, qdd)
    return driven_acceleration(system, work, drives, decide, q + (system.nq - system.n), qd, tau,
                               qdd)


cdef inline Py_ssize_t euler(const System* system, Workspace* work, Drives* drives, const real* tau,
                             real* q, real* qd, real* qdd) noexcept nogil:
    """Semi-implicit Euler: the velocity first, then the position with the new velocity."""
    cdef Py_ssize_t n = system.n, i
    cdef Py_ssize_t failure = acceleration(system, work, drives, True, q, qd, tau, qdd)
    cdef const real* sticks = <real*> work.sticks
    cdef double h = drives.time_step
    if failure:
        return failure
    for i in range(n):
        qd[i] += h * qdd[i]
    if drives.frictional:
        for i in range(n):
            qd[i] *= 1.0 - sticks[i]
    displace(system, q, h, qd, q)
    if drives.motions:
        drives.instant += 3 * drives.motions
        place_prescribed(system, drives, q, qd)
    return 0


cdef inline void end_step(const System* system, Workspace* work, const Drives* drives,
                          const real* qdd, real* q, real* qd) noexcept nogil:
    """Advance (q, qd) by the means over the stages, or by Euler's step."""
    cdef const real* sticks = <real*> work.sticks
    cdef const real* mean_qd = <real*> work.mean_qd
    cdef const real* mean_qdd = <real*> work.mean_qdd
    cdef real* rate = <real*> work.stage_qd
    cdef real turning, speed
    cdef double h = drives.time_step
    cdef Py_ssize_t i
    put(0.0, &turning)
    if drives.frictional:
        turning = turning_joints[real](work, system.n, h, qd, mean_qdd)
    for i in range(system.n):
        speed = qd[i] + h * qdd[i]                              # of Euler
        if drives.frictional:
            speed = speed * (1.0 - sticks[i])
        rate[i] = choose(turning, speed, mean_qd[i])
        qd[i] = choose(turning, speed, qd[i] + h * mean_qdd[i])
    displace(system, q, h, rate, q)


cdef inline Py_ssize_t runge_kutta(const System* system, Workspace* work, Drives* drives,
                                   const real* tau, real* q, real* qd, real* qdd) noexcept nogil:
    """Order 4, or Euler's step where a joint comes to rest or turns round in it."""
    cdef Py_ssize_t n = system.n, i, stage, failure
    cdef real* stage_q = <real*> work.stage_q
    cdef real* stage_qd = <real*> work.stage_qd
    cdef real* stage_qdd = <real*> work.stage_qdd
    cdef real* mean_qd = <real*> work.mean_qd
    cdef real* mean_qdd = <real*> work.mean_qdd
    cdef real[6] u                     # how far a floating base of this stage is from q
    cdef double h = drives.time_step, reach, weight
    for i in range(6):
        put(0.0, &u[i])
    for i in range(system.nq):
        stage_q[i] = q[i]
    for i in range(n):
        stage_qd[i] = qd[i]
        put(0.0, &mean_qd[i])
        put(0.0, &mean_qdd[i])
    for stage in range(4):
        failure = acceleration(system, work, drives, stage == 0, stage_q, stage_qd, tau, stage_qdd)
        if failure:
            return failure
        weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
        reach = h if stage == 2 else 0.5 * h
        if unlikely(system.floating):
            rate_of_displacement(u, stage_qd)
            for i in range(6):
                u[i] = reach * stage_qd[i]
        displace(system, q, reach, stage_qd, stage_q)
        for i in range(n):
            mean_qd[i] += weight * stage_qd[i]
            mean_qdd[i] += weight * stage_qdd[i]
            if stage == 0:
                qdd[i] = stage_qdd[i]
            stage_qd[i] = qd[i] + reach * stage_qdd[i]
        if drives.motions:
            if stage % 2 == 0:         # half a step on
                drives.instant += 3 * drives.motions
            place_prescribed(system, drives, stage_q, stage_qd)
    end_step(system, work, drives, qdd, q, qd)
    place_prescribed(system, drives, q, qd)
    return 0


cdef inline Py_ssize_t lost_joint(Py_ssize_t n, const real* q, const real* qd) noexcept nogil:
    """1 + the index of a joint whose state is not finite in some lane, or 0."""
    cdef real sum, one
    cdef Py_ssize_t i
    put(0.0, &sum)
    put(1.0, &one)
    for i in range(n):
        sum = sum + q[i] * qd[i]                                # not finite if one of them is not
    if not unlikely(nonzero(1.0 - less(0.0 * sum, one))):
        return 0
    for i in range(n):
        if nonzero(1.0 - less(0.0 * q[i] + 0.0 * qd[i], one)):
            return 1 + i
    return 0


cdef inline Py_ssize_t instants(const Drives* drives) noexcept nogil:
    """Number of instants of a step, see ``Drives.instant``."""
    return 2 if drives.integrator == RK4 else 1


cdef inline Py_ssize_t advance(const System* system, Workspace* work, Drives* drives,
                               Py_ssize_t steps, const real* tau, real* q, real* qd,
                               real* qdd) noexcept nogil:
    """Take time steps under tau and ``work.external``; ``drives.instant`` is moved on with them.

    Returns 0; or 1 + the index of a singular joint; or, if the state of joint i is not finite after
    step k (from 0), -(1 + i + k n).
    """
    cdef Py_ssize_t k, failure
    for k in range(steps):
        if drives.integrator == RK4:
            failure = runge_kutta(system, work, drives, tau, q, qd, qdd)
        else:
            failure = euler(system, work, drives, tau, q, qd, qdd)
        if failure:
            return failure
        failure = lost_joint(system.n, q + (system.nq - system.n), qd)
        if failure:
            return -(failure + k * system.n)
    return 0

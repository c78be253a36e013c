# One time step: forward dynamics with what acts at the joints (drives.pxd), and the integrators.
#
# Motion prescribed over time is hybrid dynamics (RBDA section 9.2): the joint's acceleration is
# given, its force is found. Its position and velocity are not integrated but taken from the given
# motion, so its friction, damping, armature and stops affect only the force.

from system cimport System, Workspace
from spatial cimport choose, less, magnitude, nonzero, put, rarely, real
from joint cimport jcalc
from displacement cimport displace, rate_of_displacement
from drives cimport RK4, Drives, apply_drives, depth_in_stop, release_stops
from joint_friction cimport ROUNDS, any_of, correct_sticking, guess_sticking, turning_joints
from rnea cimport rnea
from forward_dynamics cimport added_acceleration, forward_dynamics


cdef inline Py_ssize_t solve(const System* system, Workspace* work, const Drives* drives,
                             const real* qd, const real* applied, const real* f_ext,
                             const real* diagonal, const real* held, real* given,
                             real* qdd) noexcept nogil:
    """qdd under the applied torques; joints that stick are at rest after the step
    (joint_friction.pxd, note 1).

    given: (2 n,) scratch. Returns 1 + the index of a singular joint, or 0.
    """
    cdef Py_ssize_t n = system.n, i, failure
    cdef real* fixed = given + n       # held, or prescribed
    if not drives.motions and not (drives.frictional and any_of(n, held)):
        return forward_dynamics(system, work, qd, applied, f_ext, diagonal, qdd)
    for i in range(n):
        put(0.0, &fixed[i])
        if drives.frictional:
            fixed[i] = held[i]
        given[i] = fixed[i] * qd[i] * (-1.0 / drives.time_step)
    for i in range(drives.motions):
        put(1.0, &fixed[drives.prescribed[i]])
        put(drives.instant[3 * i + 2], &given[drives.prescribed[i]])
    failure = added_acceleration(system, work, qd, <const real*> given, applied, f_ext, diagonal,
                                 <const real*> fixed, qdd)
    for i in range(n):
        qdd[i] += given[i]
    return failure


cdef inline void find_prescribed_forces(const System* system, Workspace* work, const Drives* drives,
                                        const real* qd, const real* f_ext, const real* applied,
                                        const real* diagonal, const real* qdd) noexcept nogil:
    """Forces of joints with prescribed motion: inverse dynamics, friction, armature and stops."""
    cdef real* force = <real*> work.prescribed_tau
    cdef real zero
    cdef Py_ssize_t i, k
    put(0.0, &zero)
    rnea(system, work, qd, qdd, f_ext, <real*> work.tau)
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
                                           const real* qd, const real* tau, const real* f_ext,
                                           real* qdd) noexcept nogil:
    """As acceleration, after jcalc.

    q: (n,), degree of freedom i at q[i]; those of a floating base, which has no stops, do not
    matter.
    """
    cdef Py_ssize_t n = system.n, i, failure, round
    cdef real* applied = <real*> work.step
    cdef real* diagonal = applied + n
    cdef real* engaged = diagonal + n  # 1 where a stop acts, else 0
    cdef real* sign = engaged + n
    cdef real* held = sign + n
    cdef real* given = held + n
    cdef real zero
    put(0.0, &zero)
    for i in range(n):
        engaged[i] = less(zero, magnitude(depth_in_stop(drives, i, q[i])))
    if decide and drives.frictional:
        guess_sticking(drives, n, qd, sign, held)
    while True:
        for round in range(ROUNDS * (n + 2)):
            apply_drives(drives, n, q, qd, tau, engaged, sign, applied, diagonal)
            failure = solve(system, work, drives, qd, applied, f_ext, diagonal, held, given, qdd)
            if failure:
                return failure
            if (not (decide and drives.frictional)
                    or not correct_sticking(system, work, drives, qd, applied, f_ext, diagonal, qdd,
                                            round >= ROUNDS, sign, held)):
                break
        if not drives.stops or not release_stops(drives, n, q, qd, qdd, engaged):
            break
    if decide and drives.motions:
        find_prescribed_forces(system, work, drives, qd, f_ext, applied, diagonal, qdd)
    return 0


cdef inline Py_ssize_t acceleration(const System* system, Workspace* work, const Drives* drives,
                                    bint decide, const real* q, const real* qd, const real* tau,
                                    const real* f_ext, real* qdd) noexcept nogil:
    """qdd under tau and the drives; stops push but do not pull.

    decide: find out which joints stick; False, in the further stages of a step, keeps the decision.
    Returns 1 + the index of a singular joint, or 0.
    """
    jcalc(system, work, q)
    if drives.rigid:
        return forward_dynamics(system, work, qd, tau, f_ext, <const real*> NULL, qdd)
    return driven_acceleration(system, work, drives, decide, q + (system.nq - system.n), qd, tau,
                               f_ext, qdd)


cdef inline Py_ssize_t euler(const System* system, Workspace* work, Drives* drives, const real* tau,
                             const real* f_ext, real* q, real* qd, real* qdd) noexcept nogil:
    """Semi-implicit Euler: the velocity first, then the position with the new velocity."""
    cdef Py_ssize_t n = system.n, i
    cdef Py_ssize_t failure = acceleration(system, work, drives, True, q, qd, tau, f_ext, qdd)
    cdef const real* held = <real*> work.step + 4 * n
    cdef double h = drives.time_step
    if failure:
        return failure
    for i in range(n):
        qd[i] += h * qdd[i]
    if drives.frictional:
        for i in range(n):
            qd[i] *= 1.0 - held[i]
    displace(system, q, h, qd, q)
    if drives.motions:
        drives.instant += 3 * drives.motions
        place_prescribed(system, drives, q, qd)
    return 0


cdef inline void begin_stages(const System* system, const real* q, const real* qd, real* stage_q,
                              real* stage_qd, real* sum_qd, real* sum_qdd) noexcept nogil:
    """Put the first stage at (q, qd), and clear the sums over the stages."""
    cdef Py_ssize_t i
    for i in range(system.nq):
        stage_q[i] = q[i]
    for i in range(system.n):
        stage_qd[i] = qd[i]
        put(0.0, &sum_qd[i])
        put(0.0, &sum_qdd[i])


cdef inline void add_stage(Py_ssize_t n, double weight, const real* stage_qd, const real* stage_qdd,
                           real* sum_qd, real* sum_qdd) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        sum_qd[i] += weight * stage_qd[i]
        sum_qdd[i] += weight * stage_qdd[i]


cdef inline void end_step(const System* system, const Drives* drives, const real* sign,
                          const real* held, const real* qdd, const real* sum_qd,
                          const real* sum_qdd, real* rate, real* q, real* qd) noexcept nogil:
    """Advance (q, qd) by the weighted sums, or by Euler's step. rate: (n,) scratch."""
    cdef real turning, speed
    cdef double h = drives.time_step
    cdef Py_ssize_t i
    put(0.0, &turning)
    if drives.frictional:
        turning = turning_joints[real](system.n, h, sign, held, qd, sum_qdd)
    for i in range(system.n):
        speed = qd[i] + h * qdd[i]                              # of Euler
        if drives.frictional:
            speed = speed * (1.0 - held[i])
        rate[i] = choose(turning, speed, sum_qd[i])
        qd[i] = choose(turning, speed, qd[i] + h * sum_qdd[i])
    displace(system, q, h, rate, q)


cdef inline Py_ssize_t runge_kutta(const System* system, Workspace* work, Drives* drives,
                                   const real* tau, const real* f_ext, real* q, real* qd,
                                   real* qdd) noexcept nogil:
    """The classical method of order 4 on (q, qd). The first stage decides which joints stick.

    If a joint comes to rest or turns round within the step, Euler's step is taken instead.
    """
    cdef Py_ssize_t n = system.n, i, stage, failure
    cdef real* sign = <real*> work.step + 3 * n
    cdef real* held = sign + n
    cdef real* stage_q = held + 3 * n
    cdef real* stage_qd = stage_q + system.nq
    cdef real* stage_qdd = stage_qd + n
    cdef real* sum_qd = stage_qdd + n
    cdef real* sum_qdd = sum_qd + n
    cdef real[6] u                     # how far a floating base of this stage is from q
    cdef double h = drives.time_step, reach
    for i in range(6):
        put(0.0, &u[i])
    begin_stages(system, q, qd, stage_q, stage_qd, sum_qd, sum_qdd)
    for stage in range(4):
        failure = acceleration(system, work, drives, stage == 0, stage_q, stage_qd, tau, f_ext,
                               stage_qdd)
        if failure:
            return failure
        reach = h if stage == 2 else 0.5 * h
        if rarely(system.floating):
            rate_of_displacement(u, stage_qd)
            for i in range(6):
                u[i] = reach * stage_qd[i]
        add_stage(n, 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0, stage_qd, stage_qdd,
                  sum_qd, sum_qdd)
        displace(system, q, reach, stage_qd, stage_q)
        for i in range(n):
            if stage == 0:
                qdd[i] = stage_qdd[i]
            stage_qd[i] = qd[i] + reach * stage_qdd[i]
        if drives.motions:
            if stage % 2 == 0:         # half a step on
                drives.instant += 3 * drives.motions
            place_prescribed(system, drives, stage_q, stage_qd)
    end_step(system, drives, sign, held, qdd, sum_qd, sum_qdd, stage_qd, q, qd)
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
    if not rarely(nonzero(1.0 - less(0.0 * sum, one))):
        return 0
    for i in range(n):
        if nonzero(1.0 - less(0.0 * q[i] + 0.0 * qd[i], one)):
            return 1 + i
    return 0


cdef inline Py_ssize_t instants(const Drives* drives) noexcept nogil:
    """Number of instants of a step, see ``Drives.instant``."""
    return 2 if drives.integrator == RK4 else 1


cdef inline Py_ssize_t advance(const System* system, Workspace* work, Drives* drives,
                               Py_ssize_t steps, const real* tau, const real* f_ext, real* q,
                               real* qd, real* qdd) noexcept nogil:
    """Take time steps; ``drives.instant`` is moved on with them.

    Returns 0; or 1 + the index of a singular joint; or, if the state of joint i is not finite after
    step k (from 0), -(1 + i + k n).
    """
    cdef Py_ssize_t k, failure
    for k in range(steps):
        if drives.integrator == RK4:
            failure = runge_kutta(system, work, drives, tau, f_ext, q, qd, qdd)
        else:
            failure = euler(system, work, drives, tau, f_ext, q, qd, qdd)
        if failure:
            return failure
        failure = lost_joint(system.n, q + (system.nq - system.n), qd)
        if failure:
            return -(failure + k * system.n)
    return 0

# One time step: forward dynamics with what a drive adds to rigid bodies, and the integrators.

from system cimport System, Workspace
from spatial cimport at_most, larger, less, magnitude, put, real, reciprocal, smaller
from joint cimport jcalc
from forward_dynamics cimport forward_dynamics

cdef enum Integrator:
    SEMI_IMPLICIT_EULER, IMPLICIT, RK4

cdef struct Drives:                    # (n,) each
    Integrator integrator
    double time_step
    double sticking_speed              # Coulomb friction is viscous below this [rad/s, m/s]
    Py_ssize_t steps
    bint rigid                         # all below are zero
    bint stops                         # some stop is not
    const double* damping
    const double* friction
    const double* armature
    const double* lower
    const double* upper
    const double* stop_stiffness
    const double* stop_damping


cdef inline real depth_in_stop(const Drives* drives, Py_ssize_t i, real position) noexcept nogil:
    """How far a position lies beyond the joint's limits, negative below the lower one."""
    cdef real zero
    put(0.0, &zero)
    return larger(position - drives.upper[i], zero) + smaller(position - drives.lower[i], zero)


cdef inline void apply_drives(const Drives* drives, Py_ssize_t n, const real* q, const real* qd, const real* tau,
                              const real* engaged, real* applied, real* diagonal) noexcept nogil:
    """What acts on each joint. A torque d (qd + h qdd) resisting at the step's end adds h d to H's diagonal."""
    cdef double h = drives.time_step, stiffness, damping
    cdef real d, sticking
    cdef Py_ssize_t i
    put(drives.sticking_speed, &sticking)
    for i in range(n):
        d = drives.friction[i] * reciprocal(larger(magnitude(qd[i]), sticking))
        diagonal[i] = drives.armature[i] + h * d
        if drives.integrator == IMPLICIT:
            diagonal[i] += h * drives.damping[i]
        applied[i] = tau[i] - (d + drives.damping[i]) * qd[i]
        if drives.stops:
            stiffness, damping = drives.stop_stiffness[i], drives.stop_damping[i]
            applied[i] -= engaged[i] * (stiffness * (depth_in_stop(drives, i, q[i]) + h * qd[i]) + damping * qd[i])
            diagonal[i] += engaged[i] * (h * (damping + h * stiffness))


cdef inline bint release_stops(const Drives* drives, Py_ssize_t n, const real* q, const real* qd, const real* qdd,
                               real* engaged) noexcept nogil:
    """Disengage the stops that pull at the end of the step; returns whether there were any, in any lane."""
    cdef double h = drives.time_step
    cdef real depth, speed, pulls, zero, one
    cdef bint released = False
    cdef Py_ssize_t i
    put(0.0, &zero)
    put(1.0, &one)
    for i in range(n):
        depth = depth_in_stop(drives, i, q[i])
        speed = qd[i] + h * qdd[i]
        pulls = engaged[i] * less(
            (drives.stop_stiffness[i] * (depth + h * speed) + drives.stop_damping[i] * speed) * depth, zero)
        engaged[i] -= pulls
        released = released or at_most(one, pulls)
    return released


cdef inline Py_ssize_t acceleration(const System* system, Workspace* work, const Drives* drives, const real* q,
                                    const real* qd, const real* tau, const real* f_ext, real* qdd) noexcept nogil:
    """qdd under tau and the drives, stops that would pull left out. Returns 1 + the index of a singular joint, or 0."""
    cdef Py_ssize_t n = system.n, i, failure
    cdef real* applied = <real*> work.step
    cdef real* diagonal = applied + n
    cdef real* engaged = diagonal + n  # 1 where a stop acts, else 0
    cdef real zero
    jcalc(system, work, q)
    if drives.rigid:
        return forward_dynamics(system, work, qd, tau, f_ext, <const real*> NULL, qdd)
    put(0.0, &zero)
    for i in range(n):
        engaged[i] = less(zero, magnitude(depth_in_stop(drives, i, q[i])))
    while True:
        apply_drives(drives, n, q, qd, tau, engaged, applied, diagonal)
        failure = forward_dynamics(system, work, qd, applied, f_ext, diagonal, qdd)
        if failure or not drives.stops or not release_stops(drives, n, q, qd, qdd, engaged):
            return failure


cdef inline Py_ssize_t euler(const System* system, Workspace* work, const Drives* drives, const real* tau,
                             const real* f_ext, real* q, real* qd, real* qdd) noexcept nogil:
    """Velocity first, then position with the new velocity."""
    cdef Py_ssize_t i, failure = acceleration(system, work, drives, q, qd, tau, f_ext, qdd)
    if failure:
        return failure
    for i in range(system.n):
        qd[i] += drives.time_step * qdd[i]
        q[i] += drives.time_step * qd[i]
    return 0


cdef inline Py_ssize_t runge_kutta(const System* system, Workspace* work, const Drives* drives, const real* tau,
                                   const real* f_ext, real* q, real* qd, real* qdd) noexcept nogil:
    """The classical method of order four on (q, qd)."""
    cdef Py_ssize_t n = system.n, i, stage, failure
    cdef real* stage_q = <real*> work.step + 3 * n
    cdef real* stage_qd = stage_q + n
    cdef real* stage_qdd = stage_qd + n
    cdef real* sum_qd = stage_qdd + n
    cdef real* sum_qdd = sum_qd + n
    cdef double h = drives.time_step, reach, weight
    for i in range(n):
        stage_q[i] = q[i]
        stage_qd[i] = qd[i]
        put(0.0, &sum_qd[i])
        put(0.0, &sum_qdd[i])
    for stage in range(4):
        failure = acceleration(system, work, drives, stage_q, stage_qd, tau, f_ext, stage_qdd)
        if failure:
            return failure
        weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
        reach = h if stage == 2 else 0.5 * h
        for i in range(n):
            if stage == 0:
                qdd[i] = stage_qdd[i]
            sum_qd[i] += weight * stage_qd[i]
            sum_qdd[i] += weight * stage_qdd[i]
            stage_q[i] = q[i] + reach * stage_qd[i]
            stage_qd[i] = qd[i] + reach * stage_qdd[i]
    for i in range(n):
        q[i] += h * sum_qd[i]
        qd[i] += h * sum_qdd[i]
    return 0


cdef inline Py_ssize_t advance(const System* system, Workspace* work, const Drives* drives, const real* tau,
                               const real* f_ext, real* q, real* qd, real* qdd) noexcept nogil:
    """drives.steps time steps. Returns 1 + the index of a singular joint, or 0."""
    cdef Py_ssize_t k, failure
    for k in range(drives.steps):
        if drives.integrator == RK4:
            failure = runge_kutta(system, work, drives, tau, f_ext, q, qd, qdd)
        else:
            failure = euler(system, work, drives, tau, f_ext, q, qd, qdd)
        if failure:
            return failure
    return 0

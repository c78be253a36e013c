# What acts at the joints of a simulated arm besides the given torque: damping, Coulomb friction,
# armature and joint stops. Whether friction makes a joint stick: joint_friction.pxd. The law of
# friction is that of featherstone_ros/model/drives.py, but a joint at rest sticks exactly.

from system cimport Workspace
from spatial cimport at_most, larger, less, magnitude, put, real, smaller

cdef enum Integrator:
    SEMI_IMPLICIT_EULER, IMPLICIT, RK4

cdef struct Drives:
    Integrator integrator
    double time_step
    bint rigid                         # nothing below acts: rigid-body dynamics alone
    bint frictional                    # some joint has Coulomb friction
    bint loaded                        # of some it grows with the load, or speed thins damping
    bint stops                         # some joint has stops
    const double* damping              # (n,), as the next eight; zero for a floating base
    const double* friction
    const double* load                 # Coulomb friction per torque that the gear carries
    const double* thinning             # of damping with the speed
    const double* armature
    const double* lower
    const double* upper
    const double* stop_stiffness
    const double* stop_damping
    Py_ssize_t motions                 # joints whose motion is prescribed
    const Py_ssize_t* prescribed       # (motions,) their degrees of freedom
    const double* prescribed_friction  # (motions,) their friction, which is zero in ``friction``
    const double* instant              # (motions, 3) their position, velocity and acceleration now,
                                       # followed by those at the next instants: the end of each
                                       # step, for rk4 its middle before that


cdef inline real depth_in_stop(const Drives* drives, Py_ssize_t i, real position) noexcept nogil:
    """How far a position lies beyond the joint's limits, negative below the lower one."""
    cdef real zero
    put(0.0, &zero)
    return larger(position - drives.upper[i], zero) + smaller(position - drives.lower[i], zero)


cdef inline bint is_dry(const Drives* drives, Py_ssize_t i) noexcept nogil:
    """Whether a joint has Coulomb friction."""
    return drives.friction[i] != 0 or drives.loaded and drives.load[i] != 0


cdef inline real carried(const Drives* drives, Py_ssize_t i, real torque, real slip) noexcept nogil:
    """What the gear of a joint that slips carries of a torque: Coulomb friction takes the rest."""
    cdef real left = torque - drives.friction[i] * slip, zero
    put(0.0, &zero)
    if drives.loaded:
        left = left / (1.0 + drives.load[i] * slip * (less(zero, left) - less(left, zero)))
    return left


cdef inline void apply_drives(const Drives* drives, Workspace* work, Py_ssize_t n, const real* q,
                              const real* qd, const real* tau) noexcept nogil:
    """``applied`` and ``diagonal``: -d (qd + h qdd) adds h d to the diagonal."""
    cdef const real* engaged = <real*> work.engaged
    cdef const real* slip = <real*> work.slip
    cdef real* applied = <real*> work.applied
    cdef real* diagonal = <real*> work.diagonal
    cdef double h = drives.time_step, stiffness, damping
    cdef real d
    cdef Py_ssize_t i
    for i in range(n):
        put(drives.armature[i], &diagonal[i])
        put(drives.damping[i], &d)
        if drives.loaded:
            d = d / (1.0 + drives.thinning[i] * magnitude(qd[i]))
        if drives.integrator == IMPLICIT:
            diagonal[i] += h * d
        applied[i] = tau[i] - d * qd[i]
        if drives.frictional:
            applied[i] = carried[real](drives, i, applied[i], slip[i])
        if drives.stops:
            stiffness, damping = drives.stop_stiffness[i], drives.stop_damping[i]
            applied[i] -= (engaged[i]
                           * (stiffness * (depth_in_stop(drives, i, q[i]) + h * qd[i])
                              + damping * qd[i]))
            diagonal[i] += engaged[i] * (h * (damping + h * stiffness))


cdef inline bint release_stops(const Drives* drives, Py_ssize_t n, const real* q, const real* qd,
                               const real* qdd, real* engaged) noexcept nogil:
    """Disengage stops that would pull at the end of the step; whether any would."""
    cdef double h = drives.time_step
    cdef real depth, speed, pulls, zero, one
    cdef bint released = False
    cdef Py_ssize_t i
    put(0.0, &zero)
    put(1.0, &one)
    for i in range(n):
        depth = depth_in_stop(drives, i, q[i])
        speed = qd[i] + h * qdd[i]
        pulls = (engaged[i]
                 * less((drives.stop_stiffness[i] * (depth + h * speed)
                         + drives.stop_damping[i] * speed) * depth, zero))
        engaged[i] -= pulls
        released = released or at_most(one, pulls)
    return released

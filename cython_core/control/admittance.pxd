# Cartesian admittance control: a measured wrench moves the end effector of an arm whose drives take
# positions.
#
#     M_d a = K e + D (V_d - V) + target's wrench + walls + measured wrench
#
# The drives follow a virtual arm: the one that the law of cartesian_impedance.pxd would move,
# without gravity, rotors, friction and Coriolis forces. So stiffness, target, null space, walls,
# stops, speed limits and singular postures are those of its rules 1, 2 and 4 to 8. Different:
#
# 11. All wrenches meet the inertia M_d, diagonal in the compliance axes (rule 7): here they are
#     known. Along a mode whose inertia is beyond MAX_SHAPING times M_d they get MAX_SHAPING alone.
# 12. The virtual arm has no delay, but its contact has: drives follow late, sensors measure late.
#     The loop of a contact with stiffness k is k exp(-s T) / (s (M_d s + D)); ``least_damping`` is
#     the least D that leaves it a phase margin (contact_damping in
#     featherstone_ros/control/admittance.py).
# 13. No joint accelerates by more than the observer takes for motion (state_observer.pxd): drives
#     could not follow.
# 14. Without measured wrench the contact is not seen: the end effector comes to rest where it is,
#     and no target is followed.

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memcpy

from control.cartesian_impedance cimport joint_torques, update_law
from control.impedance_modes cimport from_axes, shaped_damping, through_modes, to_axes
from control.impedance_state cimport Impedance
from control.impedance_wrench cimport (add_walls, limit_wrench, pull_of_target, spring_wrench,
                                       take_damping)
from control.settings cimport JointLimits
from control.state_observer cimport ACCELERATION, FALLBACK_SPEED
from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport pose_error

cdef extern from *:
    """
    #define VIRTUAL_STEP (1e-3)
    """
    const double VIRTUAL_STEP    # of the virtual arm's motion [s]; M_d is checked for it

cdef struct VirtualArm:      # (n,) each
    double* q
    double* qd
    double* qdd              # mean of the last period
    double* tau


cdef inline double find_virtual_wrench(Impedance* law) noexcept nogil:
    """Find the wrench that gives the virtual arm the motion of rule 11, base axes. Returns what
    damping takes out [W].
    """
    cdef double[6] e, v, drag, push, F
    cdef Py_ssize_t k
    pose_error(law.pose, law.desired, law.error + 3, law.error)
    to_axes(law, law.desired_velocity, 1, v)
    for k in range(6):
        drag[k] = shaped_damping(law, k) * v[k]
    pull_of_target(law, drag, F)
    for k in range(6):
        F[k] += law.external[k]
    add_walls(law, F)
    to_axes(law, F, 1, push)
    to_axes(law, law.error, 1, e)
    spring_wrench(law, e, F)
    limit_wrench(law, F)
    for k in range(6):
        F[k] += push[k]
    through_modes(law.W, law.shaped_spring, law.V, F)
    from_axes(law, F, law.load)
    return take_damping(law)


cdef inline double max_acceleration(const JointLimits* limits, Py_ssize_t i) noexcept nogil:
    """Of a joint (rule 13)."""
    return ACCELERATION * fmin(limits.velocity[i], FALLBACK_SPEED)


cdef inline double speed_towards(double distance, double limit, double braking,
                                 double h) noexcept nogil:
    """The speed at which a joint can still stop within a distance, after a step h [s]."""
    cdef double last = braking * h
    distance = fmax(distance, 0.0)
    return fmin(fmin(limit, distance / h), sqrt(last * last + 2.0 * braking * distance) - last)


cdef inline void move_joint(const JointLimits* limits, Py_ssize_t i, double qdd, double h,
                            double* q, double* qd) noexcept nogil:
    """Advance a joint (semi-implicit Euler), not beyond its limits or further beyond them."""
    cdef double braking = 0.9 * max_acceleration(limits, i)
    cdef double most = limits.velocity[i]
    qd[0] = fmin(qd[0] + h * qdd, speed_towards(limits.upper[i] - q[0], most, braking, h))
    qd[0] = fmax(qd[0], -speed_towards(q[0] - limits.lower[i], most, braking, h))
    q[0] += h * qd[0]


cdef inline bint move_virtual_arm(VirtualArm* v, Impedance* law, const DynamicsInterface* arm,
                                  const double* armature, const JointLimits* limits,
                                  double braking, double dt) noexcept nogil:
    """Advance the virtual arm by a time dt [s]; False if a joint moves no inertia, or the motion is
    not finite. braking: rate at which all speeds decay besides [1/s].
    """
    cdef Py_ssize_t n = law.n, steps = <Py_ssize_t> (dt / VIRTUAL_STEP) + 1, k, i, j
    cdef double h = dt / steps, share, bound
    cdef double* acceleration = law.scratch
    memcpy(v.qdd, v.qd, n * sizeof(double))
    for k in range(steps):
        if update_law(law, arm, armature, v.q, v.qd, h):
            return False
        joint_torques(law, NULL, v.q, v.qd, find_virtual_wrench(law), h, v.tau)
        share = 1.0
        for i in range(n):
            acceleration[i] = -braking * v.qd[i]
            for j in range(n):
                acceleration[i] += law.Minv[i * n + j] * v.tau[j]
            if not isfinite(acceleration[i]):
                return False
            bound = max_acceleration(limits, i)
            share = fmin(share, bound / fmax(fabs(acceleration[i]), bound))
        for i in range(n):
            move_joint(limits, i, share * acceleration[i], h, v.q + i, v.qd + i)
    for i in range(n):
        v.qdd[i] = (v.qd[i] - v.qdd[i]) / dt if dt > 0.0 else 0.0
    return True

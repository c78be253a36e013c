# Modes cartesian_impedance and admittance within the controller: the virtual arm of the latter, the
# targets of both, which a force may lead (measured_wrench.pxd), and the joints' motion that goes
# with them. The law of both: cartesian_impedance.pxd.

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt, isnan
from libc.string cimport memcpy, memmove, memset

from control.cartesian_impedance cimport (add_walls, displace, joint_torques, limit, limit_wrench,
                                          pull_of_target, spring_wrench, take_damping,
                                          update_kinematics, update_law)
from control.fault_bounds cimport ACCELERATION
from control.impedance_modes cimport from_axes, shaped_damping, through_modes, to_axes
from control.impedance_state cimport Impedance, start_impedance
from control.measured_wrench cimport (ForceAxes, MeasuredWrench, find_contact, find_external,
                                      find_sensed, keep_force_axes, lead_by_force)
from control.settings cimport JointLimits, speed_bound
from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport norm, pose_error

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
#     The loop of a contact with stiffness k is k exp(-s T) / (s (M_d s + D)); ``min_damping`` is
#     the smallest D that leaves it a phase margin (contact_damping in
#     featherstone_ros/control/cartesian_impedance.py).
# 13. No joint accelerates by more than the observer takes for motion (state_observer.pxd): drives
#     could not follow.
# 14. Without measured wrench the contact is not seen: the end effector comes to rest where it is,
#     and no target is followed.

cdef extern from *:
    const double VIRTUAL_STEP "1e-3"  # of the virtual arm's motion [s]; M_d is checked for it

cdef struct VirtualArm:      # (n,) each
    double* q
    double* qd
    double* qdd              # mean of the last period
    double* tau


cdef inline double find_virtual_wrench(Impedance* law) noexcept nogil:
    """Find the wrench (rule 11), base axes. Returns what damping takes out [W]."""
    cdef double[6] e, v, drag, push, F
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
    return ACCELERATION * speed_bound(limits, i)


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
    cdef double max_speed = limits.velocity[i]
    qd[0] = fmin(qd[0] + h * qdd, speed_towards(limits.upper[i] - q[0], max_speed, braking, h))
    qd[0] = fmax(qd[0], -speed_towards(q[0] - limits.lower[i], max_speed, braking, h))
    q[0] += h * qd[0]


cdef inline bint move_virtual_arm(VirtualArm* v, Impedance* law, const DynamicsInterface* arm,
                                  const double* armature, const JointLimits* limits,
                                  double braking, double dt) noexcept nogil:
    """Advance the virtual arm by a time dt [s]; False if a joint moves no inertia, or the motion is
    not finite. braking: rate at which all speeds decay besides [1/s].
    """
    cdef Py_ssize_t n = law.n, steps = <Py_ssize_t> (dt / VIRTUAL_STEP) + 1
    cdef double h = dt / steps
    cdef double* acceleration = law.scratch
    memcpy(v.qdd, v.qd, n * sizeof(double))
    for k in range(steps):
        if update_law(law, arm, armature, v.q, v.qd, h):
            return False
        joint_torques(law, NULL, v.q, v.qd, find_virtual_wrench(law), h, NULL, NULL, v.tau)
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


cdef extern from *:
    const double ARRIVED_AT "1e-4"      # [m] from the target, where the desired pose counts as
                                        # there,
    const double ARRIVED_TURNED "1e-3"  # and [rad]
    const double BRAKED_IN "4.0"        # time constants of braking in stop_time

cdef struct CartesianMode:
    Impedance law
    double* asked_posture    # (n,) NaN: where the joint is when the mode begins
    double pose_at           # steady times when each part of the target was given [s]
    double twist_at
    double twist_lasts       # [s]
    double wrench_at
    double[6] wrench         # that is asked for, base axes
    ForceAxes force_axes
    MeasuredWrench measured
    VirtualArm virtual_arm   # that the drives follow in mode admittance
    double[16] anchor        # target to go back to when a wrench is measured again,
    bint is_anchored         # if there is one

cdef struct CartesianTarget: # base axes; parts that are not given stay unchanged
    bint has_pose, has_twist, has_wrench
    double[16] pose
    double[6] twist
    double twist_lasts       # [s], at most target_timeout
    double[6] wrench


cdef inline void stop_target(CartesianMode* mode, double time) noexcept nogil:
    """Set the target to rest where the desired pose comes to rest in a time [s], no wrench."""
    cdef Impedance* law = &mode.law
    memcpy(law.target, law.desired, 16 * sizeof(double))
    displace(law.target, law.desired_velocity, 0.5 * time)
    memset(law.target_velocity, 0, 6 * sizeof(double))
    memset(mode.wrench, 0, 6 * sizeof(double))
    mode.is_anchored = False


cdef inline void come_to_rest(CartesianMode* mode, const DynamicsInterface* arm, const double* q,
                              const double* qd, double stop_time) noexcept nogil:
    """Begin at the end effector's pose and velocity, and bring it to rest."""
    cdef Impedance* law = &mode.law
    update_kinematics(law, arm, q, qd)
    start_impedance(law)
    memcpy(law.desired_velocity, law.velocity, 6 * sizeof(double))
    stop_target(mode, stop_time)
    memmove(mode.virtual_arm.q, q, law.n * sizeof(double))
    memmove(mode.virtual_arm.qd, qd, law.n * sizeof(double))


cdef inline void begin_mode(CartesianMode* mode, const DynamicsInterface* arm, const double* q,
                            const double* qd, double stop_time) noexcept nogil:
    """Bring the end effector to rest; the posture is the present one where none is asked for."""
    cdef Impedance* law = &mode.law
    come_to_rest(mode, arm, q, qd, stop_time)
    for i in range(law.n):
        law.joints.posture[i] = q[i] if isnan(mode.asked_posture[i]) else mode.asked_posture[i]


cdef inline void rest_anchored(CartesianMode* mode, const DynamicsInterface* arm,
                               double stop_time) noexcept nogil:
    """Bring the virtual arm to rest; its target is gone back to (return_to_anchor)."""
    cdef double[16] target
    memcpy(target, mode.law.target, 16 * sizeof(double))
    come_to_rest(mode, arm, mode.virtual_arm.q, mode.virtual_arm.qd, stop_time)
    memcpy(mode.anchor, target, 16 * sizeof(double))
    mode.is_anchored = True


cdef inline void return_to_anchor(CartesianMode* mode) noexcept nogil:
    """Hold the end effector where it was held before it came to rest, as if it had been pushed."""
    if mode.is_anchored:
        memcpy(mode.law.target, mode.anchor, 16 * sizeof(double))
        memcpy(mode.law.desired, mode.anchor, 16 * sizeof(double))
        memset(mode.law.desired_velocity, 0, 6 * sizeof(double))
        mode.is_anchored = False


cdef inline void set_target(CartesianMode* mode, double now,
                            const CartesianTarget* target) noexcept nogil:
    cdef double[16] pose
    if target.has_pose:
        memcpy(pose, target.pose, 16 * sizeof(double))
        keep_force_axes(&mode.force_axes, &mode.law, pose)
        memcpy(mode.law.target, pose, 16 * sizeof(double))
        mode.pose_at, mode.is_anchored = now, False
    if target.has_twist:
        memcpy(mode.law.target_velocity, target.twist, 6 * sizeof(double))
        mode.twist_at, mode.twist_lasts = now, target.twist_lasts
    if target.has_wrench:
        memcpy(mode.wrench, target.wrench, 6 * sizeof(double))
        mode.wrench_at = now


cdef inline bint move_target(CartesianMode* mode, double now, double timeout,
                             double dt) noexcept nogil:
    """Move the target by the force along the force axes, and by velocities that come without poses,
    at the approach speed at most. Velocities and wrenches that are too old are forgotten; returns
    whether a wrench ends.
    """
    cdef double[6] velocity
    cdef bint ends = False
    if now - mode.twist_at > fmin(timeout, mode.twist_lasts):
        memset(mode.law.target_velocity, 0, 6 * sizeof(double))
    if now - mode.wrench_at > timeout:
        for k in range(6):
            ends |= mode.wrench[k] != 0.0
            mode.wrench[k] = 0.0
    find_sensed(&mode.law, &mode.measured)
    find_contact(&mode.law, &mode.measured, dt)
    lead_by_force(&mode.force_axes, &mode.law, mode.wrench, mode.measured.is_there, dt)
    if now - mode.pose_at > timeout:
        memcpy(velocity, mode.law.target_velocity, 6 * sizeof(double))
        limit(mode.law.settings.max_speed[0], velocity)
        limit(mode.law.settings.max_speed[1], velocity + 3)
        displace(mode.law.target, velocity, dt)
    return ends


cdef inline bint is_idle(const CartesianMode* mode, double now, double timeout) noexcept nogil:
    """Whether no target has come for ``timeout`` [s] and the last one has been reached."""
    return (now - fmax(fmax(mode.pose_at, mode.twist_at), mode.wrench_at) > timeout
            and norm(mode.law.remaining) < ARRIVED_AT
            and norm(mode.law.remaining + 3) < ARRIVED_TURNED)


cdef inline bint follow_wrench(CartesianMode* mode, const DynamicsInterface* arm,
                               const double* armature, const JointLimits* limits,
                               double stop_time, double dt, double* desired) noexcept nogil:
    """desired, (4, n): the motion after dt [s], to rest without a wrench; False: there is none."""
    cdef VirtualArm* v = &mode.virtual_arm
    cdef Py_ssize_t n = mode.law.n
    find_external(&mode.law)
    if not move_virtual_arm(v, &mode.law, arm, armature, limits,
                            0.0 if mode.measured.is_there else BRAKED_IN / stop_time, dt):
        return False
    memcpy(desired, v.q, 3 * n * sizeof(double))                # q, qd, qdd
    memset(desired + 3 * n, 0, n * sizeof(double))
    return True

# Mode cartesian_impedance within the controller: what the law (cartesian_impedance.pxd) needs of
# the arm, and its targets.

from libc.math cimport INFINITY, NAN, fabs, fmax, isnan
from libc.string cimport memcpy, memset

from control.cartesian_impedance cimport cartesian_impedance
from control.hand_kinematics cimport add_armature, hand_kinematics
from control.impedance_modes cimport times_inertia, to_axes
from control.impedance_state cimport (Hand, Impedance, ImpedanceSettings, lay_out, memory_size,
                                      start_impedance)
from control.impedance_wrench cimport limit
from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport norm, quaternion_of, turn

cdef extern from *:
    """
    #define ARRIVED_AT (1e-4)
    #define ARRIVED_TURNED (1e-3)
    """
    const double ARRIVED_AT      # [m] from the target, where the desired pose counts as there,
    const double ARRIVED_TURNED  # and [rad]

cdef struct CartesianMode:
    Py_ssize_t link          # that the hand is part of; -1: the arm has no tip
    double[16] point         # pose of the hand's frame in the link's
    Impedance law
    ImpedanceSettings settings
    Hand hand                # what the law knows of it: points to the next four
    double[16] pose
    double[6] velocity
    double* J
    double* Minv
    double* asked_posture    # (n,) NaN: where the joint is when the mode begins
    double* standing_from    # (n,) desired position when the position last changed
    double pulled            # time for which it has been pulled since without moving [s]
    double pose_at           # steady times when each part of the target was given [s]
    double twist_at
    double wrench_at

cdef struct CartesianTarget: # base axes; parts that are not given stay unchanged
    bint has_pose, has_twist, has_wrench
    double[16] pose
    double[6] twist
    double[6] wrench


cdef inline Py_ssize_t mode_memory(Py_ssize_t n) noexcept nogil:
    """How many numbers the mode needs."""
    return memory_size(n) + n * n + 8 * n


cdef inline void lay_out_mode(CartesianMode* its, Py_ssize_t n, double* memory) noexcept nogil:
    """Take mode_memory(n) numbers."""
    lay_out(&its.law, &its.settings, n, memory)
    its.Minv = memory + memory_size(n)
    its.J = its.Minv + n * n
    its.asked_posture = its.J + 6 * n
    its.standing_from = its.asked_posture + n
    its.hand.pose, its.hand.J, its.hand.velocity, its.hand.Minv = (
        its.pose, its.J, its.velocity, its.Minv)
    its.pose_at = its.twist_at = its.wrench_at = -INFINITY


cdef inline void copy_impedance(CartesianMode* its, const ImpedanceSettings* given) noexcept nogil:
    """Take settings. The stiffness changes gradually; a posture that is not given stays."""
    cdef ImpedanceSettings mine = its.settings
    cdef Py_ssize_t n = its.law.n, i
    memcpy(its.law.old_stiffness, its.law.stiffness, 6 * sizeof(double))
    its.law.elapsed = 0.0
    memcpy(its.asked_posture, given.posture, n * sizeof(double))
    its.settings = given[0]
    its.settings.posture, its.settings.posture_stiffness = mine.posture, mine.posture_stiffness
    its.settings.posture_damping_ratio = mine.posture_damping_ratio
    its.settings.lower, its.settings.upper = mine.lower, mine.upper
    its.settings.margin, its.settings.repulsion, its.settings.speed = (
        mine.margin, mine.repulsion, mine.speed)
    for i in range(n):
        if not isnan(given.posture[i]):
            its.settings.posture[i] = given.posture[i]
    memcpy(its.settings.posture_stiffness, given.posture_stiffness, 7 * n * sizeof(double))


cdef inline void update_kinematics(CartesianMode* its, const DynamicsInterface* arm,
                                   const double* q, const double* qd) noexcept nogil:
    """Find the hand's pose, Jacobian and velocity."""
    hand_kinematics(arm, its.link, its.point, q, qd, its.pose, its.J, its.velocity)


cdef inline void rest_ahead(Impedance* law, double time) noexcept nogil:
    """Set the target to where the desired pose comes to rest in a time [s].

    The target's velocity and wrench are dropped.
    """
    cdef double[3] phi
    cdef Py_ssize_t k
    memcpy(law.target, law.desired, 16 * sizeof(double))
    for k in range(3):
        law.target[4 * k + 3] += 0.5 * time * law.desired_velocity[k]
        phi[k] = 0.5 * time * law.desired_velocity[3 + k]
    turn(phi, law.target)
    memset(law.target_velocity, 0, 6 * sizeof(double))
    memset(law.feedforward, 0, 6 * sizeof(double))


cdef inline void begin_mode(CartesianMode* its, const DynamicsInterface* arm, const double* q,
                            const double* qd, double stop_time) noexcept nogil:
    """Begin at the pose and velocity that the hand has, and bring it to rest."""
    cdef Py_ssize_t i
    update_kinematics(its, arm, q, qd)
    start_impedance(&its.law, &its.settings, its.pose)
    memcpy(its.law.desired_velocity, its.velocity, 6 * sizeof(double))
    rest_ahead(&its.law, stop_time)
    memcpy(its.standing_from, q, its.law.n * sizeof(double))
    for i in range(its.law.n):
        its.settings.posture[i] = q[i] if isnan(its.asked_posture[i]) else its.asked_posture[i]


cdef inline void set_target(CartesianMode* its, double now,
                            const CartesianTarget* target) noexcept nogil:
    if target.has_pose:
        memcpy(its.law.target, target.pose, 16 * sizeof(double))
        its.pose_at = now
    if target.has_twist:
        memcpy(its.law.target_velocity, target.twist, 6 * sizeof(double))
        its.twist_at = now
    if target.has_wrench:
        memcpy(its.law.feedforward, target.wrench, 6 * sizeof(double))
        its.wrench_at = now


cdef inline bint drop_stale(CartesianMode* its, double now, double timeout) noexcept nogil:
    """Forget a velocity or wrench that is too old; the pose stays.

    Returns whether a wrench ends.
    """
    cdef bint ends = False
    cdef Py_ssize_t k
    if now - its.twist_at > timeout:
        memset(its.law.target_velocity, 0, 6 * sizeof(double))
    if now - its.wrench_at > timeout:
        for k in range(6):
            ends |= its.law.feedforward[k] != 0.0
            its.law.feedforward[k] = 0.0
    return ends


cdef inline void move_target(CartesianMode* its, double now, double timeout,
                             double dt) noexcept nogil:
    """Move the target by velocities that come without poses, at the approach speed at most.
    """
    cdef double[6] velocity
    cdef double[3] phi
    cdef Py_ssize_t k
    if now - its.pose_at <= timeout:
        return
    memcpy(velocity, its.law.target_velocity, 6 * sizeof(double))
    for k in range(2):
        limit(its.settings.approach.speed[k], velocity + 3 * k)
    for k in range(3):
        its.law.target[4 * k + 3] += dt * velocity[k]
        phi[k] = dt * velocity[3 + k]
    turn(phi, its.law.target)


cdef inline bint is_idle(const CartesianMode* its, double now, double timeout) noexcept nogil:
    """Whether no target has come for ``timeout`` [s] and the last one has been reached."""
    return (now - fmax(fmax(its.pose_at, its.twist_at), its.wrench_at) > timeout
            and norm(its.law.way) < ARRIVED_AT and norm(its.law.way + 3) < ARRIVED_TURNED)


cdef inline void joint_motion(const CartesianMode* its, const double* x, const double* most,
                              double* out) noexcept nogil:
    """out, (n,) = M^-1 J^T Lambda x: the joint motion that gives the hand x.

    It is scaled down until no joint exceeds ``most``, (n,).
    """
    cdef double[6] v
    cdef double share = 1.0
    cdef Py_ssize_t n = its.law.n, i, k
    to_axes(&its.law, &its.settings, x, 1, v)
    times_inertia(its.law.L, v)
    for i in range(n):
        out[i] = 0.0
        for k in range(6):
            out[i] += its.law.T[k * n + i] * v[k]
        if fabs(out[i]) * share > most[i]:
            share = most[i] / fabs(out[i])
    for i in range(n):
        out[i] *= share


cdef inline bint find_inverse_inertia(CartesianMode* its, const DynamicsInterface* arm,
                                      const double* armature, const double* q) noexcept nogil:
    """Find (M + diag(armature))^-1 in ``Minv``; returns whether M is singular."""
    if arm.minv(arm.self, q, its.Minv):
        return True
    add_armature(its.Minv, its.law.n, armature, its.law.x)
    return False


cdef inline void hand_torque(CartesianMode* its, const DynamicsInterface* arm,
                             const double* armature, const double* q, const double* qd, double dt,
                             double* torque) noexcept nogil:
    """torque, (n,): the law's, without gravity; NaN where the model moves no inertia."""
    update_kinematics(its, arm, q, qd)
    if find_inverse_inertia(its, arm, armature, q):
        torque[0] = NAN
        return
    cartesian_impedance(&its.law, &its.settings, &its.hand, q, qd, dt, torque)


cdef inline void write_pose(const double* pose, double* out) noexcept nogil:
    """out = position and quaternion x y z w of a pose (16)."""
    cdef Py_ssize_t k
    for k in range(3):
        out[k] = pose[4 * k + 3]
    quaternion_of(pose, 4, out + 3)

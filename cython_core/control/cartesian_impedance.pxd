# Cartesian impedance control: the end effector as a mass on a spring and a damper between it and a
# target.
#
#     tau = J^T F + N tau_posture + repulsion,    F = K e + D (V_d - V) + feed-forward + walls
#
# The model's torque is not part of it: gravity alone leaves the law passive (rule 5). Rules:
# 1. e is the pose error (pose.pxd). The spring is the gradient of a potential, so that no closed
#    push gains energy: with stiffness K and s^2 = e^T K e of the position error it is min(s, s_max)
#    K e / s; the moment is that of the rotation vector phi, taken through the derivative of exp: (1
#    - phi x / 2 + k phi x phi x) K phi. s_max keeps the force within max_force (and the moment
#    within max_torque) however far the target is. D V_d + feed-forward is bounded likewise:
#    together they never exceed twice these bounds, even at a singular posture, where D is large.
#    All of it is lightened where a joint's effort limit would leave nothing for damping.
# 2. K is diagonal in the compliance axes: those of the base, or of the desired pose. Everything up
#    to F is in these.
# 3. With Lambda^-1 = J M^-1 J^T + B = L L^T, the operational-space inertia Lambda gives the modes
#    of the end effector on its spring, L^T K L = U w^2 U^T, and D = L^-T U 2 zeta w U^T L^-1: each
#    mode has the damping ratio zeta (Albu-Schaeffer, Ott, Frese and Hirzinger, Cartesian impedance
#    control of redundant robots, 2003: double diagonalisation). A mode that moves along several
#    axes takes the mean of their ratios, weighted by its energy there.
# 4. B = diag(1 / largest inertia) is what bounds Lambda where J loses rank. N = 1 - J^T Lambda J
#    M^-1 (Khatib, 1987) then leaves the share B Lambda of a null-space acceleration in the end
#    effector, a, and J^T D J stays below 2 zeta w M: nothing grows at a singular posture. With X =
#    B^-1/2 J M^-1/2, a is B^1/2 (X X^T + 1)^-1 X M^-1/2 tau0, so a^T B^-1 a <= tau0^T M^-1 tau0 /
#    4, since s / (1 + s^2) <= 1/2; and N tau0 is in the metric M^-1 no larger than tau0.
# 5. Passivity. Springs, walls and repulsion are potentials, dampers symmetric: D, and N D0 N^T in
#    the null space. The posture's spring, seen through N, is none; so it draws on a tank that
#    damping fills and that holds little (Ferraguti, Secchi and Fantuzzi, A tank-based approach to
#    impedance control with variable stiffness, 2013): it gives way when the tank is empty.
# 6. The target is approached with bounded speed and acceleration: e and V_d are those of the pose
#    on its way.
# 7. Inertia shaping (Khatib, 1987) gives the end effector an inertia M_d, diagonal in the
#    compliance axes, and each axis an equation of its own: M_d a + D (V - V_d) = K e with D = 2
#    zeta sqrt(K M_d), by F = Lambda M_d^-1 (K e + D (V_d - V)) + feed-forward + walls. A push
#    against it meets Lambda M_d^-1 K. That is no potential: rule 5 does not hold. With M_d^1/2
#    Lambda^-1 M_d^1/2 = U mu U^T it is F = M_d^1/2 U f U^T M_d^-1/2 (...), f = 1 / mu. Along a mode
#    whose inertia is beyond MAX_SHAPING times M_d, as near a singular posture, the spring has f =
#    MAX_SHAPING alone; the damper then has sqrt(MAX_SHAPING / mu), which keeps the mode's damping
#    ratio.
# 8. No joint is driven to its speed limit: from SLOW of it on, what would drive it further is
#    reduced, and a damper brakes it. Both only take energy out.
# 9. Torques act late, by a delay T. A mode of the end effector, a joint on its posture's spring or
#    before its stop that would be too fast for T at this posture gets a softer spring, with the
#    same damping ratio. A spring that is softened by posture is no potential: of rule 5 the dampers
#    are left.
# 10. A wrench turns the lever arms it acts on: -dJ^T/dq F is a stiffness of the joints, too, which
#    D does not see. An arm that a far target has stretched swings on it like a pendulum, one that
#    folds falls like it. So each of these modes gets the damping that it lacks to be critical:
#    little where J has its rank and D holds the end effector.
#
# Each term has its file: impedance_target.pxd (rule 6), impedance_modes.pxd (2, 3, 4, 7 and 9),
# impedance_wrench.pxd (1), impedance_joints.pxd (4, 5, 8 and 9), impedance_bending.pxd (10).
# Settings and state are in impedance_state.pxd.

from libc.string cimport memcpy

from control.impedance_bending cimport damp_bending
from control.impedance_joints cimport add_posture, add_repulsion, limit_speed
from control.impedance_modes cimport find_inertia, find_modes, joint_effort
from control.impedance_state cimport Impedance
from control.impedance_target cimport approach, blend_stiffness
from control.impedance_wrench cimport find_wrench
from dynamics_interface cimport DynamicsInterface


cdef inline void update_kinematics(Impedance* law, const DynamicsInterface* arm, const double* q,
                                   const double* qd) noexcept nogil:
    """Find the end effector's pose, Jacobian and velocity."""
    cdef Py_ssize_t i, k
    arm.frame(arm.self, law.link, law.offset, q, law.pose, law.J)
    for i in range(6):
        law.velocity[i] = 0.0
        for k in range(law.n):
            law.velocity[i] += law.J[i * law.n + k] * qd[k]


cdef inline Py_ssize_t update_inertia(const Impedance* law, const DynamicsInterface* arm,
                                      const double* armature, const double* q) noexcept nogil:
    """Find Minv = (M + diag(armature))^-1, one drive after another (Sherman and Morrison).

    Returns 1 + the index of a joint that moves no inertia, or 0.
    """
    cdef double* column = law.scratch
    cdef double share
    cdef Py_ssize_t n = law.n, i, j, k, failure = arm.minv(arm.self, q, law.Minv)
    for i in range(n if failure == 0 else 0):
        if armature[i] == 0.0:
            continue
        share = armature[i] / (1.0 + armature[i] * law.Minv[i * (n + 1)])
        memcpy(column, law.Minv + i * n, n * sizeof(double))
        for j in range(n):
            for k in range(n):
                law.Minv[j * n + k] -= share * column[j] * column[k]
    return failure


cdef inline Py_ssize_t update_law(Impedance* law, const DynamicsInterface* arm,
                                  const double* armature, const double* q, const double* qd,
                                  double dt) noexcept nogil:
    """Find what the wrench depends on, after a step of time dt.

    Returns 1 + the index of a joint that moves no inertia, or 0.
    """
    cdef Py_ssize_t failure
    update_kinematics(law, arm, q, qd)
    failure = update_inertia(law, arm, armature, q)
    if failure:
        return failure
    approach(law, dt)
    blend_stiffness(law, dt)
    find_inertia(law)
    find_modes(law)
    return 0


cdef inline void joint_torques(Impedance* law, const DynamicsInterface* arm, const double* q,
                               const double* qd, double dissipated, double dt,
                               double* tau) noexcept nogil:
    """tau, (n,) of the wrench and of all that moves the joints besides.

    arm: NULL where the joints are not to be damped by rule 10.
    dissipated: what the damping of the end effector takes out [W].
    """
    cdef Py_ssize_t i
    for i in range(law.n):
        tau[i] = joint_effort(law, law.wrench, i)
    if arm != NULL:
        damp_bending(law, arm, q, qd, tau)
    add_posture(law, q, qd, dissipated, dt, tau)
    add_repulsion(law, q, qd, tau)
    limit_speed(law, qd, tau)


cdef inline Py_ssize_t cartesian_impedance(Impedance* law, const DynamicsInterface* arm,
                                           const double* armature, const double* q,
                                           const double* qd, double dt, const double* gravity,
                                           const double* effort, double* tau) noexcept nogil:
    """tau, (n,): the law after a step of time dt, without the model's torque.

    gravity, effort: (n,) what holds the arm, and the effort limits; NULL: none.
    Returns 1 + the index of a joint that moves no inertia, or 0.
    """
    cdef Py_ssize_t failure = update_law(law, arm, armature, q, qd, dt)
    if failure == 0:
        joint_torques(law, arm, q, qd, find_wrench(law, gravity, effort), dt,
                      tau)
    return failure

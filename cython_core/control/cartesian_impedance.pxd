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
#    on its way. V_d pulls as far as the joints can follow it within SLOW of their speed limits:
#    near a singular posture D V_d would be large along what no joint can do, turn with the posture,
#    and swing the arm. It does not where the spring is strained to twice s_max: the end effector is
#    held back or out of reach.
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
# 15. (11 to 14 are those of mode admittance.) The load leads no joint to where gravity alone takes
#     what its drive has. With h the share of the effort limit that gravity takes, and |x|^2 = x^T
#     M^-1 x, the load's torque tau gets - w |tau| grad h / |grad h|, w rising from 0 (HEAVY) by 1
#     up to TOO_HEAVY and on. At rest both are in balance where w = 1 alone, or tau = 0: so, with
#     one such joint, a posture is left only for a target, and every target below TOO_HEAVY is
#     reached. Beyond, tau fades: what is left leads back under any damping, since grad h^T D^-1
#     grad h > 0. On the way there the motion along grad h is braked.
#
# Rules 2, 3, 7 and 10, and what 4 and 9 say of modes, are in impedance_modes.pxd, the others here.
# Settings and state are in impedance_state.pxd.

from libc.math cimport fmin, sqrt, fabs, fmax, copysign
from libc.string cimport memcpy, memset

from control.fault_bounds cimport FLAT, HEAVY, TOO_HEAVY, WEIGHT_BRAKING, WEIGHT_STEP
from control.impedance_modes cimport (damp_bending, damper, find_inertia, find_modes, from_axes,
                                      joint_effort, max_frequency, reduce_spring, times_inertia,
                                      to_axes)
from control.impedance_state cimport Impedance, Wall
from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport add_cross_product, norm, pose_error, turn, turn_factor

# What leads the end effector: the desired pose on its way to the target (rule 6), and the stiffness
# on its way to the one that is set.

cdef extern from *:
    const double AT_REST "1e-12"  # [m/s, rad/s]; with the denormal numbers that a decay ends in a
                                  # cycle took three times as long


cdef inline void approach_part(Impedance* law, Py_ssize_t part, double dt) noexcept nogil:
    """Velocity of the desired pose after dt, linear (part 0) or angular (1)."""
    cdef const double* remaining = law.remaining + 3 * part
    cdef double* velocity = law.desired_velocity + 3 * part
    cdef double rate = law.settings.approach_rate[part], max_speed = law.settings.max_speed[part]
    cdef double max_acceleration = law.settings.max_acceleration[part]
    cdef double distance = norm(remaining)
    cdef double[3] change
    speed = fmin(fmin(rate * distance, sqrt(max_acceleration * distance)), max_speed)
    for k in range(3):
        change[k] = law.target_velocity[3 * part + k] - velocity[k]
        if distance > 0.0:
            change[k] += speed / distance * remaining[k]
        change[k] *= fmin(4.0 * rate * dt, 1.0)
    size = norm(change)
    factor = max_acceleration * dt / size if size > max_acceleration * dt else 1.0
    for k in range(3):
        velocity[k] += factor * change[k]
    size = norm(velocity)
    for k in range(3):
        if size > max_speed:
            velocity[k] *= max_speed / size
        elif size < AT_REST:
            velocity[k] = 0.0


cdef inline void displace(double* pose, const double* velocity, double time) noexcept nogil:
    """Move a pose (16) by a velocity (6) that lasts for a time [s]."""
    cdef double[3] phi
    for k in range(3):
        pose[4 * k + 3] += time * velocity[k]
        phi[k] = time * velocity[3 + k]
    turn(phi, pose)


cdef inline void blend_stiffness(Impedance* law, double dt) noexcept nogil:
    """Lead the stiffness from the old one to the one that is set, with zero slope at both ends."""
    cdef double p = 1.0
    law.elapsed += dt
    if law.elapsed < law.settings.transition_time:
        p = law.elapsed / law.settings.transition_time
        p = p * p * (3.0 - 2.0 * p)
    for k in range(6):
        law.stiffness[k] = (law.old_stiffness[k]
                            + p * (law.settings.stiffness[k] - law.old_stiffness[k]))


# The wrench F on the end effector, from
# spring, damper, feed-forward and walls (rule 1).

cdef extern from *:
    const double WALL "3.0"    # times max_force: spring and feed-forward have two of them together
    const double EFFORT "0.9"  # share of a joint's effort limit that gravity and load take: the
                               # rest is for damping
    const double SLOW "0.7"    # share of a joint's speed limit to which a target leads it, and from
                               # which it is braked


cdef inline double strain(const double* stiffness, double max_force,
                          const double* e) noexcept nogil:
    """An error (3) relative to s_max, from which on the spring's force is constant (rule 1)."""
    cdef double s2 = 0.0, k_max = 0.0
    for k in range(3):
        s2 += stiffness[k] * e[k] * e[k]
        k_max = fmax(k_max, stiffness[k])
    return sqrt(s2 * k_max) / max_force


cdef inline double max_strain(const Impedance* law) noexcept nogil:
    """The strain of the spring, linear or angular."""
    cdef double[6] e
    to_axes(law, law.error, 1, e)
    return fmax(strain(law.stiffness, law.settings.max_wrench[0], e),
                strain(law.stiffness + 3, law.settings.max_wrench[1], e + 3))


cdef inline void spring(const double* stiffness, double max_force, const double* e,
                        double* f) noexcept nogil:
    """f = K e, (3); beyond s_max it keeps the length that it has there (rule 1)."""
    cdef double factor = 1.0 / fmax(strain(stiffness, max_force, e), 1.0)
    for k in range(3):
        f[k] = factor * stiffness[k] * e[k]


cdef inline void limit(double largest, double* f) noexcept nogil:
    """Shorten f, (3), to a length if it is longer."""
    cdef double size = norm(f)
    if size > largest:
        for k in range(3):
            f[k] *= largest / size


cdef inline void limit_wrench(const Impedance* law, double* F) noexcept nogil:
    limit(law.settings.max_wrench[0], F)
    limit(law.settings.max_wrench[1], F + 3)


cdef inline void spring_wrench(const Impedance* law, const double* e, double* F) noexcept nogil:
    """F = K e with the moment of a rotation vector (rule 1)."""
    cdef double[3] gradient, turned
    spring(law.stiffness, law.settings.max_wrench[0], e, F)
    spring(law.stiffness + 3, law.settings.max_wrench[1], e + 3, gradient)
    for i in range(3):
        turned[i] = 0.0
    add_cross_product(1.0, e + 3, gradient, turned)
    for i in range(3):
        F[3 + i] = gradient[i] - 0.5 * turned[i]
    add_cross_product(turn_factor(e + 3), e + 3, turned, F + 3)
    limit(law.settings.max_wrench[1], F + 3)


cdef inline void add_walls(const Impedance* law, double* F) noexcept nogil:
    """F += what walls push with, base axes; never more than WALL times max_force: it would only
    throw out an end effector that a new wall has found within it.
    """
    cdef const Wall* wall
    for i in range(law.walls.count):
        wall = &law.walls.wall[i]
        depth, rate = wall.offset, 0.0
        for k in range(3):
            depth -= wall.normal[k] * law.pose[4 * k + 3]
            rate -= wall.normal[k] * law.velocity[k]
        if depth > 0.0:
            push = fmin(fmax(wall.stiffness * depth + wall.damping * rate, 0.0),
                        WALL * law.settings.max_wrench[0])
            for k in range(3):
                F[k] += push * wall.normal[k]


cdef inline void pull_of_target(const Impedance* law, const double* drag,
                                double* pull) noexcept nogil:
    """pull: D V_d, given in compliance axes, and the feed-forward, bounded together; base axes."""
    from_axes(law, drag, pull)
    for k in range(6):
        pull[k] += law.feedforward[k]
    limit_wrench(law, pull)


cdef inline void limit_load(Impedance* law, const double* gravity,
                            const double* effort) noexcept nogil:
    """Lighten the load as the joints' effort limits (n,) ask for, beside gravity's torque (n,)."""
    cdef double share = 1.0
    for i in range(law.n):
        torque = joint_effort(law, law.load, i)
        room = fmax(EFFORT * effort[i] - (gravity[i] if torque > 0.0 else -gravity[i]), 0.0)
        if fabs(torque) * share > room:
            share = room / fabs(torque)
    for i in range(6):
        law.load[i] *= share


cdef inline double take_damping(Impedance* law) noexcept nogil:
    """F = load - D V. Returns what that takes out of the end effector [W]."""
    cdef double[6] v, drag, D_v
    cdef double dissipated = 0.0
    to_axes(law, law.velocity, 1, v)
    damper(law, v, drag)
    from_axes(law, drag, D_v)
    for k in range(6):
        law.wrench[k] = law.load[k] - D_v[k]
        dissipated += drag[k] * v[k]
    return fmax(dissipated, 0.0)                                # shaped, it may be negative


cdef inline void limited_motion(const Impedance* law, const double* x, double share, double within,
                                const double* limits, double* out) noexcept nogil:
    """out, (n,) = share M^-1 J^T Lambda x (base axes), no joint beyond ``within`` limits."""
    cdef double[6] v
    cdef Py_ssize_t n = law.n
    to_axes(law, x, 1, v)
    times_inertia(law.L, v)
    for i in range(n):
        out[i] = 0.0
        for k in range(6):
            out[i] += law.T[k * n + i] * v[k]
        if fabs(out[i]) * share > within * limits[i]:
            share = within * limits[i] / fabs(out[i])
    for i in range(n):
        out[i] *= share


cdef inline void follow_target(Impedance* law, double* v) noexcept nogil:
    """followed, and the end effector's velocity v that it gives, in compliance axes (rule 6)."""
    limited_motion(law, law.desired_velocity, fmin(fmax(2.0 - max_strain(law), 0.0), 1.0), SLOW,
                   law.joints.max_speed, law.followed)
    memset(v, 0, 6 * sizeof(double))
    for i in range(law.n):
        for k in range(6):
            v[k] += law.Jc[k * law.n + i] * law.followed[i]


cdef inline double find_wrench(Impedance* law, const double* gravity,
                               const double* effort) noexcept nogil:
    """Find F in base axes, for effort limits (n,) beside gravity's torque (n,), NULL: none; returns
    what damping takes out [W]. D V is not bounded, since it only takes energy out; D V_d is what
    the target pulls with, and bounded as the feed-forward.
    """
    cdef double[6] e, v, F, drag, pull
    pose_error(law.pose, law.desired, law.error + 3, law.error)
    follow_target(law, v)
    damper(law, v, drag)
    pull_of_target(law, drag, pull)
    to_axes(law, law.error, 1, e)
    spring_wrench(law, e, F)
    reduce_spring(law, F)
    limit_wrench(law, F)
    from_axes(law, F, law.load)
    for k in range(6):
        law.load[k] += pull[k]
    add_walls(law, law.load)
    if effort != NULL:
        limit_load(law, gravity, effort)
    return take_damping(law)


# Where the arm's own weight takes what a joint's drive has (rule 15).

cdef inline void find_weight_gradient(const Impedance* law, const DynamicsInterface* arm,
                                      const double* q, Py_ssize_t joint,
                                      double unit) noexcept nogil:
    """scratch: how a joint's gravity torque changes with q, (n,), in a unit, and M^-1 times that.
    Gravity has a potential: so do all torques change with that joint alone.
    """
    cdef double* gradient = law.scratch
    cdef double* after = law.scratch + law.n
    cdef double* moved = law.scratch + 2 * law.n
    cdef Py_ssize_t n = law.n
    memcpy(moved, q, n * sizeof(double))
    moved[joint] = q[joint] - WEIGHT_STEP
    arm.gravity(arm.self, moved, gradient)
    moved[joint] = q[joint] + WEIGHT_STEP
    arm.gravity(arm.self, moved, after)
    for i in range(n):
        gradient[i] = (after[i] - gradient[i]) / (2.0 * WEIGHT_STEP * unit)
    for i in range(n):
        after[i] = 0.0
        for k in range(n):
            after[i] += law.Minv[i * n + k] * gradient[k]


cdef inline void relieve(const Impedance* law, Py_ssize_t joint, double share, const double* qd,
                         double* tau) noexcept nogil:
    """tau -= a share of the load's size along the gradient in scratch, in the metric of M^-1, and
    what brakes; of a share beyond 1 the load itself fades. Where the gradient vanishes, at the most
    that gravity can take, only this is left.
    """
    cdef const double* gradient = law.scratch
    cdef const double* response = law.scratch + law.n
    cdef double* pull = law.scratch + 2 * law.n
    cdef double size = 0.0, speed = 0.0, fade = fmin(fmax(share - 1.0, 0.0), 1.0)
    cdef double mobility = FLAT * FLAT * law.Minv[joint * (law.n + 1)]
    cdef Py_ssize_t n = law.n
    for i in range(n):
        pull[i] = joint_effort(law, law.load, i)
        for k in range(i):
            size += 2.0 * pull[i] * law.Minv[i * n + k] * pull[k]
        size += pull[i] * law.Minv[i * (n + 1)] * pull[i]
        speed += gradient[i] * qd[i]
        mobility += gradient[i] * response[i]
    force = share * sqrt(fmax(size, 0.0) / mobility)
    force += (fmin(share, 1.0) * fmax(speed, 0.0) / mobility
              * fmin(1.0 / WEIGHT_BRAKING, max_frequency(&law.settings, 1.0)))
    for i in range(n):
        tau[i] -= force * gradient[i] + fade * pull[i]


cdef inline void limit_weight(const Impedance* law, const DynamicsInterface* arm, const double* q,
                              const double* qd, const double* gravity, const double* effort,
                              double* tau) noexcept nogil:
    """Keep the load off where gravity's torque (n,) takes too much of effort limits (n,)."""
    for i in range(law.n):
        taken = fabs(gravity[i]) - HEAVY * effort[i]
        if taken > 0.0 and effort[i] > 0.0:
            find_weight_gradient(law, arm, q, i, copysign(effort[i], gravity[i]))
            relieve(law, i, fmin(taken / ((TOO_HEAVY - HEAVY) * effort[i]), 2.0), qd, tau)


# The joints' torques in addition to J^T F. They keep a posture without moving the end effector
# (rules 4 and 5), keep off their stops, and keep within their speed limits (rule 8), no stiffer
# than the delay allows (rule 9).

cdef extern from *:
    const double BRAKING "0.01"  # time constant of this braking [s]


cdef inline void null_velocity(const Impedance* law, const double* qd, double* out) noexcept nogil:
    """out = N^T qd, the joints' motion that does not move the end effector."""
    cdef double[6] v
    cdef Py_ssize_t n = law.n
    to_axes(law, law.velocity, 1, v)
    times_inertia(law.L, v)
    for i in range(n):
        out[i] = qd[i]
        for k in range(6):
            out[i] -= law.T[k * n + i] * v[k]


cdef inline void project(const Impedance* law, double* torque) noexcept nogil:
    """torque <- N torque, the part that does not move the end effector."""
    cdef double[6] a
    cdef Py_ssize_t n = law.n
    for k in range(6):
        a[k] = 0.0
        for i in range(n):
            a[k] += law.T[k * n + i] * torque[i]
    times_inertia(law.L, a)
    for i in range(n):
        for k in range(6):
            torque[i] -= law.Jc[k * n + i] * a[k]


cdef inline void add_posture(Impedance* law, const double* q, const double* qd, double dissipated,
                             double dt, double* tau) noexcept nogil:
    """tau += N (posture's spring, limited by the tank) - N D0 N^T qd; dissipated: [W]."""
    cdef double* u = law.scratch                                # N^T qd
    cdef double* torque = law.scratch + law.n
    cdef double* damping = law.scratch + 2 * law.n
    cdef double power = 0.0
    cdef Py_ssize_t n = law.n
    null_velocity(law, qd, u)
    for i in range(n):
        ratio, inertia = law.joints.damping_ratio[i], 1.0 / law.Minv[i * (n + 1)]
        w = max_frequency(&law.settings, ratio)
        stiffness = fmin(law.joints.stiffness[i], w * w * inertia)
        damping[i] = 2.0 * ratio * sqrt(stiffness * inertia)
        torque[i] = stiffness * (law.joints.posture[i] - q[i])
        power += torque[i] * u[i]
    share = fmin(1.0, 4.0 * law.tank / law.settings.tank) if power > 0.0 else 1.0
    law.tank -= share * power * dt
    for i in range(n):
        torque[i] = share * torque[i] - damping[i] * u[i]
        dissipated += damping[i] * u[i] * u[i]
    law.tank = fmin(fmax(law.tank + dissipated * dt, 0.0), law.settings.tank)
    project(law, torque)
    for i in range(n):
        tau[i] += torque[i]


cdef inline double repulsion(double depth, double margin, double strength, double inertia,
                             double max_stiffness, double inward) noexcept nogil:
    """The repulsion from a stop at a depth into the margin before it: strength (depth / margin)^2,
    from where that is as stiff as it may be on a straight line; critically damped.
    """
    cdef double x = fmin(depth / margin, 2.0)
    cdef double bent = fmin(x, 0.5 * max_stiffness * margin / strength)
    if depth <= 0.0:
        return 0.0
    return fmax(strength * bent * (2.0 * x - bent)
                - 2.0 * sqrt(2.0 * strength * bent / margin * inertia) * inward, 0.0)


cdef inline void add_repulsion(const Impedance* law, const double* q, const double* qd,
                               double* tau) noexcept nogil:
    """tau += what keeps the joints off their stops: it only pushes, and only before a stop."""
    cdef double w = max_frequency(&law.settings, 1.0)
    for i in range(law.n):
        margin, strength = law.joints.margin[i], law.joints.repulsion[i]
        if margin > 0.0 and strength > 0.0:
            inertia = 1.0 / law.Minv[i * (law.n + 1)]
            max_stiffness = inertia * w * w
            tau[i] += repulsion(law.joints.lower[i] + margin - q[i], margin, strength, inertia,
                                max_stiffness, qd[i])
            tau[i] -= repulsion(q[i] - law.joints.upper[i] + margin, margin, strength, inertia,
                                max_stiffness, -qd[i])


cdef inline void limit_speed(const Impedance* law, const double* qd, double* tau) noexcept nogil:
    """Take out of tau what drives a joint beyond its speed limit (rule 8)."""
    cdef double rate = fmin(1.0 / BRAKING, max_frequency(&law.settings, 1.0))
    for i in range(law.n):
        speed, limit = fabs(qd[i]), law.joints.max_speed[i]
        slow = SLOW * limit
        if speed <= slow:
            continue
        if tau[i] * qd[i] > 0.0:
            tau[i] *= fmax((limit - speed) / (limit - slow), 0.0)
        tau[i] -= copysign(rate * (speed - slow) / law.Minv[i * (law.n + 1)], qd[i])


cdef inline void update_kinematics(Impedance* law, const DynamicsInterface* arm, const double* q,
                                   const double* qd) noexcept nogil:
    """Find the end effector's pose, Jacobian and velocity."""
    arm.frame(arm.self, law.link, law.offset, q, law.pose, law.J)
    for i in range(6):
        law.velocity[i] = 0.0
        for k in range(law.n):
            law.velocity[i] += law.J[i * law.n + k] * qd[k]


cdef inline Py_ssize_t update_inertia(const Impedance* law, const DynamicsInterface* arm,
                                      const double* armature, const double* q) noexcept nogil:
    """Minv = (M + diag(armature))^-1 (Sherman, Morrison); 1 + a joint of no inertia, or 0."""
    cdef double* column = law.scratch
    cdef Py_ssize_t n = law.n, failure = arm.minv(arm.self, q, law.Minv)
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
    """Find what the wrench depends on after dt; returns 1 + a joint that moves no inertia, or 0."""
    update_kinematics(law, arm, q, qd)
    failure = update_inertia(law, arm, armature, q)
    if failure:
        return failure
    pose_error(law.desired, law.target, law.remaining + 3, law.remaining)
    approach_part(law, 0, dt)
    approach_part(law, 1, dt)
    displace(law.desired, law.desired_velocity, dt)
    blend_stiffness(law, dt)
    find_inertia(law)
    find_modes(law)
    return 0


cdef inline void joint_torques(Impedance* law, const DynamicsInterface* arm, const double* q,
                               const double* qd, double dissipated, double dt,
                               const double* gravity, const double* effort,
                               double* tau) noexcept nogil:
    """tau, (n,) of the wrench and of all that moves the joints besides; arm: NULL without rule 10;
    dissipated: by the end effector's damping [W]; gravity, effort: as for cartesian_impedance.
    """
    for i in range(law.n):
        tau[i] = joint_effort(law, law.wrench, i)
    if arm != NULL:
        damp_bending(law, arm, q, qd, tau)
    if effort != NULL:
        limit_weight(law, arm, q, qd, gravity, effort, tau)
    add_posture(law, q, qd, dissipated, dt, tau)
    add_repulsion(law, q, qd, tau)
    limit_speed(law, qd, tau)


cdef inline Py_ssize_t cartesian_impedance(Impedance* law, const DynamicsInterface* arm,
                                           const double* armature, const double* q,
                                           const double* qd, double dt, const double* gravity,
                                           const double* effort, double* tau) noexcept nogil:
    """tau, (n,): the law after dt, without the model's torque, but for gravity and effort limits,
    (n,) each or NULL. Returns 1 + the index of a joint that moves no inertia, or 0.
    """
    cdef Py_ssize_t failure = update_law(law, arm, armature, q, qd, dt)
    if failure == 0:
        joint_torques(law, arm, q, qd, find_wrench(law, gravity, effort), dt,
                      gravity, effort, tau)
    return failure

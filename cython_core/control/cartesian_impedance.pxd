# Cartesian impedance control: the hand as a mass on a spring and a damper between it and a target.
#
#     tau = J^T F + N tau_posture + repulsion,    F = K e + D (V_d - V) + feed-forward + walls
#
# The model's torque is not part of it: gravity alone is what leaves the law passive (rule 5). Rules:
# 1. e is the pose error (pose.pxd). The spring is the gradient of a potential, so that no closed push gains energy: with
#    stiffness K and s^2 = e^T K e of the position error it is min(s, s_max) K e / s; the moment is that of the rotation
#    vector phi, taken through the derivative of exp: (1 - phi x / 2 + k phi x phi x) K phi. s_max keeps the force within
#    max_force (and the moment within max_torque) however far the target is. D V_d + feed-forward is bounded likewise:
#    what leads the hand never exceeds twice these, at a singular posture neither, where D is large.
# 2. K is diagonal in the compliance axes: those of the base, or of the desired pose. Everything up to F is in these.
# 3. With Lambda^-1 = J M^-1 J^T + B = L L^T, the operational-space inertia Lambda gives the modes of the hand on its
#    spring, L^T K L = U w^2 U^T, and D = L^-T U 2 zeta w U^T L^-1: each mode has the damping ratio zeta (Albu-Schaeffer,
#    Ott, Frese and Hirzinger, Cartesian impedance control of redundant robots, 2003: double diagonalisation). A mode that
#    moves along several axes takes the mean of their ratios, weighted by its energy there.
# 4. B = diag(1 / largest inertia) is what bounds Lambda where J loses rank. N = 1 - J^T Lambda J M^-1 (Khatib, 1987) then
#    leaves the share B Lambda of a null-space acceleration in the hand, a, and J^T D J stays below 2 zeta w M: nothing
#    grows at a singular posture. With X = B^-1/2 J M^-1/2, a is B^1/2 (X X^T + 1)^-1 X M^-1/2 tau0, so
#    a^T B^-1 a <= tau0^T M^-1 tau0 / 4, since s / (1 + s^2) <= 1/2; and N tau0 is in the metric M^-1 no larger than tau0.
# 5. Passivity. Springs, walls and repulsion are potentials, dampers symmetric: D, and N D0 N^T in the null space. The
#    posture's spring, seen through N, is none; so it draws on a tank that damping fills and that holds little (Ferraguti,
#    Secchi and Fantuzzi, A tank-based approach to impedance control with variable stiffness, 2013): it gives way when
#    the tank is empty.
# 6. The target is approached with bounded speed and acceleration: e and V_d are those of the pose on its way.
# 7. Inertia shaping (Khatib, 1987) gives the hand an inertia M_d, diagonal in the compliance axes, and each axis an equation
#    of its own: M_d a + D (V - V_d) = K e with D = 2 zeta sqrt(K M_d), by F = Lambda M_d^-1 (K e + D (V_d - V)) +
#    feed-forward + walls. A push against it meets Lambda M_d^-1 K. That is no potential: rule 5 does not hold. With
#    M_d^1/2 Lambda^-1 M_d^1/2 = U mu U^T it is F = M_d^1/2 U f U^T M_d^-1/2 (...), f = 1 / mu. Along a mode whose inertia is
#    beyond SHAPED times M_d, as near a singular posture, the spring has f = SHAPED alone; the damper then has
#    sqrt(SHAPED / mu), which keeps the mode's damping ratio.
# 8. No joint is driven to its speed limit: from SLOW of it on, what would drive it further is reduced, and a damper brakes it.
#    Both only take energy out.

from libc.math cimport INFINITY, atan, fabs, fmax, fmin, sqrt
from libc.string cimport memcpy

from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport add_cross_product, norm, pose_error, turn, turn_factor

cdef enum:
    WALLS = 64
    SHAPED = 10              # the most that inertia shaping makes of a spring

cdef extern from *:
    """
    #define SLOW (0.7)
    #define BRAKING (0.01)
    #define WALL (3.0)
    """
    const double SLOW            # share of a joint's speed limit,
    const double WALL            # times max_force: spring and feed-forward have two of them together
    const double BRAKING         # time constant of what brakes it then [s] (rule 8)

cdef struct Wall:            # keeps  normal . position >= offset
    double[3] normal         # unit, base axes
    double offset            # [m]
    double stiffness         # [N/m]
    double damping           # [N s/m]

cdef struct Approach:        # limits of the desired pose, linear and angular
    double[2] rate           # [1/s] that an error dies out with
    double[2] speed          # [m/s, rad/s]
    double[2] acceleration   # [m/s^2, rad/s^2]

cdef struct ImpedanceSettings:
    bint tip_axes
    double[6] stiffness      # [N/m, N m/rad]
    double[6] damping_ratio
    double[6] damping        # besides, for axes without stiffness [N s/m, N m s/rad]
    double[2] largest        # force [N] and moment [N m] of the spring, and again of D V_d + feed-forward
    double[6] largest_inertia    # [kg, kg m^2]
    bint inertia_shaping
    double[6] shaped_inertia     # M_d [kg, kg m^2]
    double transition_time   # of a change of stiffness [s]
    double tank              # [J]
    Approach approach
    Py_ssize_t walls
    Wall[WALLS] wall
    double* posture          # (n,) each
    double* posture_stiffness
    double* posture_damping_ratio
    double* lower
    double* upper
    double* margin           # before a stop where repulsion begins; 0: none
    double* repulsion        # at the stop [N m, N]
    double* speed            # limits of the joints [rad/s, m/s]

cdef struct Hand:            # what the model says of the hand
    const double* pose       # (16) in the base frame
    const double* J          # (6, n) at its origin, base axes, linear rows first
    const double* velocity   # (6) J qd
    const double* Minv       # (n, n)

cdef struct Impedance:       # state, and what the last step worked out
    Py_ssize_t n
    double[16] target        # asked for, base frame
    double[6] target_velocity
    double[6] feedforward    # wrench, base axes
    double[16] desired       # on its way there
    double[6] desired_velocity
    double[6] way            # error between the two
    double[6] error          # of the hand, base axes
    double[6] stiffness, old_stiffness
    double elapsed           # since the stiffness changed [s]
    double tank              # [J]
    double[6] wrench         # F, base axes
    double[36] L             # of rule 3
    double[36] A             # L L^T
    double[6] shaped_spring  # f of each mode (rule 7)
    double[6] shaped_damper
    double[6] mode_frequency # w [rad/s]
    double[6] mode_damping   # 2 zeta w
    double[36] modes         # U, columns; begins as 1
    double* T                # (6, n) J M^-1, in compliance axes
    double* Jc               # (6, n) J in compliance axes
    double* x                # (n,) scratch
    double* y                # (n,)


# Linear algebra of six numbers -------------------------------------------------------------------

cdef inline void cholesky(double* A) noexcept nogil:
    """A, (6, 6) positive definite, becomes L with L L^T = A, zero above its diagonal."""
    cdef Py_ssize_t i, j, k
    for j in range(6):
        for i in range(j):
            A[6 * i + j] = 0.0
        for i in range(j, 6):
            for k in range(j):
                A[6 * i + j] -= A[6 * i + k] * A[6 * j + k]
            A[6 * i + j] = sqrt(A[6 * j + j]) if i == j else A[6 * i + j] / A[6 * j + j]


cdef inline void divide_by_lower(const double* L, double* x) noexcept nogil:
    """x <- L^-1 x."""
    cdef Py_ssize_t i, k
    for i in range(6):
        for k in range(i):
            x[i] -= L[6 * i + k] * x[k]
        x[i] /= L[6 * i + i]


cdef inline void divide_by_upper(const double* L, double* x) noexcept nogil:
    """x <- L^-T x."""
    cdef Py_ssize_t i, k
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            x[i] -= L[6 * k + i] * x[k]
        x[i] /= L[6 * i + i]


cdef inline void times_inertia(const double* L, double* x) noexcept nogil:
    """x <- Lambda x."""
    divide_by_lower(L, x)
    divide_by_upper(L, x)


cdef inline void rotate_pair(double* P, double* U, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """One Jacobi rotation: P_ij becomes 0, U takes the rotation up (Golub and Van Loan, section 8.5)."""
    cdef double t = (P[7 * j] - P[7 * i]) / (2.0 * P[6 * i + j]), c, s, a, b
    cdef Py_ssize_t k
    t = (1.0 if t >= 0.0 else -1.0) / (fabs(t) + sqrt(1.0 + t * t))
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    for k in range(6):
        a, b = P[6 * k + i], P[6 * k + j]
        P[6 * k + i], P[6 * k + j] = c * a - s * b, s * a + c * b
    for k in range(6):
        a, b = P[6 * i + k], P[6 * j + k]
        P[6 * i + k], P[6 * j + k] = c * a - s * b, s * a + c * b
        a, b = U[6 * k + i], U[6 * k + j]
        U[6 * k + i], U[6 * k + j] = c * a - s * b, s * a + c * b


cdef inline void to_vectors(const double* U, double* P) noexcept nogil:
    """P <- U^T P U, (6, 6)."""
    cdef double[36] PU
    cdef Py_ssize_t i, j, k
    for i in range(6):
        for j in range(6):
            PU[6 * i + j] = 0.0
        for k in range(6):
            for j in range(6):
                PU[6 * i + j] += P[6 * i + k] * U[6 * k + j]
    for i in range(6):
        for j in range(6):
            P[6 * i + j] = 0.0
        for k in range(6):
            for j in range(6):
                P[6 * i + j] += U[6 * k + i] * PU[6 * k + j]


cdef inline void make_orthogonal(double* U) noexcept nogil:
    """Take rounding errors out of U^T U = 1: one step of Newton and Schulz, U <- U (3 - U^T U) / 2."""
    cdef double[36] U0, excess
    cdef Py_ssize_t i, j, k
    memcpy(U0, U, 36 * sizeof(double))
    for i in range(6):
        for j in range(6):
            excess[6 * i + j] = 1.5 if i == j else 0.0
        for k in range(6):
            for j in range(6):
                excess[6 * i + j] -= 0.5 * U0[6 * k + i] * U0[6 * k + j]
    for i in range(6):
        for j in range(6):
            U[6 * i + j] = 0.0
        for k in range(6):
            for j in range(6):
                U[6 * i + j] += U0[6 * i + k] * excess[6 * k + j]


cdef inline void eigenvectors(double* P, double* U) noexcept nogil:
    """The columns of U become eigenvectors of P, (6, 6), positive semidefinite, whose diagonal its eigenvalues.

    They are good to four digits, each for its own size. It begins with an orthogonal U: that of a moment ago needs few
    rotations.
    """
    cdef double size = 0.0
    cdef Py_ssize_t sweep, i, j
    cdef bint turned
    make_orthogonal(U)
    to_vectors(U, P)
    for i in range(6):
        size = fmax(size, P[7 * i])
    for sweep in range(12):
        turned = False
        for i in range(5):
            for j in range(i + 1, 6):
                if P[6 * i + j] * P[6 * i + j] > fmax(1e-8 * P[7 * i] * P[7 * j], 1e-24 * size * size):
                    rotate_pair(P, U, i, j)
                    turned = True
        if not turned:
            break


# The target --------------------------------------------------------------------------------------

cdef inline void approach_part(const Approach* limits, Py_ssize_t part, const double* way, const double* wanted,
                               double dt, double* velocity) noexcept nogil:
    """velocity (3) of the desired pose after dt, linear (part 0) or angular (1), on its way to a target with ``wanted``."""
    cdef double distance = norm(way), most = limits.acceleration[part], speed, size, factor
    cdef double[3] change
    cdef Py_ssize_t k
    speed = fmin(fmin(limits.rate[part] * distance, sqrt(most * distance)), limits.speed[part])
    for k in range(3):
        change[k] = wanted[k] - velocity[k]
        if distance > 0.0:
            change[k] += speed / distance * way[k]
        change[k] *= fmin(4.0 * limits.rate[part] * dt, 1.0)
    size = norm(change)
    factor = most * dt / size if size > most * dt else 1.0
    for k in range(3):
        velocity[k] += factor * change[k]
    size = norm(velocity)
    if size > limits.speed[part]:
        for k in range(3):
            velocity[k] *= limits.speed[part] / size


cdef inline void approach(Impedance* its, const ImpedanceSettings* settings, double dt) noexcept nogil:
    """Move the desired pose towards the target (rule 6)."""
    cdef double[3] phi
    cdef Py_ssize_t k
    pose_error(its.desired, its.target, its.way + 3, its.way)
    for k in range(2):
        approach_part(&settings.approach, k, its.way + 3 * k, its.target_velocity + 3 * k, dt,
                      its.desired_velocity + 3 * k)
    for k in range(3):
        its.desired[4 * k + 3] += dt * its.desired_velocity[k]
        phi[k] = dt * its.desired_velocity[3 + k]
    turn(phi, its.desired)


cdef inline void blend_stiffness(Impedance* its, const ImpedanceSettings* settings, double dt) noexcept nogil:
    """Lead the stiffness from the old one to the one that is set, with zero slope at both ends."""
    cdef double p = 1.0
    cdef Py_ssize_t k
    its.elapsed += dt
    if its.elapsed < settings.transition_time:
        p = its.elapsed / settings.transition_time
        p = p * p * (3.0 - 2.0 * p)
    for k in range(6):
        its.stiffness[k] = its.old_stiffness[k] + p * (settings.stiffness[k] - its.old_stiffness[k])


# The hand on its spring --------------------------------------------------------------------------

cdef inline void to_axes(const Impedance* its, const ImpedanceSettings* settings, const double* x, Py_ssize_t columns,
                         double* out) noexcept nogil:
    """Rows (6, columns) in base axes, in the compliance axes (rule 2)."""
    cdef Py_ssize_t half, i, c
    cdef const double* R = its.desired
    if not settings.tip_axes:
        memcpy(out, x, 6 * columns * sizeof(double))
        return
    for half in range(2):
        for i in range(3):
            for c in range(columns):
                out[(3 * half + i) * columns + c] = R[i] * x[3 * half * columns + c] \
                    + R[4 + i] * x[(3 * half + 1) * columns + c] + R[8 + i] * x[(3 * half + 2) * columns + c]


cdef inline void from_axes(const Impedance* its, const ImpedanceSettings* settings, const double* x,
                           double* out) noexcept nogil:
    """A wrench (6) in compliance axes, in base axes."""
    cdef Py_ssize_t half, i
    cdef const double* R = its.desired
    if not settings.tip_axes:
        memcpy(out, x, 6 * sizeof(double))
        return
    for half in range(2):
        for i in range(3):
            out[3 * half + i] = R[4 * i] * x[3 * half] + R[4 * i + 1] * x[3 * half + 1] + R[4 * i + 2] * x[3 * half + 2]


cdef inline void find_inertia(Impedance* its, const ImpedanceSettings* settings, const Hand* hand) noexcept nogil:
    """Jc, T and L of J M^-1 J^T + B, in compliance axes (rules 3, 4 and 7)."""
    cdef Py_ssize_t n = its.n, i, j, k
    cdef double* row
    to_axes(its, settings, hand.J, n, its.Jc)
    for i in range(6):
        row = its.T + i * n
        for k in range(n):
            row[k] = 0.0
        for j in range(n):
            for k in range(n):
                row[k] += its.Jc[i * n + j] * hand.Minv[j * n + k]
        for j in range(i + 1):
            its.L[6 * i + j] = 1.0 / settings.largest_inertia[i] if i == j else 0.0
            for k in range(n):
                its.L[6 * i + j] += row[k] * its.Jc[j * n + k]
    memcpy(its.A, its.L, 36 * sizeof(double))
    cholesky(its.L)


cdef inline void find_shape(Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """What inertia shaping makes of each mode, and the modes (rule 7)."""
    cdef const double* m = settings.shaped_inertia
    cdef double[36] P
    cdef double mu
    cdef Py_ssize_t i, j, k
    for i in range(6):
        for j in range(i + 1):
            P[6 * i + j] = P[6 * j + i] = sqrt(m[i] * m[j]) * its.A[6 * i + j]
    eigenvectors(P, its.modes)
    for k in range(6):
        mu = P[7 * k]
        its.shaped_spring[k] = fmin(1.0 / mu, SHAPED)
        its.shaped_damper[k] = sqrt(its.shaped_spring[k] / mu)
        its.mode_frequency[k] = sqrt(its.stiffness[k] / m[k])
        its.mode_damping[k] = 2.0 * settings.damping_ratio[k] * its.mode_frequency[k]


cdef inline void shape(const Impedance* its, const ImpedanceSettings* settings, const double* f,
                       double* F) noexcept nogil:
    """F <- M_d^1/2 U f U^T M_d^-1/2 F, compliance axes (rule 7)."""
    cdef double[6] z
    cdef Py_ssize_t i, k
    for k in range(6):
        z[k] = 0.0
        for i in range(6):
            z[k] += its.modes[6 * i + k] * F[i] / sqrt(settings.shaped_inertia[i])
    for i in range(6):
        F[i] = 0.0
        for k in range(6):
            F[i] += its.modes[6 * i + k] * f[k] * z[k]
        F[i] *= sqrt(settings.shaped_inertia[i])


cdef inline void find_modes(Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """The modes U of the hand on its spring and their damping 2 zeta w (rule 3)."""
    cdef double[36] P
    cdef double v, energy, ratio, largest = 0.0
    cdef Py_ssize_t i, j, k
    if settings.inertia_shaping:
        find_shape(its, settings)
        return
    for i in range(6):
        for j in range(i + 1):
            P[6 * i + j] = 0.0
            for k in range(i, 6):
                P[6 * i + j] += its.L[6 * k + i] * its.stiffness[k] * its.L[6 * k + j]
            P[6 * j + i] = P[6 * i + j]
    eigenvectors(P, its.modes)
    for k in range(6):
        largest = fmax(largest, P[7 * k])
    for k in range(6):
        energy = ratio = 0.0
        for i in range(6):
            v = 0.0
            for j in range(i + 1):
                v += its.L[6 * i + j] * its.modes[6 * j + k]
            energy += its.stiffness[i] * v * v
            ratio += settings.damping_ratio[i] * its.stiffness[i] * v * v
        its.mode_frequency[k] = its.mode_damping[k] = 0.0
        if energy > 1e-12 * largest:
            its.mode_frequency[k] = sqrt(energy)
            its.mode_damping[k] = 2.0 * ratio / sqrt(energy)


cdef inline double delay_margin(const Impedance* its) noexcept nogil:
    """The delay from state to torque that brings the fastest mode to the edge of stability [s].

    A mode's loop is (2 zeta w s + w^2) / s^2 exp(-s T): its gain is 1 at w_c = w sqrt(2 zeta^2 + sqrt(4 zeta^4 + 1)), where
    atan(2 zeta w_c / w) is left of its phase for w_c T. Half a sampling period is part of T. ``damping`` is left out.
    """
    cdef double least = INFINITY, w, z, crossover
    cdef Py_ssize_t k
    for k in range(6):
        w = its.mode_frequency[k]
        if w > 0.0:
            z = 0.5 * its.mode_damping[k] / w
            crossover = sqrt(2.0 * z * z + sqrt(4.0 * z * z * z * z + 1.0))
            least = fmin(least, atan(2.0 * z * crossover) / (crossover * w))
    return least


cdef inline void damper(const Impedance* its, const ImpedanceSettings* settings, const double* v,
                        double* F) noexcept nogil:
    """F = D v, and the damping besides; compliance axes."""
    cdef double[6] z
    cdef Py_ssize_t i, k
    if settings.inertia_shaping:
        for k in range(6):
            F[k] = (settings.shaped_inertia[k] * its.mode_damping[k] + settings.damping[k]) * v[k]
        shape(its, settings, its.shaped_damper, F)
        return
    memcpy(F, v, 6 * sizeof(double))
    divide_by_lower(its.L, F)
    for k in range(6):
        z[k] = 0.0
        for i in range(6):
            z[k] += its.modes[6 * i + k] * F[i]
        z[k] *= its.mode_damping[k]
    for i in range(6):
        F[i] = 0.0
        for k in range(6):
            F[i] += its.modes[6 * i + k] * z[k]
    divide_by_upper(its.L, F)
    for i in range(6):
        F[i] += settings.damping[i] * v[i]


cdef inline void spring(const double* stiffness, double largest, const double* e, double* f) noexcept nogil:
    """f = K e, (3), from s_max on only as long as it is there (rule 1)."""
    cdef double s2 = 0.0, k_max = 0.0, factor = 1.0
    cdef Py_ssize_t k
    for k in range(3):
        s2 += stiffness[k] * e[k] * e[k]
        k_max = fmax(k_max, stiffness[k])
    if s2 * k_max > largest * largest:
        factor = largest / sqrt(s2 * k_max)
    for k in range(3):
        f[k] = factor * stiffness[k] * e[k]


cdef inline double strain(const Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """How far the hand is off over where its spring pulls with all of its force, or moment (rule 1)."""
    cdef double[6] e
    cdef double s2, k_max, worst = 0.0
    cdef Py_ssize_t half, k
    to_axes(its, settings, its.error, 1, e)
    for half in range(2):
        s2 = k_max = 0.0
        for k in range(3 * half, 3 * half + 3):
            s2 += its.stiffness[k] * e[k] * e[k]
            k_max = fmax(k_max, its.stiffness[k])
        worst = fmax(worst, sqrt(s2 * k_max) / settings.largest[half])
    return worst


cdef inline void limit(double largest, double* f) noexcept nogil:
    """Shorten f, (3), to a length."""
    cdef double size = norm(f)
    cdef Py_ssize_t k
    if size > largest:
        for k in range(3):
            f[k] *= largest / size


cdef inline void add_spring(const Impedance* its, const ImpedanceSettings* settings, const double* e,
                            double* F) noexcept nogil:
    """F += K e with the moment of a rotation vector (rule 1)."""
    cdef double[3] force, gradient, turned, moment
    cdef double k = turn_factor(e + 3)
    cdef Py_ssize_t i
    spring(its.stiffness, settings.largest[0], e, force)
    spring(its.stiffness + 3, settings.largest[1], e + 3, gradient)
    for i in range(3):
        turned[i] = 0.0
    add_cross_product(1.0, e + 3, gradient, turned)
    for i in range(3):
        moment[i] = gradient[i] - 0.5 * turned[i]
    add_cross_product(k, e + 3, turned, moment)
    limit(settings.largest[1], moment)
    for i in range(3):
        F[i] += force[i]
        F[3 + i] += moment[i]


cdef inline void add_walls(const ImpedanceSettings* settings, const Hand* hand, double* F) noexcept nogil:
    """F += what the walls push with: a wall never pulls. Base axes.

    More than WALL times max_force would only throw out a hand that a new wall has found within it.
    """
    cdef const Wall* wall
    cdef double depth, rate, push
    cdef Py_ssize_t i, k
    for i in range(settings.walls):
        wall = &settings.wall[i]
        depth, rate = wall.offset, 0.0
        for k in range(3):
            depth -= wall.normal[k] * hand.pose[4 * k + 3]
            rate -= wall.normal[k] * hand.velocity[k]
        if depth > 0.0:
            push = fmin(fmax(wall.stiffness * depth + wall.damping * rate, 0.0), WALL * settings.largest[0])
            for k in range(3):
                F[k] += push * wall.normal[k]


cdef inline double find_wrench(Impedance* its, const ImpedanceSettings* settings, const Hand* hand) noexcept nogil:
    """F in base axes, into its.wrench. Returns what its damping takes out of the hand [W].

    D V only takes energy out and is not bounded; D V_d is what the target pulls with, and bounded as the feed-forward.
    """
    cdef double[6] e, v, F, drag, pull
    cdef double dissipated = 0.0
    cdef Py_ssize_t k
    pose_error(hand.pose, its.desired, its.error + 3, its.error)
    to_axes(its, settings, its.desired_velocity, 1, v)
    damper(its, settings, v, drag)
    from_axes(its, settings, drag, pull)
    to_axes(its, settings, hand.velocity, 1, v)
    damper(its, settings, v, drag)
    to_axes(its, settings, its.error, 1, e)
    for k in range(6):
        F[k] = 0.0
        pull[k] += its.feedforward[k]
    add_spring(its, settings, e, F)
    if settings.inertia_shaping:
        shape(its, settings, its.shaped_spring, F)
        limit(settings.largest[0], F)
        limit(settings.largest[1], F + 3)
    for k in range(6):
        F[k] -= drag[k]
        dissipated += drag[k] * v[k]
    from_axes(its, settings, F, its.wrench)
    limit(settings.largest[0], pull)
    limit(settings.largest[1], pull + 3)
    for k in range(6):
        its.wrench[k] += pull[k]
    add_walls(settings, hand, its.wrench)
    return fmax(dissipated, 0.0)                                # shaped, it may be negative


# The joints --------------------------------------------------------------------------------------

cdef inline void null_velocity(const Impedance* its, const ImpedanceSettings* settings, const Hand* hand,
                               const double* qd, double* out) noexcept nogil:
    """out = N^T qd, what the joints do without moving the hand."""
    cdef double[6] v
    cdef Py_ssize_t i, a
    to_axes(its, settings, hand.velocity, 1, v)
    times_inertia(its.L, v)
    for i in range(its.n):
        out[i] = qd[i]
        for a in range(6):
            out[i] -= its.T[a * its.n + i] * v[a]


cdef inline void project(const Impedance* its, double* torque) noexcept nogil:
    """torque <- N torque: what of it leaves the hand alone."""
    cdef double[6] a
    cdef Py_ssize_t i, k, n = its.n
    for k in range(6):
        a[k] = 0.0
        for i in range(n):
            a[k] += its.T[k * n + i] * torque[i]
    times_inertia(its.L, a)
    for i in range(n):
        for k in range(6):
            torque[i] -= its.Jc[k * n + i] * a[k]


cdef inline void add_posture(Impedance* its, const ImpedanceSettings* settings, const Hand* hand, const double* q,
                             const double* qd, double dissipated, double dt, double* tau) noexcept nogil:
    """tau += N (posture's spring) - N D0 N^T qd, the spring as far as the tank reaches (rule 5)."""
    cdef double* u = its.x                                      # N^T qd
    cdef double* torque = its.y
    cdef double power = 0.0, share, d
    cdef Py_ssize_t i, n = its.n
    null_velocity(its, settings, hand, qd, u)
    for i in range(n):
        torque[i] = settings.posture_stiffness[i] * (settings.posture[i] - q[i])
        power += torque[i] * u[i]
    share = fmin(1.0, 4.0 * its.tank / settings.tank) if power > 0.0 else 1.0
    its.tank -= share * power * dt
    for i in range(n):
        d = 2.0 * settings.posture_damping_ratio[i] * sqrt(settings.posture_stiffness[i] / hand.Minv[i * (n + 1)])
        torque[i] = share * torque[i] - d * u[i]
        dissipated += d * u[i] * u[i]
    its.tank = fmin(fmax(its.tank + dissipated * dt, 0.0), settings.tank)
    project(its, torque)
    for i in range(n):
        tau[i] += torque[i]


cdef inline double pushed_inside(double depth, double margin, double strength, double inertia,
                                 double inward) noexcept nogil:
    """The repulsion from a stop at a depth into the margin before it: strength (depth / margin)^2, critically damped."""
    cdef double x = fmin(depth / margin, 2.0)
    if depth <= 0.0:
        return 0.0
    return fmax(strength * x * x - 2.0 * sqrt(2.0 * strength * x / margin * inertia) * inward, 0.0)


cdef inline void add_repulsion(const ImpedanceSettings* settings, const Hand* hand, Py_ssize_t n, const double* q,
                               const double* qd, double* tau) noexcept nogil:
    """tau += what keeps the joints away from their stops: it only pushes, and only before a stop."""
    cdef double margin, inertia
    cdef Py_ssize_t i
    for i in range(n):
        margin = settings.margin[i]
        if margin > 0.0:
            inertia = 1.0 / hand.Minv[i * (n + 1)]
            tau[i] += pushed_inside(settings.lower[i] + margin - q[i], margin, settings.repulsion[i], inertia, qd[i])
            tau[i] -= pushed_inside(q[i] - settings.upper[i] + margin, margin, settings.repulsion[i], inertia, -qd[i])


cdef inline void spare_speed(const ImpedanceSettings* settings, const Hand* hand, Py_ssize_t n, const double* qd,
                             double* tau) noexcept nogil:
    """Take out of tau what drives a joint beyond its speed limit (rule 8)."""
    cdef double speed, most, slow
    cdef Py_ssize_t i
    for i in range(n):
        speed, most = fabs(qd[i]), settings.speed[i]
        slow = SLOW * most
        if speed <= slow:
            continue
        if tau[i] * qd[i] > 0.0:
            tau[i] *= fmax((most - speed) / (most - slow), 0.0)
        tau[i] -= (speed - slow) / (BRAKING * hand.Minv[i * (n + 1)]) * (1.0 if qd[i] > 0.0 else -1.0)


# The law -----------------------------------------------------------------------------------------

cdef inline Py_ssize_t memory_size(Py_ssize_t n) noexcept nogil:
    """How many numbers a law for n joints needs."""
    return 22 * n


cdef inline void lay_out(Impedance* its, ImpedanceSettings* settings, Py_ssize_t n, double* memory) noexcept nogil:
    """Take memory_size(n) numbers for the arrays of a state and its settings."""
    its.n = n
    its.T, its.Jc = memory, memory + 6 * n
    its.x, its.y = memory + 12 * n, memory + 13 * n
    settings.posture = memory + 14 * n
    settings.posture_stiffness = memory + 15 * n
    settings.posture_damping_ratio = memory + 16 * n
    settings.lower, settings.upper = memory + 17 * n, memory + 18 * n
    settings.margin, settings.repulsion, settings.speed = memory + 19 * n, memory + 20 * n, memory + 21 * n


cdef inline void start_impedance(Impedance* its, const ImpedanceSettings* settings, const double* pose) noexcept nogil:
    """Begin at rest, the target being where the hand is."""
    cdef Py_ssize_t k
    memcpy(its.target, pose, 16 * sizeof(double))
    memcpy(its.desired, pose, 16 * sizeof(double))
    for k in range(6):
        its.target_velocity[k] = its.feedforward[k] = its.desired_velocity[k] = its.way[k] = its.error[k] = 0.0
        its.stiffness[k] = its.old_stiffness[k] = settings.stiffness[k]
    for k in range(36):
        its.modes[k] = 1.0 if k % 7 == 0 else 0.0
    its.elapsed = settings.transition_time
    its.tank = settings.tank


cdef inline void cartesian_impedance(Impedance* its, const ImpedanceSettings* settings, const Hand* hand,
                                     const double* q, const double* qd, double dt, double* tau) noexcept nogil:
    """tau, (n,): the law after a step of time dt, without the model's torque."""
    cdef Py_ssize_t i, k, n = its.n
    cdef double dissipated
    approach(its, settings, dt)
    blend_stiffness(its, settings, dt)
    find_inertia(its, settings, hand)
    find_modes(its, settings)
    dissipated = find_wrench(its, settings, hand)
    for i in range(n):
        tau[i] = 0.0
        for k in range(6):
            tau[i] += hand.J[k * n + i] * its.wrench[k]
    add_posture(its, settings, hand, q, qd, dissipated, dt, tau)
    add_repulsion(settings, hand, n, q, qd, tau)
    spare_speed(settings, hand, n, qd, tau)


cdef inline void add_armature(double* Minv, Py_ssize_t n, const double* armature, double* column) noexcept nogil:
    """Minv, (n, n), becomes (M + diag(armature))^-1, joint by joint (Sherman and Morrison). column: (n,) scratch."""
    cdef double share
    cdef Py_ssize_t i, j, k
    for i in range(n):
        if armature[i] == 0.0:
            continue
        share = armature[i] / (1.0 + armature[i] * Minv[i * (n + 1)])
        memcpy(column, Minv + i * n, n * sizeof(double))
        for j in range(n):
            for k in range(n):
                Minv[j * n + k] -= share * column[j] * column[k]


cdef inline void move_to_point(const double* point, Py_ssize_t n, double* pose, double* J) noexcept nogil:
    """Make pose (16) and J (6, n) of a link those of a frame fixed to it: its pose (16) in the link's frame."""
    cdef double[16] T
    cdef double[3] arm, column
    cdef Py_ssize_t i, j, k
    for i in range(3):
        arm[i] = pose[4 * i] * point[3] + pose[4 * i + 1] * point[7] + pose[4 * i + 2] * point[11]
        for j in range(4):
            T[4 * i + j] = pose[4 * i] * point[j] + pose[4 * i + 1] * point[4 + j] + pose[4 * i + 2] * point[8 + j]
        T[4 * i + 3] += pose[4 * i + 3]
    memcpy(pose, T, 12 * sizeof(double))
    for k in range(n):
        for i in range(3):
            column[i] = J[(3 + i) * n + k]
            T[i] = J[i * n + k]
        add_cross_product(1.0, column, arm, T)
        for i in range(3):
            J[i * n + k] = T[i]


cdef inline void hand_kinematics(const DynamicsInterface* arm, Py_ssize_t link, const double* point, const double* q,
                              const double* qd, double* pose, double* J, double* velocity) noexcept nogil:
    """Find pose (16), Jacobian (6, n) and velocity (6) of a frame fixed to a link: its pose (16) in the link's frame."""
    cdef Py_ssize_t n = arm.n, i, k
    arm.link_pose(arm.self, link, q, pose)
    arm.jacobian(arm.self, link, q, J)
    move_to_point(point, n, pose, J)
    for i in range(6):
        velocity[i] = 0.0
        for k in range(n):
            velocity[i] += J[i * n + k] * qd[k]

# Cartesian impedance control (cartesian_impedance.pxd): the modes of the end effector on its
# spring, and the damper that gives each its damping ratio (rules 2, 3, 4, 7 and 9).

from libc.math cimport INFINITY, atan, fmax, fmin, sqrt, fabs
from libc.string cimport memcpy

from control.impedance_state cimport Impedance, ImpedanceSettings
from dynamics_interface cimport DynamicsInterface
from task_space.small_matrices cimport (cholesky, congruent, divide_by_lower, divide_by_upper,
                                        eigenvectors, product, times_lower)

cdef extern from *:
    const int MAX_SHAPING "10"       # the most that inertia shaping makes of a spring
    const double MIN_RATIO "0.1"     # damping ratio below which a spring is not softened further


cdef inline double edge(double z) noexcept nogil:
    """w T at which a mode with damping ratio z and delay T is at the edge of stability: the loop (2
    z w s + w^2) / s^2 exp(-s T) has gain 1 at w_c = w sqrt(2 z^2 + sqrt(4 z^4 + 1)), and then
    atan(2 z w_c / w) of its phase left for w_c T.
    """
    cdef double crossover = sqrt(2.0 * z * z + sqrt(4.0 * z * z * z * z + 1.0))
    return atan(2.0 * z * crossover) / crossover


cdef inline double max_frequency(const ImpedanceSettings* settings, double z) noexcept nogil:
    """The fastest mode with the damping ratio z that the delay allows [rad/s] (rule 9)."""
    return edge(fmax(z, MIN_RATIO)) / settings.delay if settings.delay > 0.0 else INFINITY


cdef inline void change_axes(const double* R, Py_ssize_t row, Py_ssize_t column, const double* x,
                             Py_ssize_t columns, double* out) noexcept nogil:
    """out = R x of both halves of (6, columns). row, column: steps in R from one to the next."""
    for half in range(2):
        for i in range(3):
            for c in range(columns):
                out[(3 * half + i) * columns + c] = (
                    R[row * i] * x[3 * half * columns + c]
                    + R[row * i + column] * x[(3 * half + 1) * columns + c]
                    + R[row * i + 2 * column] * x[(3 * half + 2) * columns + c])


cdef inline void to_axes(const Impedance* law, const double* x, Py_ssize_t columns,
                         double* out) noexcept nogil:
    """Rows (6, columns) in base axes, in the compliance axes (rule 2)."""
    if law.settings.tip_axes:
        change_axes(law.desired, 1, 4, x, columns, out)
    else:
        memcpy(out, x, 6 * columns * sizeof(double))


cdef inline void from_axes(const Impedance* law, const double* x, double* out) noexcept nogil:
    """A wrench (6) in compliance axes, in base axes."""
    if law.settings.tip_axes:
        change_axes(law.desired, 4, 1, x, 1, out)
    else:
        memcpy(out, x, 6 * sizeof(double))


cdef inline void times_inertia(const double* L, double* x) noexcept nogil:
    """x <- Lambda x."""
    divide_by_lower(6, L, x)
    divide_by_upper(6, L, 1, x)


cdef inline double joint_effort(const Impedance* law, const double* F,
                                Py_ssize_t joint) noexcept nogil:
    """J^T F of one joint, for a wrench on the end effector, base axes."""
    cdef double effort = 0.0
    for k in range(6):
        effort += law.J[k * law.n + joint] * F[k]
    return effort


cdef inline void find_inertia(Impedance* law) noexcept nogil:
    """Jc, T, A = J M^-1 J^T + B and its L, in compliance axes (rules 3, 4 and 7)."""
    cdef Py_ssize_t n = law.n
    to_axes(law, law.J, n, law.Jc)
    for i in range(6):
        row = law.T + i * n
        for k in range(n):
            row[k] = 0.0
        for j in range(n):
            for k in range(n):
                row[k] += law.Jc[i * n + j] * law.Minv[j * n + k]
        for j in range(i + 1):
            law.L[6 * i + j] = 1.0 / law.settings.max_inertia[i] if i == j else 0.0
            for k in range(n):
                law.L[6 * i + j] += row[k] * law.Jc[j * n + k]
    memcpy(law.A, law.L, 36 * sizeof(double))
    cholesky(6, law.L)


cdef inline void modes_of_spring(Impedance* law) noexcept nogil:
    """The modes on the spring and their damping (rule 3)."""
    cdef double[36] P
    cdef double[72] scratch
    cdef double largest = 0.0
    for i in range(6):
        for j in range(i + 1):
            P[6 * i + j] = 0.0
            for k in range(i, 6):
                P[6 * i + j] += law.L[6 * k + i] * law.stiffness[k] * law.L[6 * k + j]
            P[6 * j + i] = P[6 * i + j]
    eigenvectors(6, P, law.U, scratch)
    product(6, law.L, 6, 1, law.U, law.V)
    memcpy(law.W, law.U, 36 * sizeof(double))
    divide_by_upper(6, law.L, 6, law.W)
    for k in range(6):
        largest = fmax(largest, P[7 * k])
    for k in range(6):
        energy = ratio = 0.0
        for i in range(6):
            v = law.V[6 * i + k]
            energy += law.stiffness[i] * v * v
            ratio += law.settings.damping_ratio[i] * law.stiffness[i] * v * v
        law.mode_frequency[k] = law.mode_damping[k] = 0.0
        if energy > 1e-12 * largest:
            law.mode_frequency[k] = sqrt(energy)
            law.mode_damping[k] = 2.0 * ratio / sqrt(energy)


cdef inline void modes_of_shape(Impedance* law) noexcept nogil:
    """The modes between shaped and real inertia (rule 7); frequency and damping of the axes."""
    cdef const double* m = law.settings.shaped_inertia
    cdef double[36] P
    cdef double[72] scratch
    for i in range(6):
        for j in range(i + 1):
            P[6 * i + j] = P[6 * j + i] = sqrt(m[i] * m[j]) * law.A[6 * i + j]
    eigenvectors(6, P, law.U, scratch)
    for i in range(6):
        for k in range(6):
            law.V[6 * i + k], law.W[6 * i + k] = (
                law.U[6 * i + k] / sqrt(m[i]), law.U[6 * i + k] * sqrt(m[i]))
    for k in range(6):
        mu = P[7 * k]
        law.shaped_spring[k] = fmin(1.0 / mu, MAX_SHAPING)
        law.shaped_damper[k] = sqrt(law.shaped_spring[k] / mu)
        law.mode_frequency[k] = sqrt(law.stiffness[k] / m[k])
        law.mode_damping[k] = 2.0 * law.settings.damping_ratio[k] * law.mode_frequency[k]


cdef inline void find_modes(Impedance* law) noexcept nogil:
    """The modes; those too fast for the delay are slowed, with their damping ratios (rule 9)."""
    if law.settings.inertia_shaping:
        modes_of_shape(law)
    else:
        modes_of_spring(law)
    for k in range(6):
        w, law.softened[k] = law.mode_frequency[k], 1.0
        if w > 0.0:
            share = max_frequency(&law.settings, 0.5 * law.mode_damping[k] / w) / w
            if share < 1.0:
                law.softened[k] = share * share
                law.mode_frequency[k] *= share
                law.mode_damping[k] *= share


cdef inline void through_modes(const double* W, const double* factor, const double* V,
                               double* F) noexcept nogil:
    """F <- W diag(factor) V^T F."""
    cdef double[6] z
    for k in range(6):
        z[k] = 0.0
    for i in range(6):
        for k in range(6):
            z[k] += V[6 * i + k] * F[i]
    for k in range(6):
        z[k] *= factor[k]
    for i in range(6):
        F[i] = 0.0
        for k in range(6):
            F[i] += W[6 * i + k] * z[k]


cdef inline void reduce_spring(const Impedance* law, double* F) noexcept nogil:
    """Make the spring's wrench K e, in compliance axes, that of softened or shaped springs."""
    cdef bint softened = False
    for k in range(6):
        softened |= law.softened[k] != 1.0
    if law.settings.inertia_shaping:
        for k in range(6):
            F[k] *= law.softened[k]                             # each axis is a mode
        through_modes(law.W, law.shaped_spring, law.V, F)
    elif softened:
        through_modes(law.W, law.softened, law.V, F)


cdef inline double spring_left(const Impedance* law) noexcept nogil:
    """What softening (rule 9) leaves of the torque that the spring has for the present error."""
    cdef double[6] e, full, soft
    cdef double size = 0.0, left = 0.0
    to_axes(law, law.error, 1, e)
    for i in range(6):
        full[i] = law.stiffness[i] * e[i]
        soft[i] = law.softened[i] * full[i]                     # where each axis is a mode
    if not law.settings.inertia_shaping:
        memcpy(soft, full, sizeof(full))
        through_modes(law.W, law.softened, law.V, soft)
    for j in range(law.n):
        torque = whole = 0.0
        for i in range(6):
            torque += law.Jc[i * law.n + j] * soft[i]
            whole += law.Jc[i * law.n + j] * full[i]
        left += torque * whole
        size += whole * whole
    return left / size if size > 0.0 else 1.0


cdef inline double shaped_damping(const Impedance* law, Py_ssize_t k) noexcept nogil:
    """Of an axis with shaped inertia."""
    cdef const ImpedanceSettings* settings = &law.settings
    cdef double own = settings.shaped_inertia[k] * law.mode_damping[k]
    return fmax(own + settings.damping[k], settings.min_damping[k])


cdef inline void damper(const Impedance* law, const double* v, double* F) noexcept nogil:
    """F = D v plus the additional damping; compliance axes."""
    cdef const ImpedanceSettings* settings = &law.settings
    if settings.inertia_shaping:
        for k in range(6):
            F[k] = shaped_damping(law, k) * v[k]
        through_modes(law.W, law.shaped_damper, law.V, F)
        return
    memcpy(F, v, 6 * sizeof(double))
    through_modes(law.W, law.mode_damping, law.W, F)
    for k in range(6):
        F[k] += settings.damping[k] * v[k]


cdef inline double delay_margin(const Impedance* law) noexcept nogil:
    """The delay from state to torque, half a sampling period being part of it, that brings the
    fastest mode to the edge of stability [s]; ``damping`` is left out.
    """
    cdef double margin = INFINITY
    for k in range(6):
        w = law.mode_frequency[k]
        if w > 0.0:
            margin = fmin(margin, edge(0.5 * law.mode_damping[k] / w) / w)
    return margin


# The damper of what the wrench does by turning its own lever arms (rule 10).

cdef inline double damping_of_end_effector(const Impedance* law, const double* x) noexcept nogil:
    """x^T J^T D J x of a motion of the joints (n,)."""
    cdef double[6] v, drag
    cdef double power = 0.0
    for k in range(6):
        v[k] = 0.0
        for i in range(law.n):
            v[k] += law.Jc[k * law.n + i] * x[i]
    damper(law, v, drag)
    for k in range(6):
        power += drag[k] * v[k]
    return power


cdef inline double missing_damping(const Impedance* law, double stiffness,
                                   double damping) noexcept nogil:
    """What a mode of mass 1 lacks to be critically damped, and to bear the delay."""
    cdef double bound = 2.0 * max_frequency(&law.settings, 1.0)
    return fmax(fmin(sqrt(4.0 * fabs(stiffness) + damping * damping), bound) - damping, 0.0)


cdef inline void damp_bending(Impedance* law, const DynamicsInterface* arm, const double* q,
                              const double* qd, double* tau) noexcept nogil:
    """tau -= the damping that the arm's modes under the wrench lack (rule 10)."""
    cdef double* mode = law.scratch                             # joint motion of one
    cdef double* force = law.scratch + law.n
    cdef double* speed = law.scratch + 2 * law.n
    cdef double[3] point
    cdef Py_ssize_t n = law.n
    for i in range(3):
        point[i] = law.pose[4 * i + 3]
    arm.geometric_stiffness(arm.self, law.link, point, q, law.load, law.bending)
    memcpy(law.Lq, law.Minv, n * n * sizeof(double))
    if not cholesky(n, law.Lq):
        return
    congruent(n, law.Lq, law.bending, law.square)
    eigenvectors(n, law.bending, law.bending_modes, law.square)
    memcpy(speed, qd, n * sizeof(double))
    divide_by_lower(n, law.Lq, speed)
    for i in range(n):
        force[i] = 0.0
    for k in range(n):
        if law.bending[(n + 1) * k] == 0.0:
            continue
        along = 0.0
        for i in range(n):
            mode[i] = law.bending_modes[n * i + k]
            along += mode[i] * speed[i]
        times_lower(n, law.Lq, mode)
        along *= missing_damping(law, law.bending[(n + 1) * k], damping_of_end_effector(law, mode))
        for i in range(n):
            force[i] += along * law.bending_modes[n * i + k]
    divide_by_upper(n, law.Lq, 1, force)
    for i in range(n):
        tau[i] -= force[i]

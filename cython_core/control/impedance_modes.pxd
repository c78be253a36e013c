# Cartesian impedance control (cartesian_impedance.pxd): the modes of the hand on its spring, and
# the damper that gives each its damping ratio (rules 2, 3, 4, 7 and 9).

from libc.math cimport INFINITY, atan, fmax, fmin, sqrt
from libc.string cimport memcpy

from control.impedance_state cimport Hand, Impedance, ImpedanceSettings
from task_space.matrix6 cimport cholesky, divide_by_lower, divide_by_upper, eigenvectors

cdef enum:
    SHAPED = 10              # the most that inertia shaping makes of a spring

cdef extern from *:
    """
    #define LEAST_RATIO (0.1)
    """
    const double LEAST_RATIO     # damping ratio below which a spring is not softened further


cdef inline double edge(double z) noexcept nogil:
    """w T at which a mode with the damping ratio z and a delay T is at the edge of stability.

    Its loop is (2 z w s + w^2) / s^2 exp(-s T): its gain is 1 at w_c = w sqrt(2 z^2 +
    sqrt(4 z^4 + 1)), where atan(2 z w_c / w) is left of its phase for w_c T.
    """
    cdef double crossover = sqrt(2.0 * z * z + sqrt(4.0 * z * z * z * z + 1.0))
    return atan(2.0 * z * crossover) / crossover


cdef inline double highest_frequency(const ImpedanceSettings* settings, double z) noexcept nogil:
    """The fastest mode with the damping ratio z that the delay allows [rad/s] (rule 9)."""
    return edge(fmax(z, LEAST_RATIO)) / settings.delay if settings.delay > 0.0 else INFINITY


cdef inline void to_axes(const Impedance* its, const ImpedanceSettings* settings, const double* x,
                         Py_ssize_t columns, double* out) noexcept nogil:
    """Rows (6, columns) in base axes, in the compliance axes (rule 2)."""
    cdef Py_ssize_t half, i, c
    cdef const double* R = its.desired
    if not settings.tip_axes:
        memcpy(out, x, 6 * columns * sizeof(double))
        return
    for half in range(2):
        for i in range(3):
            for c in range(columns):
                out[(3 * half + i) * columns + c] = (R[i] * x[3 * half * columns + c]
                                                     + R[4 + i] * x[(3 * half + 1) * columns + c]
                                                     + R[8 + i] * x[(3 * half + 2) * columns + c])


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
            out[3 * half + i] = (R[4 * i] * x[3 * half] + R[4 * i + 1] * x[3 * half + 1]
                                 + R[4 * i + 2] * x[3 * half + 2])


cdef inline void times_inertia(const double* L, double* x) noexcept nogil:
    """x <- Lambda x."""
    divide_by_lower(L, x)
    divide_by_upper(L, x)


cdef inline void find_inertia(Impedance* its, const ImpedanceSettings* settings,
                              const Hand* hand) noexcept nogil:
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


cdef inline void soften_modes(Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """Slow the modes that are faster than the delay allows; their damping ratio stays (rule 9)."""
    cdef double w, share
    cdef Py_ssize_t k
    for k in range(6):
        w, its.softened[k] = its.mode_frequency[k], 1.0
        if w > 0.0:
            share = highest_frequency(settings, 0.5 * its.mode_damping[k] / w) / w
            if share < 1.0:
                its.softened[k] = share * share
                its.mode_frequency[k] *= share
                its.mode_damping[k] *= share


cdef inline void soften(const Impedance* its, const ImpedanceSettings* settings,
                        double* F) noexcept nogil:
    """F <- L^-T U s U^T L^T F, the wrench K e of the springs that are left; compliance axes.

    With inertia shaping each axis is a mode.
    """
    cdef double[6] z
    cdef double least = 1.0
    cdef Py_ssize_t i, k
    for k in range(6):
        least = fmin(least, its.softened[k])
    if least == 1.0:
        return
    if settings.inertia_shaping:
        for k in range(6):
            F[k] *= its.softened[k]
        return
    for i in range(6):
        z[i] = 0.0
        for k in range(i, 6):
            z[i] += its.L[6 * k + i] * F[k]
    for k in range(6):
        F[k] = 0.0
        for i in range(6):
            F[k] += its.softened[k] * its.modes[6 * i + k] * z[i]
    for i in range(6):
        z[i] = 0.0
        for k in range(6):
            z[i] += its.modes[6 * i + k] * F[k]
    memcpy(F, z, 6 * sizeof(double))
    divide_by_upper(its.L, F)


cdef inline void find_modes(Impedance* its, const ImpedanceSettings* settings) noexcept nogil:
    """The modes U of the hand on its spring and their damping 2 zeta w (rule 3)."""
    cdef double[36] P
    cdef double v, energy, ratio, largest = 0.0
    cdef Py_ssize_t i, j, k
    if settings.inertia_shaping:
        find_shape(its, settings)
        soften_modes(its, settings)
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
    soften_modes(its, settings)


cdef inline double delay_margin(const Impedance* its) noexcept nogil:
    """The delay from state to torque that brings the fastest mode to the edge of stability [s].

    Half a sampling period is part of it. ``damping`` is left out.
    """
    cdef double least = INFINITY, w
    cdef Py_ssize_t k
    for k in range(6):
        w = its.mode_frequency[k]
        if w > 0.0:
            least = fmin(least, edge(0.5 * its.mode_damping[k] / w) / w)
    return least


cdef inline void damper(const Impedance* its, const ImpedanceSettings* settings, const double* v,
                        double* F) noexcept nogil:
    """F = D v plus the additional damping; compliance axes."""
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

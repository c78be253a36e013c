# External joint torque by the generalised-momentum observer.
#
# De Luca and Mattone, Sensorless robot collision detection and hybrid force/motion control, ICRA
# 2005; De Luca, Albu-Schaeffer, Haddadin and Hirzinger, Collision detection and safe reaction with
# the DLR-III lightweight manipulator arm, IROS 2006.
#
# With p = (H + armature) qd, and Hdot = C + C^T for the C of the Christoffel symbols, the equation
# of motion is
#
#     (1) pdot = beta + tau_ext,    beta = tau - friction + C^T qd - g,
#
# which needs no acceleration. The observer r = K (p - p(0) - integral of (beta + r)) obeys
#
#     (2) rdot = K (tau_ext - r).
#
# Over a time dt in which tau_ext is constant, (1) gives it as the mean d, and (2) is solved
# exactly:
#
#     (3) d = (p_k - p_k-1) / dt - mean of beta,
#     (4) r_k = r_k-1 + (1 - exp(-K dt)) (d - r_k-1).
#
# In (3) the mean of beta is that of its values at both ends. Unlike (2) integrated by Euler's rule,
# (4) is stable and has the time constant 1 / K for any dt, constant or not.
#
# Friction is known to lie between two bounds (effort.pxd), which are wide apart at rest. So is r,
# by (4) with either. The least external torque is the least of those between, zero if that is one.

from libc.math cimport expm1
from libc.string cimport memset

from dynamics_interface cimport DynamicsInterface
from observer.effort cimport Friction
from observer.shadow_settings cimport ShadowSettings
from task_space.inverse_kinematics cimport cholesky_solve

cdef struct MomentumObserver:
    double* external         # (n,) the least external joint torque [N m or N]
    double* low              # (n,) r with the least friction
    double* high             # (n,) r with the greatest
    double* p                # (n,) momentum at the last state
    double* beta_low         # (n,) at the last state, see (1), with the least friction
    double* beta_high        # (n,) with the greatest
    double* H                # (n, n) scratch
    double* C                # (n, n) scratch


cdef inline double nearest_to_zero(double low, double high) noexcept nogil:
    """Of the numbers between two; not finite if they are not."""
    return 0.0 if low <= 0.0 <= high else low if low > 0.0 else high


cdef inline void observe(MomentumObserver* observer, const ShadowSettings* settings,
                         const DynamicsInterface* dynamics, double dt, const double* state,
                         const double* torque, const Friction* friction,
                         const double* gravity) noexcept nogil:
    """Advance to a state (3, n), dt [s] later; dt = 0 restarts the observer at r = 0."""
    cdef Py_ssize_t n = dynamics.n
    cdef const double* qd = state + n
    if dt == 0.0:
        memset(observer.low, 0, n * sizeof(double))
        memset(observer.high, 0, n * sizeof(double))
    dynamics.crba(dynamics.self, state, observer.H)
    dynamics.coriolis(dynamics.self, state, qd, observer.C)
    for i in range(n):
        p = settings.drives.armature[i] * qd[i]
        beta = torque[i] - gravity[i]
        for k in range(n):
            p += observer.H[n * i + k] * qd[k]
            beta += observer.C[n * k + i] * qd[k]
        low, high = beta - friction.minimum[i], beta - friction.maximum[i]
        if dt != 0.0:
            pdot, share = (p - observer.p[i]) / dt, -expm1(-settings.gain[i] * dt)
            observer.low[i] += share * (pdot - 0.5 * (observer.beta_low[i] + low) - observer.low[i])
            observer.high[i] += share * (pdot - 0.5 * (observer.beta_high[i] + high)
                                         - observer.high[i])
        observer.external[i] = nearest_to_zero(observer.low[i], observer.high[i])
        observer.p[i], observer.beta_low[i], observer.beta_high[i] = p, low, high


# The wrench on one link that would explain the external joint torques, by a damped pseudo-inverse:
#
#     J^T w = r,    w = (J J^T + damping^2)^-1 J r.
#
# A wrench along a direction in which the link cannot move loads no joint and is estimated as zero.
# With fewer than six joints there is always such a direction, near a singularity one more. Along a
# singular direction of J with singular value s, s^2 / (s^2 + damping^2) of the wrench is found.

cdef inline void estimate_wrench(const DynamicsInterface* dynamics, Py_ssize_t link, double damping,
                                 const double* q, const double* torque, double* J,
                                 double* wrench) noexcept nogil:
    """Force [N] and torque [N m] (6,) on a link, at its origin, in its axes. J: (6, n) scratch."""
    cdef Py_ssize_t n = dynamics.n
    cdef double[36] A
    cdef double[16] pose
    cdef double[6] w
    dynamics.frame(dynamics.self, link, NULL, q, pose, J)
    memset(A, 0, sizeof(A))
    for i in range(6):
        A[7 * i], w[i] = damping * damping, 0.0
        for k in range(n):
            w[i] += J[n * i + k] * torque[k]
            for j in range(i + 1):
                A[6 * i + j] += J[n * i + k] * J[n * j + k]
    if not cholesky_solve(6, A, w):  # damping below the rounding errors
        memset(w, 0, sizeof(w))
    for k in range(3):
        wrench[k] = wrench[3 + k] = 0.0
        for i in range(3):
            wrench[k] += pose[4 * i + k] * w[i]
            wrench[3 + k] += pose[4 * i + k] * w[3 + i]

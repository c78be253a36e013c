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

from libc.math cimport expm1
from libc.string cimport memset

from dynamics_interface cimport DynamicsInterface
from observer.settings cimport Settings

cdef struct MomentumObserver:
    double* external         # (n,) r, external joint torque [N m or N]
    double* p                # (n,) momentum at the last state
    double* beta             # (n,) at the last state, see (1)
    double* H                # (n, n) scratch
    double* C                # (n, n) scratch


cdef inline void observe(MomentumObserver* observer, const Settings* settings,
                         const DynamicsInterface* dynamics, double dt, const double* q,
                         const double* qd, const double* torque, const double* friction,
                         const double* gravity) noexcept nogil:
    """Advance to the next state, dt [s] later; dt = 0 restarts the observer at r = 0."""
    cdef Py_ssize_t n = dynamics.n, i, k
    cdef double p, beta, d
    if dt == 0.0:
        memset(observer.external, 0, n * sizeof(double))
    dynamics.crba(dynamics.self, q, observer.H)
    dynamics.coriolis(dynamics.self, q, qd, observer.C)
    for i in range(n):
        p = settings.armature[i] * qd[i]
        beta = torque[i] - friction[i] - gravity[i]
        for k in range(n):
            p += observer.H[n * i + k] * qd[k]
            beta += observer.C[n * k + i] * qd[k]
        if dt != 0.0:
            d = (p - observer.p[i]) / dt - 0.5 * (observer.beta[i] + beta)
            observer.external[i] -= expm1(-settings.gain[i] * dt) * (d - observer.external[i])
        observer.p[i], observer.beta[i] = p, beta

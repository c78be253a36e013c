# Inverse kinematics by damped least squares within joint limits.
#
# Each step solves (J^T W J + mu 1) dq = J^T W e for the pose error e, with the damping mu = E +
# 1e-9 of Sugihara, Solvability- unconcerned inverse kinematics by the Levenberg-Marquardt method,
# 2011: E = e^T W e / 2 bounds the step far from the target and at a singular posture, and vanishes
# with the error, which makes the last steps Newton's. A joint at a limit that the gradient pushes
# against keeps its place in this step (projected gradient: Nocedal and Wright, Numerical
# Optimization, 2006, section 16.7). A step that does not reduce E is tried again with ten times the
# damping.

from libc.math cimport fabs, isfinite
from libc.string cimport memcpy

from dynamics_interface cimport DynamicsInterface
from task_space.pose cimport norm, pose_error
from task_space.small_matrices cimport cholesky, divide_by_lower, divide_by_upper

cdef enum Outcome:
    REACHED, STUCK, TOO_MANY_ITERATIONS, NOT_FINITE

cdef struct Goal:
    Py_ssize_t link          # index in model.link_names
    double[6] weight         # of the squares of e
    double position_tolerance, orientation_tolerance
    Py_ssize_t max_iterations
    const double* lower      # (n,)
    const double* upper

cdef struct Attempt:         # arrays of the caller
    double* J                # (6, n)
    double* A                # (n, n)
    double* g                # (n,)
    double* step             # (n,)
    double* trial            # (n,)


cdef inline double weighted_square(const Goal* goal, const double* e) noexcept nogil:
    """E = e^T W e / 2."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(6):
        total += 0.5 * goal.weight[k] * e[k] * e[k]
    return total


cdef inline double error_at(const DynamicsInterface* arm, const Goal* goal, const double* target,
                            const double* q, double* e) noexcept nogil:
    """e at a position q; returns E."""
    cdef double[16] pose
    arm.frame(arm.self, goal.link, NULL, q, pose, NULL)
    pose_error(pose, target, NULL, e)
    return weighted_square(goal, e)


cdef inline bint is_there(const Goal* goal, const double* e) noexcept nogil:
    cdef double[6] counted
    cdef Py_ssize_t k
    for k in range(6):
        counted[k] = e[k] if goal.weight[k] > 0.0 else 0.0
    return (norm(counted) <= goal.position_tolerance
            and norm(counted + 3) <= goal.orientation_tolerance)


cdef inline bint cholesky_solve(Py_ssize_t n, double* A, double* x) noexcept nogil:
    """x <- A^-1 x of a symmetric A, which is overwritten; False if it is not positive definite."""
    if not cholesky(n, A):
        return False
    divide_by_lower(n, A, x)
    divide_by_upper(n, A, 1, x)
    return True


cdef inline double gradient(Py_ssize_t n, const Goal* goal, const double* e, const double* q,
                            Attempt* at) noexcept nogil:
    """g = J^T W e, 0 for joints that a limit holds. Returns the greatest entry."""
    cdef double largest = 0.0
    cdef Py_ssize_t i, k
    for i in range(n):
        at.g[i] = 0.0
        for k in range(6):
            at.g[i] += at.J[k * n + i] * goal.weight[k] * e[k]
        if q[i] <= goal.lower[i] and at.g[i] < 0.0 or q[i] >= goal.upper[i] and at.g[i] > 0.0:
            at.g[i] = 0.0
            for k in range(6):
                at.J[k * n + i] = 0.0
        largest = max(largest, fabs(at.g[i]))
    return largest


cdef inline bint damped_step(Py_ssize_t n, const Goal* goal, double damping, const double* q,
                             Attempt* at) noexcept nogil:
    """trial: where the damped step from q leads, within limits; False if there is none."""
    cdef Py_ssize_t i, j, k
    for i in range(n):
        at.step[i] = at.g[i]
        for j in range(i + 1):
            at.A[i * n + j] = damping if i == j else 0.0
            for k in range(6):
                at.A[i * n + j] += at.J[k * n + i] * goal.weight[k] * at.J[k * n + j]
    if not cholesky_solve(n, at.A, at.step):
        return False
    for i in range(n):
        at.trial[i] = min(max(q[i] + at.step[i], goal.lower[i]), goal.upper[i])
    return True


cdef inline Outcome inverse_kinematics(const DynamicsInterface* arm, const Goal* goal,
                                       const double* target, double* q, Attempt* at, double* e,
                                       Py_ssize_t* iterations) noexcept nogil:
    """Move q, (n,), until the link is at its target (16); e (6): the error that is left."""
    cdef Py_ssize_t n = arm.n, i, attempts
    cdef double[6] there
    cdef double[16] pose
    cdef double E, less, factor
    iterations[0] = 0
    for i in range(n):
        q[i] = min(max(q[i], goal.lower[i]), goal.upper[i])
    E = error_at(arm, goal, target, q, e)
    while iterations[0] < goal.max_iterations:
        if not isfinite(E):
            return NOT_FINITE
        if is_there(goal, e):
            return REACHED
        iterations[0] += 1
        arm.frame(arm.self, goal.link, NULL, q, pose, at.J)
        if gradient(n, goal, e, q, at) <= 1e-12:
            return STUCK
        factor = 1.0
        for attempts in range(12):
            if damped_step(n, goal, factor * E + 1e-9, q, at):
                less = error_at(arm, goal, target, at.trial, there)
                if less < E:
                    break
            factor *= 10.0
        else:
            return STUCK
        if E - less <= 1e-9 * E and not is_there(goal, there):  # creeps
            return STUCK
        E = less
        memcpy(q, at.trial, n * sizeof(double))
        memcpy(e, there, 6 * sizeof(double))
    return REACHED if is_there(goal, e) else TOO_MANY_ITERATIONS

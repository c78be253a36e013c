# A = L^T D L of a joint-space inertia (RBDA section 6.5), for systems whose joints are coupled: the
# articulated-body recursion needs joints that move independently. Also for 6 x 6 systems, such as
# that of a floating base.
#
# Joints on different branches have a zero in A. Eliminated from the tips inward, as here, A keeps
# its zeros (RBDA section 6.5: branch-induced sparsity), and operations on them are left out. Each
# entry is tested for zero, since here the zeros depend on who mimics whom as well.

from libc.float cimport DBL_EPSILON
from spatial cimport at_most, clear, magnitude, nonzero, put, real, reciprocal


cdef inline Py_ssize_t ltl_factor(Py_ssize_t n, real* A) noexcept nogil:
    """Overwrite A, (n, n), by D on and L below its diagonal; zero pivots count as singular."""
    cdef real* row
    cdef real* above
    cdef real a, D
    cdef Py_ssize_t i, j, k
    for k in range(n - 1):  # the diagonal as it was, to measure D by
        A[k * n + k + 1] = A[k * n + k]
    for k in range(n - 1, -1, -1):
        row = A + k * n
        D = row[k + 1] if k < n - 1 else row[k]
        if at_most(magnitude(row[k]), 8 * n * DBL_EPSILON * magnitude(D)):
            return k + 1
        D = reciprocal(row[k])
        for i in range(k - 1, -1, -1):
            if nonzero(row[i]):
                a = row[i] * D
                above = A + i * n
                for j in range(i + 1):
                    above[j] -= a * row[j]
                row[i] = a
    return 0


cdef inline void ltl_substitute(Py_ssize_t n, const real* A, real* x) noexcept nogil:
    """x <- (L^T D L)^-1 x, of what ltl_factor leaves in A."""
    cdef Py_ssize_t i, k
    for k in range(n - 1, -1, -1):
        for i in range(k):
            x[i] -= A[k * n + i] * x[k]
    for k in range(n):
        x[k] *= reciprocal(A[k * n + k])
        for i in range(k):
            x[k] -= A[k * n + i] * x[i]


cdef inline Py_ssize_t ltl_solve(Py_ssize_t n, real* A, real* x) noexcept nogil:
    """x <- A^-1 x. A and the value returned as for ltl_factor."""
    cdef Py_ssize_t failure = ltl_factor(n, A)
    if not failure:
        ltl_substitute(n, A, x)
    return failure


cdef inline Py_ssize_t ltl_inverse(Py_ssize_t n, real* A, real* X) noexcept nogil:
    """X = A^-1, (n, n), exactly symmetric. A and the value returned as for ltl_factor."""
    cdef Py_ssize_t failure = ltl_factor(n, A), i, k
    if failure:
        return failure
    clear(X, n * n)
    for i in range(n):
        put(1.0, &X[i * (n + 1)])
        ltl_substitute(n, A, X + i * n)
    for i in range(n):
        for k in range(i):
            X[i * n + k] = X[k * n + i]
    return 0

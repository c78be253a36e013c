# L D L^T of a symmetric matrix, for systems whose joints are coupled (the articulated-body recursion needs a tree).

from libc.float cimport DBL_EPSILON
from libc.math cimport fabs

from spatial cimport real


cdef inline Py_ssize_t ldl_solve(Py_ssize_t n, real* A, real* x) noexcept nogil:
    """x <- A^-1 x. A: (n, n), its lower triangle is overwritten by L and D. Returns 1 + the row of a zero pivot, or 0."""
    cdef Py_ssize_t i, j, k
    cdef real t, rounding
    for j in range(n):
        rounding = 8 * n * DBL_EPSILON * fabs(A[j * n + j])
        for k in range(j):
            A[j * n + j] -= A[j * n + k] * A[j * n + k] * A[k * n + k]
        if fabs(A[j * n + j]) <= rounding:
            return j + 1
        for i in range(j + 1, n):
            t = A[i * n + j]
            for k in range(j):
                t = t - A[i * n + k] * A[j * n + k] * A[k * n + k]
            A[i * n + j] = t / A[j * n + j]
    for i in range(n):
        for k in range(i):
            x[i] -= A[i * n + k] * x[k]
    for i in range(n):
        x[i] = x[i] / A[i * n + i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= A[k * n + i] * x[k]
    return 0

# L D L^T of a symmetric matrix, for systems whose joints are coupled (the articulated-body recursion needs a tree).

from spatial cimport real


cdef inline Py_ssize_t ldl_solve(Py_ssize_t n, real* A, real* x) noexcept nogil:
    """x <- A^-1 x. A: (n, n), its lower triangle is overwritten by L and D. Returns 1 + the row of a zero pivot, or 0."""
    cdef Py_ssize_t i, j, k
    cdef real t
    for j in range(n):
        for k in range(j):
            A[j * n + j] -= A[j * n + k] * A[j * n + k] * A[k * n + k]
        if A[j * n + j] == 0.0:
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

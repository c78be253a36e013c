# Linear algebra of small matrices, row by row: (n, n) and their vectors (n).

from libc.math cimport fabs, fmax, sqrt
from libc.string cimport memcpy


cdef inline bint cholesky(Py_ssize_t n, double* A) noexcept nogil:
    """A becomes L, L L^T = A, zero above its diagonal; False if not positive definite."""
    cdef Py_ssize_t i, j, k
    for j in range(n):
        for i in range(j):
            A[n * i + j] = 0.0
        for i in range(j, n):
            for k in range(j):
                A[n * i + j] -= A[n * i + k] * A[n * j + k]
            if i > j:
                A[n * i + j] /= A[n * j + j]
            elif A[n * j + j] > 0.0:
                A[n * j + j] = sqrt(A[n * j + j])
            else:
                return False
    return True


cdef inline void times_lower(Py_ssize_t n, const double* L, double* x) noexcept nogil:
    """x <- L x."""
    cdef Py_ssize_t i, k
    for i in range(n - 1, -1, -1):
        x[i] *= L[n * i + i]
        for k in range(i):
            x[i] += L[n * i + k] * x[k]


cdef inline void divide_by_lower(Py_ssize_t n, const double* L, double* x) noexcept nogil:
    """x <- L^-1 x."""
    cdef Py_ssize_t i, k
    for i in range(n):
        for k in range(i):
            x[i] -= L[n * i + k] * x[k]
        x[i] /= L[n * i + i]


cdef inline void divide_by_upper(Py_ssize_t n, const double* L, Py_ssize_t columns,
                                 double* x) noexcept nogil:
    """x, (n, columns), <- L^-T x."""
    cdef Py_ssize_t i, k, c
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            for c in range(columns):
                x[columns * i + c] -= L[n * k + i] * x[columns * k + c]
        for c in range(columns):
            x[columns * i + c] /= L[n * i + i]


cdef inline void rotate_pair(Py_ssize_t n, double* P, double* U, Py_ssize_t i,
                             Py_ssize_t j) noexcept nogil:
    """A Jacobi rotation: P_ij becomes 0, U takes it up (Golub and Van Loan, section 8.5)."""
    cdef double t = (P[(n + 1) * j] - P[(n + 1) * i]) / (2.0 * P[n * i + j]), c, s, a, b
    cdef Py_ssize_t k
    t = (1.0 if t >= 0.0 else -1.0) / (fabs(t) + sqrt(1.0 + t * t))
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    for k in range(n):
        a, b = P[n * k + i], P[n * k + j]
        P[n * k + i], P[n * k + j] = c * a - s * b, s * a + c * b
    for k in range(n):
        a, b = P[n * i + k], P[n * j + k]
        P[n * i + k], P[n * j + k] = c * a - s * b, s * a + c * b
        a, b = U[n * k + i], U[n * k + j]
        U[n * k + i], U[n * k + j] = c * a - s * b, s * a + c * b


cdef inline void product(Py_ssize_t n, const double* A, Py_ssize_t row, Py_ssize_t column,
                         const double* B, double* C) noexcept nogil:
    """C <- A B, (n, n). row, column: steps in A from one to the next; n, 1, or 1, n for A^T."""
    cdef Py_ssize_t i, j, k
    for i in range(n):
        for j in range(n):
            C[n * i + j] = 0.0
        for k in range(n):
            for j in range(n):
                C[n * i + j] += A[row * i + column * k] * B[n * k + j]


cdef inline void congruent(Py_ssize_t n, const double* U, double* P,
                           double* scratch) noexcept nogil:
    """P <- U^T P U, (n, n), as scratch."""
    product(n, P, n, 1, U, scratch)
    product(n, U, 1, n, scratch, P)


cdef inline void make_orthogonal(Py_ssize_t n, double* U, double* scratch) noexcept nogil:
    """Take rounding errors out of U^T U = 1: one step of Newton and Schulz, U <- U (3 - U^T U) / 2.

    scratch: (2, n, n).
    """
    cdef double* excess = scratch + n * n
    cdef Py_ssize_t i, j, k
    memcpy(scratch, U, n * n * sizeof(double))
    for i in range(n):
        for j in range(n):
            excess[n * i + j] = 1.5 if i == j else 0.0
        for k in range(n):
            for j in range(n):
                excess[n * i + j] -= 0.5 * scratch[n * k + i] * scratch[n * k + j]
    product(n, scratch, n, 1, excess, U)


cdef inline void eigenvectors(Py_ssize_t n, double* P, double* U, double* scratch) noexcept nogil:
    """The columns of U become eigenvectors of P, (n, n), symmetric, whose diagonal its eigenvalues.

    They are good to four digits, each for its own size. It begins with an orthogonal U: that of a
    moment ago needs few rotations. scratch: (2, n, n).
    """
    cdef double size = 0.0
    cdef Py_ssize_t sweep, i, j
    cdef bint turned
    make_orthogonal(n, U, scratch)
    congruent(n, U, P, scratch)
    for i in range(n):
        size = fmax(size, fabs(P[(n + 1) * i]))
    for sweep in range(12):
        turned = False
        for i in range(n - 1):
            for j in range(i + 1, n):
                if (P[n * i + j] * P[n * i + j]
                        > fmax(1e-8 * fabs(P[(n + 1) * i] * P[(n + 1) * j]), 1e-24 * size * size)):
                    rotate_pair(n, P, U, i, j)
                    turned = True
        if not turned:
            break

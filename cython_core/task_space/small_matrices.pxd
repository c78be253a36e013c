# Linear algebra of small matrices, row by row: (n, n) and their vectors (n), and eigenvectors of
# (6, 6).

from libc.math cimport fabs, fmax, sqrt
from libc.string cimport memcpy


cdef inline bint cholesky(Py_ssize_t n, double* A) noexcept nogil:
    """A, symmetric, becomes L with L L^T = A, zero above its diagonal; False if A is not positive
    definite.
    """
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


cdef inline void rotate_pair(double* P, double* U, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """One Jacobi rotation: P_ij becomes 0, U takes the rotation up (Golub and Van Loan, section
    8.5).
    """
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


cdef inline void product(const double* A, Py_ssize_t row, Py_ssize_t column, const double* B,
                         double* C) noexcept nogil:
    """C <- A B, (6, 6). row, column: steps in A from one to the next; 6, 1, or 1, 6 for A^T."""
    cdef Py_ssize_t i, j, k
    for i in range(6):
        for j in range(6):
            C[6 * i + j] = 0.0
        for k in range(6):
            for j in range(6):
                C[6 * i + j] += A[row * i + column * k] * B[6 * k + j]


cdef inline void to_vectors(const double* U, double* P) noexcept nogil:
    """P <- U^T P U, (6, 6)."""
    cdef double[36] PU
    product(P, 6, 1, U, PU)
    product(U, 1, 6, PU, P)


cdef inline void make_orthogonal(double* U) noexcept nogil:
    """Take rounding errors out of U^T U = 1: one step of Newton and Schulz, U <- U (3 - U^T U) / 2.
    """
    cdef double[36] U0, excess
    cdef Py_ssize_t i, j, k
    memcpy(U0, U, 36 * sizeof(double))
    for i in range(6):
        for j in range(6):
            excess[6 * i + j] = 1.5 if i == j else 0.0
        for k in range(6):
            for j in range(6):
                excess[6 * i + j] -= 0.5 * U0[6 * k + i] * U0[6 * k + j]
    product(U0, 6, 1, excess, U)


cdef inline void eigenvectors(double* P, double* U) noexcept nogil:
    """The columns of U become eigenvectors of P, (6, 6), positive semidefinite, whose diagonal its
    eigenvalues.

    They are good to four digits, each for its own size. It begins with an orthogonal U: that of a
    moment ago needs few rotations.
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
                if (P[6 * i + j] * P[6 * i + j]
                        > fmax(1e-8 * P[7 * i] * P[7 * j], 1e-24 * size * size)):
                    rotate_pair(P, U, i, j)
                    turned = True
        if not turned:
            break

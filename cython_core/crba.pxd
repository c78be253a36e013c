# The Composite-Rigid-Body Algorithm, RBDA Table 6.2.
#
# A rigid-body inertia is ten numbers: rotational inertia (6), first moment h (3), mass. Seen from a point p away they are
#     I + 2 (p.g) 1 - (p g^T + g p^T)  with  g = h + mass p / 2;     h + mass p;     mass.

from system cimport Body, System, Workspace
from spatial cimport real, to_parent, add_cross, symmetric_to_parent


cdef inline void add_inertia_to_parent(const Body* b, real c, real s, const real* p, const real* child,
                                       real* parent) noexcept nogil:
    """Ic_p += pXi* Ic_i iXp."""
    cdef real[6] I
    cdef real[3] h, g
    cdef Py_ssize_t k
    cdef real mass = child[9]
    for k in range(6):
        I[k] = child[k]
    symmetric_to_parent[real](b, c, s, I)
    to_parent[real](b, c, s, child[6], child[7], child[8], h)
    for k in range(3):
        g[k] = h[k] + 0.5 * mass * p[k]
    parent[0] += I[0] + 2.0 * (p[1] * g[1] + p[2] * g[2])
    parent[1] += I[1] - (p[0] * g[1] + p[1] * g[0])
    parent[2] += I[2] - (p[0] * g[2] + p[2] * g[0])
    parent[3] += I[3] + 2.0 * (p[0] * g[0] + p[2] * g[2])
    parent[4] += I[4] - (p[1] * g[2] + p[2] * g[1])
    parent[5] += I[5] + 2.0 * (p[0] * g[0] + p[1] * g[1])
    for k in range(3):
        parent[6 + k] += h[k] + mass * p[k]
    parent[9] += mass


cdef inline void crba(const System* system, Workspace* work, real* H) noexcept nogil:
    """H(q), (n, n) row by row, after jcalc for q. A coupled system's is G^T H G, G its map from q to joint positions."""
    cdef const Body* b
    cdef const Body* bj
    cdef real* Ic = <real*> work.inertia
    cdef const real* cos_sin = <real*> work.cos_sin
    cdef const real* p = <real*> work.p
    cdef real* X
    cdef real[6] F, t
    cdef real value
    cdef Py_ssize_t i, j, k

    for k in range(system.n * system.n):
        H[k] = 0.0
    for i in range(1, system.N + 1):
        b = &system.body[i]
        X = Ic + 21 * i
        for k in range(6):
            X[k] = b.inertia[k]
        for k in range(3):
            X[6 + k] = b.h[k]
        X[9] = b.mass
    for i in range(system.N, 0, -1):
        b = &system.body[i]
        X = Ic + 21 * i
        if b.parent > 0:
            add_inertia_to_parent(b, cos_sin[2 * i], cos_sin[2 * i + 1], p + 3 * i, X, Ic + 21 * b.parent)
        F[0] = b.angular * X[2] + b.linear * X[7]               # F = Ic S
        F[1] = b.angular * X[4] - b.linear * X[6]
        F[2] = b.angular * X[5]
        F[3] = -b.angular * X[7]
        F[4] = b.angular * X[6]
        F[5] = b.linear * X[9]
        value = b.multiplier * b.multiplier * (b.angular * F[2] + b.linear * F[5])
        H[b.dof * system.n + b.dof] += value
        j = i
        bj = b
        while bj.parent > 0:
            to_parent(bj, cos_sin[2 * j], cos_sin[2 * j + 1], F[0], F[1], F[2], t)
            to_parent(bj, cos_sin[2 * j], cos_sin[2 * j + 1], F[3], F[4], F[5], F + 3)
            add_cross(p + 3 * j, F + 3, t)
            for k in range(3):
                F[k] = t[k]
            j = bj.parent
            bj = &system.body[j]
            value = b.multiplier * bj.multiplier * (bj.angular * F[2] + bj.linear * F[5])
            H[b.dof * system.n + bj.dof] += value
            H[bj.dof * system.n + b.dof] += value

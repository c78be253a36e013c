# The Composite-Rigid-Body Algorithm, RBDA Table 6.2. Row by row as in the book:
# test/reference/featherstone.py. With a floating base Table 9.6: the base's rows of H hold the
# forces Ic S in base coordinates, its corner the composite inertia of all bodies.
#
# A rigid-body inertia is ten numbers: rotational inertia (6), first moment h (3), mass. About a
# point displaced by -p they become
#     I + 2 (p.g) 1 - (p g^T + g p^T)  with  g = h + mass p / 2;     h + mass p;     mass.

from system cimport SHIFT_ALONG_X, SHIFT_GENERAL, Body, System, Workspace
from spatial cimport (add, add_cross, always_inline, clear, copy, force_to_parent, never_inline,
                      put, real, symmetric_to_parent, turn_to_parent, unlikely)
from kinematics cimport poses_in_base, turn_by


cdef inline always_inline add_inertia_to_parent(const Body* b, real c, real s, real d,
                                                const real* child, real* parent) noexcept nogil:
    """Ic_p += pXi* Ic_i iXp."""
    cdef real[10] I
    cdef real* h = I + 6
    cdef real[3] g
    cdef real mass = child[9], gs
    cdef Py_ssize_t k
    copy(child, 10, I)
    if b.offset:                                                # p = d z
        g[2] = 2.0 * h[2] + mass * d
        I[0] += d * g[2]
        I[3] += d * g[2]
        I[2] -= d * h[0]
        I[4] -= d * h[1]
        h[2] += mass * d
    symmetric_to_parent(b, c, s, I)
    turn_to_parent(b, c, s, h, 1)
    if b.shift == SHIFT_ALONG_X:                                # p = s x
        g[0] = 2.0 * h[0] + mass * b.s[0]
        I[3] += b.s[0] * g[0]
        I[5] += b.s[0] * g[0]
        I[1] -= b.s[0] * h[1]
        I[2] -= b.s[0] * h[2]
        h[0] += mass * b.s[0]
    elif b.shift == SHIFT_GENERAL:
        for k in range(3):
            g[k] = h[k] + 0.5 * mass * b.s[k]
            h[k] += mass * b.s[k]
        gs = 2.0 * (b.s[0] * g[0] + b.s[1] * g[1] + b.s[2] * g[2])
        I[0] += gs - 2.0 * b.s[0] * g[0]
        I[1] -= b.s[0] * g[1] + b.s[1] * g[0]
        I[2] -= b.s[0] * g[2] + b.s[2] * g[0]
        I[3] += gs - 2.0 * b.s[1] * g[1]
        I[4] -= b.s[1] * g[2] + b.s[2] * g[1]
        I[5] += gs - 2.0 * b.s[2] * g[2]
    add(I, 10, parent)


cdef inline always_inline composite_inertias(const System* system, Workspace* work,
                                             real* Ic) noexcept nogil:
    """Ic of every body, ten numbers per slot, after jcalc."""
    cdef const Body* b
    cdef Py_ssize_t i, k
    for i in range(system.ground + 1, system.N + 1):
        b = &system.body[i]
        for k in range(6):
            put(b.inertia[k], &Ic[10 * i + k])
        for k in range(3):
            put(b.h[k], &Ic[10 * i + 6 + k])
        put(b.mass, &Ic[10 * i + 9])
    for i in range(system.N, 0, -1):
        b = &system.body[i]
        if not b.grounded:
            add_inertia_to_parent[real](b, (<real*> work.cosine)[i], (<real*> work.sine)[i],
                                        (<real*> work.d)[i], Ic + 10 * i, Ic + 10 * b.parent)


cdef inline always_inline axis_force(const Body* b, const real* I, real* F) noexcept nogil:
    """F = I S."""
    F[0] = b.angular * I[2] + b.linear * I[7]
    F[1] = b.angular * I[4] - b.linear * I[6]
    F[2] = b.angular * I[5]
    F[3] = -b.angular * I[7]
    F[4] = b.angular * I[6]
    F[5] = b.linear * I[9]


cdef inline never_inline base_rows(const System* system, Workspace* work, real* H) noexcept nogil:
    """Rows and columns of H of a floating base, where H has been zero; after composite_inertias."""
    cdef const real* Ic = <real*> work.inertia
    cdef const real* h = Ic + 6
    cdef real* R = <real*> work.B  # not rows R and r: a caller may have those about another point
    cdef real* r = R + 9 * (system.N + 1)
    cdef real[6] F, force           # force: about the base's origin in its axes, linear part first
    cdef Py_ssize_t n = system.n, i, j, k, row
    poses_in_base(system, work, R, r)
    for i in range(1, system.N + 1):
        axis_force[real](&system.body[i], Ic + 10 * i, F)
        turn_by[real](R + 9 * i, F, force + 3)
        turn_by[real](R + 9 * i, F + 3, force)
        add_cross[real](r + 3 * i, force, force + 3)
        row = system.body[i].dof
        for k in range(6):
            H[row * n + k] += force[k]
            H[k * n + row] += force[k]
    k = 0
    for i in range(3):
        for j in range(i, 3):
            H[(3 + i) * n + 3 + j] = H[(3 + j) * n + 3 + i] = Ic[k]
            k += 1
        H[i * n + i] = Ic[9]
    H[1 * n + 5] = H[5 * n + 1] = h[0]                          # -[h]x
    H[2 * n + 4] = H[4 * n + 2] = -h[0]
    H[2 * n + 3] = H[3 * n + 2] = h[1]
    H[0 * n + 5] = H[5 * n + 0] = -h[1]
    H[0 * n + 4] = H[4 * n + 0] = h[2]
    H[1 * n + 3] = H[3 * n + 1] = -h[2]


cdef inline void crba(const System* system, Workspace* work, real* H) noexcept nogil:
    """H(q), (n, n) row by row, after jcalc for q; G^T H G of a coupled system."""
    cdef const Body* b
    cdef real[6] F
    cdef real value
    cdef Py_ssize_t i, j, k, row

    clear(H, system.n * system.n)
    composite_inertias[real](system, work, <real*> work.inertia)
    for i in range(system.N, 0, -1):
        b = &system.body[i]
        axis_force[real](b, <real*> work.inertia + 10 * i, F)
        row = b.dof
        H[row * system.n + row] += b.angular * F[2] + b.linear * F[5]
        j = i
        while b.parent > 0:
            force_to_parent(b, (<real*> work.cosine)[j], (<real*> work.sine)[j],
                            (<real*> work.d)[j], F)
            j = b.parent
            b = &system.body[j]
            value = b.angular * F[2] + b.linear * F[5]
            H[row * system.n + b.dof] += value
            H[b.dof * system.n + row] += value
    if unlikely(system.floating):
        base_rows(system, work, H)

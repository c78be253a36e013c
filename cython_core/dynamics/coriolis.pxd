# The Coriolis matrix of Christoffel symbols: Echeandia and Wensing, "Numerical methods to compute
# the Coriolis matrix and Christoffel symbols for rigid-body systems", 2021, Algorithm 1, in base
# coordinates.
#
# How the coded lines follow from the paper:
# 1. A body is its points. Per unit of q_j a point at r moves by d_j = l_j + a_j x r, where S_j =
#    [a_j; l_j]; in all it moves with r_dot = V_l + V_a x r. H_ij = integral d_i . d_j dm is a
#    metric, and its Christoffel symbols are Gamma_ijk = integral d_i . (d d_j / d q_k) dm. So
#        C_ij = sum_k Gamma_ijk qd_k = integral d_i . d_j_dot dm
#    over the points that both joints move, and H_dot = C + C^T: H_dot - 2 C is skew-symmetric.
# 2. d_j_dot = l_j_dot + a_j_dot x r + a_j x r_dot, with S_j_dot = V x S_j. Over the outer joint's
#    subtree that gives
#        C_ij = S_i^T (I S_j_dot + B S_j)
#        B [a; l] = [integral r x (a x r_dot) dm; integral a x r_dot dm]
#    For one body this is the paper's B = (v x* I - I v x + (I v) x*bar) / 2: its entries are these
#    C_ij, for any S.
# 3. Twelve numbers take the place of B's 36, the momentum p = integral r_dot dm and a matrix:
#        B [a; l] = [Bw a; a x p]        B^T [a; l] = [Bw^T a + p x l; 0]
#        Bw = -integral [r]x [r_dot]x dm = (V_l . h) 1 - V_l h^T - [V_a]x Sigma
#        Sigma = integral r r^T dm
# 4. For joint j, and joint i on its path to the base:
#        C_ij = S_i^T (I S_j_dot + B S_j)        C_ji = S_i_dot^T I S_j + S_i^T B^T S_j
#    This holds for the freedoms of a floating base too, though its velocities are not derivatives
#    of coordinates.

from system cimport Body, System, Workspace
from spatial cimport add, add_cross, always_inline, clear, never_inline, real, unlikely
from base_coordinates cimport (base_freedom, cross, dot, force_on_base, force_per_base_rate,
                               motion_cross, times_inertia, velocities)


cdef inline void body_coriolis(const real* I, const real* V, real* B) noexcept nogil:
    """B of one body: Bw row by row, p (note 3)."""
    cdef const real* h = I + 6
    cdef real xx = 0.5 * (I[3] + I[5] - I[0]), yy = 0.5 * (I[0] + I[5] - I[3])
    cdef real zz = 0.5 * (I[0] + I[3] - I[5])
    cdef Py_ssize_t k
    B[0] = V[4] * h[1] + V[5] * h[2] - V[2] * I[1] + V[1] * I[2]  # off its diagonal Sigma is -I
    B[1] = V[2] * yy + V[1] * I[4] - V[3] * h[1]
    B[2] = -V[1] * zz - V[2] * I[4] - V[3] * h[2]
    B[3] = -V[2] * xx - V[0] * I[2] - V[4] * h[0]
    B[4] = V[3] * h[0] + V[5] * h[2] - V[0] * I[4] + V[2] * I[1]
    B[5] = V[0] * zz + V[2] * I[2] - V[4] * h[2]
    B[6] = V[1] * xx + V[0] * I[1] - V[5] * h[0]
    B[7] = -V[0] * yy - V[1] * I[1] - V[5] * h[1]
    B[8] = V[3] * h[0] + V[4] * h[1] - V[1] * I[2] + V[0] * I[4]
    cross(V, h, B + 9)
    for k in range(3):
        B[9 + k] += I[9] * V[3 + k]


cdef inline void add_coriolis(const real* B, const real* x, real* out) noexcept nogil:
    """out += B x."""
    cdef Py_ssize_t k
    for k in range(3):
        out[k] += B[3 * k] * x[0] + B[3 * k + 1] * x[1] + B[3 * k + 2] * x[2]
    add_cross(x, B + 9, out + 3)


cdef inline always_inline subtree_forces(const Workspace* work, Py_ssize_t j, real* IS, real* f,
                                         real* BtS) noexcept nogil:
    """I S, I S_dot + B S and the angular part of B^T S of body j's subtree (note 4)."""
    cdef const real* S = <real*> work.S + 6 * j
    cdef const real* I = <real*> work.base_inertia + 10 * j
    cdef const real* B = <real*> work.B + 12 * j
    cdef Py_ssize_t k
    times_inertia(I, S, IS)
    times_inertia[real](I, <real*> work.Psi_dot + 6 * j, f)
    add_coriolis(B, S, f)
    cross(B + 9, S + 3, BtS)
    for k in range(3):
        BtS[k] += B[k] * S[0] + B[3 + k] * S[1] + B[6 + k] * S[2]


cdef inline never_inline base_coupling(const System* system, const Workspace* work,
                                       real* C) noexcept nogil:
    """Columns and rows of the joints where they meet a floating base's freedoms (note 4)."""
    cdef real[6] IS, f, row, column
    cdef real[3] BtS
    cdef Py_ssize_t n = system.n, slot, j, k
    for slot in range(system.N, 0, -1):
        j = system.body[slot].dof
        subtree_forces(work, slot, IS, f, BtS)
        force_on_base(work, f, column)
        force_per_base_rate(work, IS, row)
        add(BtS, 3, row + 3)
        for k in range(6):
            C[k * n + j] += column[k]
            C[j * n + k] += row[k]


cdef inline never_inline base_corner_of_coriolis(const System* system, const Workspace* work,
                                                 real* C) noexcept nogil:
    """The corner of C of a floating base; slot 0 of the workspace holds sums over all bodies."""
    cdef real[6] S, S_dot, f, column
    cdef Py_ssize_t n = system.n, j, k
    for j in range(6):
        base_freedom(work, j, S)
        motion_cross[real](<real*> work.velocity, S, S_dot)
        times_inertia[real](<real*> work.base_inertia, S_dot, f)
        add_coriolis[real](<real*> work.B, S, f)
        force_on_base(work, f, column)
        for k in range(6):
            C[k * n + j] = column[k]


cdef inline void coriolis(const System* system, Workspace* work, const real* qd,
                          real* C) noexcept nogil:
    """C(q, qd), (n, n) row by row, after base_coordinates. A coupled system's is G^T C G."""
    cdef const Body* b
    cdef const real* S
    cdef const real* S_dot
    cdef real[6] IS, f
    cdef real[3] BtS
    cdef Py_ssize_t n = system.n, i, j, k
    clear(C, n * n)
    velocities(system, work, qd)
    for i in range(system.ground + 1, system.N + 1):
        body_coriolis[real](<real*> work.base_inertia + 10 * i, <real*> work.velocity + 6 * i,
                            <real*> work.B + 12 * i)
    for j in range(system.N, 0, -1):
        b = &system.body[j]
        subtree_forces(work, j, IS, f, BtS)
        C[b.dof * n + b.dof] += dot[real](<real*> work.S + 6 * j, f)
        i = b.parent
        while i > 0:                                            # note 4
            S = <real*> work.S + 6 * i
            S_dot = <real*> work.Psi_dot + 6 * i
            k = system.body[i].dof
            C[k * n + b.dof] += dot(S, f)
            C[b.dof * n + k] += dot(S_dot, IS) + (S[0] * BtS[0] + S[1] * BtS[1] + S[2] * BtS[2])
            i = system.body[i].parent
        if not b.grounded:
            add(<real*> work.base_inertia + 10 * j, 10, <real*> work.base_inertia + 10 * b.parent)
            add(<real*> work.B + 12 * j, 12, <real*> work.B + 12 * b.parent)
    if unlikely(system.floating):
        base_coupling(system, work, C)
        base_corner_of_coriolis(system, work, C)

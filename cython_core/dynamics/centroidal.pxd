# The centroidal momentum matrix A_G (Orin, Goswami and Lee, Centroidal dynamics of a humanoid
# robot, 2013): momentum about the centre of mass as a linear function of the joint rates. Its
# column i is Ic_i S_i, the momentum of all that joint i moves, at a rate of one; its linear rows
# over the mass are the Jacobian of the centre of mass.

from system cimport Body, System, Workspace
from spatial cimport add_cross, clear, put, real, unlikely
from base_coordinates cimport times_inertia
from crba cimport axis_force, composite_inertias
from kinematics cimport first_moment, rotate_to_base


cdef inline void add_momentum(const Workspace* work, Py_ssize_t i, const real* F,
                              const real* centre, Py_ssize_t n, real* A) noexcept nogil:
    """Add the momentum F in body i's frame to a column of A, (6, n); after poses."""
    cdef real[6] column                                         # moment first
    cdef real[3] arm
    cdef Py_ssize_t k
    rotate_to_base(work, i, F, column)
    rotate_to_base(work, i, F + 3, column + 3)
    for k in range(3):
        arm[k] = (<real*> work.r)[3 * i + k] - centre[k]
    add_cross(arm, column + 3, column)
    for k in range(3):
        A[k * n] += column[3 + k]
        A[(3 + k) * n] += column[k]


cdef inline double centroidal_momentum_matrix(const System* system, Workspace* work,
                                              real* A) noexcept nogil:
    """A_G, (6, n), linear rows first, base axes; after poses. Returns the total mass."""
    cdef const Body* b
    cdef real[3] centre
    cdef real[6] F, S                                           # angular part first
    cdef double mass = first_moment(system, work, centre)
    cdef Py_ssize_t n = system.n, i, k
    for k in range(3):
        centre[k] *= 1.0 / mass if mass > 0 else 0.0            # without mass no momentum
    clear(A, 6 * n)
    composite_inertias(system, work, <real*> work.inertia)
    for i in range(1, system.N + 1):
        b = &system.body[i]
        axis_force(b, <real*> work.inertia + 10 * i, F)
        add_momentum(work, i, F, centre, n, A + b.dof)
    if unlikely(system.floating):
        for i in range(6):
            for k in range(6):
                put(1.0 if k == (i + 3) % 6 else 0.0, &S[k])
            times_inertia(<real*> work.inertia, S, F)
            add_momentum(work, 0, F, centre, n, A + i)
    return mass


cdef inline void momentum(const System* system, Workspace* work, const real* qd,
                          real* out) noexcept nogil:
    """A_G qd, (6): linear momentum, then angular about the centre of mass; after poses."""
    cdef real* A = <real*> work.J
    cdef Py_ssize_t i, k
    centroidal_momentum_matrix(system, work, A)
    for k in range(6):
        put(0.0, &out[k])
        for i in range(system.n):
            out[k] += A[k * system.n + i] * qd[i]

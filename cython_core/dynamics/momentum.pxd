# Momentum: the sum of I v over the bodies, carried from the tips to the base, each body's to its
# parent, and at last to the centre of mass. Ten numbers add up per body: L (angular momentum about
# the origin), p (linear momentum), h and mass.

from system cimport Body, System, Workspace
from spatial cimport add_cross, put, real, turn_to_parent, unlikely
from kinematics cimport turn_by, velocities


cdef inline void body_momentum(const Body* b, const real* w, const real* v, real* X) noexcept nogil:
    """X: L = I w + h x v, p = mass v + w x h, h and mass."""
    cdef Py_ssize_t k
    X[0] = b.inertia[0] * w[0] + b.inertia[1] * w[1] + b.inertia[2] * w[2]
    X[1] = b.inertia[1] * w[0] + b.inertia[3] * w[1] + b.inertia[4] * w[2]
    X[2] = b.inertia[2] * w[0] + b.inertia[4] * w[1] + b.inertia[5] * w[2]
    for k in range(3):
        X[3 + k] = b.mass * v[k]
        put(b.h[k], X + 6 + k)
    add_cross(X + 6, v, X)
    add_cross(w, X + 6, X + 3)
    put(b.mass, X + 9)


cdef inline void momentum(const System* system, Workspace* work, const real* qd,
                          real* out) noexcept nogil:
    """Linear momentum, then angular momentum about the centre of mass, base axes (the world's where
    it floats), (6); after jcalc.
    """
    cdef const Body* b
    cdef const real* p
    cdef real* X
    cdef real* parent
    cdef double mass = 0.0
    cdef Py_ssize_t i, k
    velocities(system, work, qd)
    for i in range(system.N + 1):
        mass += system.body[i].mass
        body_momentum[real](&system.body[i], <real*> work.w + 3 * i, <real*> work.v + 3 * i,
                            <real*> work.inertia + 21 * i)
    for i in range(system.N, 0, -1):
        b = &system.body[i]
        p = <real*> work.p + 3 * i
        X = <real*> work.inertia + 21 * i
        parent = <real*> work.inertia + 21 * b.parent
        turn_to_parent[real](b, (<real*> work.cosine)[i], (<real*> work.sine)[i], X, 3)
        add_cross(p, X + 3, parent)
        for k in range(3):
            parent[6 + k] += X[9] * p[k]
        for k in range(10):
            parent[k] += X[k]
    X = <real*> work.inertia
    if mass > 0:                                                # without mass no linear momentum
        for k in range(3):
            X[6 + k] *= 1.0 / mass
        add_cross(X + 3, X + 6, X)                              # L - c x p
    for k in range(3):
        out[k] = X[3 + k]
        out[3 + k] = X[k]
    if unlikely(system.floating):                                 # to the world's axes
        turn_by[real](<real*> work.pose, X + 3, out)
        turn_by[real](<real*> work.pose, X, out + 3)

# jcalc of RBDA section 4.4: the only place that knows how a joint's position becomes a transform.

from libc.math cimport cos, sin
from system cimport Body, System, Workspace
from spatial cimport real


cdef inline void jcalc(const System* system, Workspace* work, const real* q) noexcept nogil:
    """theta and p of every joint at position q: rows cos_sin and p of the workspace."""
    cdef const Body* b
    cdef real* cos_sin = <real*> work.cos_sin
    cdef real* p = <real*> work.p
    cdef real position, theta
    cdef Py_ssize_t i
    for i in range(1, system.N + 1):
        b = &system.body[i]
        position = b.multiplier * q[b.dof] + b.offset
        theta = b.angular * position + b.theta0
        cos_sin[2 * i] = cos(theta)
        cos_sin[2 * i + 1] = sin(theta)
        p[3 * i] = b.p[0] + b.slide[0] * position
        p[3 * i + 1] = b.p[1] + b.slide[1] * position
        p[3 * i + 2] = b.p[2] + b.slide[2] * position

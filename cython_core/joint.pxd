# jcalc of RBDA section 4.4: the only place that knows how a joint's position becomes a transform.

from system cimport Body, System, Workspace
from spatial cimport LANES, real, lanes, gather, load, sine_cosine, store


cdef inline void jcalc(const System* system, Workspace* work, const real* q) noexcept nogil:
    """cosine and sine of theta of every joint at position q, and d and p of those that slide.

    One state takes the joints LANES at a time, a register of states one after the other.
    """
    cdef const Body* b
    cdef real* p
    cdef lanes theta, sine, cosine
    cdef Py_ssize_t i, k
    if real is double:
        i = 1
        while i <= system.N:
            theta = load(system.angular + i) * gather(q, system.dof + i) + load(system.theta0 + i)
            sine_cosine(theta, &sine, &cosine)
            store(work.sine + i, sine)
            store(work.cosine + i, cosine)
            i += LANES
    else:
        for i in range(1, system.N + 1):
            theta = system.angular[i] * q[system.dof[i]] + system.theta0[i]
            sine_cosine(theta, <lanes*> work.sine + i, <lanes*> work.cosine + i)
    if system.slides:
        for i in range(1, system.N + 1):
            b = &system.body[i]
            if b.linear != 0:
                (<real*> work.d)[i] = b.d + b.linear * q[b.dof]
                p = <real*> work.p + 3 * i
                for k in range(3):
                    p[k] = b.p[k] + b.slide[k] * q[b.dof]

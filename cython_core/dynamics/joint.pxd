# jcalc of RBDA section 4.4: the only place that knows how a joint's position becomes a transform.

from system cimport Body, System, Workspace
from spatial cimport (LANES, broadcast, copy, gather, lanes, load, never_inline, real, reciprocal,
                      sine_cosine, store, unlikely)


cdef inline never_inline base_pose(const real* q, real* pose) noexcept nogil:
    """Orientation and origin of a floating base, RBDA equation 4.12; any length of quaternion."""
    cdef real x = q[3], y = q[4], z = q[5], w = q[6]
    cdef real s = 2.0 * reciprocal(x * x + y * y + z * z + w * w)
    cdef Py_ssize_t k
    pose[0] = 1.0 - s * (y * y + z * z)
    pose[1] = s * (x * y - z * w)
    pose[2] = s * (x * z + y * w)
    pose[3] = s * (x * y + z * w)
    pose[4] = 1.0 - s * (x * x + z * z)
    pose[5] = s * (y * z - x * w)
    pose[6] = s * (x * z - y * w)
    pose[7] = s * (y * z + x * w)
    pose[8] = 1.0 - s * (x * x + y * y)
    copy(q, 3, pose + 9)


cdef inline void gravity_in_base(const System* system, const Workspace* work,
                                 real* g) noexcept nogil:
    """Gravity in the axes of a floating base, after jcalc."""
    cdef const real* R = <real*> work.pose
    cdef Py_ssize_t k
    for k in range(3):
        g[k] = (system.gravity[0] * R[k] + system.gravity[1] * R[3 + k]
                + system.gravity[2] * R[6 + k])


cdef inline void jcalc(const System* system, Workspace* work, const real* q) noexcept nogil:
    """cosine and sine of theta of every joint at position q, d and p of those that slide, pose of a
    floating base.

    For one state the joints are taken LANES at a time, for a register of states one by one.
    """
    cdef const Body* b
    cdef real* p
    cdef lanes sine, cosine
    cdef Py_ssize_t i, k
    if unlikely(system.floating):
        base_pose(q, <real*> work.pose)
        q = q + 1                                               # see system.pxd
    if real is double:
        i = 1
        while i <= system.N:
            sine_cosine(load(system.angular + i) * gather(q, system.dof + i),
                        load(system.theta0 + i), load(system.turn + i), &sine, &cosine)
            store(work.sine + i, sine)
            store(work.cosine + i, cosine)
            i += LANES
    else:
        for i in range(1, system.N + 1):
            sine_cosine(system.angular[i] * q[system.dof[i]], broadcast(system.theta0[i]),
                        broadcast(system.turn[i]), <lanes*> work.sine + i, <lanes*> work.cosine + i)
    if system.slides:
        for i in range(1, system.N + 1):
            b = &system.body[i]
            if b.linear != 0:
                (<real*> work.d)[i] = b.d + b.linear * q[b.dof]
                p = <real*> work.p + 3 * i
                for k in range(3):
                    p[k] = b.p[k] + b.slide[k] * q[b.dof]

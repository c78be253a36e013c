# The force across joint i is f_i of Table 5.1 (rnea.pxd). Here it is given as in the API: in the
# frame of the joint's child link, at its origin, force first.

from system cimport System, Workspace
from spatial cimport real, add_cross, put


cdef inline void wrench_at_link(const double* E, const real* f, real* out) noexcept nogil:
    """out = [force, moment] of a body's force vector f, seen from a link's pose E there."""
    cdef real[3] o, n
    cdef Py_ssize_t k
    for k in range(3):
        put(E[9 + k], &o[k])
        n[k] = f[k]
    add_cross[real](f + 3, o, n)                                # n - o x f
    for k in range(3):
        out[k] = E[k] * f[3] + E[3 + k] * f[4] + E[6 + k] * f[5]
        out[3 + k] = E[k] * n[0] + E[3 + k] * n[1] + E[6 + k] * n[2]


cdef inline void joint_wrenches(const System* system, const Workspace* work,
                                real* wrenches) noexcept nogil:
    """[fx fy fz tx ty tz] across every joint of q, (joints, 6), after rnea."""
    cdef Py_ssize_t i, link
    for i in range(system.n - 6 if system.floating else system.n):
        link = system.joint_link[i]
        wrench_at_link[real](system.link_pose + 12 * link,
                             <real*> work.f + 6 * system.link_slot[link], wrenches + 6 * i)

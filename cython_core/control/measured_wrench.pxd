# The wrench on the end effector that a force-torque sensor measures, or the shadow estimates.

from libc.math cimport INFINITY, fmax, fmin
from libc.string cimport memcpy, memset

from control.impedance_state cimport Impedance
from control.impedance_wrench cimport WALL, limit
from control.state_clock cimport StateClock, late_by, lateness, start_clock, watch_clocks
from task_space.pose cimport add_cross_product, norm

cdef extern from *:
    """
    #define MAX_WRENCH (1e6)
    #define CONTACT_TIME (0.2)
    """
    const double MAX_WRENCH      # [N, N m] no arm feels more
    const double CONTACT_TIME    # [s] in which a contact comes to max_force, or ends

cdef struct MeasuredWrench:
    double[6] wrench         # as measured, at the end effector's origin, in its axes
    double at                # steady time at which it was measured [s]; -inf: none yet
    StateClock clock         # of its stamps
    bint is_there            # it was not too old when it was last used
    double[6] contact        # on the end effector, base axes: what is felt, without what is gone at
                             # once, such as a number that is wrong


cdef inline void rotate(const double* R, const double* x, double* out) noexcept nogil:
    """out = R x of a vector (3); R: that of a pose (16)."""
    cdef Py_ssize_t i
    for i in range(3):
        out[i] = R[4 * i] * x[0] + R[4 * i + 1] * x[1] + R[4 * i + 2] * x[2]


cdef inline void move_wrench(const double* pose, const double* wrench, double* out) noexcept nogil:
    """out = a wrench (6) on a frame with that pose (16), at the origin and in the axes of the frame
    in which the pose is.
    """
    cdef double[3] origin
    cdef Py_ssize_t k
    for k in range(3):
        origin[k] = pose[4 * k + 3]
    rotate(pose, wrench, out)
    rotate(pose, wrench + 3, out + 3)
    add_cross_product(1.0, origin, out, out + 3)


cdef inline void forget_wrench(MeasuredWrench* measured) noexcept nogil:
    measured.at, measured.is_there = -INFINITY, False
    memset(measured.contact, 0, 6 * sizeof(double))
    start_clock(&measured.clock, -INFINITY)


cdef inline void take_measured(MeasuredWrench* measured, const double* pose, const double* wrench,
                               double now, double on_its_way, double timeout) noexcept nogil:
    """Take a wrench (6) on a frame with that pose (16), unless a newer one has come.

    on_its_way: [s] by two clocks, NaN if unknown; it counts as that of a joint state.
    """
    cdef double at
    watch_clocks(&measured.clock, now, on_its_way)
    lateness(&measured.clock, now, on_its_way)
    at = now - late_by(&measured.clock, on_its_way, timeout)
    if at >= measured.at:
        move_wrench(pose, wrench, measured.wrench)
        measured.at = at


cdef inline bint is_fresh(const MeasuredWrench* measured, double now,
                          double timeout) noexcept nogil:
    return now - measured.at <= timeout


cdef inline void leave_dead_zone(double width, double* f) noexcept nogil:
    """Shorten f, (3), by a width: an offset of the sensor moves nothing."""
    cdef double size = norm(f), share = fmax(1.0 - width / size, 0.0) if size > 0.0 else 0.0
    cdef Py_ssize_t k
    for k in range(3):
        f[k] *= share


cdef inline void find_felt(Impedance* law, const MeasuredWrench* measured) noexcept nogil:
    """Find the wrench that acts from outside: what was measured without the payload's weight, or
    nothing if it is too old.
    """
    cdef double* f = law.felt
    cdef double[3] arm
    cdef Py_ssize_t k
    if not measured.is_there:
        memset(f, 0, 6 * sizeof(double))
        return
    rotate(law.pose, measured.wrench, f)
    rotate(law.pose, measured.wrench + 3, f + 3)
    rotate(law.pose, law.settings.weight_at, arm)
    for k in range(3):
        f[k] -= law.settings.weight[k]
    add_cross_product(-1.0, arm, law.settings.weight, f + 3)


cdef inline void find_contact(const Impedance* law, MeasuredWrench* measured,
                              double dt) noexcept nogil:
    """Let the contact follow what is felt, as fast as contacts change; limited as that of a wall.
    """
    cdef double most, step, felt
    cdef Py_ssize_t k
    for k in range(6):
        most = law.settings.max_wrench[k // 3]
        step = most * dt / CONTACT_TIME
        felt = fmin(fmax(law.felt[k], -WALL * most), WALL * most)
        measured.contact[k] += fmin(fmax(felt - measured.contact[k], -step), step)


cdef inline void find_external(Impedance* law) noexcept nogil:
    """Find what of the wrench that is felt moves the virtual arm; limited as that of a wall."""
    cdef double* f = law.external
    cdef Py_ssize_t k
    memcpy(f, law.felt, 6 * sizeof(double))
    for k in range(2):
        leave_dead_zone(law.settings.dead_zone[k], f + 3 * k)
        limit(WALL * law.settings.max_wrench[k], f + 3 * k)

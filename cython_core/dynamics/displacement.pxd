# q + h v on the group: joints along their axes, a floating base along the screw of its velocity;
# and the v that leads from one q to another.
#
# In the base's own axes, u = h v = [u_l, u_a] is the screw that turns it by the vector u_a (of
# length t) while it moves:
#     quaternion   q <- q * [sin(t/2) u_a / t, cos(t/2)]
#     position     p <- p + R (1 + A [u_a]x + B [u_a]x [u_a]x) u_l
#                  A = (1 - cos t) / t^2,  B = (t - sin t) / t^3
# (Murray, Li and Sastry, A mathematical introduction to robotic manipulation, 1994, equation 2.36).
# The way back, from the turned quaternion [v, w] = conj(q0) * q1, the shorter way round, and the
# movement x = R^T (p1 - p0):
#     u_a = t v / |v|,  t = 2 atan2(|v|, w)
#     u_l = (1 - [u_a]x / 2 + C [u_a]x [u_a]x) x,  C = (1 - t/2 cot(t/2)) / t^2
# A Runge-Kutta step adds multiples of rates, so it works with such u: if the velocity at q + u is
# xi, the rate of u is
#     u_dot = xi + ad_u xi / 2 + ad_u ad_u xi / 12 + O(u^4)
# (Munthe-Kaas, High order Runge-Kutta methods on manifolds, 1999). The order of the six is the
# API's: linear, angular.

from libc.math cimport atan2, fabs, sqrt

from system cimport System
from spatial cimport (add_cross, clear, never_inline, put, real, sine_and_cosine, square_root,
                      unlikely)
from joint cimport base_pose


cdef inline never_inline displace_base(const real* q, double h, const real* v,
                                       real* out) noexcept nogil:
    """out = q + h v of a floating base, (7,); may be q itself."""
    cdef real[12] pose
    cdef real[3] u, t, tt, x
    cdef real angle, sine, cosine, s, A, B, squared
    cdef real[4] turned
    cdef Py_ssize_t k
    base_pose(q, pose)
    for k in range(3):
        x[k] = h * v[k]
        u[k] = h * v[3 + k]
        put(0.0, &t[k])
        put(0.0, &tt[k])
    angle = square_root(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + 1e-60)    # never 0
    sine_and_cosine(0.5 * angle, &sine, &cosine)
    s = sine / angle
    A = 2.0 * s * s
    B = (angle - 2.0 * sine * cosine) / (angle * angle * angle)
    add_cross(u, x, t)
    add_cross(u, t, tt)
    for k in range(3):
        x[k] += A * t[k] + B * tt[k]
        u[k] *= s
    turned[0] = q[3] * cosine + q[6] * u[0] + q[4] * u[2] - q[5] * u[1]
    turned[1] = q[4] * cosine + q[6] * u[1] + q[5] * u[0] - q[3] * u[2]
    turned[2] = q[5] * cosine + q[6] * u[2] + q[3] * u[1] - q[4] * u[0]
    turned[3] = q[6] * cosine - (q[3] * u[0] + q[4] * u[1] + q[5] * u[2])
    squared = (turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2]
               + turned[3] * turned[3])
    for k in range(3):
        out[k] = pose[9 + k] + pose[3 * k] * x[0] + pose[3 * k + 1] * x[1] + pose[3 * k + 2] * x[2]
    for k in range(4):
        out[3 + k] = turned[k] * (1.5 - 0.5 * squared)  # 1 / sqrt(squared) where that is nearly 1


cdef inline void displace(const System* system, const real* q, double h, const real* v,
                          real* out) noexcept nogil:
    """out = q + h v, (nq,); may be q itself."""
    cdef Py_ssize_t extra = system.nq - system.n, first = 0, i
    if unlikely(system.floating):
        displace_base(q, h, v, out)
        first = 6
    for i in range(first, system.n):
        out[extra + i] = q[extra + i] + h * v[i]


cdef inline void base_difference(const double* q0, const double* q1, double* v) noexcept nogil:
    """v, (6,), with q0 + v = q1 of a floating base's seven numbers; v turns by at most pi."""
    cdef double[12] pose
    cdef double[3] x, turned, t, tt
    cdef double w = q0[6] * q1[6] + q0[3] * q1[3] + q0[4] * q1[4] + q0[5] * q1[5]
    cdef double sine, half, scale, C
    cdef Py_ssize_t j, k
    base_pose[double](q0, pose)
    for k in range(3):
        turned[k] = q0[6] * q1[3 + k] - q1[6] * q0[3 + k]
        x[k] = 0.0
        t[k] = tt[k] = 0.0
        for j in range(3):
            x[k] += pose[3 * j + k] * (q1[j] - q0[j])
    turned[0] -= q0[4] * q1[5] - q0[5] * q1[4]
    turned[1] -= q0[5] * q1[3] - q0[3] * q1[5]
    turned[2] -= q0[3] * q1[4] - q0[4] * q1[3]
    sine = sqrt(turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2]
                + 1e-60)                                        # never 0
    half = atan2(sine, fabs(w))
    scale = 2.0 * half / sine if w >= 0 else -2.0 * half / sine
    C = (1.0 - half * fabs(w) / sine) / (4.0 * half * half)
    for k in range(3):
        turned[k] *= scale
    add_cross[double](turned, x, t)
    add_cross[double](turned, t, tt)
    for k in range(3):
        v[k] = x[k] - 0.5 * t[k] + C * tt[k]
        v[3 + k] = turned[k]


cdef inline void difference(const System* system, const double* q0, const double* q1,
                            double* v) noexcept nogil:
    """v, (n,), with q0 + v = q1: what ``displace`` undoes."""
    cdef Py_ssize_t extra = system.nq - system.n, first = 0, i
    if unlikely(system.floating):
        base_difference(q0, q1, v)
        first = 6
    for i in range(first, system.n):
        v[i] = q1[extra + i] - q0[extra + i]


cdef inline never_inline rate_of_displacement(const real* u, real* v) noexcept nogil:
    """v <- u_dot, given the velocity v of a floating base at q + u, (6,) each."""
    cdef real[12] w                                             # ad_u v, ad_u ad_u v
    cdef Py_ssize_t k
    clear(w, 12)
    add_cross(u + 3, v, w)
    add_cross[real](u, v + 3, w)
    add_cross[real](u + 3, v + 3, w + 3)
    add_cross[real](u + 3, w, w + 6)
    add_cross[real](u, w + 3, w + 6)
    add_cross[real](u + 3, w + 3, w + 9)
    for k in range(6):
        v[k] += 0.5 * w[k] + w[6 + k] * (1.0 / 12.0)

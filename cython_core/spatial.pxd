# Plane rotations and shifts: the few operations of which every transform iXp here is made.
#
# A rotation E = Rz(theta)^T Rx(alpha)^T Rz(gamma)^T is applied factor by factor: gamma is mostly zero (frames.pxi) and
# alpha a right angle, which is why no 3x3 matrix is ever formed.
# Arguments are read before any result is written, so results may overwrite arguments.

from system cimport Body, TWIST_NONE, TWIST_PLUS_90, TWIST_MINUS_90

ctypedef fused real:     # the lane type: one state, or (later) one SIMD register of states
    double


cdef inline void to_child(const Body* b, real c, real s, real x, real y, real z, real* out) noexcept nogil:
    """E x: a vector of the parent's frame in the child's."""
    cdef real t
    if b.turned:
        t = b.cos_gamma * x + b.sin_gamma * y
        y = b.cos_gamma * y - b.sin_gamma * x
        x = t
    if b.twist == TWIST_PLUS_90:
        t = y
        y = z
        z = -t
    elif b.twist == TWIST_MINUS_90:
        t = y
        y = -z
        z = t
    elif b.twist != TWIST_NONE:
        t = b.cos_alpha * y + b.sin_alpha * z
        z = b.cos_alpha * z - b.sin_alpha * y
        y = t
    out[0] = c * x + s * y
    out[1] = c * y - s * x
    out[2] = z


cdef inline void to_parent(const Body* b, real c, real s, real x, real y, real z, real* out) noexcept nogil:
    """E^T x: a vector of the child's frame in the parent's."""
    cdef real t = c * x - s * y
    y = s * x + c * y
    x = t
    if b.twist == TWIST_PLUS_90:
        t = y
        y = -z
        z = t
    elif b.twist == TWIST_MINUS_90:
        t = y
        y = z
        z = -t
    elif b.twist != TWIST_NONE:
        t = b.cos_alpha * y - b.sin_alpha * z
        z = b.sin_alpha * y + b.cos_alpha * z
        y = t
    if b.turned:
        t = b.cos_gamma * x - b.sin_gamma * y
        y = b.sin_gamma * x + b.cos_gamma * y
        x = t
    out[0] = x
    out[1] = y
    out[2] = z


cdef inline void add_cross(const real* p, const real* f, real* out) noexcept nogil:
    """out += p x f."""
    out[0] += p[1] * f[2] - p[2] * f[1]
    out[1] += p[2] * f[0] - p[0] * f[2]
    out[2] += p[0] * f[1] - p[1] * f[0]


cdef inline void turn_plane(real c, real s, real* A, int xx, int xy, int yx, int yy) noexcept nogil:
    """The 2x2 block of A <- R A R^T, R = [c -s; s c]: A' = A + t [-1 0; 0 1] + m [0 1; 1 0]."""
    cdef real d = A[xx] - A[yy], e = A[xy] + A[yx]
    cdef real t = s * (s * d + c * e), m = s * (c * d - s * e)
    A[xx] -= t
    A[yy] += t
    A[xy] += m
    if xy != yx:
        A[yx] += m


cdef inline void turn_pair(real c, real s, real* A, int x, int y) noexcept nogil:
    """The pair (A[x], A[y]) turned as a vector of the plane."""
    cdef real t = c * A[x] - s * A[y]
    A[y] = s * A[x] + c * A[y]
    A[x] = t


cdef inline void exchange(real* A, int x, int y, double sign) noexcept nogil:
    """The pair turned by a right angle: (A[x], A[y]) <- sign (-A[y], A[x])."""
    cdef real t = A[x]
    A[x] = -sign * A[y]
    A[y] = sign * t


cdef inline void symmetric_to_parent(const Body* b, real c, real s, real* A) noexcept nogil:
    """A <- E^T A E for a symmetric 3x3 matrix stored as xx xy xz yy yz zz."""
    cdef real t
    cdef double sign
    turn_plane(c, s, A, 0, 1, 1, 3)
    turn_pair(c, s, A, 2, 4)
    if b.twist == TWIST_PLUS_90 or b.twist == TWIST_MINUS_90:
        sign = b.sin_alpha
        t = A[3]
        A[3] = A[5]
        A[5] = t
        A[4] = -A[4]
        exchange(A, 1, 2, sign)
    elif b.twist != TWIST_NONE:
        turn_plane[real](b.cos_alpha, b.sin_alpha, A, 3, 4, 4, 5)
        turn_pair[real](b.cos_alpha, b.sin_alpha, A, 1, 2)
    if b.turned:
        turn_plane[real](b.cos_gamma, b.sin_gamma, A, 0, 1, 1, 3)
        turn_pair[real](b.cos_gamma, b.sin_gamma, A, 2, 4)


cdef inline void general_to_parent(const Body* b, real c, real s, real* A) noexcept nogil:
    """A <- E^T A E for a 3x3 matrix stored row by row."""
    cdef real t
    cdef double sign
    turn_plane(c, s, A, 0, 1, 3, 4)
    turn_pair(c, s, A, 2, 5)
    turn_pair(c, s, A, 6, 7)
    if b.twist == TWIST_PLUS_90 or b.twist == TWIST_MINUS_90:
        sign = b.sin_alpha
        t = A[4]
        A[4] = A[8]
        A[8] = t
        t = A[5]
        A[5] = -A[7]
        A[7] = -t
        exchange(A, 1, 2, sign)
        exchange(A, 3, 6, sign)
    elif b.twist != TWIST_NONE:
        turn_plane[real](b.cos_alpha, b.sin_alpha, A, 4, 5, 7, 8)
        turn_pair[real](b.cos_alpha, b.sin_alpha, A, 1, 2)
        turn_pair[real](b.cos_alpha, b.sin_alpha, A, 3, 6)
    if b.turned:
        turn_plane[real](b.cos_gamma, b.sin_gamma, A, 0, 1, 3, 4)
        turn_pair[real](b.cos_gamma, b.sin_gamma, A, 2, 5)
        turn_pair[real](b.cos_gamma, b.sin_gamma, A, 6, 7)

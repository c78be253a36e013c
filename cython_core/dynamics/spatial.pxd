# The lane type, and plane rotations and shifts: the few operations of which every transform iXp
# here is made.
#
# A rotation E = Rz(theta)^T Rx(alpha)^T Rz(gamma)^T is applied factor by factor: gamma is mostly
# zero (frames.pxi) and alpha a right angle, which is why no 3x3 matrix is ever formed. Arguments
# are read before any result is written, so results may overwrite arguments.

from libc.math cimport INFINITY, cos, fabs, log, sin, sqrt

from system cimport Body, SHIFT_ALONG_X, SHIFT_GENERAL, TWIST_MINUS_90, TWIST_NONE, TWIST_PLUS_90

cdef extern from "lanes.h" nogil:
    const Py_ssize_t LANES
    ctypedef long double lanes          # so that Cython takes it for a number other than double:
                                        # see lanes.h
    ctypedef long long lane_mask
    ctypedef void always_inline "inlined"    # results of functions that are, or never are, inlined
    ctypedef void never_inline "outlined"
    lanes broadcast(double x)
    lanes gather(const double* x, const Py_ssize_t* at)
    lanes load(const double* x)
    void store(double* x, lanes v)
    void load_rows(const double* rows, Py_ssize_t width, Py_ssize_t count, lanes* x)
    void store_rows(const lanes* x, Py_ssize_t width, Py_ssize_t count, double* rows)
    lanes unit_lanes(Py_ssize_t k)
    lanes abs_lanes(lanes x)
    lanes larger_lanes(lanes a, lanes b)
    lanes smaller_lanes(lanes a, lanes b)
    lanes reciprocal_lanes(lanes x)
    lanes root_lanes(lanes x)
    lanes less_lanes(lanes a, lanes b)
    lanes choose_lanes(lanes choice, lanes a, lanes b)
    bint any_at_most(lanes a, lanes b)
    bint any_nonzero(lanes x)
    bint unlikely(bint condition)
    const double NO_TURN
    void sine_cosine(lanes x, lanes rest, lanes turn, lanes* sine, lanes* cosine)

ctypedef fused real:     # what one arithmetic operation of a kernel works on: one state, or a SIMD
                         # register of states
    double
    lanes


cdef inline void put(double value, real* x) noexcept nogil:
    """x = value, in all lanes."""
    if real is double:
        x[0] = value
    else:
        x[0] = broadcast(value)


cdef inline always_inline clear(real* x, Py_ssize_t count) noexcept nogil:
    """x = 0, ``count`` numbers."""
    cdef Py_ssize_t k
    for k in range(count):
        put(0.0, &x[k])


cdef inline always_inline copy(const real* x, Py_ssize_t count, real* to) noexcept nogil:
    """to = x."""
    cdef Py_ssize_t k
    for k in range(count):
        to[k] = x[k]


cdef inline always_inline add(const real* x, Py_ssize_t count, real* sum) noexcept nogil:
    """sum += x."""
    cdef Py_ssize_t k
    for k in range(count):
        sum[k] += x[k]


cdef inline real magnitude(real x) noexcept nogil:
    if real is double:
        return fabs(x)
    else:
        return abs_lanes(x)


cdef inline real reciprocal(real x) noexcept nogil:
    if real is double:
        return 1.0 / x
    else:
        return reciprocal_lanes(x)


cdef inline real square_root(real x) noexcept nogil:
    if real is double:
        return sqrt(x)
    else:
        return root_lanes(x)


cdef inline real natural_logarithm(real x) noexcept nogil:
    cdef Py_ssize_t k
    if real is double:
        return log(x)
    else:
        for k in range(LANES):
            (<double*> &x)[k] = log((<double*> &x)[k])
        return x


cdef inline void sine_and_cosine(real x, real* s, real* c) noexcept nogil:
    if real is double:
        s[0] = sin(x)
        c[0] = cos(x)
    else:
        sine_cosine(x, broadcast(0.0), broadcast(NO_TURN), s, c)


cdef inline real larger(real a, real b) noexcept nogil:
    """The larger of a and b; b where a is NaN."""
    if real is double:
        return a if a > b else b
    else:
        return larger_lanes(a, b)


cdef inline real smaller(real a, real b) noexcept nogil:
    """The smaller of a and b; b where a is NaN."""
    if real is double:
        return a if a < b else b
    else:
        return smaller_lanes(a, b)


cdef inline real less(real a, real b) noexcept nogil:
    """1 where a < b, else 0."""
    if real is double:
        return 1.0 if a < b else 0.0
    else:
        return less_lanes(a, b)


cdef inline real choose(real choice, real a, real b) noexcept nogil:
    """a where the choice is not 0, else b."""
    if real is double:
        return a if choice != 0 else b
    else:
        return choose_lanes(choice, a, b)


cdef inline bint nonzero(real x) noexcept nogil:
    """Whether x is not 0, in any of the lanes; NaN counts as not 0."""
    if real is double:
        return x != 0
    else:
        return any_nonzero(x)


cdef inline bint at_most(real a, real b) noexcept nogil:
    """Whether a <= b in any of the lanes, not counting those where b has overflowed to infinity."""
    if real is double:
        return a <= b < INFINITY
    else:
        return any_at_most(a, b)


cdef inline always_inline turn_to_child(const Body* b, real c, real s, real* x,
                                        Py_ssize_t count) noexcept nogil:
    """E x, in place: vectors (count, 3) of the parent's frame in the child's."""
    cdef real t
    cdef Py_ssize_t k
    if b.turned:
        for k in range(count):
            t = b.cos_gamma * x[3 * k] + b.sin_gamma * x[3 * k + 1]
            x[3 * k + 1] = b.cos_gamma * x[3 * k + 1] - b.sin_gamma * x[3 * k]
            x[3 * k] = t
    if b.twist == TWIST_PLUS_90:
        for k in range(count):
            t = x[3 * k + 1]
            x[3 * k + 1] = x[3 * k + 2]
            x[3 * k + 2] = -t
    elif b.twist == TWIST_MINUS_90:
        for k in range(count):
            t = x[3 * k + 1]
            x[3 * k + 1] = -x[3 * k + 2]
            x[3 * k + 2] = t
    elif b.twist != TWIST_NONE:
        for k in range(count):
            t = b.cos_alpha * x[3 * k + 1] + b.sin_alpha * x[3 * k + 2]
            x[3 * k + 2] = b.cos_alpha * x[3 * k + 2] - b.sin_alpha * x[3 * k + 1]
            x[3 * k + 1] = t
    for k in range(count):
        t = c * x[3 * k] + s * x[3 * k + 1]
        x[3 * k + 1] = c * x[3 * k + 1] - s * x[3 * k]
        x[3 * k] = t


cdef inline always_inline turn_to_parent(const Body* b, real c, real s, real* x,
                                         Py_ssize_t count) noexcept nogil:
    """E^T x, in place: vectors (count, 3) of the child's frame in the parent's."""
    cdef real t
    cdef Py_ssize_t k
    for k in range(count):
        t = c * x[3 * k] - s * x[3 * k + 1]
        x[3 * k + 1] = s * x[3 * k] + c * x[3 * k + 1]
        x[3 * k] = t
    if b.twist == TWIST_PLUS_90:
        for k in range(count):
            t = x[3 * k + 1]
            x[3 * k + 1] = -x[3 * k + 2]
            x[3 * k + 2] = t
    elif b.twist == TWIST_MINUS_90:
        for k in range(count):
            t = x[3 * k + 1]
            x[3 * k + 1] = x[3 * k + 2]
            x[3 * k + 2] = -t
    elif b.twist != TWIST_NONE:
        for k in range(count):
            t = b.cos_alpha * x[3 * k + 1] - b.sin_alpha * x[3 * k + 2]
            x[3 * k + 2] = b.sin_alpha * x[3 * k + 1] + b.cos_alpha * x[3 * k + 2]
            x[3 * k + 1] = t
    if b.turned:
        for k in range(count):
            t = b.cos_gamma * x[3 * k] - b.sin_gamma * x[3 * k + 1]
            x[3 * k + 1] = b.sin_gamma * x[3 * k] + b.cos_gamma * x[3 * k + 1]
            x[3 * k] = t


cdef inline always_inline to_child(const Body* b, real c, real s, real x, real y, real z,
                                   real* out) noexcept nogil:
    """E (x y z)."""
    out[0] = x
    out[1] = y
    out[2] = z
    turn_to_child(b, c, s, out, 1)


cdef inline always_inline add_cross(const real* p, const real* f, real* out) noexcept nogil:
    """out += p x f."""
    out[0] += p[1] * f[2] - p[2] * f[1]
    out[1] += p[2] * f[0] - p[0] * f[2]
    out[2] += p[0] * f[1] - p[1] * f[0]


cdef inline always_inline motion_to_child(const Body* b, real c, real s, real d,
                                          real* m) noexcept nogil:
    """iXp m, in place: a motion vector (angular, linear) of the parent in the child's frame."""
    cdef real[3] p
    cdef Py_ssize_t k
    if b.shift == SHIFT_ALONG_X:                                # linear part + angular part x s
        m[4] += m[2] * b.s[0]
        m[5] -= m[1] * b.s[0]
    elif b.shift == SHIFT_GENERAL:
        for k in range(3):
            put(b.s[k], &p[k])
        add_cross(m, p, m + 3)
    turn_to_child(b, c, s, m, 2)
    if b.offset:                                                # + angular part x d z
        m[3] += m[1] * d
        m[4] -= m[0] * d


cdef inline always_inline force_to_parent(const Body* b, real c, real s, real d,
                                          real* f) noexcept nogil:
    """pXi* f, in place: a force vector (moment, force) of the child in the parent's frame."""
    cdef real[3] p
    cdef Py_ssize_t k
    if b.offset:                                                # moment + d z x force
        f[0] -= d * f[4]
        f[1] += d * f[3]
    turn_to_parent(b, c, s, f, 2)
    if b.shift == SHIFT_ALONG_X:                                # + s x force
        f[1] -= b.s[0] * f[5]
        f[2] += b.s[0] * f[4]
    elif b.shift == SHIFT_GENERAL:
        for k in range(3):
            put(b.s[k], &p[k])
        add_cross(p, f + 3, f)


cdef inline always_inline turn_plane(real ss, real cs, real* A, int xx, int xy, int yx,
                                     int yy) noexcept nogil:
    """The 2x2 block of A <- R A R^T, R = [c -s; s c], given s^2 and c s: A' = A + t [-1 0; 0 1] + m
    [0 1; 1 0].
    """
    cdef real d = A[xx] - A[yy], e = A[xy] + A[yx]
    cdef real t = ss * d + cs * e, m = cs * d - ss * e
    A[xx] -= t
    A[yy] += t
    A[xy] += m
    if xy != yx:
        A[yx] += m


cdef inline always_inline turn_pair(real c, real s, real* A, int x, int y) noexcept nogil:
    """The pair (A[x], A[y]) turned as a vector of the plane."""
    cdef real t = c * A[x] - s * A[y]
    A[y] = s * A[x] + c * A[y]
    A[x] = t


cdef inline always_inline exchange(real* A, int x, int y, double sign) noexcept nogil:
    """The pair turned by a right angle: (A[x], A[y]) <- sign (-A[y], A[x])."""
    cdef real t = A[x]
    A[x] = -sign * A[y]
    A[y] = sign * t


cdef inline always_inline twist_symmetric(const Body* b, real* A) noexcept nogil:
    """A <- Rz(gamma) Rx(alpha) A (...)^T for a symmetric 3x3 matrix stored as xx xy xz yy yz zz."""
    cdef real t, c, s
    if b.twist == TWIST_PLUS_90 or b.twist == TWIST_MINUS_90:
        t = A[3]
        A[3] = A[5]
        A[5] = t
        A[4] = -A[4]
        exchange(A, 1, 2, b.sin_alpha)
    elif b.twist != TWIST_NONE:
        put(b.cos_alpha, &c)
        put(b.sin_alpha, &s)
        turn_plane(s * s, c * s, A, 3, 4, 4, 5)
        turn_pair(c, s, A, 1, 2)
    if b.turned:
        put(b.cos_gamma, &c)
        put(b.sin_gamma, &s)
        turn_plane(s * s, c * s, A, 0, 1, 1, 3)
        turn_pair(c, s, A, 2, 4)


cdef inline always_inline twist_general(const Body* b, real* A) noexcept nogil:
    """A <- Rz(gamma) Rx(alpha) A (...)^T for a 3x3 matrix stored row by row."""
    cdef real t, c, s
    if b.twist == TWIST_PLUS_90 or b.twist == TWIST_MINUS_90:
        t = A[4]
        A[4] = A[8]
        A[8] = t
        t = A[5]
        A[5] = -A[7]
        A[7] = -t
        exchange(A, 1, 2, b.sin_alpha)
        exchange(A, 3, 6, b.sin_alpha)
    elif b.twist != TWIST_NONE:
        put(b.cos_alpha, &c)
        put(b.sin_alpha, &s)
        turn_plane(s * s, c * s, A, 4, 5, 7, 8)
        turn_pair(c, s, A, 1, 2)
        turn_pair(c, s, A, 3, 6)
    if b.turned:
        put(b.cos_gamma, &c)
        put(b.sin_gamma, &s)
        turn_plane(s * s, c * s, A, 0, 1, 3, 4)
        turn_pair(c, s, A, 2, 5)
        turn_pair(c, s, A, 6, 7)


cdef inline always_inline symmetric_to_parent(const Body* b, real c, real s,
                                              real* A) noexcept nogil:
    """A <- E^T A E for a symmetric 3x3 matrix stored as xx xy xz yy yz zz."""
    turn_plane(s * s, c * s, A, 0, 1, 1, 3)
    turn_pair(c, s, A, 2, 4)
    twist_symmetric(b, A)

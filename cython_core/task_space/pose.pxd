# Orientations and the error between two poses: doubles, one pose at a time, without Python.
#
# A pose is a homogeneous transform (16) row by row, as link_pose gives it; a quaternion is x y z w.
# With the pose of a link (p, R) and where it should be (p_d, R_d) the error is
#     e = [p_d - p, phi],    exp(phi x) = R_d R^T,
# in base axes: phi is the rotation vector that turns the link on to its target (Lynch and Park,
# Modern Robotics, 2017, section 3.2.3). Its derivative follows from that of exp (the same, section
# 8.6; Bullo and Murray, 1995):
#     phi_dot = (w_d - w) - phi x (w_d + w) / 2 + k phi x (phi x (w_d - w))
#     k = (1 - h cot h) / |phi|^2, h = |phi| / 2

from libc.math cimport M_PI, atan2, cos, fabs, sin, sqrt


cdef inline double norm(const double* x) noexcept nogil:
    """Length of a vector (3)."""
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


cdef inline void add_cross_product(double factor, const double* a, const double* b,
                                   double* out) noexcept nogil:
    """out += factor a x b."""
    out[0] += factor * (a[1] * b[2] - a[2] * b[1])
    out[1] += factor * (a[2] * b[0] - a[0] * b[2])
    out[2] += factor * (a[0] * b[1] - a[1] * b[0])


cdef inline void quaternion_of(const double* R, Py_ssize_t stride, double* x) noexcept nogil:
    """Quaternion of a rotation matrix, rows ``stride`` apart (Shepperd, 1978)."""
    cdef double trace = R[0] + R[stride + 1] + R[2 * stride + 2], size = 0.0
    cdef Py_ssize_t i = 3, j, k
    for j in range(3):
        if R[j * (stride + 1)] > (trace if i == 3 else R[i * (stride + 1)]):
            i = j
    if i == 3:
        x[0] = R[2 * stride + 1] - R[stride + 2]
        x[1] = R[2] - R[2 * stride]
        x[2] = R[stride] - R[1]
        x[3] = 1.0 + trace
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        x[i] = 1.0 + 2.0 * R[i * (stride + 1)] - trace
        x[j] = R[j * stride + i] + R[i * stride + j]
        x[k] = R[k * stride + i] + R[i * stride + k]
        x[3] = R[k * stride + j] - R[j * stride + k]
    for j in range(4):
        size += x[j] * x[j]
    for j in range(4):
        x[j] /= sqrt(size)


cdef inline void rotation_of(const double* x, double* R, Py_ssize_t stride) noexcept nogil:
    """Rotation matrix, rows ``stride`` apart, of a quaternion of any length but 0."""
    cdef double s = 2.0 / (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])
    cdef Py_ssize_t i, j, k
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        R[i * (stride + 1)] = 1.0 - s * (x[j] * x[j] + x[k] * x[k])
        R[i * stride + j] = s * (x[i] * x[j] - x[k] * x[3])
        R[i * stride + k] = s * (x[i] * x[k] + x[j] * x[3])


cdef inline void rotation_vector(const double* x, double* phi) noexcept nogil:
    """The shortest rotation vector of a quaternion, |phi| <= pi; x and -x are the same."""
    cdef double size = norm(x), factor = 2.0
    cdef Py_ssize_t k
    if size > 0.0:
        factor = 2.0 * atan2(size, fabs(x[3])) / size
    for k in range(3):
        phi[k] = factor * x[k] if x[3] >= 0.0 else -factor * x[k]


cdef inline void nearest_turn(const double* last, double* phi) noexcept nogil:
    """Of phi and the same rotation the other way round, |phi| - 2 pi, the one nearer to the last
    rotation vector.

    So a rotation that grows past pi does not jump to the other side. Beyond three quarters of a
    turn it does.
    """
    cdef double size = norm(phi), other = 1.0 - 2.0 * M_PI / size if size > 0.0 else 1.0
    cdef double here = 0.0, there = 0.0
    cdef Py_ssize_t k
    for k in range(3):
        here += (phi[k] - last[k]) * (phi[k] - last[k])
        there += (other * phi[k] - last[k]) * (other * phi[k] - last[k])
    if there < here and fabs(other) * size < 1.5 * M_PI:
        for k in range(3):
            phi[k] *= other


cdef inline void pose_error(const double* pose, const double* target, const double* last,
                            double* e) noexcept nogil:
    """e (6) of a pose (16); last: rotation vector (3) that e continues, e's own too, or NULL."""
    cdef double[9] R                                            # R_d R^T
    cdef double[4] x
    cdef double[3] phi
    cdef Py_ssize_t i, j
    for i in range(3):
        e[i] = target[4 * i + 3] - pose[4 * i + 3]
        for j in range(3):
            R[3 * i + j] = target[4 * i] * pose[4 * j] + target[4 * i + 1] * pose[4 * j + 1] \
                + target[4 * i + 2] * pose[4 * j + 2]
    quaternion_of(R, 3, x)
    rotation_vector(x, phi)
    if last != NULL:
        nearest_turn(last, phi)
    for i in range(3):
        e[3 + i] = phi[i]


cdef inline double turn_factor(const double* phi) noexcept nogil:
    """k of the derivative of exp, see above."""
    cdef double size = norm(phi), half = 0.5 * size
    if size < 1e-3:
        return 1.0 / 12.0 + size * size / 720.0
    return (1.0 - half * cos(half) / sin(half)) / (size * size)


cdef inline void pose_error_derivative(const double* e, const double* velocity,
                                       const double* target_velocity, double* rate) noexcept nogil:
    """de/dt (6) of an error e under velocities (6) of a link and its target."""
    cdef double[3] both, inner
    cdef double k = turn_factor(e + 3)
    cdef Py_ssize_t i
    for i in range(6):
        rate[i] = target_velocity[i] - velocity[i]
    for i in range(3):
        both[i] = target_velocity[3 + i] + velocity[3 + i]
        inner[i] = 0.0
    add_cross_product(1.0, e + 3, rate + 3, inner)
    add_cross_product(-0.5, e + 3, both, rate + 3)
    add_cross_product(k, e + 3, inner, rate + 3)


cdef inline void turn(const double* phi, double* pose) noexcept nogil:
    """Turn a pose (16) about its own origin: R <- exp(phi x) R, and make R orthogonal anew."""
    cdef double size = norm(phi), s = sin(0.5 * size) / size if size > 0.0 else 0.5
    cdef double[4] a, b, x
    cdef Py_ssize_t i
    quaternion_of(pose, 4, b)
    for i in range(3):
        a[i] = s * phi[i]
    a[3] = cos(0.5 * size)
    for i in range(3):
        x[i] = a[3] * b[i] + b[3] * a[i]
    add_cross_product(1.0, a, b, x)
    x[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
    rotation_of(x, pose, 4)

# Frames chosen when the model is built, so that the recursions need no 3x3 rotation (system.pxd
# says what they rely on).
#
# Body i's frame may turn about joint i's axis and slide along it. Where the body has a child, x is
# laid along the common perpendicular of the two axes and the origin at its foot: then gamma = 0 and
# p = (a, 0, 0) + d z_child, the modified Denavit-Hartenberg convention. Nearly parallel axes have
# their common perpendicular far away, where a long lever would cost digits: there only the exact
# transform is kept.
#
# All of it is computed with more digits than the core has, where the machine has them: a short
# distance may be the difference of two long ones.

EXTENDED = np.longdouble

cdef double NEARLY_PARALLEL = 1e-2      # |sin alpha|
cdef double ROUNDING = 1e-15  # below this a sine, cosine or length is a rounding error of zero


def _cross(a, b):
    """a x b (np.cross takes twenty times as long on three numbers)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                     a[0] * b[1] - a[1] * b[0]])


def _perpendicular(z):
    """A unit vector perpendicular to z, one of the frame's own axes where one is."""
    x = np.eye(3)[np.argmin(np.abs(z))] if abs(z[2]) < 1 else np.array([1.0, 0.0, 0.0])
    x = x - (x @ z) * z
    return x / np.linalg.norm(x)


def _feet(zi, zj, point):
    """Parameters of the feet of the common perpendicular of the axes t zi and point + s zj, (0, 0)
    where too far away.
    """
    cosine = zi @ zj
    t = (point @ zi - cosine * (point @ zj)) / (1 - cosine * cosine)
    s = t * cosine - point @ zj
    reach = 2 * np.linalg.norm(point)
    return t if abs(t) <= reach else 0.0, s if abs(s) <= reach else 0.0


def _choose_frames(parent, rotation, translation, axis):
    """Frames of the bodies, tips first: orientation (N + 1, 3, 3) and origin (N + 1, 3) in the
    given body frames.

    parent holds slots here; entry 0 of the results is the base's own frame.
    """
    count = len(parent)
    orientation = np.tile(np.eye(3, dtype=EXTENDED), (count + 1, 1, 1))
    origin = np.zeros((count + 1, 3), dtype=EXTENDED)
    first_child = np.zeros(count + 1, dtype=np.intp)
    for i in range(count, 0, -1):
        first_child[parent[i - 1]] = i
    for i in range(count, 0, -1):
        z, j = axis[i - 1], first_child[i]
        x = _perpendicular(z)
        if j:
            zj = rotation[j - 1] @ axis[j - 1]
            point = translation[j - 1]
            normal = _cross(z, zj)
            sine = np.linalg.norm(normal)
            if sine > NEARLY_PARALLEL:
                x = normal / sine
                origin[i] = _feet(z, zj, point)[0] * z
            else:                        # origin abreast of the child's, x towards it
                towards = point + rotation[j - 1] @ origin[j]
                origin[i] = (towards @ z) * z
                towards = towards - origin[i]
                if np.linalg.norm(towards) > ROUNDING:
                    x = towards / np.linalg.norm(towards)
        elif parent[i - 1]:
            zj = rotation[i - 1] @ z
            zi = axis[parent[i - 1] - 1]
            if np.linalg.norm(_cross(zi, zj)) > NEARLY_PARALLEL:
                origin[i] = _feet(zi, zj, translation[i - 1])[1] * z
        x = x - (x @ z) * z
        x /= np.linalg.norm(x)
        orientation[i] = np.stack([x, _cross(z, x), z], axis=1)
    return orientation, origin


def _twist_angles(E):
    """cos and sin of gamma and alpha, and theta0, of E = Rz(gamma) Rx(alpha) Rz(theta0)."""
    sine = np.hypot(E[0, 2], E[1, 2])
    if sine < ROUNDING * 10:
        cos_gamma, sin_gamma, cos_alpha, sin_alpha = 1.0, 0.0, np.sign(E[2, 2]), 0.0
    elif abs(E[0, 2]) < ROUNDING * 10:
        cos_gamma, sin_gamma, cos_alpha, sin_alpha = 1.0, 0.0, E[2, 2], -E[1, 2]
    else:
        cos_gamma, sin_gamma, cos_alpha, sin_alpha = -E[1, 2] / sine, E[0, 2] / sine, E[2, 2], sine
    if abs(cos_alpha) < ROUNDING:
        cos_alpha, sin_alpha = 0.0, np.sign(sin_alpha)
    x = np.array([cos_gamma, sin_gamma, 0.0])            # the frame before theta0 turns it
    y = np.array([-cos_alpha * sin_gamma, cos_alpha * cos_gamma, sin_alpha])
    return cos_gamma, sin_gamma, cos_alpha, sin_alpha, np.arctan2(y @ E[:, 0], x @ E[:, 0])


def _quarter_turns(angle):
    """k and rest of angle = k pi/2 + rest, |rest| <= pi/4; a rest that may be a rounding error is
    0.
    """
    right_angle = np.arctan2(EXTENDED(1), EXTENDED(0))
    k = np.rint(angle / right_angle)
    rest = angle - k * right_angle
    return k, rest if abs(rest) > ROUNDING else 0.0


def _offset_and_shift(p, E):
    """d and s of p = s + d E z: along x alone where the axes have a common perpendicular there."""
    z = E[:, 2]
    d = (p[1] / z[1] if abs(z[1]) > NEARLY_PARALLEL else p[2] / z[2]
         if abs(z[0]) < ROUNDING and z[2] else 0.0)
    s = p - d * z
    length = np.linalg.norm(p)
    s[abs(s) <= 4 * ROUNDING * max(1.0, length)] = 0.0
    if s[1:].any():
        d, s = 0.0, np.where(abs(p) <= ROUNDING, 0.0, p)
    return 0.0 if abs(d) <= ROUNDING else d, s


def _inertia_about(mass, h, inertia, Q, t):
    """First moment and rotational inertia in the axes Q (columns), about the point t along the last
    of them.

    Turned first: a shift along the last axis then leaves the inertia about it as it is, which may
    be small beside the rest.
    """
    h, inertia = Q.T @ h, Q.T @ inertia @ Q
    inertia[0, 0] += t * (mass * t - 2 * h[2])
    inertia[1, 1] += t * (mass * t - 2 * h[2])
    for k in range(2):
        inertia[k, 2] += t * h[k]
        inertia[2, k] += t * h[k]
    h[2] -= mass * t
    return h, inertia

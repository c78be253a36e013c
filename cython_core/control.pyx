"""The arithmetic of one control cycle, on arrays of one number per joint.

The classes of featherstone_ros.control own the arrays, know the settings and decide. What would be a dozen small calls of
NumPy there, each of them dearer than a recursion over the whole arm, is one call here. A loop that has slept for two
milliseconds finds its code in no cache: then a call here takes a microsecond, one of NumPy ten.
"""

cimport numpy as cnp
from libc.math cimport fabs, isfinite, tanh
from libc.string cimport memcpy

cnp.import_array()


cdef int refuse(cnp.ndarray x, Py_ssize_t count, str name, str kind) except -1:
    raise ValueError(f"{name}: expected a {kind} float64 array of {count} numbers, "
                     f"got {x.dtype} of shape {(<object> x).shape}")


cdef inline const double* numbers(cnp.ndarray x, Py_ssize_t count, str name) except NULL:
    """The memory of an argument that is read."""
    if cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(x) or cnp.PyArray_SIZE(x) != count:
        refuse(x, count, name, "C-contiguous")
    return <const double*> cnp.PyArray_DATA(x)


cdef inline double* result(cnp.ndarray x, Py_ssize_t count, str name) except NULL:
    """The memory of an argument that is written to."""
    if cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY(x) or cnp.PyArray_SIZE(x) != count:
        refuse(x, count, name, "writeable C-contiguous")
    return <double*> cnp.PyArray_DATA(x)


def copy(cnp.ndarray values not None, cnp.ndarray out not None):
    """Copy the numbers of one array into another of the same size."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(out)
    memcpy(result(out, n, "out"), numbers(values, n, "values"), n * sizeof(double))


def is_finite(cnp.ndarray x not None):
    """Whether all numbers of an array are finite."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x), i
    cdef const double* value = numbers(x, n, "x")
    for i in range(n):
        if not isfinite(value[i]):
            return False
    return True


def is_within_reach(cnp.ndarray q not None, cnp.ndarray last_q not None, cnp.ndarray speed not None, double duration,
                    double tolerance):
    """Whether every joint can have come from one position to another.

    Args:
        q, last_q: (n,) [rad, m].
        speed: (n,) highest speeds [rad/s, m/s].
        duration: Time between the two [s].
        tolerance: What a joint may move on top of that [rad, m].
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(last_q), i
    cdef const double* there = numbers(q, n, "q")
    cdef const double* here = numbers(last_q, n, "last_q")
    cdef const double* fastest = numbers(speed, n, "speed")
    for i in range(n):
        if not fabs(there[i] - here[i]) <= fastest[i] * duration + tolerance:
            return False
    return True


def evaluate(cnp.ndarray coefficients not None, double t, cnp.ndarray out not None, bint add=False):
    """Value, slope and curvature of polynomials of degree five.

    Args:
        coefficients: (6, n) of increasing power.
        t: Where.
        out: (3, n) result.
        add: Add the result to what ``out`` holds.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(coefficients) // 6, i
    cdef const double* c = numbers(coefficients, 6 * n, "coefficients")
    cdef double* y = result(out, 3 * n, "out")
    cdef double c1, c2, c3, c4, c5
    if not add:
        for i in range(3 * n):
            y[i] = 0.0
    for i in range(n):
        c1, c2, c3, c4, c5 = c[n + i], c[2 * n + i], c[3 * n + i], c[4 * n + i], c[5 * n + i]
        y[i] += c[i] + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
        y[n + i] += c1 + t * (2.0 * c2 + t * (3.0 * c3 + t * (4.0 * c4 + t * (5.0 * c5))))
        y[2 * n + i] += 2.0 * c2 + t * (6.0 * c3 + t * (12.0 * c4 + t * (20.0 * c5)))


def add_feedback(cnp.ndarray start not None, cnp.ndarray desired not None, cnp.ndarray q not None,
                 cnp.ndarray qd not None, cnp.ndarray p not None, cnp.ndarray d not None, cnp.ndarray out not None):
    """start + Kp e + Kd ed.

    Args:
        start: (n,); may be ``out``.
        desired: (3, n) position, velocity and acceleration.
        q, qd: (n,) position and velocity.
        p, d: (n,) gains.
        out: (n,) result.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(out), i
    cdef const double* before = numbers(start, n, "start")
    cdef const double* wanted = numbers(desired, 3 * n, "desired")
    cdef const double* position = numbers(q, n, "q")
    cdef const double* velocity = numbers(qd, n, "qd")
    cdef const double* stiffness = numbers(p, n, "p")
    cdef const double* damping = numbers(d, n, "d")
    cdef double* total = result(out, n, "out")
    for i in range(n):
        total[i] = before[i] + (stiffness[i] * (wanted[i] - position[i]) + damping[i] * (wanted[n + i] - velocity[i]))


def add_drives(cnp.ndarray velocity not None, cnp.ndarray acceleration not None, cnp.ndarray armature not None,
               cnp.ndarray viscous not None, cnp.ndarray coulomb not None, double friction_velocity,
               cnp.ndarray torque not None):
    """Add what the drives need for themselves: rotor inertia, viscous and Coulomb friction.

    Args:
        velocity, acceleration: (n,).
        armature, viscous, coulomb: (n,).
        friction_velocity: Coulomb friction grows with tanh(velocity / friction_velocity).
        torque: (n,) is added to.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(torque), i
    cdef const double* v = numbers(velocity, n, "velocity")
    cdef const double* a = numbers(acceleration, n, "acceleration")
    cdef const double* inertia = numbers(armature, n, "armature")
    cdef const double* b = numbers(viscous, n, "viscous")
    cdef const double* c = numbers(coulomb, n, "coulomb")
    cdef double* total = result(torque, n, "torque")
    for i in range(n):
        total[i] += inertia[i] * a[i] + b[i] * v[i] + c[i] * tanh(v[i] / friction_velocity)


def add_damping(cnp.ndarray damping not None, double share, cnp.ndarray velocity not None, cnp.ndarray torque not None):
    """torque -= share * damping * velocity, each (n,)."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(torque), i
    cdef const double* d = numbers(damping, n, "damping")
    cdef const double* v = numbers(velocity, n, "velocity")
    cdef double* total = result(torque, n, "torque")
    for i in range(n):
        total[i] -= share * d[i] * v[i]


def clip(cnp.ndarray asked not None, cnp.ndarray effort_limit not None, cnp.ndarray out not None):
    """Cut an effort at its limits.

    Args:
        asked, effort_limit: (n,) [N m, N].
        out: (n,) result.

    Returns:
        Whether a limit changed the effort of a joint.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(out), i
    cdef const double* asked_for = numbers(asked, n, "asked")
    cdef const double* most = numbers(effort_limit, n, "effort_limit")
    cdef double* applied = result(out, n, "out")
    cdef bint changed = False
    for i in range(n):
        applied[i] = max(min(asked_for[i], most[i]), -most[i])
        changed |= applied[i] != asked_for[i]
    return changed


def limit(cnp.ndarray asked not None, double weight, cnp.ndarray offset not None, cnp.ndarray carried,
          cnp.ndarray effort_limit not None, cnp.ndarray rate not None, double duration, cnp.ndarray command not None):
    """Move a command towards asked + weight * offset, as far as effort limits and rate limit let it.

    Args:
        asked, offset: (n,).
        weight: Of the offset.
        carried: (n,) is added to the command by others, the effort limits hold for the sum; None for nothing.
        effort_limit, rate: (n,) [N m, N], [N m/s, N/s].
        duration: Time since the last command [s].
        command: (n,) the last command, becomes the next one.

    Returns:
        Whether an effort limit changed the command of a joint, and whether any limit did.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(command), i
    cdef const double* asked_for = numbers(asked, n, "asked")
    cdef const double* difference = numbers(offset, n, "offset")
    cdef const double* borne = NULL
    cdef const double* most = numbers(effort_limit, n, "effort_limit")
    cdef const double* fastest = numbers(rate, n, "rate")
    cdef double* present = result(command, n, "command")
    cdef double effort, allowed, way, step, bias
    cdef bint saturated = False, changed = False
    if carried is not None:
        borne = numbers(carried, n, "carried")
    for i in range(n):
        effort = asked_for[i]
        if weight != 0.0:              # 0 times a difference that has overflowed would be NaN
            effort += weight * difference[i]
        bias = 0.0 if borne == NULL else borne[i]
        allowed = max(min(effort, most[i] - bias), -most[i] - bias)
        saturated |= allowed != effort
        way = allowed - present[i]
        step = max(min(way, fastest[i] * duration), -fastest[i] * duration)
        changed |= step != way
        present[i] += step
    return saturated, saturated or changed

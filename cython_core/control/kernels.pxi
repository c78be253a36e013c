# Small arithmetic on arrays of one number per joint, for Python.

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

# Python's arrays of numbers, as compiled code takes and gives them. Not by memoryviews: what Cython
# adds to a module that has one takes longer to compile than a small module.

cdef int refuse(cnp.ndarray x, Py_ssize_t count, str name, str kind) except -1:
    raise ValueError(f"{name}: expected a {kind} float64 array of {count} numbers, "
                     f"got {x.dtype} of shape {(<object> x).shape}")


cdef inline const double* numbers(cnp.ndarray x, Py_ssize_t count, str name) except NULL:
    """The memory of an argument that is read."""
    if (cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(x)
            or cnp.PyArray_SIZE(x) != count):
        refuse(x, count, name, "C-contiguous")
    return <const double*> cnp.PyArray_DATA(x)


cdef inline double* result(cnp.ndarray x, Py_ssize_t count, str name) except NULL:
    """The memory of an argument that is written to."""
    if (cnp.PyArray_TYPE(x) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY(x)
            or cnp.PyArray_SIZE(x) != count):
        refuse(x, count, name, "writeable C-contiguous")
    return <double*> cnp.PyArray_DATA(x)


cdef inline cnp.ndarray values(const double* numbers, shape):
    """A copy of numbers as an array."""
    cdef cnp.ndarray array = np.empty(shape)
    memcpy(cnp.PyArray_DATA(array), numbers, cnp.PyArray_NBYTES(array))
    return array


cdef inline double* floats(cnp.ndarray array) noexcept nogil:
    return <double*> cnp.PyArray_DATA(array)


cdef inline const DynamicsInterface* interface_of(dynamics) except NULL:
    """Of a ``BoundDynamics``."""
    return <const DynamicsInterface*> PyCapsule_GetPointer(dynamics.capsule,
                                                           "featherstone_ros.DynamicsInterface")

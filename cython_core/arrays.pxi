# Arguments in, results out, through NumPy's C API: a right array costs nanoseconds, anything else is converted or refused.

cdef object _shape_error(str name, object x, str expected):
    return ValueError(f"{name}: expected shape {expected}, got {np.shape(x)}")


cdef object _floats(object x, str name):
    try:
        return np.asarray(x, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected an array of numbers: {error}") from error


cdef cnp.ndarray _converted(object x, Py_ssize_t n, str name):
    array = _floats(x, name)
    if array.ndim not in (1, 2) or array.shape[array.ndim - 1] != n:
        raise _shape_error(name, array, f"({n},) or (B, {n})")
    return np.require(array, requirements="CA")


cdef inline cnp.ndarray as_states(object x, Py_ssize_t n, str name):
    """x as a C-contiguous float64 array (n,) or (B, n), itself where it is one already."""
    if (cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(<cnp.ndarray> x) == cnp.NPY_DOUBLE
            and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> x) and cnp.PyArray_NDIM(<cnp.ndarray> x) == 1
            and cnp.PyArray_DIM(<cnp.ndarray> x, 0) == n):
        return <cnp.ndarray> x
    return _converted(x, n, name)


cdef inline cnp.ndarray like_states(object x, cnp.ndarray q, Py_ssize_t n, str name):
    """x as an array of the same shape as q."""
    cdef cnp.ndarray array = as_states(x, n, name)
    if cnp.PyArray_NDIM(array) != cnp.PyArray_NDIM(q) or cnp.PyArray_DIM(array, 0) != cnp.PyArray_DIM(q, 0):
        raise _shape_error(name, array, f"{np.shape(q)} as the other arguments")
    return array


cdef inline Py_ssize_t rows_of(cnp.ndarray q) noexcept:
    return cnp.PyArray_DIM(q, 0) if cnp.PyArray_NDIM(q) == 2 else 1


cdef cnp.ndarray _checked_out(object out, int ndim, cnp.npy_intp* shape):
    expected = tuple([shape[k] for k in range(ndim)])
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.flags.carray:
        raise ValueError(f"out: expected a writeable C-contiguous float64 array of shape {expected}, got {type(out).__name__}"
                         + (f" of {out.dtype}" if isinstance(out, np.ndarray) else ""))
    if out.shape != expected:
        raise _shape_error("out", out, str(expected))
    return out


cdef inline cnp.ndarray result(object out, cnp.ndarray q, int ndim, Py_ssize_t rows, Py_ssize_t columns):
    """An array of shape (), (rows,) or (rows, columns) per state of q; out where it is one."""
    cdef cnp.npy_intp[3] shape
    cdef int batch = cnp.PyArray_NDIM(q) - 1
    shape[0] = cnp.PyArray_DIM(q, 0)
    shape[batch] = rows if ndim > 0 else shape[0]
    if ndim > 1:
        shape[batch + 1] = columns
    if out is None:
        return cnp.PyArray_SimpleNew(batch + ndim, shape, cnp.NPY_DOUBLE)
    return _checked_out(out, batch + ndim, shape)


cdef inline double* data(cnp.ndarray array) noexcept nogil:
    return <double*> cnp.PyArray_DATA(array)


cdef inline void link_wrench(const double* pose, const double* wrench, double* force) noexcept nogil:
    """force (moment, force at the body frame's origin) += [fx fy fz tx ty tz] at a link's origin in its axes."""
    cdef double[3] f
    cdef Py_ssize_t k
    for k in range(3):
        f[k] = pose[3 * k] * wrench[0] + pose[3 * k + 1] * wrench[1] + pose[3 * k + 2] * wrench[2]
        force[k] += pose[3 * k] * wrench[3] + pose[3 * k + 1] * wrench[4] + pose[3 * k + 2] * wrench[5]
        force[3 + k] += f[k]
    add_cross[double](pose + 9, f, force)


cdef class ExternalForces:
    """The wrenches of one call, by link."""

    cdef CompiledModel model
    cdef list arrays                   # keeps the wrenches alive
    cdef Py_ssize_t count
    cdef Py_ssize_t* link
    cdef const double** wrench
    cdef Py_ssize_t* stride            # 6 where each state has its own wrench, else 0

    def __cinit__(self, CompiledModel model, f_ext, Py_ssize_t rows):
        cdef cnp.ndarray array
        cdef Py_ssize_t k = 0
        if not isinstance(f_ext, Mapping):
            raise TypeError(f"f_ext: expected a mapping from link names to wrenches, got {type(f_ext).__name__}")
        self.model = model
        self.arrays = []
        wrenches = list(f_ext.items())
        self.count = len(wrenches)
        self.link = <Py_ssize_t*> malloc((self.count + 1) * sizeof(Py_ssize_t))
        self.wrench = <const double**> malloc((self.count + 1) * sizeof(double*))
        self.stride = <Py_ssize_t*> malloc((self.count + 1) * sizeof(Py_ssize_t))
        if self.link == NULL or self.wrench == NULL or self.stride == NULL:
            raise MemoryError
        for name, wrench in wrenches:
            array = as_states(wrench, 6, f"f_ext[{name!r}]")
            if cnp.PyArray_NDIM(array) == 2 and cnp.PyArray_DIM(array, 0) != rows:
                raise _shape_error(f"f_ext[{name!r}]", array, f"(6,) or ({rows}, 6)")
            self.arrays.append(array)
            self.link[k] = model.link(name)
            self.wrench[k] = data(array)
            self.stride[k] = 6 if cnp.PyArray_NDIM(array) == 2 else 0
            k += 1

    def __dealloc__(self):
        free(self.link)
        free(self.wrench)
        free(self.stride)

    cdef const double* fill(self, Workspace* work, Py_ssize_t row) noexcept nogil:
        """Write row's wrenches into the workspace."""
        cdef Py_ssize_t k
        for k in range(6 * (self.model.system.N + 1)):
            work.f_ext[k] = 0.0
        for k in range(self.count):
            link_wrench(self.model.link_pose + 12 * self.link[k], self.wrench[k] + row * self.stride[k],
                        work.f_ext + 6 * self.model.link_slot[self.link[k]])
        return work.f_ext


cdef inline ExternalForces as_forces(CompiledModel model, object f_ext, Py_ssize_t rows):
    return None if f_ext is None else ExternalForces(model, f_ext, rows)


cdef int raise_if_singular(CompiledModel model, Py_ssize_t failure) except -1:
    if failure:
        raise SingularInertiaError(model.joint_names[failure - 1])
    return 0

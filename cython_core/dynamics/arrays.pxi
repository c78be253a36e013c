# Conversion of arguments and results through NumPy's C API: a C-contiguous float64 array of the
# right shape costs nanoseconds; anything else is converted or refused.

cdef double QUATERNION_TOLERANCE = 1e-3  # of its squared length: a smaller error is normalised away

cdef object _shape_error(str name, object x, str expected):
    return ValueError(f"{name}: expected shape {expected}, got {np.shape(x)}")


cdef object _floats(object x, str name):
    """x as a float64 array; ValueError for None, text and complex numbers."""
    try:
        array = np.asarray(x)
        if array.dtype.kind not in "biuf" and not (
                array.dtype.kind == "O" and all(isinstance(entry, Real) for entry in array.flat)):
            found = "text" if array.dtype.kind in "US" else array.dtype
            raise ValueError(f"got {found}: {x!r:.80}")
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: expected an array of numbers: {error}") from error


cdef cnp.ndarray _converted(object x, Py_ssize_t n, str name):
    array = _floats(x, name)
    if array.ndim not in (1, 2) or array.shape[array.ndim - 1] != n:
        raise _shape_error(name, array, f"({n},) or (B, {n})")
    return np.require(array, requirements="CA")


cdef inline cnp.ndarray as_states(object x, Py_ssize_t n, str name):
    """x as a C-contiguous float64 array (n,) or (B, n), itself where it is one already."""
    if (cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(<cnp.ndarray> x) == cnp.NPY_DOUBLE
            and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> x)
            and (cnp.PyArray_NDIM(<cnp.ndarray> x) == 1 or cnp.PyArray_NDIM(<cnp.ndarray> x) == 2)
            and cnp.PyArray_DIM(<cnp.ndarray> x, cnp.PyArray_NDIM(<cnp.ndarray> x) - 1) == n):
        return <cnp.ndarray> x
    return _converted(x, n, name)


cdef cnp.ndarray _repeated(cnp.ndarray state, Py_ssize_t rows):
    return np.repeat(state[np.newaxis], rows, axis=0)


cdef cnp.ndarray _as_many(cnp.ndarray q, arrays):
    """q, repeated if it is single and one of the arrays is a batch."""
    for x in arrays if cnp.PyArray_NDIM(q) == 1 else ():
        try:
            shape = np.shape(x)
        except ValueError:             # ragged: refused by name where it is converted
            continue
        if len(shape) == 2:
            return _repeated(q, shape[0])
    return q


cdef inline bint is_single(object x) noexcept:
    return cnp.PyArray_CheckExact(x) and cnp.PyArray_NDIM(<cnp.ndarray> x) == 1


cdef inline cnp.ndarray as_positions(object q, Py_ssize_t nq, object x, object y):
    """q as by ``as_states``; repeated for each state of x or y if it is single and they are not."""
    cdef cnp.ndarray array = as_states(q, nq, "q")
    if unlikely(not (is_single(x) and is_single(y))):
        return _as_many(array, (x, y))
    return array


cdef inline cnp.ndarray like_states(object x, cnp.ndarray q, Py_ssize_t n, str name):
    """x as an array with as many rows as q; a single state is repeated."""
    cdef cnp.ndarray array = as_states(x, n, name)
    if unlikely(cnp.PyArray_NDIM(array) != cnp.PyArray_NDIM(q)
              or cnp.PyArray_NDIM(q) == 2 and cnp.PyArray_DIM(array, 0) != cnp.PyArray_DIM(q, 0)):
        if cnp.PyArray_NDIM(array) == 1:
            return _repeated(array, rows_of(q))
        shape = f"({n},)" if cnp.PyArray_NDIM(q) == 1 else f"({n},) or ({rows_of(q)}, {n})"
        raise _shape_error(name, array, f"{shape} as the other arguments")
    return array


cdef inline int refuse_floating(CompiledModel model, str what) except -1:
    if unlikely(model.system.floating):
        raise NotImplementedError(f"{what}: expected a model with a fixed base, "
                                  f"that of link {model.body_names[0]!r} floats")
    return 0


cdef int check_quaternions(cnp.ndarray q, str name="q") except -1:
    """Raise ValueError unless a floating base has a unit quaternion."""
    cdef const double* x
    cdef Py_ssize_t row
    for row in range(rows_of(q)):
        x = data(q) + row * cnp.PyArray_DIM(q, cnp.PyArray_NDIM(q) - 1) + 3
        if (not fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1)
                <= QUATERNION_TOLERANCE):
            which = f" (row {row})" if cnp.PyArray_NDIM(q) == 2 else ""
            raise ValueError(f"{name}[3:7]{which}: expected the unit quaternion x y z w of the "
                             f"floating base, got {np.array([x[0], x[1], x[2], x[3]])}")
    return 0


cdef cnp.ndarray as_choice(object x, str name):
    """True and False as ones and zeros."""
    if cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(<cnp.ndarray> x) == cnp.NPY_BOOL:
        return cnp.PyArray_Cast(x, cnp.NPY_DOUBLE)
    array = _floats(x, name)
    if not ((array == 0) | (array == 1)).all():
        raise ValueError(f"{name}: expected True or False for each joint, got {x}")
    return array


cdef inline Py_ssize_t rows_of(cnp.ndarray q) noexcept:
    return cnp.PyArray_DIM(q, 0) if cnp.PyArray_NDIM(q) == 2 else 1


cdef inline bint is_plain(cnp.ndarray array, int ndim, cnp.npy_intp* shape) noexcept:
    """Whether it is a writeable C-contiguous float64 array of that shape."""
    cdef int k
    if (cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY(array)
            or cnp.PyArray_NDIM(array) != ndim):
        return False
    for k in range(ndim):
        if cnp.PyArray_DIM(array, k) != shape[k]:
            return False
    return True


cdef inline bint weakly_held(cnp.ndarray array) noexcept:
    return (<PyArrayObject_fields*> array).weakreflist != NULL


cdef cnp.ndarray _checked_out(object out, int ndim, cnp.npy_intp* shape):
    if cnp.PyArray_CheckExact(out) and is_plain(<cnp.ndarray> out, ndim, shape):
        return <cnp.ndarray> out
    expected = tuple([shape[k] for k in range(ndim)])
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.flags.carray:
        raise ValueError("out: expected a writeable C-contiguous float64 array "
                         f"of shape {expected}, got {type(out).__name__}"
                         + (f" of {out.dtype}" if isinstance(out, np.ndarray) else ""))
    if out.shape != expected:
        raise _shape_error("out", out, str(expected))
    return out


cdef inline double* data(cnp.ndarray array) noexcept nogil:
    return <double*> cnp.PyArray_DATA(array)


cdef inline void link_wrench(const double* pose, const double* wrench,
                             double* force) noexcept nogil:
    """force (moment first, body frame) += [fx fy fz tx ty tz] of a link at its origin."""
    cdef double[3] f
    cdef Py_ssize_t k
    for k in range(3):
        f[k] = pose[3 * k] * wrench[0] + pose[3 * k + 1] * wrench[1] + pose[3 * k + 2] * wrench[2]
        force[k] += (pose[3 * k] * wrench[3] + pose[3 * k + 1] * wrench[4]
                     + pose[3 * k + 2] * wrench[5])
        force[3 + k] += f[k]
    add_cross[double](pose + 9, f, force)


cdef struct LinkWrench:            # of one link in a call
    Py_ssize_t slot
    const double* pose             # of the link in its slot's frame
    const double* wrench
    Py_ssize_t stride              # 6 where each state has its own wrench, else 0

cdef struct Wrenches:
    Py_ssize_t count
    LinkWrench* each


cdef inline void fill_wrenches(const Wrenches* wrenches, const System* system, Workspace* work,
                               Py_ssize_t row, Py_ssize_t lane, Py_ssize_t width) noexcept nogil:
    """Write a row's wrenches into one lane of a workspace of ``width`` states."""
    cdef double[6] force
    cdef const LinkWrench* its
    cdef Py_ssize_t i, k
    for k in range(6 * (system.N + 1)):
        work.f_ext[k * width + lane] = 0.0
    for i in range(wrenches.count):
        for k in range(6):
            force[k] = 0.0
        its = &wrenches.each[i]
        link_wrench(its.pose, its.wrench + row * its.stride, force)
        for k in range(6):
            work.f_ext[(6 * its.slot + k) * width + lane] += force[k]


cdef class ExternalForces:
    """The wrenches of one call, by link: owns what Wrenches points to."""

    cdef CompiledModel model
    cdef list arrays
    cdef bytearray block
    cdef Wrenches wrenches

    def __cinit__(self, CompiledModel model, f_ext, Py_ssize_t rows):
        cdef cnp.ndarray array
        cdef Py_ssize_t link
        cdef LinkWrench* w
        if not isinstance(f_ext, Mapping):
            raise TypeError(f"f_ext: expected a mapping from link names to wrenches, "
                            f"got {type(f_ext).__name__}")
        self.model = model
        self.arrays = []
        items = list(f_ext.items())
        self.block = bytearray(len(items) * sizeof(LinkWrench))
        self.wrenches.count = len(items)
        self.wrenches.each = w = <LinkWrench*> PyByteArray_AS_STRING(self.block)
        for name, wrench in items:
            array = as_states(wrench, 6, f"f_ext[{name!r}]")
            if cnp.PyArray_NDIM(array) == 2 and cnp.PyArray_DIM(array, 0) != rows:
                raise _shape_error(f"f_ext[{name!r}]", array, f"(6,) or ({rows}, 6)")
            self.arrays.append(array)
            link = model.link(name)
            w.slot, w.pose = model.system.link_slot[link], model.system.link_pose + 12 * link
            w.wrench, w.stride = data(array), 6 if cnp.PyArray_NDIM(array) == 2 else 0
            w += 1


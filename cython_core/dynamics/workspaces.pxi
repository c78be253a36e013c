# What calls kernels: it owns their workspaces, finds arrays for their results, and raises what they
# report.

cdef enum:
    KEPT = 8
    MAX_KEPT = 1 << 22                 # numbers in all of them: 32 MiB


cdef class WorkspaceOwner:
    """The workspaces of a caller: one for single states, one per thread for batches."""

    cdef object __weakref__
    cdef CompiledModel compiled
    cdef Workspace work
    cdef Workspace* workspaces          # (members,)
    cdef Memory memory                  # of all of them
    cdef int members
    cdef Py_ssize_t busy                # _generation of the process in which it is at work, else 0
    cdef PyObject* kept[KEPT]           # results returned earlier, see ``result``
    cdef int oldest

    def __cinit__(self, *arguments, **named_arguments):
        """Subclasses may take what arguments they like: their __init__ calls ours."""
        self.compiled, self.memory = NO_MODEL, Memory()

    cdef int adopt(self, model) except -1:
        """Allocate the workspace for a model, in place of an earlier one."""
        cdef CompiledModel compiled = compiled_of(model)
        self.require_idle()
        self.work.memory, self.members = NULL, 0
        self.compiled, self.memory = compiled, Memory()
        allocate(&self.work, &compiled.system, 1, self.memory)
        return 0

    cdef inline int require_idle(self) except -1:
        if self.busy == _generation:
            raise RuntimeError(f"this {type(self).__name__} is at work in another thread; "
                               "make one per thread")
        return 0

    cdef int require_model(self) except -1:
        if self.work.memory == NULL:
            raise RuntimeError(f"{type(self).__name__} has no model: "
                               "its __init__ has not called that of its base")
        return 0

    def __dealloc__(self):
        cdef int k
        for k in range(KEPT):
            Py_XDECREF(self.kept[k])

    cdef int reserve(self, int members, Py_ssize_t numbers) except -1:
        """Allocate up to ``members`` workspaces of LANES states with ``numbers`` packed numbers."""
        cdef Memory m = self.memory
        cdef Workspace* workspaces
        cdef int k
        if members > self.members:
            workspaces = <Workspace*> m.block(members * sizeof(Workspace), np.uint8)
            for k in range(members):
                if k < self.members:
                    workspaces[k] = self.workspaces[k]
                else:
                    allocate(&workspaces[k], &self.compiled.system, LANES, m)
            self.workspaces, self.members = workspaces, members
        for k in range(members):
            if self.workspaces[k].packed_size < numbers:
                self.workspaces[k].packed = m.cache_lines(numbers * LANES)
                self.workspaces[k].packed_size = numbers
        return 0

    @cython.final
    cdef inline void begin(self, Call* call, Kernel one, Kernel many) noexcept:
        """A call of a kernel, without inputs and outputs."""
        cdef Py_ssize_t k
        call.system, call.one, call.many = &self.compiled.system, one, many
        call.inputs = call.outputs = call.done = call.fed_back = 0
        call.repeats = call.count = call.y_depth = 1
        call.wrenches = NULL
        call.into = call.by_row = False
        for k in range(4):
            call.x[k] = NULL

    @cython.final
    cdef inline object results(self, Call* call, cnp.ndarray q, f_ext, out):
        """Run the call; its one result for each state of q (in ``out``, unless None), or a tuple of
        several.
        """
        cdef cnp.ndarray y
        if unlikely(call.outputs > 1):
            return self.several(call, q, f_ext, out)
        y = self.result(call, 0, q, out)
        call.y[0] = data(y)
        call.into = out is not None
        call.failure = self.run(call, q, f_ext)
        return y

    cdef tuple several(self, Call* call, cnp.ndarray q, f_ext, out):
        """Run a call with two or three results (in the arrays of ``out``, unless None)."""
        cdef tuple given = (None, None, None) if out is None else _several(out, call.outputs)
        cdef cnp.ndarray first = self.result(call, 0, q, given[0])
        cdef cnp.ndarray second = self.result(call, 1, q, given[1]), third = None
        call.y[0], call.y[1] = data(first), data(second)
        if call.outputs == 3:
            third = self.result(call, 2, q, given[2])
            call.y[2] = data(third)
        call.into = out is not None
        self.run(call, q, f_ext)
        return (first, second) if call.outputs == 2 else (first, second, third)

    @cython.final
    cdef inline cnp.ndarray result(self, Call* call, int k, cnp.ndarray q, object out):
        """An array for output k: ``out``, a kept one that the caller no longer holds, or a new one.

        NumPy takes longer to make an array than the recursions take, and fresh memory for a large
        batch costs as much again. So the last few results are kept, unless they are huge together,
        and reused once the caller has dropped them, as it does in a loop.
        """
        cdef cnp.npy_intp[4] shape
        cdef cnp.ndarray array
        cdef int batch = cnp.PyArray_NDIM(q) - 1, ndim = batch + call.y_ndim[k], i
        shape[0] = cnp.PyArray_DIM(q, 0)
        if call.y_ndim[k] > 0:
            shape[batch], shape[batch + 1] = call.y_rows[k], call.y_columns[k]
            shape[batch + 2] = call.y_depth
        if out is not None:
            return _checked_out(out, ndim, shape)
        for i in range(KEPT):
            if self.kept[i] != NULL and Py_REFCNT(self.kept[i]) == 1:
                array = <cnp.ndarray> self.kept[i]
                if is_plain(array, ndim, shape) and not weakly_held(array):
                    return array
        return self.new_result(ndim, shape)

    cdef cnp.ndarray new_result(self, int ndim, cnp.npy_intp* shape):
        """An array that is kept, unless it is a single number or huge."""
        cdef cnp.ndarray array = cnp.PyArray_SimpleNew(ndim, shape, cnp.NPY_DOUBLE)
        if ndim > 0 and cnp.PyArray_SIZE(array) <= MAX_KEPT:
            self.keep(array)
        return array

    cdef int keep(self, cnp.ndarray array) except -1:
        """Keep a result in the place of the one kept longest, and of more where all are huge."""
        cdef int index = self.oldest, k
        for k in range(KEPT):
            if k == 0 or self.numbers_kept() + cnp.PyArray_SIZE(array) > MAX_KEPT:
                Py_XDECREF(self.kept[(index + k) % KEPT])
                self.kept[(index + k) % KEPT] = NULL
        Py_INCREF(array)
        self.kept[index] = <PyObject*> array
        self.oldest = (index + 1) % KEPT
        return 0

    cdef Py_ssize_t numbers_kept(self) noexcept:
        cdef Py_ssize_t numbers = 0
        cdef int k
        for k in range(KEPT):
            if self.kept[k] != NULL:
                numbers += cnp.PyArray_SIZE(<cnp.ndarray> self.kept[k])
        return numbers

    cdef inline Py_ssize_t run(self, Call* call, cnp.ndarray q, f_ext) except? -1:
        """Call the kernel for q, (nq,) or (B, nq); batches and repeats run without the GIL.

        Returns:
            0, n + 1, or a negative number, see ``Kernel``.

        Raises:
            SingularInertiaError: Some state has a joint that moves no inertia.
            ValueError: The quaternion of a floating base does not have unit length, or ``out``
                overlaps an input.
        """
        cdef Py_ssize_t failure
        cdef ExternalForces forces
        self.require_idle()
        if unlikely(call.system.floating):
            check_quaternions(q)
        if f_ext is not None:
            forces = ExternalForces(self.compiled, f_ext, rows_of(q))
            call.wrenches = &forces.wrenches
        if unlikely(call.into):
            refuse_overlap(call, rows_of(q))
        if cnp.PyArray_NDIM(q) == 1 and call.repeats <= 1:
            if self.work.memory == NULL:
                self.require_model()
            failure = run_one(call, &self.work)
        else:
            failure = self.run_long(call, cnp.PyArray_NDIM(q) > 1, cnp.PyArray_DIM(q, 0))
        if 0 < failure <= self.compiled.system.n:
            raise self.compiled.singular(failure - 1)
        return failure

    cdef Py_ssize_t run_long(self, Call* call, bint batch, Py_ssize_t rows) except? -1:
        """A batch of rows, or one state through many repeats."""
        cdef Py_ssize_t tiles = (rows + LANES - 1) // LANES, numbers = 0, k
        cdef int threads = <int> max(1, min(_num_threads, tiles // SHARE)) if batch else 1
        if call.by_row:
            threads = 1
        self.require_model()
        for k in range(call.inputs):
            numbers += call.x_width[k]
        for k in range(call.outputs):
            numbers += call.y_width[k]
        if batch:
            self.reserve(threads, numbers)
        call.alone = &self.work
        self.busy = _generation
        try:
            with nogil:
                return run_watched(call, self.workspaces if batch else NULL, threads,
                                   rows if batch else 1)
        finally:
            self.busy = 0

# What makes calls: it owns their workspaces, and raises what they report.

cdef class WorkspaceOwner:
    """The workspaces of a caller: one for single states, one per thread for batches."""

    cdef object __weakref__
    cdef CompiledModel compiled
    cdef Workspace work
    cdef Workspace* workspaces          # (members,)
    cdef Memory memory                  # of all of them
    cdef int members
    cdef Py_ssize_t busy                # _generation of the process in which it is at work, else 0

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

    cdef inline Py_ssize_t run(self, Call* call, cnp.ndarray q, f_ext) except? -1:
        """Make the call for q, (nq,) or (B, nq); batches and repeats run without the GIL.

        Returns:
            0, or a negative number, see ``compute``.

        Raises:
            SingularInertiaError: Some state has a joint that moves no inertia.
            SingularJacobianError: In some state the joints do not move the link in all directions.
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
        if unlikely(failure > self.compiled.system.n):
            raise SingularJacobianError(list(self.compiled.link_index)[call.link])
        if unlikely(failure > 0):
            raise self.compiled.singular(failure - 1)
        return failure

    cdef Py_ssize_t run_long(self, Call* call, bint batch, Py_ssize_t rows) except? -1:
        """A batch of rows, or one state through many repeats."""
        cdef Py_ssize_t tiles = (rows + LANES - 1) // LANES, numbers = 0, k
        cdef int threads = <int> max(1, min(_num_threads, tiles // SHARE)) if batch else 1
        if call.algorithm in (REGRESSOR, REGRESSOR_AND_REST):
            call.by_row = batch and LANES * call.y_width[0] > LARGEST_TILE
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

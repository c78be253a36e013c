# How a call reaches a kernel: one state directly, a batch in tiles of LANES states, on as many
# threads as wanted.
#
# A kernel is compiled for both. On double it reads and writes the arrays themselves. On lanes the
# rows of a tile are packed first, one register per number, and the results unpacked. An incomplete
# tile repeats its last row, so the result for a state does not depend on the rest of the batch.

from cython.parallel cimport prange

cdef struct Call

# x, y: the inputs and outputs, NULL where there is none. Returns 0, 1 + the index of a singular
# joint, n + 1 for another failure, or a negative number that the caller interprets.
ctypedef Py_ssize_t (*Kernel)(Call* call, Workspace* work, const double** x, const double* f_ext,
                              double** y) noexcept nogil

cdef struct Call:
    const System* system
    Kernel one                         # the kernel on one state
    Kernel many                        # on LANES states
    Py_ssize_t inputs, outputs
    const double* x[4]                 # (rows, width) each
    Py_ssize_t x_width[4]
    double* y[4]
    Py_ssize_t y_width[4]
    int y_ndim[4]                      # of the result for one state: 0, 1 or 2
    Py_ssize_t y_rows[4]
    Py_ssize_t y_columns[4]
    const Wrenches* wrenches
    Py_ssize_t slot                    # the link that the call is about, and its pose there
    const double* pose
    Workspace* alone                   # of a single state
    const void* settings               # what else the kernel needs
    Py_ssize_t repeats                 # how often the kernel is to be repeated on its own results:
    Py_ssize_t fed_back                # number of outputs that become the first inputs
    Py_ssize_t count, done             # repeats of this call of the kernel, and of earlier ones
    Py_ssize_t failure                 # of the run: see ``WorkspaceOwner.run``

cdef Py_ssize_t SHARE = 16             # tiles that make another thread worth its start
cdef Py_ssize_t _num_threads = 1
cdef Py_ssize_t _generation = 1         # of forked processes
cdef enum:
    KEPT = 8
    LARGEST_KEPT = 1 << 19             # numbers in a result: 4 MiB
    MOST_THREADS = 1024
    FEW = 4                            # repeats at first, so that signals are soon checked

cdef double SHORT = 2e-3               # [s] work that takes less is doubled the next time
cdef double OFTEN = 5e-3               # [s] between two checks for signals (Ctrl-C)


cdef inline double seconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


def set_num_threads(Py_ssize_t k):
    """Let batches (B, n) be computed by k threads, in every Dynamics and Simulator; 1 to begin
    with.

    Args:
        k: From 1 to 1024. A forked child process begins with 1 again.

    Raises:
        ValueError: k is out of range.
    """
    global _num_threads
    if not 1 <= k <= MOST_THREADS:
        raise ValueError(f"k: expected a number of threads from 1 to {<int> MOST_THREADS}, got {k}")
    _num_threads = k


def get_num_threads() -> int:
    """How many threads compute a batch."""
    return _num_threads


def _end_threads():
    omp_pause_resource_all(omp_pause_soft)


def _begin_in_child():
    """Objects at work in another thread of the parent are idle in the child."""
    global _generation
    _generation += 1
    set_num_threads(1)


# After a fork OpenMP would wait in the child for threads that exist only in the parent. So its
# threads are ended before, and started again when needed.
os.register_at_fork(before=_end_threads, after_in_child=_begin_in_child)


cdef inline void add_input(Call* call, cnp.ndarray x, Py_ssize_t width) noexcept:
    call.x[call.inputs] = data(x)
    call.x_width[call.inputs] = width
    call.inputs += 1


cdef inline cnp.ndarray add_position(Call* call, object q, object x, object y):
    """Take q as an input, repeated for each state of x or y; returns it as an array to be kept."""
    cdef cnp.ndarray array = as_positions(q, call.system.nq, x, y)
    add_input(call, array, call.system.nq)
    return array


cdef inline cnp.ndarray add_freedoms(Call* call, object x, cnp.ndarray q, str name):
    """Take qd, qdd or tau as an input with as many rows as q; returns it as an array to be kept."""
    cdef cnp.ndarray array = like_states(x, q, call.system.n, name)
    add_input(call, array, call.system.n)
    return array


cdef inline void add_output(Call* call, cnp.ndarray y, Py_ssize_t width) noexcept:
    call.y[call.outputs] = data(y)
    call.y_width[call.outputs] = width
    call.outputs += 1


cdef inline void add_result(Call* call, int ndim, Py_ssize_t rows, Py_ssize_t columns) noexcept:
    """An output for which ``WorkspaceOwner.results`` finds an array: a number for each state, or a
    vector, or a matrix.
    """
    call.y_ndim[call.outputs] = ndim
    call.y_rows[call.outputs], call.y_columns[call.outputs] = rows, columns
    call.y_width[call.outputs] = rows * columns
    call.outputs += 1


cdef inline void add_number(Call* call) noexcept:
    add_result(call, 0, 1, 1)


cdef inline void add_vector(Call* call, Py_ssize_t size) noexcept:
    add_result(call, 1, size, 1)


cdef inline void add_matrix(Call* call, Py_ssize_t rows, Py_ssize_t columns) noexcept:
    add_result(call, 2, rows, columns)


cdef inline Py_ssize_t run_one(Call* call, Workspace* work) noexcept nogil:
    """The kernel on a single state."""
    if call.wrenches == NULL:
        return call.one(call, work, call.x, NULL, call.y)
    fill_wrenches(call.wrenches, call.system, work, 0, 0, 1)
    return call.one(call, work, call.x, work.f_ext, call.y)


cdef Py_ssize_t run_tile(Call* call, Workspace* work, Py_ssize_t row,
                         Py_ssize_t count) noexcept nogil:
    """The kernel on rows row .. row + count - 1, at most LANES of them."""
    cdef const double* x[4]
    cdef double* y[4]
    cdef const double* f_ext = NULL
    cdef lanes* packed = <lanes*> work.packed
    cdef Py_ssize_t k, lane, failure
    for k in range(call.inputs):
        x[k] = <double*> packed
        load_rows(call.x[k] + row * call.x_width[k], call.x_width[k], count, packed)
        packed += call.x_width[k]
    for k in range(call.outputs):
        y[k] = <double*> packed
        packed += call.y_width[k]
    for k in range(call.inputs, 4):
        x[k] = NULL
    if call.wrenches != NULL:
        f_ext = work.f_ext
        for lane in range(LANES):
            fill_wrenches(call.wrenches, call.system, work, row + min(lane, count - 1), lane, LANES)
    failure = call.many(call, work, x, f_ext, y)
    for k in range(call.outputs):
        store_rows(<lanes*> y[k], call.y_width[k], count, call.y[k] + row * call.y_width[k])
    return failure


cdef Py_ssize_t run_tiles(Call* call, Workspace* work, Py_ssize_t first,
                          Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t row = first
    work.failure = 0
    while row < last and not work.failure:
        work.row = row
        work.failure = run_tile(call, work, row, min(LANES, last - row))
        row += LANES
    return work.failure


cdef Py_ssize_t run_rows(Call* call, Workspace* workspaces, int threads, Py_ssize_t first,
                         Py_ssize_t last) noexcept nogil:
    """The kernel on rows first .. last - 1, on ``threads`` threads; a failure is left in the
    workspace of its thread.
    """
    cdef Py_ssize_t tiles = (last - first + LANES - 1) // LANES, failure = 0, low, high
    cdef int part
    if threads == 1:
        return run_tiles(call, workspaces, first, last)
    for part in prange(threads, num_threads=threads, schedule="static"):
        low = first + LANES * (tiles * part // threads)
        high = min(last, first + LANES * (tiles * (part + 1) // threads))
        run_tiles(call, &workspaces[part], low, high)
    for part in range(threads):
        failure = failure or workspaces[part].failure
    return failure


cdef Py_ssize_t run_watched(Call* call, Workspace* workspaces, int threads,
                            Py_ssize_t rows) except? -1 nogil:
    """Run all rows (1 if it is no batch) and repeats, and check for signals every few milliseconds.

    Raises:
        KeyboardInterrupt, or whatever else a signal handler raises.
    """
    cdef Py_ssize_t block = SHARE * threads * LANES, first, last, k, failure
    cdef double checked = seconds(), began_repeats, began, now
    call.count = min(call.repeats, FEW)
    while True:
        now = began_repeats = seconds()
        call.count = min(call.count, call.repeats - call.done)
        first = 0
        while first < rows:
            began = now
            last = min(rows, first + block)
            failure = (run_rows(call, workspaces, threads, first, last) if workspaces != NULL
                       else run_one(call, call.alone))
            if failure:
                return failure
            now = seconds()
            if now - began < SHORT:
                block *= 2
            if now - checked > OFTEN:
                with gil:
                    PyErr_CheckSignals()
                checked = now
            first = last
        for k in range(call.fed_back if call.done == 0 else 0):
            call.x[k] = call.y[k]
        call.done += call.count
        if call.done >= call.repeats:
            return 0
        if now - began_repeats < SHORT:
            call.count *= 2


cdef class WorkspaceOwner:
    """The workspaces of a caller: one for single states, one per thread for batches."""

    cdef object __weakref__
    cdef CompiledModel compiled
    cdef Workspace work
    cdef Workspace* workspaces          # (members,)
    cdef int members
    cdef Py_ssize_t busy                # _generation of the process in which it is at work, else 0
    cdef PyObject* kept[KEPT]           # results returned earlier, see ``result``
    cdef int oldest

    def __cinit__(self, *arguments, **named_arguments):
        """Subclasses may take what arguments they like: their __init__ calls ours."""
        self.compiled = NO_MODEL

    cdef int adopt(self, model) except -1:
        """Allocate the workspace for a model, in place of an earlier one."""
        cdef CompiledModel compiled = compiled_of(model)
        self.require_idle()
        self.forget()
        self.compiled = compiled
        allocate(&self.work, &compiled.system, 1)
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

    cdef void forget(self) noexcept:
        cdef int k
        free(self.work.memory)
        self.work.memory = NULL
        for k in range(self.members):
            free(self.workspaces[k].memory)
            free(self.workspaces[k].packed)
        free(self.workspaces)
        self.workspaces = NULL
        self.members = 0

    def __dealloc__(self):
        cdef int k
        for k in range(KEPT):
            Py_XDECREF(self.kept[k])
        self.forget()

    cdef int reserve(self, int members, Py_ssize_t numbers) except -1:
        """Allocate up to ``members`` workspaces of LANES states with ``numbers`` packed numbers."""
        cdef Workspace* workspaces
        cdef int k
        if members > self.members:
            workspaces = <Workspace*> realloc(self.workspaces, members * sizeof(Workspace))
            if workspaces == NULL:
                raise MemoryError
            self.workspaces = workspaces
            while self.members < members:
                memset(&workspaces[self.members], 0, sizeof(Workspace))
                allocate(&workspaces[self.members], &self.compiled.system, LANES)
                self.members += 1
        for k in range(members):
            if self.workspaces[k].packed_size < numbers:
                free(self.workspaces[k].packed)
                self.workspaces[k].packed_size = 0
                self.workspaces[k].packed = aligned_alloc(64,
                                                          (numbers * LANES * sizeof(double) + 63)
                                                          // 64 * 64)
                if self.workspaces[k].packed == NULL:
                    raise MemoryError
                self.workspaces[k].packed_size = numbers
        return 0

    @cython.final
    cdef inline void begin(self, Call* call, Kernel one, Kernel many) noexcept:
        """A call of a kernel, without inputs and outputs."""
        cdef Py_ssize_t k
        call.system, call.one, call.many = &self.compiled.system, one, many
        call.inputs = call.outputs = call.done = call.fed_back = 0
        call.repeats = call.count = 1
        call.wrenches = NULL
        for k in range(4):
            call.x[k] = NULL

    @cython.final
    cdef inline object results(self, Call* call, cnp.ndarray q, f_ext, out):
        """Run the call; its one result for each state of q (in ``out``, unless None), or a tuple of
        several.
        """
        cdef cnp.ndarray y
        if unlikely(call.outputs > 1):
            return self.several(call, q, f_ext)
        y = self.result(call, 0, q, out)
        call.y[0] = data(y)
        call.failure = self.run(call, q, f_ext)
        return y

    cdef tuple several(self, Call* call, cnp.ndarray q, f_ext):
        """Run a call with two or three results."""
        cdef cnp.ndarray first = self.result(call, 0, q, None)
        cdef cnp.ndarray second = self.result(call, 1, q, None), third = None
        call.y[0], call.y[1] = data(first), data(second)
        if call.outputs == 3:
            third = self.result(call, 2, q, None)
            call.y[2] = data(third)
        self.run(call, q, f_ext)
        return (first, second) if call.outputs == 2 else (first, second, third)

    @cython.final
    cdef inline cnp.ndarray result(self, Call* call, int k, cnp.ndarray q, object out):
        """An array for output k: ``out``, a kept one that the caller no longer holds, or a new one.

        NumPy takes longer to make an array than the recursions take, and fresh memory for a large
        batch costs as much again. So the last few results are kept, unless they are huge, and
        reused once the caller has dropped them, as it does in a loop.
        """
        cdef cnp.npy_intp[3] shape
        cdef cnp.ndarray array
        cdef int batch = cnp.PyArray_NDIM(q) - 1, ndim = batch + call.y_ndim[k], i
        shape[0] = cnp.PyArray_DIM(q, 0)
        if call.y_ndim[k] > 0:
            shape[batch], shape[batch + 1] = call.y_rows[k], call.y_columns[k]
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
        if ndim > 0 and cnp.PyArray_SIZE(array) <= LARGEST_KEPT:
            self.keep(array)
        return array

    cdef int keep(self, cnp.ndarray array) except -1:
        """Keep a result in the place of the one kept longest."""
        Py_INCREF(array)
        Py_XDECREF(self.kept[self.oldest])
        self.kept[self.oldest] = <PyObject*> array
        self.oldest = (self.oldest + 1) % KEPT
        return 0

    cdef inline Py_ssize_t run(self, Call* call, cnp.ndarray q, f_ext) except? -1:
        """Call the kernel for q, (nq,) or (B, nq); batches and repeats run without the GIL.

        Returns:
            0, n + 1, or a negative number, see ``Kernel``.

        Raises:
            SingularInertiaError: Some state has a joint that moves no inertia.
            ValueError: The quaternion of a floating base does not have unit length.
        """
        cdef Py_ssize_t failure
        cdef ExternalForces forces
        self.require_idle()
        if unlikely(call.system.floating):
            check_quaternions(q)
        if f_ext is not None:
            forces = ExternalForces(self.compiled, f_ext, rows_of(q))
            call.wrenches = &forces.wrenches
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

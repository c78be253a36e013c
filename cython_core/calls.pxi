# How a call reaches a kernel: one state directly, a batch in tiles of LANES states, on as many threads as wanted.
#
# A kernel is compiled for both: on double it reads and writes the arrays themselves; on lanes a tile's rows are first
# packed, one register per number, and the results unpacked. A tile that the batch does not fill repeats its last row;
# so a state's result depends on nothing but the state.

from cython.parallel cimport prange

cdef struct Call

# x, y: the inputs and outputs, NULL where there is none. Returns 1 + the index of a singular joint, or 0.
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
    const Wrenches* wrenches
    Py_ssize_t slot                    # the link that the call is about, and its pose there
    const double* pose
    const void* settings               # what else the kernel needs

cdef Py_ssize_t SHARE = 16             # tiles that make another thread worth its start
cdef Py_ssize_t _num_threads = 1
cdef enum:
    KEPT = 8
    LARGEST_KEPT = 1 << 19             # numbers in a result: 4 MiB


def set_num_threads(Py_ssize_t k):
    """Let batches (B, n) be computed by k threads, in every Dynamics and Simulator; 1 to begin with.

    Args:
        k: At least 1. A forked child process begins with 1 again.

    Raises:
        ValueError: k is smaller than 1.
    """
    global _num_threads
    if k < 1:
        raise ValueError(f"k: expected a number of threads >= 1, got {k}")
    _num_threads = k


def get_num_threads() -> int:
    """How many threads compute a batch."""
    return _num_threads


def _end_threads():
    omp_pause_resource_all(omp_pause_soft)


# OpenMP would wait in the child for threads that did not come along: it starts new ones after the fork, on either side.
os.register_at_fork(before=_end_threads, after_in_child=lambda: set_num_threads(1))


cdef inline void begin(Call* call, Kernel one, Kernel many) noexcept:
    cdef Py_ssize_t k
    call.one = one
    call.many = many
    call.inputs = call.outputs = 0
    call.wrenches = NULL
    for k in range(4):
        call.x[k] = NULL


cdef inline void add_input(Call* call, cnp.ndarray x, Py_ssize_t width) noexcept:
    call.x[call.inputs] = data(x)
    call.x_width[call.inputs] = width
    call.inputs += 1


cdef inline void add_output(Call* call, cnp.ndarray y, Py_ssize_t width) noexcept:
    call.y[call.outputs] = data(y)
    call.y_width[call.outputs] = width
    call.outputs += 1


cdef inline Py_ssize_t run_one(Call* call, Workspace* work) noexcept nogil:
    """The kernel on a single state."""
    if call.wrenches == NULL:
        return call.one(call, work, call.x, NULL, call.y)
    fill_wrenches(call.wrenches, call.system, work, 0, 0, 1)
    return call.one(call, work, call.x, work.f_ext, call.y)


cdef Py_ssize_t run_tile(Call* call, Workspace* work, Py_ssize_t row, Py_ssize_t count) noexcept nogil:
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


cdef Py_ssize_t run_tiles(Call* call, Workspace* work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t row = first, failure = 0
    while row < last and not failure:
        failure = run_tile(call, work, row, min(LANES, last - row))
        row += LANES
    return failure


cdef class Worker:
    """The workspaces of a caller: one for single states, one per thread for batches."""

    cdef CompiledModel compiled
    cdef Workspace work
    cdef Workspace* team               # (members,)
    cdef int members
    cdef bint busy
    cdef PyObject* kept[KEPT]           # results handed out, see result
    cdef int oldest

    def __cinit__(self, model, *settings, **named_settings):
        self.compiled = compiled_of(model)
        allocate(&self.work, &self.compiled.system, 1)

    def __dealloc__(self):
        cdef int k
        for k in range(KEPT):
            Py_XDECREF(self.kept[k])
        free(self.work.memory)
        for k in range(self.members):
            free(self.team[k].memory)
            free(self.team[k].packed)
        free(self.team)

    cdef int hire(self, int members, Py_ssize_t numbers) except -1:
        """Have that many workspaces of LANES states, with room for the packed arrays of a call."""
        cdef Workspace* team
        cdef int k
        if members > self.members:
            team = <Workspace*> realloc(self.team, members * sizeof(Workspace))
            if team == NULL:
                raise MemoryError
            self.team = team
            while self.members < members:
                memset(&team[self.members], 0, sizeof(Workspace))
                allocate(&team[self.members], &self.compiled.system, LANES)
                self.members += 1
        for k in range(members):
            if self.team[k].packed_size < numbers:
                free(self.team[k].packed)
                self.team[k].packed_size = 0
                self.team[k].packed = aligned_alloc(64, (numbers * LANES * sizeof(double) + 63) // 64 * 64)
                if self.team[k].packed == NULL:
                    raise MemoryError
                self.team[k].packed_size = numbers
        return 0

    cdef inline cnp.ndarray result(self, object out, cnp.ndarray q, int ndim, Py_ssize_t rows, Py_ssize_t columns):
        """An array of shape (), (rows,) or (rows, columns) per state of q: out, or one that nobody else holds.

        Making an array costs NumPy more than the recursions take, and the fresh memory of a batch's costs the system as
        much; so the last few results are kept, unless they are huge, and one that the caller has dropped since, as a
        loop does, is handed out again.
        """
        cdef cnp.npy_intp[3] shape
        cdef cnp.ndarray array
        cdef Py_ssize_t numbers = 1
        cdef int batch = cnp.PyArray_NDIM(q) - 1, k
        shape[0] = cnp.PyArray_DIM(q, 0)
        shape[batch] = rows if ndim > 0 else shape[0]
        if ndim > 1:
            shape[batch + 1] = columns
        if out is not None:
            return _checked_out(out, batch + ndim, shape)
        for k in range(batch + ndim):
            numbers *= shape[k]
        if batch + ndim == 0 or numbers > LARGEST_KEPT:
            return cnp.PyArray_SimpleNew(batch + ndim, shape, cnp.NPY_DOUBLE)
        for k in range(KEPT):
            if self.kept[k] != NULL and Py_REFCNT(self.kept[k]) == 1:
                array = <cnp.ndarray> self.kept[k]
                if is_plain(array, batch + ndim, shape):
                    return array
        array = cnp.PyArray_SimpleNew(batch + ndim, shape, cnp.NPY_DOUBLE)
        self.keep(array)
        return array

    cdef int keep(self, cnp.ndarray array) except -1:
        """Keep a result in the place of the one kept longest."""
        Py_INCREF(array)
        Py_XDECREF(self.kept[self.oldest])
        self.kept[self.oldest] = <PyObject*> array
        self.oldest = (self.oldest + 1) % KEPT
        return 0

    cdef inline int run(self, Call* call, cnp.ndarray q, ExternalForces forces, bint takes_long=False) except -1:
        """Call the kernel for q, (n,) or (B, n), without the GIL where it takes long.

        Raises:
            SingularInertiaError: Some state has a joint that moves no inertia.
        """
        cdef Py_ssize_t failure
        if self.busy:
            raise RuntimeError("this object is at work in another thread; make one per thread")
        call.system = &self.compiled.system
        if forces is not None:
            call.wrenches = &forces.wrenches
        if cnp.PyArray_NDIM(q) == 1:
            if takes_long:
                self.busy = True
                with nogil:
                    failure = run_one(call, &self.work)
                self.busy = False
            else:
                failure = run_one(call, &self.work)
        else:
            failure = self.run_batch(call, cnp.PyArray_DIM(q, 0))
        if failure:
            raise SingularInertiaError(self.compiled.joint_names[failure - 1])
        return 0

    cdef Py_ssize_t run_batch(self, Call* call, Py_ssize_t rows) except -1:
        cdef Py_ssize_t tiles = (rows + LANES - 1) // LANES, numbers = 0, failure = 0, first, last
        cdef int threads = <int> max(1, min(_num_threads, tiles // SHARE)), part
        for first in range(call.inputs):
            numbers += call.x_width[first]
        for first in range(call.outputs):
            numbers += call.y_width[first]
        self.hire(threads, numbers)
        self.busy = True
        with nogil:
            if threads == 1:
                failure = run_tiles(call, &self.team[0], 0, rows)
            else:
                for part in prange(threads, num_threads=threads, schedule="static"):
                    first = LANES * (tiles * part // threads)
                    last = min(rows, LANES * (tiles * (part + 1) // threads))
                    self.team[part].failure = run_tiles(call, &self.team[part], first, last)
                for part in range(threads):
                    failure = failure or self.team[part].failure
        self.busy = False
        return failure

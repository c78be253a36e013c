# How a call reaches its algorithm: one state directly, a batch in tiles of LANES states, on as many
# threads as wanted.
#
# An algorithm is compiled for both. On double it reads and writes the arrays themselves. On lanes
# the rows of a tile are packed first, one register per number, and the results unpacked. An
# incomplete tile repeats its last row, so the result for a state does not depend on the rest of the
# batch. Rows with large results go one by one: to unpack a tile that no cache holds costs more than
# the lanes save.

cdef extern from *:
    """
    #define LARGEST_TILE (65536)
    """
    const Py_ssize_t LARGEST_TILE       # numbers of a result: 512 KiB


cdef inline void begin(Call* call, Algorithm algorithm, const System* system) noexcept:
    """A call without inputs and outputs."""
    cdef Py_ssize_t k
    call.algorithm, call.system = algorithm, system
    call.inputs = call.outputs = call.done = call.fed_back = 0
    call.repeats = call.count = 1
    call.wrenches = NULL
    call.into = call.by_row = False
    for k in range(4):
        call.x[k] = NULL


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


cdef int refuse_overlap(const Call* call, Py_ssize_t rows) except -1:
    """Raise ValueError if ``out`` overlaps an input that is still read, or itself."""
    cdef const Wrenches* w = call.wrenches
    cdef Py_ssize_t j, k
    for j in range(call.outputs):
        for k in range(call.inputs):
            if shares(call, rows, j, call.x[k], call.x_width[k], call.x_width[k]):
                raise _overlap(("q", "qd", "qdd or tau")[min(k, 2)])
        for k in range(w.count if w != NULL else 0):
            if shares(call, rows, j, w.each[k].wrench, 6,
                      w.each[k].stride if rows > 1 else 6):
                raise _overlap("a wrench in f_ext")
        for k in range(j):
            if (call.y[k] < call.y[j] + rows * call.y_width[j]
                    and call.y[j] < call.y[k] + rows * call.y_width[k]):
                raise ValueError("out: expected arrays apart from each other")
    return 0


cdef bint shares(const Call* call, Py_ssize_t rows, Py_ssize_t output, const double* x,
                 Py_ssize_t width, Py_ssize_t stride) noexcept:
    """Whether an output lies where rows of an input do; a lone one may be the input itself."""
    cdef const double* y = call.y[output]
    cdef Py_ssize_t y_width = call.y_width[output]
    return (x < y + rows * y_width and y < x + ((rows - 1) * stride + width)
            and not (call.outputs == 1 and x == y and stride == y_width))


cdef object _overlap(str name):
    return ValueError(f"out: expected an array apart from the inputs, or one of q, qd, qdd and tau "
                      f"itself; it overlaps {name}")


cdef inline Py_ssize_t run_one(Call* call, Workspace* work) noexcept nogil:
    """A single state."""
    if call.wrenches == NULL:
        return compute[double](call, work, call.x, NULL, call.y)
    fill_wrenches(call.wrenches, call.system, work, 0, 0, 1)
    return compute[double](call, work, call.x, work.f_ext, call.y)


cdef Py_ssize_t run_tile(Call* call, Workspace* work, Py_ssize_t row,
                         Py_ssize_t count) noexcept nogil:
    """Rows row .. row + count - 1, at most LANES of them."""
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
    failure = compute[lanes](call, work, <const lanes**> x, <const lanes*> f_ext, <lanes**> y)
    for k in range(call.outputs):
        store_rows(<lanes*> y[k], call.y_width[k], count, call.y[k] + row * call.y_width[k])
    return failure


cdef Py_ssize_t run_row(Call* call, Workspace* work, Py_ssize_t row) noexcept nogil:
    """One row of a batch, in place."""
    cdef const double* x[4]
    cdef double* y[4]
    cdef Py_ssize_t k
    for k in range(4):
        x[k] = call.x[k] + row * call.x_width[k] if k < call.inputs else NULL
        y[k] = call.y[k] + row * call.y_width[k] if k < call.outputs else NULL
    if call.wrenches == NULL:
        return compute[double](call, work, x, NULL, y)
    fill_wrenches(call.wrenches, call.system, work, row, 0, 1)
    return compute[double](call, work, x, work.f_ext, y)


cdef Py_ssize_t run_tiles(Call* call, Workspace* work, Py_ssize_t first,
                          Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t row = first, failure = 0
    while row < last and not failure:
        work.row = row
        if call.by_row:
            failure = run_row(call, call.alone, row)
        else:
            failure = run_tile(call, work, row, min(LANES, last - row))
        row += 1 if call.by_row else LANES
    return failure

# Positions of a model as points of a manifold, for Model.integrate and Model.difference.

cdef cnp.ndarray _states_like(cnp.ndarray q, Py_ssize_t width):
    """An array for ``width`` numbers of each state of q."""
    return np.empty(np.shape(q)[:cnp.PyArray_NDIM(q) - 1] + (width,))


def integrated(model, q, v, double dt):
    """q + dt v, see ``Model.integrate``."""
    cdef CompiledModel compiled = compiled_of(model)
    cdef const System* system = &compiled.system
    cdef cnp.ndarray q_ = as_positions(q, system.nq, v, v)
    cdef cnp.ndarray v_ = like_states(v, q_, system.n, "v"), out = _states_like(q_, system.nq)
    cdef Py_ssize_t row
    if system.floating:
        check_quaternions(q_)
    for row in range(rows_of(q_)):
        displace[double](system, data(q_) + row * system.nq, dt, data(v_) + row * system.n,
                         data(out) + row * system.nq)
    return out


def difference_of(model, q0, q1):
    """The v with q0 + v = q1, see ``Model.difference``."""
    cdef CompiledModel compiled = compiled_of(model)
    cdef const System* system = &compiled.system
    cdef cnp.ndarray q0_ = _as_many(as_states(q0, system.nq, "q0"), (q1,))
    cdef cnp.ndarray q1_ = like_states(q1, q0_, system.nq, "q1"), v = _states_like(q0_, system.n)
    cdef Py_ssize_t row
    if system.floating:
        check_quaternions(q0_, "q0")
        check_quaternions(q1_, "q1")
    for row in range(rows_of(q0_)):
        difference(system, data(q0_) + row * system.nq, data(q1_) + row * system.nq,
                   data(v) + row * system.n)
    return v

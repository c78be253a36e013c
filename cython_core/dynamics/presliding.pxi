# Presliding states along a sampled motion, for featherstone_ros/model/drives.py.

release_time = RELEASE_TIME


def presliding_states(cnp.ndarray[double, ndim=2] position, double displacement,
                      cnp.ndarray[double, ndim=1] start, cnp.ndarray[double, ndim=1] time):
    """The states (N, n) along a motion, see ``friction.presliding``; time may be None."""
    cdef cnp.ndarray[double, ndim=2] states = np.empty_like(position)
    cdef Py_ssize_t k, j
    cdef double moved
    if len(position):
        states[0] = start
    for k in range(1, position.shape[0]):
        for j in range(position.shape[1]):
            moved = position[k, j] - position[k - 1, j]
            if moved != 0.0:
                states[k, j] = after_motion(states[k - 1, j], moved, displacement)
            elif time is not None:
                states[k, j] = after_rest(states[k - 1, j], 0.0, time[k] - time[k - 1])
            else:
                states[k, j] = states[k - 1, j]
    return states

# A Simulator's arm for another extension module, without the GIL: what ``Simulator._interface``, a capsule, points to.
#
# Whoever uses it keeps the Simulator alive, and its workspace to one thread. The state is the caller's own.

cdef extern from *:
    """
    #define SIMULATOR_INTERFACE "featherstone_ros.SimulatorInterface"
    """
    const char* SIMULATOR_INTERFACE    # the capsule's name

cdef struct Load:        # a wrench on a link, at its origin, in its axes
    Py_ssize_t link      # index in ``model.link_names``
    double[6] wrench     # force, then torque [N, N m]

cdef struct SimulatorInterface:
    void* simulator
    Py_ssize_t n
    double time_step
    # Time steps under a constant tau: q, qd and qdd, each (n,), become those at the end. armature: (n,) instead of the
    # simulator's own, or NULL. Returns what ``advance`` of time_stepping.pxd does.
    Py_ssize_t (*advance)(void* simulator, Py_ssize_t steps, const double* tau, const double* armature, const Load* loads,
                          Py_ssize_t count, double* q, double* qd, double* qdd) noexcept nogil
    # RNEA of the rigid bodies (RBDA Table 5.1); tau: (n,) result.
    void (*rnea)(void* simulator, const double* q, const double* qd, const double* qdd, const Load* loads,
                 Py_ssize_t count, double* tau) noexcept nogil

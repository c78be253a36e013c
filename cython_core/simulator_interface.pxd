# A Simulator's arm for another extension module, without the GIL: what ``Simulator._interface``, a
# capsule, points to.
#
# Whoever uses it keeps the Simulator alive, and its workspace to one thread. The state is the
# caller's own.

cdef extern from *:
    """
    #define SIMULATOR_INTERFACE "featherstone_ros.SimulatorInterface"
    """
    const char* SIMULATOR_INTERFACE    # the capsule's name

cdef struct Load:        # a wrench on a link, at its origin, in its axes
    Py_ssize_t link      # index in ``model.link_names``
    double[6] wrench     # force, then torque [N, N m]

cdef struct Loads:
    Py_ssize_t count
    Load* load

cdef struct Prescribed:  # motion, by hybrid dynamics (RBDA section 9.2)
    Py_ssize_t count
    Py_ssize_t* freedom  # (count,) indices in a velocity
    double* motion       # (instants + 1, count, 3) position, velocity and acceleration

cdef struct SimulatorInterface:
    void* simulator
    Py_ssize_t nq, nv        # numbers in a position and a velocity: those of a floating base stand
                             # before the joints'
    double time_step
    Py_ssize_t instants      # of a step at which the integrator looks
    # Time steps under a constant tau: q, (nq,), qd and qdd, (nv,) each, become those at the end.
    # armature: (nv,) instead of the simulator's own, or NULL; prescribed, loads: NULL for none.
    # Joints whose motion is prescribed follow it, for a single step. Returns what ``advance`` of
    # time_stepping.pxd does.
    Py_ssize_t (*advance)(void* simulator, Py_ssize_t steps, const double* tau,
                          const double* armature, const Prescribed* prescribed, const Loads* loads,
                          double* q, double* qd, double* qdd) noexcept nogil
    # Where the locked joints stand, as of a DynamicsInterface.
    void (*place)(void* simulator, const double* positions) noexcept nogil
    # The forces tau (nv,) that the accelerations qdd (nv,) of the joints take, by hybrid dynamics
    # (RBDA section 9.2): those of a base that is free are found, those of any other given. Returns
    # 0, or 1 + a singular degree of freedom.
    Py_ssize_t (*hold)(void* simulator, bint base_is_free, const double* q, const double* qd,
                       const Loads* loads, double* qdd, double* tau) noexcept nogil

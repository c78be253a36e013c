# The dynamics of a robot for compiled code outside the core: recursions as plain C functions
# (interface.pxi).
#
# The core is built for several instruction sets; what is built once calls the one in use through
# this. The functions work in the workspace of a BoundDynamics: whoever holds the interface keeps
# that object alive and is its only user. Arrays are (n,) in joint order; results 0, or 1 + the
# index of a joint that moves no inertia.

cdef struct DynamicsInterface:
    void* self
    Py_ssize_t n
    Py_ssize_t (*rnea)(void* self, const double* q, const double* qd, const double* qdd,
                       double* tau) noexcept nogil
    Py_ssize_t (*gravity)(void* self, const double* q, double* tau) noexcept nogil
    # qdd = (H + diag(armature))^-1 (tau - C)
    Py_ssize_t (*aba)(void* self, const double* q, const double* qd, const double* tau,
                      const double* armature, double* qdd) noexcept nogil
    Py_ssize_t (*crba)(void* self, const double* q, double* H) noexcept nogil  # (n, n)
    Py_ssize_t (*minv)(void* self, const double* q, double* Minv) noexcept nogil  # (n, n)
    # Of a frame fixed to a link: pose (16) row by row in the base frame, and Jacobian (6, n) as
    # Dynamics has it, or NULL. link: index in model.link_names; offset (16): the frame's pose in
    # the link's, NULL for the link's own.
    void (*frame)(void* self, Py_ssize_t link, const double* offset, const double* q, double* pose,
                  double* J) noexcept nogil
    # -d(J^T F)/dq, (n, n), its symmetric part, of a wrench F (6) that keeps its axes, on a point
    # (3) of a link; base axes, force first.
    void (*geometric_stiffness)(void* self, Py_ssize_t link, const double* point, const double* q,
                                const double* F, double* K) noexcept nogil
    # Where the locked joints stand, in the order of model.locked_joints; of those that it follows
    # (Model.following).
    void (*place)(void* self, const double* positions) noexcept nogil
    # C (n, n), Christoffel's
    Py_ssize_t (*coriolis)(void* self, const double* q, const double* qd, double* C) noexcept nogil

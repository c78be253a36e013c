# dynamics_interface.pxd: a model's recursions for compiled code outside the core.

cdef struct Bound:                     # a model and the workspace that its recursions use
    System* system
    Workspace* work


cdef Py_ssize_t bound_rnea(void* self, const double* q, const double* qd, const double* qdd,
                           double* tau) noexcept nogil:
    cdef Bound* its = <Bound*> self
    jcalc[double](its.system, its.work, q)
    rnea[double](its.system, its.work, qd, qdd, <const double*> NULL, tau)
    return 0


cdef Py_ssize_t bound_gravity(void* self, const double* q, double* tau) noexcept nogil:
    return bound_rnea(self, q, NULL, NULL, tau)


cdef Py_ssize_t bound_aba(void* self, const double* q, const double* qd, const double* tau,
                          const double* armature, double* qdd) noexcept nogil:
    cdef Bound* its = <Bound*> self
    jcalc[double](its.system, its.work, q)
    return forward_dynamics[double](its.system, its.work, qd, tau, <const double*> NULL, armature,
                                    qdd)


cdef Py_ssize_t bound_crba(void* self, const double* q, double* H) noexcept nogil:
    cdef Bound* its = <Bound*> self
    jcalc[double](its.system, its.work, q)
    crba[double](its.system, its.work, H)
    return 0


cdef Py_ssize_t bound_minv(void* self, const double* q, double* Minv) noexcept nogil:
    cdef Bound* its = <Bound*> self
    base_axes[double](its.system, its.work, q)
    return minv[double](its.system, its.work, Minv)


cdef void bound_frame(void* self, Py_ssize_t link, const double* offset, const double* q,
                      double* pose, double* J) noexcept nogil:
    cdef Bound* its = <Bound*> self
    cdef double[16] T
    cdef double[3] point
    cdef Py_ssize_t slot = its.system.link_slot[link], i, k
    poses[double](its.system, its.work, q)
    link_pose[double](its.work, slot, its.system.link_pose + 12 * link, T)
    for i in range(16):
        pose[i] = T[i]
    if offset != NULL:
        for i in range(3):
            for k in range(4):
                pose[4 * i + k] = (T[4 * i] * offset[k] + T[4 * i + 1] * offset[4 + k]
                                   + T[4 * i + 2] * offset[8 + k])
            pose[4 * i + 3] += T[4 * i + 3]
    if J != NULL:
        for i in range(3):
            point[i] = pose[4 * i + 3]
        jacobian[double](its.system, its.work, slot, point, J)


cdef void bound_geometric_stiffness(void* self, Py_ssize_t link, const double* point,
                                    const double* q, const double* F, double* K) noexcept nogil:
    cdef Bound* its = <Bound*> self
    poses[double](its.system, its.work, q)
    geometric_stiffness(its.system, its.work, its.system.link_slot[link], point, F, K)


cdef Py_ssize_t bound_coriolis(void* self, const double* q, const double* qd,
                               double* C) noexcept nogil:
    cdef Bound* its = <Bound*> self
    base_coordinates[double](its.system, its.work, q)
    coriolis[double](its.system, its.work, qd, C)
    return 0


cdef void bound_place(void* self, const double* positions) noexcept nogil:
    cdef Bound* its = <Bound*> self
    place_locked(its.system, its.work, positions)


cdef class BoundDynamics:
    """A model's recursions as C functions, with a workspace: see dynamics_interface.pxd.

    Attributes:
        capsule: Of a DynamicsInterface*, named "featherstone_ros.DynamicsInterface"; this object
            must outlive its use.
        model: As given.

    Args:
        model: A ``Model``; of ``Model.following``, for nobody else, if its locked joints move.
    """

    cdef DynamicsInterface interface
    cdef Bound bound
    cdef Workspace work
    cdef Memory memory                     # of that
    cdef CompiledModel compiled
    cdef readonly object model, capsule

    def __cinit__(self, model):
        self.model = model
        self.compiled = compiled_of(model)
        refuse_floating(self.compiled, "controllers, shadows and inverse kinematics")
        self.memory = Memory()
        allocate(&self.work, &self.compiled.system, 1, self.memory)
        self.bound.system, self.bound.work = &self.compiled.system, &self.work
        self.interface.self, self.interface.n = &self.bound, self.compiled.system.n
        self.interface.rnea, self.interface.gravity = bound_rnea, bound_gravity
        self.interface.aba, self.interface.crba, self.interface.minv = (
            bound_aba, bound_crba, bound_minv)
        self.interface.frame, self.interface.coriolis = bound_frame, bound_coriolis
        self.interface.geometric_stiffness = bound_geometric_stiffness
        self.interface.place = bound_place
        self.capsule = PyCapsule_New(&self.interface, "featherstone_ros.DynamicsInterface", NULL)

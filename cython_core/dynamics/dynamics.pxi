# The kernels as functions of a Call, and Dynamics. The inputs x are q, then qd, then qdd or tau.

cdef inline Py_ssize_t call_rnea(Call* call, Workspace* work, const real** x, const real* f_ext,
                                 real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    rnea(call.system, work, x[1], x[2], f_ext, y[0])
    return 0


cdef inline Py_ssize_t call_aba(Call* call, Workspace* work, const real** x, const real* f_ext,
                                real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    return forward_dynamics(call.system, work, x[1], x[2], f_ext, <const real*> NULL, y[0])


cdef inline Py_ssize_t call_crba(Call* call, Workspace* work, const real** x, const real* f_ext,
                                 real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    crba(call.system, work, y[0])
    return 0


cdef inline Py_ssize_t call_minv(Call* call, Workspace* work, const real** x, const real* f_ext,
                                 real** y) noexcept nogil:
    base_axes(call.system, work, x[0])
    return minv(call.system, work, y[0])


cdef inline Py_ssize_t call_rnea_derivatives(Call* call, Workspace* work, const real** x,
                                             const real* f_ext, real** y) noexcept nogil:
    base_coordinates(call.system, work, x[0])
    rnea_derivatives(call.system, work, x[1], x[2], y[0], y[1], y[2])
    if f_ext != NULL:
        add_external_stiffness(call.system, work, f_ext, y[0])
    return 0


cdef inline Py_ssize_t call_aba_derivatives(Call* call, Workspace* work, const real** x,
                                            const real* f_ext, real** y) noexcept nogil:
    base_coordinates(call.system, work, x[0])
    return aba_derivatives(call.system, work, x[1], x[2], f_ext, y[0], y[1], y[2])


cdef inline Py_ssize_t call_link_pose(Call* call, Workspace* work, const real** x,
                                      const real* f_ext, real** y) noexcept nogil:
    poses(call.system, work, x[0])
    link_pose(work, call.slot, call.pose, y[0])
    return 0


cdef inline Py_ssize_t call_jacobian(Call* call, Workspace* work, const real** x, const real* f_ext,
                                     real** y) noexcept nogil:
    cdef real[3] point
    poses(call.system, work, x[0])
    link_origin(work, call.slot, call.pose, point)
    jacobian(call.system, work, call.slot, point, y[0])
    return 0


cdef inline Py_ssize_t call_link_velocity(Call* call, Workspace* work, const real** x,
                                          const real* f_ext, real** y) noexcept nogil:
    cdef real[3] point
    poses(call.system, work, x[0])
    link_origin(work, call.slot, call.pose, point)
    point_velocity(call.system, work, call.slot, point, x[1], y[0])
    return 0


cdef inline Py_ssize_t call_link_acceleration(Call* call, Workspace* work, const real** x,
                                              const real* f_ext, real** y) noexcept nogil:
    cdef real[3] point
    poses(call.system, work, x[0])
    link_origin(work, call.slot, call.pose, point)
    point_acceleration(call.system, work, call.slot, point, x[1], x[2], y[0])
    return 0


cdef inline Py_ssize_t call_jacobian_derivative(Call* call, Workspace* work, const real** x,
                                                const real* f_ext, real** y) noexcept nogil:
    cdef real[3] point
    poses(call.system, work, x[0])
    link_origin(work, call.slot, call.pose, point)
    jacobian_derivative(call.system, work, call.slot, point, x[1], y[0])
    return 0


cdef inline Py_ssize_t call_operational_space_inertia(Call* call, Workspace* work, const real** x,
                                                      const real* f_ext, real** y) noexcept nogil:
    cdef real[3] point
    base_axes(call.system, work, x[0])
    link_origin(work, call.slot, call.pose, point)
    return operational_space_inertia(call.system, work, call.slot, point, y[0])


cdef inline Py_ssize_t call_centroidal_momentum_matrix(Call* call, Workspace* work, const real** x,
                                                       const real* f_ext, real** y) noexcept nogil:
    poses(call.system, work, x[0])
    centroidal_momentum_matrix(call.system, work, y[0])
    return 0


cdef inline Py_ssize_t call_centre_of_mass_jacobian(Call* call, Workspace* work, const real** x,
                                                    const real* f_ext, real** y) noexcept nogil:
    cdef real* A = <real*> work.J
    cdef double mass
    cdef Py_ssize_t k
    poses(call.system, work, x[0])
    mass = centroidal_momentum_matrix(call.system, work, A)
    for k in range(3 * call.system.n):
        y[0][k] = A[k] * (1.0 / mass)
    return 0


cdef inline Py_ssize_t call_centre_of_mass(Call* call, Workspace* work, const real** x,
                                           const real* f_ext, real** y) noexcept nogil:
    cdef double mass
    cdef Py_ssize_t k
    poses(call.system, work, x[0])
    mass = first_moment(call.system, work, y[0])
    for k in range(3):
        y[0][k] *= 1.0 / mass
    return 0


cdef inline Py_ssize_t call_energy(Call* call, Workspace* work, const real** x, const real* f_ext,
                                   real** y) noexcept nogil:
    cdef real[3] moment
    cdef const double* gravity = <const double*> call.system.gravity
    poses(call.system, work, x[0])
    y[0][0] = kinetic_energy(call.system, work, x[1])
    first_moment(call.system, work, moment)
    y[1][0] = -(gravity[0] * moment[0] + gravity[1] * moment[1] + gravity[2] * moment[2])
    return 0


cdef inline Py_ssize_t call_coriolis(Call* call, Workspace* work, const real** x, const real* f_ext,
                                     real** y) noexcept nogil:
    base_coordinates(call.system, work, x[0])
    coriolis(call.system, work, x[1], y[0])
    return 0


cdef inline Py_ssize_t call_hybrid(Call* call, Workspace* work, const real** x, const real* f_ext,
                                   real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    return hybrid(call.system, work, x[1], x[2], x[3], f_ext, y[0], y[1])


cdef inline Py_ssize_t call_joint_wrenches(Call* call, Workspace* work, const real** x,
                                           const real* f_ext, real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    rnea(call.system, work, x[1], x[2], f_ext, <real*> work.tau)
    joint_wrenches(call.system, work, y[0])
    return 0


cdef inline Py_ssize_t call_momentum(Call* call, Workspace* work, const real** x, const real* f_ext,
                                     real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    momentum(call.system, work, x[1], y[0])
    return 0


cdef inline Py_ssize_t call_regressor(Call* call, Workspace* work, const real** x,
                                      const real* f_ext, real** y) noexcept nogil:
    base_coordinates(call.system, work, x[0])
    regressor(call.system, work, x[1], x[2], y[0])
    if f_ext != NULL:
        external_torque(call.system, work, f_ext, y[1])
    return 0


cdef inline Py_ssize_t call_impulse_response(Call* call, Workspace* work, const real** x,
                                             const real* f_ext, real** y) noexcept nogil:
    base_axes(call.system, work, x[0])
    return impulse_response(call.system, work, f_ext, y[0])


cdef inline Py_ssize_t call_composite_inertias(Call* call, Workspace* work, const real** x,
                                               const real* f_ext, real** y) noexcept nogil:
    jcalc(call.system, work, x[0])
    composite_link_inertias(call.system, work, y[0])
    return 0


cdef inline Py_ssize_t call_articulated_inertias(Call* call, Workspace* work, const real** x,
                                                 const real* f_ext, real** y) noexcept nogil:
    base_axes(call.system, work, x[0])
    return articulated_link_inertias(call.system, work, y[0])


cdef inline Py_ssize_t call_log_det_inertia(Call* call, Workspace* work, const real** x,
                                            const real* f_ext, real** y) noexcept nogil:
    base_axes(call.system, work, x[0])
    return log_determinant(call.system, work, y[0], y[1])


cdef class Dynamics(WorkspaceOwner):
    """Rigid-body dynamics of one model: Featherstone's recursions, with a workspace.

    Make one per thread. q is (nq,); qd, qdd and tau are (nv,). On a fixed base nq = nv = n, in the
    order of ``model.joint_names``: [rad] or [m] and their rates, [N m] or [N]. A floating base adds
    seven numbers in q and six in qd, qdd and tau, before those of the joints (see ``Model``); "base
    frame" below then means the world's.

    Every method also takes batches, (B, nq) and (B, nv) with the same B, and returns (B, ...); an
    array of one state beside them holds for all B. It releases the GIL and runs on
    ``set_num_threads`` threads. Inputs are never modified. ``out`` receives the result without an
    allocation; it may be one of q, qd, qdd and tau itself, which is then overwritten; one that
    overlaps them otherwise is refused. If a batch raises (a singular state, Ctrl-C), some rows of
    ``out`` have been written already. Friction, damping and armature are not part of rigid-body
    dynamics: see ``Simulator``.

    ``f_ext`` maps link names to wrenches [fx fy fz tx ty tz], (6,) or (B, 6), that act on the link
    at its origin, in its own axes [N, N m].

    ``mass_matrix``, ``forward_kinematics`` and ``jacobian_dot`` are other names of ``crba``,
    ``link_pose`` and ``jacobian_derivative``.

    All methods raise ValueError for a shape that does not fit (naming the argument), and
    UnknownNameError (a KeyError) for a link the model does not have. NaN and infinity in an array
    are passed on: results that depend on them are not finite, all others, such as those of other
    states of a batch, are what they are without. (A floating base's quaternion has unit length, or
    is refused.) What keeps numbers, such as ``Model``, ``Simulator`` and the controllers, refuses
    those that are not finite.

    Args:
        model: A ``Model``.
    """

    cdef readonly object model         # as given

    def __init__(self, model):
        self.adopt(model)
        self.model = model

    def __repr__(self):
        return f"<{type(self).__name__} of {self.model!r}>"

    def __reduce__(self):
        return copyreg.__newobj__, (type(self),), (self.model, getattr(self, "__dict__", {}))

    def __setstate__(self, state):
        model, attributes = state
        Dynamics.__init__(self, model)
        for name, value in attributes.items():
            setattr(self, name, value)

    # Dynamics -------------------------------------------------------------------------------------

    @cython.final
    cdef inline object at_position(self, Call* call, q, out):
        """The call's results for q."""
        cdef cnp.ndarray q_ = as_states(q, call.system.nq, "q")
        add_input(call, q_, call.system.nq)
        return self.results(call, q_, None, out)

    @cython.final
    cdef inline object at_velocity(self, Call* call, q, qd, f_ext, out):
        """The call's results for q and qd."""
        cdef cnp.ndarray q_ = add_position(call, q, qd, qd)
        cdef cnp.ndarray qd_ = add_freedoms(call, qd, q_, "qd")
        return self.results(call, q_, f_ext, out)

    @cython.final
    cdef inline object at_motion(self, Call* call, q, qd, str name, x, f_ext, out):
        """The call's results for q, qd and x, the acceleration or torque of that name."""
        cdef cnp.ndarray q_ = add_position(call, q, qd, x)
        cdef cnp.ndarray qd_ = add_freedoms(call, qd, q_, "qd")
        cdef cnp.ndarray x_ = add_freedoms(call, x, q_, name)
        return self.results(call, q_, f_ext, out)

    def rnea(self, q, qd, qdd, f_ext=None, out=None):
        """Inverse dynamics: the torque that produces qdd, H(q) qdd + C(q, qd) qd + g(q) - J^T
        f_ext.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration [rad/s^2, m/s^2].
            f_ext: Wrenches on links, see the class [N, N m].
            out: (nv,) array for the result, or None.

        Returns:
            (nv,) tau [N m, N].

        Source: RBDA Table 5.1.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_rnea[double], <Kernel> call_rnea[lanes])
        add_vector(&call, self.compiled.system.n)
        return self.at_motion(&call, q, qd, "qdd", qdd, f_ext, out)

    def bias(self, q, qd, f_ext=None, out=None):
        """The torque that keeps qdd at zero, C(q, qd) qd + g(q) - J^T f_ext.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            f_ext: Wrenches on links, see the class [N, N m].
            out: (nv,) array for the result, or None.

        Returns:
            (nv,) [N m, N].

        Source: RBDA Table 5.1 with qdd = 0.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_rnea[double], <Kernel> call_rnea[lanes])
        add_vector(&call, self.compiled.system.n)
        return self.at_velocity(&call, q, qd, f_ext, out)

    def gravity(self, q, out=None):
        """The torque that holds the robot still, g(q).

        Args:
            q: (nq,) position [rad, m].
            out: (nv,) array for the result, or None.

        Returns:
            (nv,) [N m, N].

        Source: RBDA Table 5.1 with qd = qdd = 0.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_rnea[double], <Kernel> call_rnea[lanes])
        add_vector(&call, self.compiled.system.n)
        return self.at_position(&call, q, out)

    def aba(self, q, qd, tau, f_ext=None, out=None):
        """Forward dynamics: the acceleration under the torque tau.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            tau: (nv,) torque [N m, N].
            f_ext: Wrenches on links, see the class [N, N m].
            out: (nv,) array for the result, or None.

        Returns:
            (nv,) qdd [rad/s^2, m/s^2].

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Source: RBDA Table 7.1; with mimic joints, which couple coordinates, equation 3.20 by Tables
        6.2 and 5.1.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_aba[double], <Kernel> call_aba[lanes])
        add_vector(&call, self.compiled.system.n)
        return self.at_motion(&call, q, qd, "tau", tau, f_ext, out)

    def crba(self, q, out=None):
        """The joint-space inertia matrix H(q), which many texts call M(q).

        Args:
            q: (nq,) position [rad, m].
            out: (nv, nv) array for the result, or None.

        Returns:
            (nv, nv), symmetric [kg m^2, kg m, kg].

        Source: RBDA Table 6.2.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_crba[double], <Kernel> call_crba[lanes])
        add_matrix(&call, self.compiled.system.n, self.compiled.system.n)
        return self.at_position(&call, q, out)

    mass_matrix = crba

    def minv(self, q, out=None):
        """The inverse of the joint-space inertia matrix, M(q)^-1, without forming M.

        Args:
            q: (nq,) position [rad, m].
            out: (nv, nv) array for the result, or None.

        Returns:
            (nv, nv), symmetric [1/(kg m^2), 1/(kg m), 1/kg].

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Takes O(n^2). With mimic joints, which couple coordinates, it is the inverse of what
        ``crba`` gives, O(n^3).

        Source: RBDA Table 7.1 under unit torques; Carpentier, Analytical inverse of the joint space
        inertia matrix, 2018.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_minv[double], <Kernel> call_minv[lanes])
        add_matrix(&call, self.compiled.system.n, self.compiled.system.n)
        return self.at_position(&call, q, out)

    cdef inline void add_derivatives(self, Call* call) noexcept:
        """By q, by qd, and by qdd or tau."""
        cdef int k
        for k in range(3):
            add_matrix(call, self.compiled.system.n, self.compiled.system.n)

    def rnea_derivatives(self, q, qd, qdd, f_ext=None, out=None):
        """Derivatives of inverse dynamics, tau = rnea(q, qd, qdd, f_ext).

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration [rad/s^2, m/s^2].
            f_ext: Wrenches on links, see the class; each turns with its link [N, N m].
            out: Three (nv, nv) arrays for the results, apart from each other and the inputs; or
                None. Saves the fresh memory that results of more than 32 MiB need each time.

        Returns:
            dtau_dq, dtau_dqd, M: (nv, nv) each. Entry i, j is the derivative of tau[i] with respect
            to q[j], qd[j] and qdd[j] [N m, N per their units]; M is symmetric. The first six q[j]
            of a floating base are its displacement, linear, then angular, in its own axes.

        Source: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics
        using spatial vector algebra, 2022.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_rnea_derivatives[double],
                   <Kernel> call_rnea_derivatives[lanes])
        self.add_derivatives(&call)
        return self.at_motion(&call, q, qd, "qdd", qdd, f_ext, out)

    def aba_derivatives(self, q, qd, tau, f_ext=None, out=None):
        """Derivatives of forward dynamics, qdd = aba(q, qd, tau, f_ext).

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            tau: (nv,) torque [N m, N].
            f_ext: Wrenches on links, see the class; each turns with its link [N, N m].
            out: Three (nv, nv) arrays for the results, apart from each other and the inputs; or
                None. Saves the fresh memory that results of more than 32 MiB need each time.

        Returns:
            dqdd_dq, dqdd_dqd, Minv: (nv, nv) each. Entry i, j is the derivative of qdd[i] with
            respect to q[j], qd[j] and tau[j] [rad/s^2, m/s^2 per their units]; Minv is symmetric.
            The first six q[j] of a floating base are its displacement, linear, then angular, in its
            own axes.

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms,
        2018: M^-1 times the negative derivatives of inverse dynamics at qdd.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_aba_derivatives[double],
                   <Kernel> call_aba_derivatives[lanes])
        self.add_derivatives(&call)
        return self.at_motion(&call, q, qd, "tau", tau, f_ext, out)

    # Kinematics -----------------------------------------------------------------------------------

    cdef int choose_link(self, Call* call, link) except -1:
        """Make the call about that link; raises UnknownNameError."""
        cdef Py_ssize_t index = self.compiled.link(link)
        call.slot = self.compiled.system.link_slot[index]
        call.pose = self.compiled.system.link_pose + 12 * index
        return 0

    cdef int choose_point(self, Call* call, link, point, double* pose) except -1:
        """Make the call about a point of a link, None for its origin.

        pose: (12) memory that must last as long as the call.
        """
        cdef cnp.ndarray position
        cdef const double* at
        cdef Py_ssize_t row, k
        self.choose_link(call, link)
        if point is None:
            return 0
        at = call.pose
        position = as_states(point, 3, "point")
        if cnp.PyArray_NDIM(position) != 1:
            raise _shape_error("point", position, "(3,)")
        for k in range(12):
            pose[k] = at[k]
        for row in range(3):
            for k in range(3):
                pose[9 + row] += at[3 * row + k] * data(position)[k]
        call.pose = pose
        return 0

    def link_pose(self, q, link):
        """Pose of a link's frame in the base frame.

        Args:
            q: (nq,) position [rad, m].
            link: Name of the link.

        Returns:
            (4, 4) homogeneous transform [m].

        Source: RBDA section 4.2, the transforms along the path to the link.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_link_pose[double], <Kernel> call_link_pose[lanes])
        self.choose_link(&call, link)
        add_matrix(&call, 4, 4)
        return self.at_position(&call, q, None)

    forward_kinematics = link_pose

    def jacobian(self, q, link, point=None):
        """Jacobian of a point of a link: [v; w] = J qd, in the axes of the base frame, linear rows
        first.

        Args:
            q: (nq,) position [rad, m].
            link: Name of the link.
            point: (3,) in the link's frame [m]; None is its origin.

        Returns:
            (6, nv).

        The columns are S of the joints that support the link, in base axes, seen from the point.
        """
        cdef Call call
        cdef double[12] pose
        self.begin(&call, <Kernel> call_jacobian[double], <Kernel> call_jacobian[lanes])
        self.choose_point(&call, link, point, pose)
        add_matrix(&call, 6, self.compiled.system.n)
        return self.at_position(&call, q, None)

    def jacobian_derivative(self, q, qd, link, point=None):
        """Time derivative of ``jacobian``: the acceleration of the point is J qdd + Jdot qd.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            link: Name of the link.
            point: (3,) in the link's frame [m], moving with it; None is its origin.

        Returns:
            (6, nv).

        Source: RBDA equation 2.45, the derivative of S as a vector that moves with its body.
        ``link_acceleration`` gives Jdot qd alone at less cost, with qdd = 0.
        """
        cdef Call call
        cdef double[12] pose
        self.begin(&call, <Kernel> call_jacobian_derivative[double],
                   <Kernel> call_jacobian_derivative[lanes])
        self.choose_point(&call, link, point, pose)
        add_matrix(&call, 6, self.compiled.system.n)
        return self.at_velocity(&call, q, qd, None, None)

    jacobian_dot = jacobian_derivative

    def link_velocity(self, q, qd, link):
        """Velocity [vx vy vz wx wy wz] of a link's origin, in the axes of the base frame.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            link: Name of the link.

        Returns:
            (6,) [m/s, rad/s].
        """
        cdef Call call
        self.begin(&call, <Kernel> call_link_velocity[double], <Kernel> call_link_velocity[lanes])
        self.choose_link(&call, link)
        add_vector(&call, 6)
        return self.at_velocity(&call, q, qd, None, None)

    def link_acceleration(self, q, qd, qdd, link):
        """Classical acceleration of a link: of its origin as a moving point, and dw/dt, in the axes
        of the base frame.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration [rad/s^2, m/s^2].
            link: Name of the link.

        Returns:
            (6,) linear, then angular [m/s^2, rad/s^2], J qdd + Jdot qd. Gravity is not in it: an
            accelerometer there would show this less ``model.gravity``, turned into its axes.

        Source: RBDA section 2.11, classical acceleration.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_link_acceleration[double],
                   <Kernel> call_link_acceleration[lanes])
        self.choose_link(&call, link)
        add_vector(&call, 6)
        return self.at_motion(&call, q, qd, "qdd", qdd, None, None)

    def centre_of_mass(self, q):
        """Centre of mass of all links, the base link included, in the base frame.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            (3,) [m]; NaN for a model without mass.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_centre_of_mass[double], <Kernel> call_centre_of_mass[lanes])
        add_vector(&call, 3)
        return self.at_position(&call, q, None)

    def centre_of_mass_jacobian(self, q):
        """Jacobian of ``centre_of_mass``: its velocity is J qd, in the axes of the base frame.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            (3, nv); NaN for a model without mass.

        Source: the linear rows of ``centroidal_momentum_matrix`` over the total mass.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_centre_of_mass_jacobian[double],
                   <Kernel> call_centre_of_mass_jacobian[lanes])
        add_matrix(&call, 3, self.compiled.system.n)
        return self.at_position(&call, q, None)

    def energy(self, q, qd):
        """Kinetic and potential energy.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].

        Returns:
            Two floats, or two (B,) arrays [J]. The potential is zero with the centre of mass at the
            base frame's origin.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_energy[double], <Kernel> call_energy[lanes])
        add_number(&call)
        add_number(&call)
        kinetic, potential = self.at_velocity(&call, q, qd, None, None)
        if cnp.PyArray_NDIM(kinetic) == 0:
            return float(kinetic), float(potential)
        return kinetic, potential

    # Derived quantities ---------------------------------------------------------------------------

    def coriolis(self, q, qd):
        """The Coriolis matrix C(q, qd): C qd = bias - gravity, and Hdot - 2 C is skew-symmetric.

        Of the matrices with these two properties it is, on a fixed base, that of the Christoffel
        symbols, C_ij = sum_k (dH_ij/dq_k + dH_ik/dq_j - dH_jk/dq_i) qd_k / 2. A floating base has
        the two properties, but not this formula: its velocities are not rates of coordinates.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].

        Returns:
            (nv, nv) [N m s, N s].

        Source: Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and
        Christoffel symbols for rigid-body systems, 2021, Algorithm 1.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_coriolis[double], <Kernel> call_coriolis[lanes])
        add_matrix(&call, self.compiled.system.n, self.compiled.system.n)
        return self.at_velocity(&call, q, qd, None, None)

    def hybrid(self, q, qd, qdd, tau, prescribed, f_ext=None):
        """Hybrid dynamics: forward dynamics of some joints, inverse dynamics of the others, whose
        acceleration is prescribed.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration of the prescribed joints [rad/s^2, m/s^2]; the other entries are
                ignored.
            tau: (nv,) torque of the joints that are not prescribed [N m, N]; the other entries are
                ignored.
            prescribed: (nv,) True for the joints whose acceleration is given.
            f_ext: Wrenches on links, see the class [N, N m].

        Returns:
            qdd and tau of all joints, (nv,) each: the given values and the computed ones.

        Raises:
            SingularInertiaError: A joint with given torque moves no inertia.

        Source: RBDA section 9.2; with mimic joints by the joint-space inertia.
        """
        cdef Call call
        cdef Py_ssize_t n = self.compiled.system.n
        self.begin(&call, <Kernel> call_hybrid[double], <Kernel> call_hybrid[lanes])
        cdef cnp.ndarray q_ = add_position(
            &call, as_positions(q, self.compiled.system.nq, qd, qdd), tau, prescribed)
        cdef cnp.ndarray qd_ = add_freedoms(&call, qd, q_, "qd")
        cdef cnp.ndarray qdd_ = like_states(qdd, q_, n, "qdd")
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        cdef cnp.ndarray held = as_choice(prescribed, tau_, n, "prescribed")
        cdef cnp.ndarray given = either(held, qdd_, tau_)
        add_input(&call, given, n)
        add_input(&call, held, n)
        add_vector(&call, n)
        add_vector(&call, n)
        return self.results(&call, q_, f_ext, None)

    def joint_wrenches(self, q, qd, qdd, f_ext=None):
        """The wrench across each joint, exerted by the parent link on the child link.

        It accelerates and supports all links beyond the joint. Its component along the joint's axis
        is the drive's torque: that of ``rnea``, if no joint mimics another. Mimic joints are not
        listed.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration [rad/s^2, m/s^2].
            f_ext: Wrenches on links, see the class [N, N m].

        Returns:
            (n, 6) [fx fy fz tx ty tz] of the joints in ``model.joint_names``, at the origin of the
            joint's child link, in that link's axes (those of the URDF) [N, N m].

        Source: f of RBDA Table 5.1.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_joint_wrenches[double], <Kernel> call_joint_wrenches[lanes])
        add_matrix(&call, len(self.compiled.joint_names), 6)
        return self.at_motion(&call, q, qd, "qdd", qdd, f_ext, None)

    def composite_inertias(self, q):
        """The inertia of all that each joint carries, as one rigid body: the joints beyond locked.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            (n, 6, 6), symmetric, rows and columns linear then angular, in the frames of
            ``joint_wrenches`` [kg, kg m, kg m^2]. That of a floating base is ``crba``'s corner.

        Source: I^c of RBDA Table 6.2, R(k) of Rodriguez and Jain.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_composite_inertias[double],
                   <Kernel> call_composite_inertias[lanes])
        add_matrices(&call, len(self.compiled.joint_names), 6, 6)
        return self.at_position(&call, q, None)

    def articulated_inertias(self, q):
        """The inertia that each joint's child link has with the joints beyond free: the wrench that
        must act on it for each unit of its acceleration.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            (n, 6, 6) as of ``composite_inertias``. That of a floating base is the inverse of
            ``minv``'s corner.

        Raises:
            NotImplementedError: The model has mimic joints: one that others follow is not free.
            SingularInertiaError: A joint moves no inertia.

        Source: I^A of RBDA Table 7.1, P(k) of Rodriguez and Jain.
        """
        cdef Call call
        if self.compiled.system.coupled:
            raise NotImplementedError("articulated_inertias: expected a model without mimic joints")
        self.begin(&call, <Kernel> call_articulated_inertias[double],
                   <Kernel> call_articulated_inertias[lanes])
        add_matrices(&call, len(self.compiled.joint_names), 6, 6)
        return self.at_position(&call, q, None)

    def log_det_inertia(self, q):
        """The logarithm of the determinant of the joint-space inertia, and its gradient.

        Fixman's potential is half of it, times the temperature in units of energy.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            log det M, a float, or (B,); and its derivative by q, (nv,) [1/rad, 1/m]: zero for a
            floating base.

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Takes O(n), with mimic joints O(n^3).

        Source: Jain, Compensating mass matrix potential for constrained molecular dynamics, 1997;
        with mimic joints the trace of M^-1 dM/dt = M^-1 (C + C^T).
        """
        cdef Call call
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.nq, "q")
        if self.compiled.system.coupled:
            Minv = self.minv(q_)
            with np.errstate(invalid="ignore"):
                value = np.linalg.slogdet(self.crba(q_))[1]
            gradient = np.stack([2 * np.einsum("...ij,...ji->...", Minv, self.coriolis(q_, rate))
                                 for rate in np.eye(self.compiled.system.n)], axis=-1)
        else:
            self.begin(&call, <Kernel> call_log_det_inertia[double],
                       <Kernel> call_log_det_inertia[lanes])
            add_number(&call)
            add_vector(&call, self.compiled.system.n)
            value, gradient = self.at_position(&call, q_, None)
        return float(value) if cnp.PyArray_NDIM(q_) == 1 else value, gradient

    def impulse_response(self, q, f_ext=None, out=None):
        """The change of velocity under impulses on links, M^-1 J^T p, whatever the velocity is.

        Args:
            q: (nq,) position [rad, m].
            f_ext: Impulses, as wrenches on links, see the class [N s, N m s].
            out: (nv,) array for the result, or None.

        Returns:
            (nv,) [rad/s, m/s].

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Source: RBDA section 11.1; Table 7.1 at rest, without gravity.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_impulse_response[double],
                   <Kernel> call_impulse_response[lanes])
        add_vector(&call, self.compiled.system.n)
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.nq, "q")
        add_input(&call, q_, call.system.nq)
        return self.results(&call, q_, {} if f_ext is None else f_ext, out)

    def momentum(self, q, qd):
        """Momentum of all links: linear, then angular about the centre of mass, in the axes of the
        base frame.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].

        Returns:
            (6,) [N s, N m s]. The centre of mass is that of ``centre_of_mass``, base link included,
            and the linear part the total mass times its velocity.

        Source: RBDA section 2.9, summed over the bodies.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_momentum[double], <Kernel> call_momentum[lanes])
        add_vector(&call, 6)
        return self.at_velocity(&call, q, qd, None, None)

    def centroidal_momentum_matrix(self, q):
        """The matrix of momentum as a linear function of velocity: momentum(q, qd) = A_G qd.

        Args:
            q: (nq,) position [rad, m].

        Returns:
            (6, nv) linear rows, then angular about the centre of mass, in the axes of the base
            frame [kg m, kg m^2 per their units].

        Source: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, 2013: composite
        inertias of RBDA Table 6.2 times S.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_centroidal_momentum_matrix[double],
                   <Kernel> call_centroidal_momentum_matrix[lanes])
        add_matrix(&call, 6, self.compiled.system.n)
        return self.at_position(&call, q, None)

    def operational_space_inertia(self, q, link, point=None):
        """The operational-space inertia Lambda = (J M^-1 J^T)^-1: the wrench on the link per unit
        of its acceleration.

        Args:
            q: (nq,) position [rad, m].
            link: Name of the link.
            point: (3,) in the link's frame [m]; None is its origin.

        Returns:
            (6, 6), symmetric, rows as those of ``jacobian`` [kg, kg m, kg m^2].

        Raises:
            SingularJacobianError: J does not have rank 6 (in some state of a batch): less than a
                millionth of some row is independent of the rows before it.
            SingularInertiaError: A joint moves no inertia.

        Takes O(n) for a tree without mimic joints.

        Source: Khatib, A unified approach for motion and force control of robot manipulators, 1987;
        by articulated bodies, RBDA Table 7.1 under unit wrenches.
        """
        cdef Call call
        cdef double[12] pose
        self.begin(&call, <Kernel> call_operational_space_inertia[double],
                   <Kernel> call_operational_space_inertia[lanes])
        self.choose_point(&call, link, point, pose)
        add_matrix(&call, 6, 6)
        Lambda = self.at_position(&call, q, None)
        if call.failure:
            raise SingularJacobianError(link)
        return Lambda

    def operational_space(self, q, qd, link, point=None, double tolerance=TOLERANCE):
        """A link's dynamics as a task sees them: the force F = Lambda a + mu + p, applied as J^T F,
        gives the link the acceleration a.

        Unlike ``operational_space_inertia`` it needs no full rank: directions in which the joints
        hardly move the link are left out, see ``tolerance``.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            link: Name of the link.
            point: (3,) in the link's frame [m]; None is its origin.
            tolerance: Of the singular values of J [m, rad per unit of q], relative to the largest:
                directions of smaller ones are left out. From 0 to below 1.

        Returns:
            An ``OperationalSpace``: Lambda, mu, p, Jbar, N and the rank that was found; a batch
            gives arrays (B, ...).

        Raises:
            SingularInertiaError: A joint moves no inertia.
            ValueError: The tolerance is out of range.

        Source: Khatib, A unified approach for motion and force control of robot manipulators, 1987.
        """
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance: expected a number from 0 to below 1, got {tolerance}")
        cdef cnp.ndarray q_ = as_positions(q, self.compiled.system.nq, qd, qd)
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.compiled.system.n, "qd")
        gravity = self.gravity(q_)
        Jdot = self.jacobian_derivative(q_, qd_, link, point)
        return operational_space(self.jacobian(q_, link, point), self.minv(q_),
                                 self.bias(q_, qd_) - gravity, gravity,
                                 np.einsum("...ij,...j->...i", Jdot, qd_), tolerance)

    def regressor(self, q, qd, qdd, f_ext=None, out=None):
        """The matrix Y of the torque as a linear function of the inertial parameters:
        rnea = Y @ model.inertial_parameters.

        Args:
            q: (nq,) position [rad, m].
            qd: (nv,) velocity [rad/s, m/s].
            qdd: (nv,) acceleration [rad/s^2, m/s^2].
            f_ext: Wrenches on links, see the class [N, N m].
            out: Arrays for what is returned, one or, with f_ext, two; or None. Saves the fresh
                memory that results of more than 32 MiB need each time.

        Returns:
            Y, (nv, 10 L) for the L ``model.link_names``: ten columns each, in the order of
            ``model.inertial_parameters``. Zero where a joint does not move a link; gravity is
            included. With f_ext two arrays: Y, and the part of the torque that does not depend on
            the parameters, -J^T f_ext, (nv,): rnea is Y @ model.inertial_parameters plus that.

        Source: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads
        and links, 1986.
        """
        cdef Call call
        self.begin(&call, <Kernel> call_regressor[double], <Kernel> call_regressor[lanes])
        add_matrix(&call, self.compiled.system.n, 10 * self.compiled.system.links)
        call.by_row = LANES * call.y_width[0] > LARGEST_TILE
        if f_ext is not None:
            add_vector(&call, self.compiled.system.n)
        return self.at_motion(&call, q, qd, "qdd", qdd, f_ext, out)

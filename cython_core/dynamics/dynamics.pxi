# Dynamics: each algorithm as a method.

cdef enum:
    ALGORITHMS = 32                    # at least as many as there are
    KEPT = 8
    MAX_KEPT = 1 << 22                 # numbers in all of them: 32 MiB

cdef struct Result:                    # of one state
    int ndim                           # 0 to 3
    Py_ssize_t[3] shape
    Py_ssize_t width                   # numbers


cdef class Dynamics(WorkspaceOwner):
    """Rigid-body dynamics of one model: Featherstone's recursions, with a workspace.

    Make one per thread. On a fixed base nq = nv = n, in the order of ``model.joint_names``. A
    floating base adds seven numbers in q and six in qd, qdd and tau, before those of the joints
    (see ``Model``); "base frame" below then means the world's. The arguments of the methods:

    * ``q``: (nq,) position [rad, m]; ``qd``: (nv,) velocity [rad/s, m/s]; ``qdd``: (nv,)
      acceleration [rad/s^2, m/s^2]; ``tau``: (nv,) torque [N m, N].
    * ``link``: name of a link; ``point``: (3,) in the link's frame [m], moving with it; None is its
      origin.
    * ``f_ext``: maps link names to wrenches [fx fy fz tx ty tz], (6,) or (B, 6), that act on the
      link at its origin, in its own axes [N, N m].
    * ``out``: an array for the result (arrays for several, apart from each other and from the
      inputs), or None. It saves an allocation, and the fresh memory that results of more than 32
      MiB need each time. It may be one of q, qd, qdd and tau itself, which is then overwritten; one
      that overlaps them otherwise is refused.

    Every method also takes batches, (B, nq) and (B, nv) with the same B, and returns (B, ...); an
    array of one state beside them holds for all B. It releases the GIL and runs on
    ``set_num_threads`` threads. Inputs are never modified. If a batch raises (a singular state,
    Ctrl-C), some rows of ``out`` have been written already. Friction, damping and armature are not
    part of rigid-body dynamics: see ``Simulator``.

    ``mass_matrix``, ``forward_kinematics`` and ``jacobian_dot`` are other names of ``crba``,
    ``link_pose`` and ``jacobian_derivative``.

    All methods raise ValueError for a shape that does not fit (naming the argument), and
    UnknownNameError (a KeyError) for a link the model does not have; those that divide by an
    inertia raise SingularInertiaError where a joint moves none. NaN and infinity in an array are
    passed on: results that depend on them are not finite, all others, such as those of other states
    of a batch, are what they are without. (A floating base's quaternion has unit length, or is
    refused.) What keeps numbers, such as ``Model``, ``Simulator`` and the controllers, refuses
    those that are not finite.

    Args:
        model: A ``Model``.
    """

    cdef readonly object model         # as given
    cdef Result[ALGORITHMS][3] each    # result of each algorithm
    cdef int[ALGORITHMS] results       # how many it has
    cdef PyObject* kept[KEPT]          # results returned earlier, see ``array_for``
    cdef int oldest

    def __init__(self, model):
        self.adopt(model)
        self.model = model
        n, joints = self.compiled.system.n, len(self.compiled.joint_names)
        columns = 10 * self.compiled.system.links
        for algorithms, shapes in (
                ((RNEA, ABA, IMPULSE_RESPONSE), [(n,)]),
                ((CRBA, MINV, CORIOLIS), [(n, n)]),
                ((RNEA_DERIVATIVES, ABA_DERIVATIVES), [(n, n)] * 3),
                ((HYBRID,), [(n,), (n,)]),
                ((JOINT_WRENCHES,), [(joints, 6)]),
                ((COMPOSITE_INERTIAS, ARTICULATED_INERTIAS), [(joints, 6, 6)]),
                ((LOG_DET_INERTIA,), [(), (n,)]),
                ((ENERGY,), [(), ()]),
                ((CENTRE_OF_MASS,), [(3,)]),
                ((CENTRE_OF_MASS_JACOBIAN,), [(3, n)]),
                ((LINK_POSE,), [(4, 4)]),
                ((LINK_VELOCITY, LINK_ACCELERATION, MOMENTUM), [(6,)]),
                ((JACOBIAN, JACOBIAN_DERIVATIVE, CENTROIDAL_MOMENTUM_MATRIX), [(6, n)]),
                ((OPERATIONAL_SPACE_INERTIA,), [(6, 6)]),
                ((REGRESSOR,), [(n, columns)]),
                ((REGRESSOR_AND_REST,), [(n, columns), (n,)])):
            for algorithm in algorithms:
                self.results[<int> algorithm] = len(shapes)
                for k, shape in enumerate(shapes):
                    self.each[<int> algorithm][<int> k] = Result(
                        len(shape), (*shape, 1, 1, 1)[:3], int(np.prod(shape)))

    def __dealloc__(self):
        cdef int k
        for k in range(KEPT):
            Py_XDECREF(self.kept[k])

    def __repr__(self):
        return f"<{type(self).__name__} of {self.model!r}>"

    def __reduce__(self):
        return copyreg.__newobj__, (type(self),), (self.model, getattr(self, "__dict__", {}))

    def __setstate__(self, state):
        model, attributes = state
        Dynamics.__init__(self, model)
        for name, value in attributes.items():
            setattr(self, name, value)

    cdef int choose_point(self, Call* call, link, point) except -1:
        """Make the call about a point of a link, None for its origin."""
        cdef cnp.ndarray position
        cdef Py_ssize_t row, k
        call.link = self.compiled.link(link)
        call.slot = self.compiled.system.link_slot[call.link]
        memcpy(call.pose, self.compiled.system.link_pose + 12 * call.link, 12 * sizeof(double))
        if point is None:
            return 0
        position = as_states(point, 3, "point")
        if cnp.PyArray_NDIM(position) != 1:
            raise _shape_error("point", position, "(3,)")
        for row in range(3):
            for k in range(3):
                call.pose[9 + row] += call.pose[3 * row + k] * data(position)[k]
        return 0

    @cython.final
    cdef inline object at_position(self, Algorithm algorithm, q, f_ext, out, link, point):
        """The results for q."""
        cdef Call call
        begin(&call, algorithm, &self.compiled.system)
        if unlikely(LINK_POSE <= algorithm <= OPERATIONAL_SPACE_INERTIA):
            self.choose_point(&call, link, point)
        cdef cnp.ndarray q_ = as_states(q, call.system.nq, "q")
        add_input(&call, q_, call.system.nq)
        return self.outcome(&call, q_, f_ext, out)

    @cython.final
    cdef inline object at_velocity(self, Algorithm algorithm, q, qd, f_ext, out, link, point):
        """The results for q and qd."""
        cdef Call call
        begin(&call, algorithm, &self.compiled.system)
        if unlikely(LINK_POSE <= algorithm <= OPERATIONAL_SPACE_INERTIA):
            self.choose_point(&call, link, point)
        cdef cnp.ndarray q_ = add_position(&call, q, qd, qd)
        cdef cnp.ndarray qd_ = add_freedoms(&call, qd, q_, "qd")
        return self.outcome(&call, q_, f_ext, out)

    @cython.final
    cdef inline object at_motion(self, Algorithm algorithm, q, qd, str name, x, f_ext, out, link):
        """The results for q, qd and x, the acceleration or torque of that name."""
        cdef Call call
        begin(&call, algorithm, &self.compiled.system)
        if unlikely(LINK_POSE <= algorithm <= OPERATIONAL_SPACE_INERTIA):
            self.choose_point(&call, link, None)
        cdef cnp.ndarray q_ = add_position(&call, q, qd, x)
        cdef cnp.ndarray qd_ = add_freedoms(&call, qd, q_, "qd")
        cdef cnp.ndarray x_ = add_freedoms(&call, x, q_, name)
        return self.outcome(&call, q_, f_ext, out)

    @cython.final
    cdef inline object outcome(self, Call* call, cnp.ndarray q, f_ext, out):
        """Run the call; its one result for each state of q, or a tuple of several."""
        cdef cnp.ndarray y
        call.into = out is not None
        call.outputs = self.results[<int> call.algorithm]
        if unlikely(call.outputs != 1):
            return self.several(call, q, f_ext, out)
        y = self.array_for(call, 0, q, out)
        self.run(call, q, f_ext)
        return y

    cdef tuple several(self, Call* call, cnp.ndarray q, f_ext, out):
        """Run a call with two or three results (in the arrays of ``out``, unless None)."""
        cdef Py_ssize_t k, count = call.outputs
        if out is None:
            out = (None, None, None)
        elif not isinstance(out, (tuple, list)) or len(out) != count:
            found = len(out) if isinstance(out, (tuple, list)) else type(out).__name__
            raise ValueError(f"out: expected {count} arrays, got {found}")
        results = tuple([self.array_for(call, k, q, out[k]) for k in range(count)])
        self.run(call, q, f_ext)
        return results

    @cython.final
    cdef inline cnp.ndarray array_for(self, Call* call, Py_ssize_t k, cnp.ndarray q, object out):
        """An array for output k: ``out``, a kept one that the caller no longer holds, or a new one.

        NumPy takes longer to make an array than the recursions take, and fresh memory for a large
        batch costs as much again. So the last few results are kept, unless they are huge together,
        and reused once the caller has dropped them, as it does in a loop.
        """
        cdef const Result* result = &self.each[<int> call.algorithm][k]
        cdef cnp.npy_intp[4] shape
        cdef cnp.ndarray array
        cdef int batch = cnp.PyArray_NDIM(q) - 1, ndim = batch + result.ndim, i
        shape[0] = cnp.PyArray_DIM(q, 0)
        if result.ndim > 0:
            shape[batch], shape[batch + 1] = result.shape[0], result.shape[1]
            shape[batch + 2] = result.shape[2]
        call.y_width[k] = result.width
        if out is not None:
            array = _checked_out(out, ndim, shape)
            call.y[k] = data(array)
            return array
        for i in range(KEPT):
            if self.kept[i] != NULL and Py_REFCNT(self.kept[i]) == 1:
                array = <cnp.ndarray> self.kept[i]
                if is_plain(array, ndim, shape) and not weakly_held(array):
                    call.y[k] = data(array)
                    return array
        array = self.new_result(ndim, shape)
        call.y[k] = data(array)
        return array

    cdef cnp.ndarray new_result(self, int ndim, cnp.npy_intp* shape):
        """An array that is kept, unless it is a single number or huge."""
        cdef cnp.ndarray array = cnp.PyArray_SimpleNew(ndim, shape, cnp.NPY_DOUBLE)
        if ndim > 0 and cnp.PyArray_SIZE(array) <= MAX_KEPT:
            self.keep(array)
        return array

    cdef int keep(self, cnp.ndarray array) except -1:
        """Keep a result in the place of the one kept longest, and of more where all are huge."""
        cdef int index = self.oldest, k
        for k in range(KEPT):
            if k == 0 or self.numbers_kept() + cnp.PyArray_SIZE(array) > MAX_KEPT:
                Py_XDECREF(self.kept[(index + k) % KEPT])
                self.kept[(index + k) % KEPT] = NULL
        Py_INCREF(array)
        self.kept[index] = <PyObject*> array
        self.oldest = (index + 1) % KEPT
        return 0

    cdef Py_ssize_t numbers_kept(self) noexcept:
        cdef Py_ssize_t numbers = 0
        cdef int k
        for k in range(KEPT):
            if self.kept[k] != NULL:
                numbers += cnp.PyArray_SIZE(<cnp.ndarray> self.kept[k])
        return numbers

    def rnea(self, q, qd, qdd, f_ext=None, out=None):
        """Inverse dynamics: the torque that produces qdd, H(q) qdd + C(q, qd) qd + g(q) - J^T
        f_ext.

        Returns:
            (nv,) tau [N m, N].

        Source: RBDA Table 5.1.
        """
        return self.at_motion(RNEA, q, qd, "qdd", qdd, f_ext, out, None)

    def bias(self, q, qd, f_ext=None, out=None):
        """The torque that keeps qdd at zero, C(q, qd) qd + g(q) - J^T f_ext.

        Returns:
            (nv,) [N m, N].

        Source: RBDA Table 5.1 with qdd = 0.
        """
        return self.at_velocity(RNEA, q, qd, f_ext, out, None, None)

    def gravity(self, q, out=None):
        """The torque that holds the robot still, g(q).

        Returns:
            (nv,) [N m, N].

        Source: RBDA Table 5.1 with qd = qdd = 0.
        """
        return self.at_position(RNEA, q, None, out, None, None)

    def aba(self, q, qd, tau, f_ext=None, out=None):
        """Forward dynamics: the acceleration under the torque tau.

        Returns:
            (nv,) qdd [rad/s^2, m/s^2].

        Source: RBDA Table 7.1; with mimic joints, which couple coordinates, equation 3.20 by Tables
        6.2 and 5.1.
        """
        return self.at_motion(ABA, q, qd, "tau", tau, f_ext, out, None)

    def crba(self, q, out=None):
        """The joint-space inertia matrix H(q), which many texts call M(q).

        Returns:
            (nv, nv), symmetric [kg m^2, kg m, kg].

        Source: RBDA Table 6.2.
        """
        return self.at_position(CRBA, q, None, out, None, None)

    mass_matrix = crba

    def minv(self, q, out=None):
        """The inverse of the joint-space inertia matrix, M(q)^-1, without forming M.

        Returns:
            (nv, nv), symmetric [1/(kg m^2), 1/(kg m), 1/kg].

        Takes O(n^2). With mimic joints, which couple coordinates, it is the inverse of what
        ``crba`` gives, O(n^3).

        Source: RBDA Table 7.1 under unit torques; Carpentier, Analytical inverse of the joint space
        inertia matrix, 2018.
        """
        return self.at_position(MINV, q, None, out, None, None)

    def rnea_derivatives(self, q, qd, qdd, f_ext=None, out=None):
        """Derivatives of inverse dynamics, tau = rnea(q, qd, qdd, f_ext).

        Returns:
            dtau_dq, dtau_dqd, M: (nv, nv) each. Entry i, j is the derivative of tau[i] with respect
            to q[j], qd[j] and qdd[j] [N m, N per their units]; M is symmetric. The first six q[j]
            of a floating base are its displacement, linear, then angular, in its own axes.

        Source: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics
        using spatial vector algebra, 2022.
        """
        return self.at_motion(RNEA_DERIVATIVES, q, qd, "qdd", qdd, f_ext, out, None)

    def aba_derivatives(self, q, qd, tau, f_ext=None, out=None):
        """Derivatives of forward dynamics, qdd = aba(q, qd, tau, f_ext).

        Returns:
            dqdd_dq, dqdd_dqd, Minv: (nv, nv) each. Entry i, j is the derivative of qdd[i] with
            respect to q[j], qd[j] and tau[j] [rad/s^2, m/s^2 per their units]; Minv is symmetric.
            The first six q[j] of a floating base are its displacement, linear, then angular, in its
            own axes.

        Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms,
        2018: M^-1 times the negative derivatives of inverse dynamics at qdd.
        """
        return self.at_motion(ABA_DERIVATIVES, q, qd, "tau", tau, f_ext, out, None)

    def link_pose(self, q, link):
        """Pose of a link's frame in the base frame.

        Returns:
            (4, 4) homogeneous transform [m].

        Source: RBDA section 4.2, the transforms along the path to the link.
        """
        return self.at_position(LINK_POSE, q, None, None, link, None)

    forward_kinematics = link_pose

    def jacobian(self, q, link, point=None):
        """Jacobian of a point of a link: [v; w] = J qd, in the axes of the base frame, linear rows
        first.

        Returns:
            (6, nv).

        The columns are S of the joints that support the link, in base axes, seen from the point.
        """
        return self.at_position(JACOBIAN, q, None, None, link, point)

    def jacobian_derivative(self, q, qd, link, point=None):
        """Time derivative of ``jacobian``: the acceleration of the point is J qdd + Jdot qd.

        Returns:
            (6, nv).

        Source: RBDA equation 2.45, the derivative of S as a vector that moves with its body.
        ``link_acceleration`` gives Jdot qd alone at less cost, with qdd = 0.
        """
        return self.at_velocity(JACOBIAN_DERIVATIVE, q, qd, None, None, link, point)

    jacobian_dot = jacobian_derivative

    def link_velocity(self, q, qd, link):
        """Velocity [vx vy vz wx wy wz] of a link's origin, in the axes of the base frame.

        Returns:
            (6,) [m/s, rad/s].
        """
        return self.at_velocity(LINK_VELOCITY, q, qd, None, None, link, None)

    def link_acceleration(self, q, qd, qdd, link):
        """Classical acceleration of a link: of its origin as a moving point, and dw/dt, in the axes
        of the base frame.

        Returns:
            (6,) linear, then angular [m/s^2, rad/s^2], J qdd + Jdot qd. Gravity is not in it: an
            accelerometer there would show this less ``model.gravity``, turned into its axes.

        Source: RBDA section 2.11, classical acceleration.
        """
        return self.at_motion(LINK_ACCELERATION, q, qd, "qdd", qdd, None, None, link)

    def centre_of_mass(self, q):
        """Centre of mass of all links, the base link included, in the base frame.

        Returns:
            (3,) [m]; NaN for a model without mass.
        """
        return self.at_position(CENTRE_OF_MASS, q, None, None, None, None)

    def centre_of_mass_jacobian(self, q):
        """Jacobian of ``centre_of_mass``: its velocity is J qd, in the axes of the base frame.

        Returns:
            (3, nv); NaN for a model without mass.

        Source: the linear rows of ``centroidal_momentum_matrix`` over the total mass.
        """
        return self.at_position(CENTRE_OF_MASS_JACOBIAN, q, None, None, None, None)

    def energy(self, q, qd):
        """Kinetic and potential energy.

        Returns:
            Two floats, or two (B,) arrays [J]. The potential is zero with the centre of mass at the
            base frame's origin.
        """
        kinetic, potential = self.at_velocity(ENERGY, q, qd, None, None, None, None)
        if cnp.PyArray_NDIM(kinetic) == 0:
            return float(kinetic), float(potential)
        return kinetic, potential

    def coriolis(self, q, qd):
        """The Coriolis matrix C(q, qd): C qd = bias - gravity, and Hdot - 2 C is skew-symmetric.

        Of the matrices with these two properties it is, on a fixed base, that of the Christoffel
        symbols, C_ij = sum_k (dH_ij/dq_k + dH_ik/dq_j - dH_jk/dq_i) qd_k / 2. A floating base has
        the two properties, but not this formula: its velocities are not rates of coordinates.

        Returns:
            (nv, nv) [N m s, N s].

        Source: Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and
        Christoffel symbols for rigid-body systems, 2021, Algorithm 1.
        """
        return self.at_velocity(CORIOLIS, q, qd, None, None, None, None)

    def hybrid(self, q, qd, qdd, tau, prescribed, f_ext=None):
        """Hybrid dynamics: forward dynamics of some joints, inverse dynamics of the others, whose
        acceleration is prescribed.

        Args:
            qdd: (nv,) acceleration of the prescribed joints [rad/s^2, m/s^2]; the other entries are
                ignored.
            tau: (nv,) torque of the joints that are not prescribed [N m, N]; the other entries are
                ignored.
            prescribed: (nv,) True for the joints whose acceleration is given.

        Returns:
            qdd and tau of all joints, (nv,) each: the given values and the computed ones.

        Raises:
            SingularInertiaError: A joint with given torque moves no inertia.

        Source: RBDA section 9.2; with mimic joints by the joint-space inertia.
        """
        cdef Call call
        cdef Py_ssize_t n = self.compiled.system.n, k
        begin(&call, HYBRID, &self.compiled.system)
        cdef cnp.ndarray q_ = add_position(
            &call, as_positions(q, self.compiled.system.nq, qd, qdd), tau, prescribed)
        cdef cnp.ndarray qd_ = add_freedoms(&call, qd, q_, "qd")
        cdef cnp.ndarray qdd_ = like_states(qdd, q_, n, "qdd")
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        cdef cnp.ndarray held = like_states(as_choice(prescribed, "prescribed"), q_, n,
                                            "prescribed")
        cdef cnp.ndarray given = cnp.PyArray_NewCopy(tau_, cnp.NPY_CORDER)
        for k in range(cnp.PyArray_SIZE(given)):
            if data(held)[k] != 0:
                data(given)[k] = data(qdd_)[k]
        add_input(&call, given, n)
        add_input(&call, held, n)
        return self.outcome(&call, q_, f_ext, None)

    def joint_wrenches(self, q, qd, qdd, f_ext=None):
        """The wrench across each joint, exerted by the parent link on the child link.

        It accelerates and supports all links beyond the joint. Its component along the joint's axis
        is the drive's torque: that of ``rnea``, if no joint mimics another. Mimic joints are not
        listed.

        Returns:
            (n, 6) [fx fy fz tx ty tz] of the joints in ``model.joint_names``, at the origin of the
            joint's child link, in that link's axes (those of the URDF) [N, N m].

        Source: f of RBDA Table 5.1.
        """
        return self.at_motion(JOINT_WRENCHES, q, qd, "qdd", qdd, f_ext, None, None)

    def composite_inertias(self, q):
        """The inertia of all that each joint carries, as one rigid body: the joints beyond locked.

        Returns:
            (n, 6, 6), symmetric, rows and columns linear then angular, in the frames of
            ``joint_wrenches`` [kg, kg m, kg m^2]. That of a floating base is ``crba``'s corner.

        Source: I^c of RBDA Table 6.2, R(k) of Rodriguez and Jain.
        """
        return self.at_position(COMPOSITE_INERTIAS, q, None, None, None, None)

    def articulated_inertias(self, q):
        """The inertia that each joint's child link has with the joints beyond free: the wrench that
        must act on it for each unit of its acceleration.

        Returns:
            (n, 6, 6) as of ``composite_inertias``. That of a floating base is the inverse of
            ``minv``'s corner.

        Raises:
            NotImplementedError: The model has mimic joints: one that others follow is not free.

        Source: I^A of RBDA Table 7.1, P(k) of Rodriguez and Jain.
        """
        if self.compiled.system.coupled:
            raise NotImplementedError("articulated_inertias: expected a model without mimic joints")
        return self.at_position(ARTICULATED_INERTIAS, q, None, None, None, None)

    def log_det_inertia(self, q):
        """The logarithm of the determinant of the joint-space inertia, and its gradient.

        Fixman's potential is half of it, times the temperature in units of energy.

        Returns:
            log det M, a float, or (B,); and its derivative by q, (nv,) [1/rad, 1/m]: zero for a
            floating base.

        Takes O(n), with mimic joints O(n^3).

        Source: Jain, Compensating mass matrix potential for constrained molecular dynamics, 1997;
        with mimic joints the trace of M^-1 dM/dt = M^-1 (C + C^T).
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.nq, "q")
        if self.compiled.system.coupled:
            Minv = self.minv(q_)
            with np.errstate(invalid="ignore"):
                value = np.linalg.slogdet(self.crba(q_))[1]
            gradient = np.stack([2 * np.einsum("...ij,...ji->...", Minv, self.coriolis(q_, rate))
                                 for rate in np.eye(self.compiled.system.n)], axis=-1)
        else:
            value, gradient = self.at_position(LOG_DET_INERTIA, q_, None, None, None, None)
        return float(value) if cnp.PyArray_NDIM(q_) == 1 else value, gradient

    def impulse_response(self, q, f_ext=None, out=None):
        """The change of velocity under impulses on links, M^-1 J^T p, whatever the velocity is.

        Args:
            f_ext: Impulses, as wrenches on links, see the class [N s, N m s].

        Returns:
            (nv,) [rad/s, m/s].

        Source: RBDA section 11.1; Table 7.1 at rest, without gravity.
        """
        impulses = {} if f_ext is None else f_ext
        return self.at_position(IMPULSE_RESPONSE, q, impulses, out, None, None)

    def momentum(self, q, qd):
        """Momentum of all links: linear, then angular about the centre of mass, in the axes of the
        base frame.

        Returns:
            (6,) [N s, N m s]. The centre of mass is that of ``centre_of_mass``, base link included,
            and the linear part the total mass times its velocity.

        Source: RBDA section 2.9, summed over the bodies.
        """
        return self.at_velocity(MOMENTUM, q, qd, None, None, None, None)

    def centroidal_momentum_matrix(self, q):
        """The matrix of momentum as a linear function of velocity: momentum(q, qd) = A_G qd.

        Returns:
            (6, nv) linear rows, then angular about the centre of mass, in the axes of the base
            frame [kg m, kg m^2 per their units].

        Source: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, 2013: composite
        inertias of RBDA Table 6.2 times S.
        """
        return self.at_position(CENTROIDAL_MOMENTUM_MATRIX, q, None, None, None, None)

    def operational_space_inertia(self, q, link, point=None):
        """The operational-space inertia Lambda = (J M^-1 J^T)^-1: the wrench on the link per unit
        of its acceleration.

        Returns:
            (6, 6), symmetric, rows as those of ``jacobian`` [kg, kg m, kg m^2].

        Raises:
            SingularJacobianError: J does not have rank 6 (in some state of a batch): less than a
                millionth of some row is independent of the rows before it.

        Takes O(n) for a tree without mimic joints.

        Source: Khatib, A unified approach for motion and force control of robot manipulators, 1987;
        by articulated bodies, RBDA Table 7.1 under unit wrenches.
        """
        return self.at_position(OPERATIONAL_SPACE_INERTIA, q, None, None, link, point)

    def operational_space(self, q, qd, link, point=None, double tolerance=TOLERANCE):
        """A link's dynamics as a task sees them: the force F = Lambda a + mu + p, applied as J^T F,
        gives the link the acceleration a.

        Unlike ``operational_space_inertia`` it needs no full rank: directions in which the joints
        hardly move the link are left out, see ``tolerance``.

        Args:
            tolerance: Of the singular values of J [m, rad per unit of q], relative to the largest:
                directions of smaller ones are left out. From 0 to below 1.

        Returns:
            An ``OperationalSpace``: Lambda, mu, p, Jbar, N and the rank that was found; a batch
            gives arrays (B, ...).

        Raises:
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

        Returns:
            Y, (nv, 10 L) for the L ``model.link_names``: ten columns each, in the order of
            ``model.inertial_parameters``. Zero where a joint does not move a link; gravity is
            included. With f_ext two arrays: Y, and the part of the torque that does not depend on
            the parameters, -J^T f_ext, (nv,): rnea is Y @ model.inertial_parameters plus that.

        Source: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads
        and links, 1986.
        """
        return self.at_motion(REGRESSOR if f_ext is None else REGRESSOR_AND_REST, q, qd, "qdd", qdd,
                              f_ext, out, None)

cdef class Dynamics:
    """Rigid-body dynamics of one model: Featherstone's recursions with a workspace of their own.

    Make one per thread. q, qd, qdd and tau are (n,) arrays in the order of ``model.joint_names``, [rad] or [m] and their
    rates, [N m] or [N]. Every method also takes (B, n), then returns (B, ...) and releases the GIL; all arrays of a call
    have the same shape. Inputs are never modified; ``out`` receives the result without an allocation, and may be one of
    q, qd, qdd, tau itself (then that is overwritten) but not overlap them otherwise. Friction, damping and armature are
    not rigid-body dynamics: see ``Simulator``.

    ``f_ext`` maps link names to wrenches [fx fy fz tx ty tz], (6,) or (B, 6), that act on the link at its origin, in its
    own axes [N, N m].

    All methods raise ValueError for a shape that does not fit (naming the argument), and UnknownNameError (a KeyError)
    for a link the model does not have.

    Args:
        model: A ``Model``.
    """

    cdef readonly object model         # as given
    cdef CompiledModel compiled
    cdef Workspace work
    cdef bint busy

    def __cinit__(self, model):
        self.model, self.compiled = model, compiled_of(model)
        allocate(&self.work, &self.compiled.system)

    def __dealloc__(self):
        free(self.work.memory)

    def __reduce__(self):
        return Dynamics, (self.model,)

    cdef inline int enter(self) except -1:
        if self.busy:
            raise RuntimeError("this Dynamics is at work in another thread; make one per thread")
        return 0

    # Rows of states, without the GIL ---------------------------------------------------------------------------------

    cdef void rnea_rows(self, Py_ssize_t rows, const double* q, const double* qd, const double* qdd,
                        ExternalForces forces, double* tau) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row
        for row in range(rows):
            jcalc(&self.compiled.system, &self.work, q + row * n)
            rnea(&self.compiled.system, &self.work, qd + row * n if qd != NULL else NULL,
                 qdd + row * n if qdd != NULL else NULL,
                 forces.fill(&self.work, row) if forces is not None else <const double*> NULL, tau + row * n)

    cdef Py_ssize_t aba_rows(self, Py_ssize_t rows, const double* q, const double* qd, const double* tau,
                             ExternalForces forces, double* qdd) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row, failure
        for row in range(rows):
            jcalc(&self.compiled.system, &self.work, q + row * n)
            failure = forward_dynamics(&self.compiled.system, &self.work, qd + row * n, tau + row * n,
                                       forces.fill(&self.work, row) if forces is not None else <const double*> NULL,
                                       <const double*> NULL, qdd + row * n)
            if failure:
                return failure
        return 0

    cdef void crba_rows(self, Py_ssize_t rows, const double* q, double* H) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row
        for row in range(rows):
            jcalc(&self.compiled.system, &self.work, q + row * n)
            crba(&self.compiled.system, &self.work, H + row * n * n)

    cdef inline cnp.ndarray inverse_dynamics(self, cnp.ndarray q, const double* qd, const double* qdd, f_ext, out):
        cdef Py_ssize_t rows = rows_of(q)
        cdef cnp.ndarray tau = result(out, q, 1, self.compiled.system.n, 0)
        cdef ExternalForces forces = as_forces(self.compiled, f_ext, rows)
        cdef const double* q_ = data(q)
        cdef double* tau_ = data(tau)
        self.enter()
        if rows == 1:
            self.rnea_rows(1, q_, qd, qdd, forces, tau_)
        else:
            self.busy = True
            with nogil:
                self.rnea_rows(rows, q_, qd, qdd, forces, tau_)
            self.busy = False
        return tau

    # Dynamics --------------------------------------------------------------------------------------------------------

    def rnea(self, q, qd, qdd, f_ext=None, out=None):
        """Inverse dynamics: the torque that produces qdd, H(q) qdd + C(q, qd) qd + g(q) - J^T f_ext.

        Args:
            q, qd, qdd: (n,) position, velocity and acceleration.
            f_ext: Wrenches on links, see the class.
            out: (n,) array for the result, or None.

        Returns:
            (n,) tau [N m, N].

        Source: RBDA Table 5.1.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.compiled.system.n, "qd")
        cdef cnp.ndarray qdd_ = like_states(qdd, q_, self.compiled.system.n, "qdd")
        return self.inverse_dynamics(q_, data(qd_), data(qdd_), f_ext, out)

    def bias(self, q, qd, f_ext=None, out=None):
        """The torque that keeps qdd at zero, C(q, qd) qd + g(q) - J^T f_ext.

        Args:
            q, qd: (n,) position and velocity.
            f_ext: Wrenches on links, see the class.
            out: (n,) array for the result, or None.

        Returns:
            (n,) [N m, N].

        Source: RBDA Table 5.1 with qdd = 0.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.compiled.system.n, "qd")
        return self.inverse_dynamics(q_, data(qd_), NULL, f_ext, out)

    def gravity(self, q, out=None):
        """The torque that holds the robot still, g(q).

        Args:
            q: (n,) position.
            out: (n,) array for the result, or None.

        Returns:
            (n,) [N m, N].

        Source: RBDA Table 5.1 with qd = qdd = 0.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        return self.inverse_dynamics(q_, NULL, NULL, None, out)

    def aba(self, q, qd, tau, f_ext=None, out=None):
        """Forward dynamics: the acceleration under the torque tau.

        Args:
            q, qd, tau: (n,) position, velocity and torque.
            f_ext: Wrenches on links, see the class.
            out: (n,) array for the result, or None.

        Returns:
            (n,) qdd.

        Raises:
            SingularInertiaError: A joint moves no inertia.

        Source: RBDA Table 7.1; with mimic joints, which couple coordinates, equation 3.20 by Tables 6.2 and 5.1.
        """
        cdef Py_ssize_t n = self.compiled.system.n, rows, failure
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, n, "qd")
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        cdef cnp.ndarray qdd = result(out, q_, 1, n, 0)
        rows = rows_of(q_)
        cdef ExternalForces forces = as_forces(self.compiled, f_ext, rows)
        self.enter()
        if rows == 1:
            failure = self.aba_rows(1, data(q_), data(qd_), data(tau_), forces, data(qdd))
        else:
            self.busy = True
            with nogil:
                failure = self.aba_rows(rows, data(q_), data(qd_), data(tau_), forces, data(qdd))
            self.busy = False
        raise_if_singular(self.compiled, failure)
        return qdd

    def crba(self, q, out=None):
        """The joint-space inertia matrix H(q), M in DESIGN's words.

        Args:
            q: (n,) position.
            out: (n, n) array for the result, or None.

        Returns:
            (n, n), symmetric [kg m^2, kg m, kg].

        Source: RBDA Table 6.2.
        """
        cdef Py_ssize_t n = self.compiled.system.n, rows
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray H = result(out, q_, 2, n, n)
        rows = rows_of(q_)
        self.enter()
        if rows == 1:
            self.crba_rows(1, data(q_), data(H))
        else:
            self.busy = True
            with nogil:
                self.crba_rows(rows, data(q_), data(H))
            self.busy = False
        return H

    # Kinematics ------------------------------------------------------------------------------------------------------

    cdef void link_origin(self, Py_ssize_t link, double* point) noexcept nogil:
        """Origin of a link in the base frame, after poses."""
        cdef Py_ssize_t slot = self.compiled.link_slot[link], k
        rotate_to_base[double](&self.work, slot, self.compiled.link_pose + 12 * link + 9, point)
        for k in range(3):
            point[k] += self.work.r[3 * slot + k]

    cdef void link_pose_row(self, Py_ssize_t link, const double* q, double* T) noexcept nogil:
        cdef const double* pose = self.compiled.link_pose + 12 * link
        cdef double[3] x, y
        cdef Py_ssize_t row, column
        poses(&self.compiled.system, &self.work, q)
        self.link_origin(link, x)
        for row in range(3):
            T[4 * row + 3] = x[row]
            T[12 + row] = 0.0
        T[15] = 1.0
        for column in range(3):
            for row in range(3):
                x[row] = pose[3 * row + column]
            rotate_to_base[double](&self.work, self.compiled.link_slot[link], x, y)
            for row in range(3):
                T[4 * row + column] = y[row]

    cdef void pose_rows(self, Py_ssize_t rows, Py_ssize_t link, const double* q, double* T) noexcept nogil:
        cdef Py_ssize_t row
        for row in range(rows):
            self.link_pose_row(link, q + row * self.compiled.system.n, T + 16 * row)

    cdef void jacobian_rows(self, Py_ssize_t rows, Py_ssize_t link, const double* q, double* J) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row
        cdef double[3] point
        for row in range(rows):
            poses(&self.compiled.system, &self.work, q + row * n)
            self.link_origin(link, point)
            jacobian[double](&self.compiled.system, &self.work, self.compiled.link_slot[link], point, J + 6 * n * row)

    cdef void velocity_rows(self, Py_ssize_t rows, Py_ssize_t link, const double* q, const double* qd,
                            double* v) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row
        cdef double[3] point
        for row in range(rows):
            poses(&self.compiled.system, &self.work, q + row * n)
            self.link_origin(link, point)
            point_velocity[double](&self.compiled.system, &self.work, self.compiled.link_slot[link], point, qd + row * n,
                                   v + 6 * row)

    cdef void centre_rows(self, Py_ssize_t rows, const double* q, double* centre) noexcept nogil:
        cdef Py_ssize_t row, k
        cdef double mass
        for row in range(rows):
            poses(&self.compiled.system, &self.work, q + row * self.compiled.system.n)
            mass = first_moment[double](&self.compiled.system, &self.work, centre + 3 * row)
            for k in range(3):
                centre[3 * row + k] /= mass

    cdef void energy_rows(self, Py_ssize_t rows, const double* q, const double* qd, double* kinetic,
                          double* potential) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row, k
        cdef double[3] moment
        for row in range(rows):
            poses(&self.compiled.system, &self.work, q + row * n)
            kinetic[row] = kinetic_energy(&self.compiled.system, &self.work, qd + row * n)
            first_moment[double](&self.compiled.system, &self.work, moment)
            potential[row] = 0.0
            for k in range(3):
                potential[row] -= self.compiled.system.gravity[k] * moment[k]

    def link_pose(self, q, link):
        """Pose of a link's frame in the base frame.

        Args:
            q: (n,) position.
            link: Name of the link.

        Returns:
            (4, 4) homogeneous transform [m].

        Source: RBDA section 4.2, the transforms along the path to the link.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        cdef Py_ssize_t index = self.compiled.link(link), rows = rows_of(q_)
        cdef cnp.ndarray T = result(None, q_, 2, 4, 4)
        self.enter()
        if rows == 1:
            self.pose_rows(1, index, data(q_), data(T))
        else:
            self.busy = True
            with nogil:
                self.pose_rows(rows, index, data(q_), data(T))
            self.busy = False
        return T

    def jacobian(self, q, link):
        """Jacobian of a link: [v; w] = J qd, at the link's origin, in the axes of the base frame, linear rows first.

        Args:
            q: (n,) position.
            link: Name of the link.

        Returns:
            (6, n).

        The columns are S of the joints that support the link, in base axes, seen from the link's origin.
        """
        cdef Py_ssize_t n = self.compiled.system.n, index = self.compiled.link(link)
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef Py_ssize_t rows = rows_of(q_)
        cdef cnp.ndarray J = result(None, q_, 2, 6, n)
        self.enter()
        if rows == 1:
            self.jacobian_rows(1, index, data(q_), data(J))
        else:
            self.busy = True
            with nogil:
                self.jacobian_rows(rows, index, data(q_), data(J))
            self.busy = False
        return J

    def link_velocity(self, q, qd, link):
        """Velocity [vx vy vz wx wy wz] of a link's origin, in the axes of the base frame.

        Args:
            q, qd: (n,) position and velocity.
            link: Name of the link.

        Returns:
            (6,) [m/s, rad/s].
        """
        cdef Py_ssize_t n = self.compiled.system.n, index = self.compiled.link(link)
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, n, "qd")
        cdef Py_ssize_t rows = rows_of(q_)
        cdef cnp.ndarray v = result(None, q_, 1, 6, 0)
        self.enter()
        if rows == 1:
            self.velocity_rows(1, index, data(q_), data(qd_), data(v))
        else:
            self.busy = True
            with nogil:
                self.velocity_rows(rows, index, data(q_), data(qd_), data(v))
            self.busy = False
        return v

    def centre_of_mass(self, q):
        """Centre of mass of all links, the base link included, in the base frame.

        Args:
            q: (n,) position.

        Returns:
            (3,) [m]; NaN for a model without mass.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        cdef Py_ssize_t rows = rows_of(q_)
        cdef cnp.ndarray centre = result(None, q_, 1, 3, 0)
        self.enter()
        if rows == 1:
            self.centre_rows(1, data(q_), data(centre))
        else:
            self.busy = True
            with nogil:
                self.centre_rows(rows, data(q_), data(centre))
            self.busy = False
        return centre

    def energy(self, q, qd):
        """Kinetic and potential energy.

        Args:
            q, qd: (n,) position and velocity.

        Returns:
            Two floats, or two (B,) arrays [J]. The potential is zero with the centre of mass at the base's origin.
        """
        cdef cnp.ndarray q_ = as_states(q, self.compiled.system.n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.compiled.system.n, "qd")
        cdef Py_ssize_t rows = rows_of(q_)
        cdef cnp.ndarray kinetic = np.empty(rows), potential = np.empty(rows)
        self.enter()
        if rows == 1:
            self.energy_rows(1, data(q_), data(qd_), data(kinetic), data(potential))
        else:
            self.busy = True
            with nogil:
                self.energy_rows(rows, data(q_), data(qd_), data(kinetic), data(potential))
            self.busy = False
        if cnp.PyArray_NDIM(q_) == 1:
            return float(kinetic[0]), float(potential[0])
        return kinetic, potential

cdef class Dynamics:
    """Rigid-body dynamics of one model: Featherstone's recursions with a workspace of their own.

    Make one per thread. q, qd, qdd and tau are (n,) arrays in the order of ``model.joint_names``, [rad] or [m] and their
    rates, [N m] or [N]. Every method also takes (B, n), then returns (B, ...) and releases the GIL; all arrays of a call
    have the same shape. Inputs are never modified; ``out`` receives the result without an allocation. Friction, damping
    and armature are not rigid-body dynamics: see ``Simulator``.

    ``f_ext`` maps link names to wrenches [fx fy fz tx ty tz], (6,) or (B, 6), that act on the link at its origin, in its
    own axes [N, N m].

    All methods raise ValueError for a shape that does not fit (naming the argument), and UnknownNameError (a KeyError)
    for a link the model does not have.

    Args:
        model: A ``Model``.
    """

    cdef readonly CompiledModel model
    cdef Workspace work
    cdef bint busy

    def __cinit__(self, model):
        self.model = model if isinstance(model, CompiledModel) else model.compiled
        allocate(&self.work, &self.model.system)

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
        cdef Py_ssize_t n = self.model.system.n, row
        for row in range(rows):
            jcalc(&self.model.system, &self.work, q + row * n)
            rnea(&self.model.system, &self.work, qd + row * n if qd != NULL else NULL,
                 qdd + row * n if qdd != NULL else NULL,
                 forces.fill(&self.work, row) if forces is not None else <const double*> NULL, tau + row * n)

    cdef Py_ssize_t aba_rows(self, Py_ssize_t rows, const double* q, const double* qd, const double* tau,
                             ExternalForces forces, double* qdd) noexcept nogil:
        cdef Py_ssize_t n = self.model.system.n, row, failure
        for row in range(rows):
            jcalc(&self.model.system, &self.work, q + row * n)
            failure = forward_dynamics(&self.model.system, &self.work, qd + row * n, tau + row * n,
                                       forces.fill(&self.work, row) if forces is not None else <const double*> NULL,
                                       <const double*> NULL, qdd + row * n)
            if failure:
                return failure
        return 0

    cdef void crba_rows(self, Py_ssize_t rows, const double* q, double* H) noexcept nogil:
        cdef Py_ssize_t n = self.model.system.n, row
        for row in range(rows):
            jcalc(&self.model.system, &self.work, q + row * n)
            crba(&self.model.system, &self.work, H + row * n * n)

    cdef inline cnp.ndarray inverse_dynamics(self, cnp.ndarray q, const double* qd, const double* qdd, f_ext, out):
        cdef Py_ssize_t rows = rows_of(q)
        cdef cnp.ndarray tau = result(out, q, 1, self.model.system.n, 0)
        cdef ExternalForces forces = as_forces(self.model, f_ext, rows)
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
        cdef cnp.ndarray q_ = as_states(q, self.model.system.n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.model.system.n, "qd")
        cdef cnp.ndarray qdd_ = like_states(qdd, q_, self.model.system.n, "qdd")
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
        cdef cnp.ndarray q_ = as_states(q, self.model.system.n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, self.model.system.n, "qd")
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
        cdef cnp.ndarray q_ = as_states(q, self.model.system.n, "q")
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

        Source: RBDA Table 7.1; with mimic joints, which close kinematic loops, H qdd = tau - C by Tables 6.2 and 5.1.
        """
        cdef Py_ssize_t n = self.model.system.n, rows, failure
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, n, "qd")
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        cdef cnp.ndarray qdd = result(out, q_, 1, n, 0)
        rows = rows_of(q_)
        cdef ExternalForces forces = as_forces(self.model, f_ext, rows)
        self.enter()
        if rows == 1:
            failure = self.aba_rows(1, data(q_), data(qd_), data(tau_), forces, data(qdd))
        else:
            self.busy = True
            with nogil:
                failure = self.aba_rows(rows, data(q_), data(qd_), data(tau_), forces, data(qdd))
            self.busy = False
        raise_if_singular(self.model, failure)
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
        cdef Py_ssize_t n = self.model.system.n, rows
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
        cdef Py_ssize_t slot = self.model.link_slot[link], k
        rotate_to_base[double](&self.work, slot, self.model.link_pose + 12 * link + 9, point)
        for k in range(3):
            point[k] += self.work.r[3 * slot + k]

    cdef void link_pose_row(self, Py_ssize_t link, const double* q, double* T) noexcept nogil:
        cdef const double* pose = self.model.link_pose + 12 * link
        cdef double[3] x, y
        cdef Py_ssize_t row, column
        poses(&self.model.system, &self.work, q)
        self.link_origin(link, x)
        for row in range(3):
            T[4 * row + 3] = x[row]
            T[12 + row] = 0.0
        T[15] = 1.0
        for column in range(3):
            for row in range(3):
                x[row] = pose[3 * row + column]
            rotate_to_base[double](&self.work, self.model.link_slot[link], x, y)
            for row in range(3):
                T[4 * row + column] = y[row]

    cdef void jacobian_row(self, Py_ssize_t link, const double* q, double* J) noexcept nogil:
        cdef double[3] point
        poses(&self.model.system, &self.work, q)
        self.link_origin(link, point)
        jacobian[double](&self.model.system, &self.work, self.model.link_slot[link], point, J)

    def link_pose(self, q, link):
        """Pose of a link's frame in the base frame.

        Args:
            q: (n,) position.
            link: Name of the link.

        Returns:
            (4, 4) homogeneous transform [m].

        Source: RBDA section 4.1, 0Xi along the path to the link.
        """
        cdef cnp.ndarray q_ = as_states(q, self.model.system.n, "q")
        cdef Py_ssize_t index = self.model.link(link), row
        cdef cnp.ndarray T = result(None, q_, 2, 4, 4)
        self.enter()
        for row in range(rows_of(q_)):
            self.link_pose_row(index, data(q_) + row * self.model.system.n, data(T) + 16 * row)
        return T

    def jacobian(self, q, link):
        """Jacobian of a link: [v; w] = J qd, at the link's origin, in the axes of the base frame, linear rows first.

        Args:
            q: (n,) position.
            link: Name of the link.

        Returns:
            (6, n).

        Source: RBDA section 4.3 (columns are the supporting joints' S in base axes, seen from the link's origin).
        """
        cdef Py_ssize_t n = self.model.system.n, index = self.model.link(link), row
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray J = result(None, q_, 2, 6, n)
        self.enter()
        for row in range(rows_of(q_)):
            self.jacobian_row(index, data(q_) + row * n, data(J) + 6 * n * row)
        return J

    def link_velocity(self, q, qd, link):
        """Velocity [vx vy vz wx wy wz] of a link's origin, in the axes of the base frame.

        Args:
            q, qd: (n,) position and velocity.
            link: Name of the link.

        Returns:
            (6,) [m/s, rad/s].
        """
        cdef Py_ssize_t n = self.model.system.n
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, n, "qd")
        return np.matmul(self.jacobian(q_, link), qd_[..., np.newaxis])[..., 0]

    def centre_of_mass(self, q):
        """Centre of mass of all links, the base link included, in the base frame.

        Args:
            q: (n,) position.

        Returns:
            (3,) [m]; NaN for a model without mass.
        """
        cdef Py_ssize_t n = self.model.system.n, row, k
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray centre = result(None, q_, 1, 3, 0)
        cdef double mass
        self.enter()
        for row in range(rows_of(q_)):
            poses(&self.model.system, &self.work, <const double*> data(q_) + row * n)
            mass = first_moment[double](&self.model.system, &self.work, data(centre) + 3 * row)
            for k in range(3):
                data(centre)[3 * row + k] /= mass
        return centre

    def energy(self, q, qd):
        """Kinetic and potential energy.

        Args:
            q, qd: (n,) position and velocity.

        Returns:
            Two floats, or two (B,) arrays [J]. The potential is zero with the centre of mass at the base's origin.
        """
        cdef Py_ssize_t n = self.model.system.n, row, k
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = like_states(qd, q_, n, "qd")
        cdef cnp.ndarray kinetic = np.empty(rows_of(q_)), potential = np.empty(rows_of(q_))
        cdef double[3] moment
        self.enter()
        for row in range(rows_of(q_)):
            poses(&self.model.system, &self.work, <const double*> data(q_) + row * n)
            data(kinetic)[row] = kinetic_energy(&self.model.system, &self.work, <const double*> data(qd_) + row * n)
            first_moment[double](&self.model.system, &self.work, moment)
            data(potential)[row] = 0.0
            for k in range(3):
                data(potential)[row] -= self.model.system.gravity[k] * moment[k]
        if cnp.PyArray_NDIM(q_) == 1:
            return float(kinetic[0]), float(potential[0])
        return kinetic, potential

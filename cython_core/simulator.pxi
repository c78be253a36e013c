# Time stepping: forward dynamics with what a drive adds to rigid bodies.

cdef enum Integrator:
    SEMI_IMPLICIT_EULER, IMPLICIT, RK4

cdef dict INTEGRATORS = {"semi_implicit_euler": SEMI_IMPLICIT_EULER, "implicit": IMPLICIT, "rk4": RK4}

cdef double STICKING_SPEED = 1e-3      # Coulomb friction is viscous below this [rad/s, m/s]


cdef class Simulator:
    """Integrates a model's forward dynamics, with damping, friction, armature and joint stops.

    The equation of motion is (H + armature) qdd = tau - C - damping qd - friction sign(qd) + stops + J^T f_ext. Coulomb
    friction and joint stops are taken at the end of each step (they would be infinitely stiff at its beginning), so
    that neither ever feeds energy in; friction is viscous below 1 mrad/s or 1 mm/s. Damping is explicit in
    ``semi_implicit_euler`` and ``rk4``, taken at the end of the step in ``implicit``, which is therefore stable under
    any damping. States may be batches (B, n): call ``reset`` with such.

    Args:
        model: A ``Model``.
        time_step: [s], positive.
        integrator: ``"semi_implicit_euler"``, ``"implicit"`` or ``"rk4"``.
        damping: Scalar or (n,) [N m s/rad, N s/m]; None takes ``model.damping``.
        friction: Scalar or (n,) Coulomb friction [N m, N]; None takes ``model.friction``.
        armature: Scalar or (n,) inertia of the drive on the joint's side [kg m^2, kg]; None is zero.
        stop_stiffness: Scalar or (n,) of a spring beyond ``model.lower`` and ``model.upper`` [N m/rad, N/m]; None or
            zero is no stop.
        stop_damping: Scalar or (n,) of the stop [N m s/rad, N s/m]; a stop pushes but never pulls.

    Raises:
        ValueError: A negative or non-finite parameter, a wrong shape or an unknown integrator, by name.
    """

    cdef readonly object model         # as given
    cdef CompiledModel compiled
    cdef readonly double time_step
    cdef readonly str integrator
    cdef Integrator method
    cdef Workspace work
    cdef bint busy
    cdef long long count
    cdef cnp.ndarray state_q, state_qd, state_qdd
    cdef readonly cnp.ndarray damping, friction, armature, stop_stiffness, stop_damping
    cdef cnp.ndarray lower, upper, scratch

    def __cinit__(self, model, double time_step=0.001, integrator="semi_implicit_euler", damping=None, friction=None,
                  armature=None, stop_stiffness=None, stop_damping=None):
        self.model, self.compiled = model, compiled_of(model)
        n = self.compiled.system.n
        if not (time_step > 0 and isfinite(time_step)):
            raise ValueError(f"time_step: expected a positive number of seconds, got {time_step}")
        if integrator not in INTEGRATORS:
            raise ValueError(f"integrator: expected one of {', '.join(INTEGRATORS)}, got {integrator!r}")
        self.time_step, self.integrator, self.method = time_step, integrator, INTEGRATORS[integrator]
        self.damping = _joint_parameter("damping", model.damping if damping is None else damping, n)
        self.friction = _joint_parameter("friction", model.friction if friction is None else friction, n)
        self.armature = _joint_parameter("armature", 0.0 if armature is None else armature, n)
        self.stop_stiffness = _joint_parameter("stop_stiffness", 0.0 if stop_stiffness is None else stop_stiffness, n)
        self.stop_damping = _joint_parameter("stop_damping", 0.0 if stop_damping is None else stop_damping, n)
        self.lower = np.array(model.lower, dtype=float)
        self.upper = np.array(model.upper, dtype=float)
        self.scratch = np.empty(9 * n)
        allocate(&self.work, &self.compiled.system)
        self.reset()

    def __dealloc__(self):
        free(self.work.memory)

    @property
    def q(self):
        """(n,) or (B, n) joint positions, a copy [rad, m]."""
        return self.state_q.copy()

    @property
    def qd(self):
        """(n,) or (B, n) joint velocities, a copy [rad/s, m/s]."""
        return self.state_qd.copy()

    @property
    def qdd(self):
        """(n,) or (B, n) joint accelerations of the last step, a copy; zero before the first."""
        return self.state_qdd.copy()

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self.count * self.time_step

    def reset(self, q=None, qd=None):
        """Start again at time 0.

        Args:
            q: (n,) or (B, n) positions; None is zero.
            qd: Velocities of the same shape; None is zero.
        """
        self.set_state(np.zeros(self.compiled.system.n) if q is None else q, qd)
        self.count = 0

    def set_state(self, q, qd=None):
        """Move the robot without touching the time. Arguments as for ``reset``."""
        cdef Py_ssize_t n = self.compiled.system.n
        cdef cnp.ndarray q_ = as_states(q, n, "q")
        cdef cnp.ndarray qd_ = np.zeros_like(q_) if qd is None else like_states(qd, q_, n, "qd")
        if self.busy:
            raise RuntimeError("this Simulator is at work in another thread")
        self.state_q, self.state_qd, self.state_qdd = q_.copy(), qd_.copy(), np.zeros_like(q_)

    def step(self, tau, Py_ssize_t steps=1, f_ext=None):
        """Advance by steps * time_step under a constant torque, in compiled code without the GIL.

        Args:
            tau: (n,) or (B, n) joint torques [N m, N].
            steps: How many time steps.
            f_ext: Wrenches on links, constant in the links' own axes: see ``Dynamics``.

        Raises:
            SingularInertiaError: A joint moves no inertia; the state stays that of the last good step.
        """
        cdef Py_ssize_t n = self.compiled.system.n, failure
        cdef cnp.ndarray tau_ = like_states(tau, self.state_q, n, "tau")
        cdef ExternalForces forces = as_forces(self.compiled, f_ext, rows_of(self.state_q))
        cdef Py_ssize_t rows = rows_of(self.state_q)
        cdef double* q = data(self.state_q)
        cdef double* qd = data(self.state_qd)
        cdef double* qdd = data(self.state_qdd)
        if steps < 0:
            raise ValueError(f"steps: expected a count, got {steps}")
        if self.busy:
            raise RuntimeError("this Simulator is at work in another thread")
        self.busy = True
        with nogil:
            failure = self.step_rows(rows, steps, data(tau_), forces, q, qd, qdd)
        self.busy = False
        raise_if_singular(self.compiled, failure)
        self.count += steps

    cdef Py_ssize_t step_rows(self, Py_ssize_t rows, Py_ssize_t steps, const double* tau, ExternalForces forces,
                              double* q, double* qd, double* qdd) noexcept nogil:
        cdef Py_ssize_t n = self.compiled.system.n, row, k, failure
        cdef const double* f_ext
        for row in range(rows):
            f_ext = forces.fill(&self.work, row) if forces is not None else <const double*> NULL
            for k in range(steps):
                if self.method == RK4:
                    failure = self.rk4(q + row * n, qd + row * n, tau + row * n, f_ext, qdd + row * n)
                else:
                    failure = self.euler(q + row * n, qd + row * n, tau + row * n, f_ext, qdd + row * n)
                if failure:
                    return failure
        return 0

    cdef Py_ssize_t acceleration(self, const double* q, const double* qd, const double* tau, const double* f_ext,
                                 double* qdd) noexcept nogil:
        """qdd of one state, stops that would pull left out."""
        cdef Py_ssize_t n = self.compiled.system.n, i, failure
        cdef double* applied = data(self.scratch)
        cdef double* diagonal = applied + n
        cdef double* released = diagonal + n
        for i in range(n):
            released[i] = 0.0
        jcalc(&self.compiled.system, &self.work, q)
        while True:
            self.apply_drives(q, qd, tau, released, applied, diagonal)
            failure = forward_dynamics(&self.compiled.system, &self.work, qd, <const double*> applied, f_ext,
                                       <const double*> diagonal, qdd)
            if failure or not self.release_stops(q, qd, qdd, released):
                return failure

    cdef void apply_drives(self, const double* q, const double* qd, const double* tau, const double* released,
                           double* applied, double* diagonal) noexcept nogil:
        """What acts on each joint. A torque d (qd + h qdd) resisting at the step's end adds h d to H's diagonal."""
        cdef double h = self.time_step, d, k, depth
        cdef Py_ssize_t i
        for i in range(self.compiled.system.n):
            d = data(self.friction)[i] / fmax(fabs(qd[i]), STICKING_SPEED)
            diagonal[i] = data(self.armature)[i] + h * d
            if self.method == IMPLICIT:
                diagonal[i] += h * data(self.damping)[i]
            applied[i] = tau[i] - (d + data(self.damping)[i]) * qd[i]
            depth = self.depth(i, q[i])
            if depth != 0.0 and not released[i]:
                d, k = data(self.stop_damping)[i], data(self.stop_stiffness)[i]
                applied[i] -= k * (depth + h * qd[i]) + d * qd[i]
                diagonal[i] += h * (d + h * k)

    cdef bint release_stops(self, const double* q, const double* qd, const double* qdd,
                            double* released) noexcept nogil:
        """Release the stops that pull at the end of the step; returns whether there were any."""
        cdef double h = self.time_step, depth, speed
        cdef bint any_released = False
        cdef Py_ssize_t i
        for i in range(self.compiled.system.n):
            depth = self.depth(i, q[i])
            if depth != 0.0 and not released[i]:
                speed = qd[i] + h * qdd[i]
                if (data(self.stop_stiffness)[i] * (depth + h * speed) + data(self.stop_damping)[i] * speed) * depth < 0.0:
                    released[i] = 1.0
                    any_released = True
        return any_released

    cdef inline double depth(self, Py_ssize_t i, double position) noexcept nogil:
        """How far a position lies beyond the joint's limits, negative below the lower one."""
        return fmax(position - data(self.upper)[i], 0.0) + fmin(position - data(self.lower)[i], 0.0)

    cdef Py_ssize_t euler(self, double* q, double* qd, const double* tau, const double* f_ext,
                          double* qdd) noexcept nogil:
        """Velocity first, then position with the new velocity."""
        cdef Py_ssize_t i, failure = self.acceleration(q, qd, tau, f_ext, qdd)
        if failure:
            return failure
        for i in range(self.compiled.system.n):
            qd[i] += self.time_step * qdd[i]
            q[i] += self.time_step * qd[i]
        return 0

    cdef Py_ssize_t rk4(self, double* q, double* qd, const double* tau, const double* f_ext,
                        double* qdd) noexcept nogil:
        """Classical Runge-Kutta of order four on (q, qd)."""
        cdef Py_ssize_t n = self.compiled.system.n, i, stage, failure
        cdef double* stage_q = data(self.scratch) + 3 * n
        cdef double* stage_qd = stage_q + n
        cdef double* stage_qdd = stage_qd + n
        cdef double* sum_qd = stage_qdd + n
        cdef double* sum_qdd = sum_qd + n
        cdef double h = self.time_step, reach, weight
        for i in range(n):
            stage_q[i], stage_qd[i] = q[i], qd[i]
            sum_qd[i] = sum_qdd[i] = 0.0
        for stage in range(4):
            failure = self.acceleration(stage_q, stage_qd, tau, f_ext, stage_qdd)
            if failure:
                return failure
            weight = 1.0 / 6.0 if stage in (0, 3) else 1.0 / 3.0
            reach = h if stage == 2 else 0.5 * h
            for i in range(n):
                if stage == 0:
                    qdd[i] = stage_qdd[i]
                sum_qd[i] += weight * stage_qd[i]
                sum_qdd[i] += weight * stage_qdd[i]
                stage_q[i] = q[i] + reach * stage_qd[i]
                stage_qd[i] = qd[i] + reach * stage_qdd[i]
        for i in range(n):
            q[i] += h * sum_qd[i]
            qd[i] += h * sum_qdd[i]
        return 0


cdef cnp.ndarray _joint_parameter(str name, value, Py_ssize_t n):
    array = np.array(_floats(value, name))
    if array.shape not in ((), (n,)):
        raise _shape_error(name, array, f"({n},) or a scalar")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name}: expected finite values >= 0, got {value}")
    return np.ascontiguousarray(np.broadcast_to(array, (n,)))

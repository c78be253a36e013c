# Simulator: the state of a simulated robot, and time_stepping.pxd called on it.

cdef dict INTEGRATORS = {"semi_implicit_euler": SEMI_IMPLICIT_EULER, "implicit": IMPLICIT, "rk4": RK4}


cdef double STICKING_SPEED = 1e-3


cdef inline Py_ssize_t call_advance(Call* call, Workspace* work, const real** x, const real* f_ext,
                                    real** y) noexcept nogil:
    cdef Py_ssize_t i, k
    for k in range(3):                 # q, qd and the last qdd
        for i in range(call.system.n):
            y[k][i] = x[k][i]
    return advance(call.system, work, <const Drives*> call.settings, x[3], f_ext, y[0], y[1], y[2])


cdef class Simulator(Worker):
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
    cdef readonly double time_step
    cdef readonly str integrator
    cdef Drives drives
    cdef long long count
    cdef cnp.ndarray state_q, state_qd, state_qdd
    cdef readonly cnp.ndarray damping, friction, armature, stop_stiffness, stop_damping
    cdef cnp.ndarray lower, upper

    def __cinit__(self, model, double time_step=0.001, integrator="semi_implicit_euler", damping=None, friction=None,
                  armature=None, stop_stiffness=None, stop_damping=None):
        self.model = model
        n = self.compiled.system.n
        if not (time_step > 0 and isfinite(time_step)):
            raise ValueError(f"time_step: expected a positive number of seconds, got {time_step}")
        if integrator not in INTEGRATORS:
            raise ValueError(f"integrator: expected one of {', '.join(INTEGRATORS)}, got {integrator!r}")
        self.time_step, self.integrator = time_step, integrator
        self.damping = _joint_parameter("damping", model.damping if damping is None else damping, n)
        self.friction = _joint_parameter("friction", model.friction if friction is None else friction, n)
        self.armature = _joint_parameter("armature", 0.0 if armature is None else armature, n)
        self.stop_stiffness = _joint_parameter("stop_stiffness", 0.0 if stop_stiffness is None else stop_stiffness, n)
        self.stop_damping = _joint_parameter("stop_damping", 0.0 if stop_damping is None else stop_damping, n)
        self.lower = np.array(model.lower, dtype=float)
        self.upper = np.array(model.upper, dtype=float)
        self.drives.integrator, self.drives.time_step = INTEGRATORS[integrator], time_step
        self.drives.sticking_speed = STICKING_SPEED
        self.drives.damping, self.drives.friction = data(self.damping), data(self.friction)
        self.drives.armature = data(self.armature)
        self.drives.lower, self.drives.upper = data(self.lower), data(self.upper)
        self.drives.stop_stiffness, self.drives.stop_damping = data(self.stop_stiffness), data(self.stop_damping)
        self.drives.stops = self.stop_stiffness.any() or self.stop_damping.any()
        self.drives.rigid = not (self.drives.stops or self.damping.any() or self.friction.any() or self.armature.any())
        self.reset()

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
            SingularInertiaError: A joint moves no inertia; state and time stay what they were.
        """
        cdef Py_ssize_t n = self.compiled.system.n
        cdef cnp.ndarray q_ = self.state_q, qd_ = self.state_qd, qdd_ = self.state_qdd    # whatever set_state does meanwhile
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        cdef cnp.ndarray q = self.result(None, q_, 1, n, 0), qd = self.result(None, q_, 1, n, 0)
        cdef cnp.ndarray qdd = self.result(None, q_, 1, n, 0)
        cdef Drives drives = self.drives                        # of this call: another thread's is about to be refused
        cdef Call call
        begin(&call, <Kernel> call_advance[double], <Kernel> call_advance[lanes])
        if steps < 0:
            raise ValueError(f"steps: expected a count, got {steps}")
        add_input(&call, q_, n)
        add_input(&call, qd_, n)
        add_input(&call, qdd_, n)
        add_input(&call, tau_, n)
        add_output(&call, q, n)
        add_output(&call, qd, n)
        add_output(&call, qdd, n)
        drives.steps = steps
        call.settings = &drives
        self.run(&call, q_, as_forces(self.compiled, f_ext, rows_of(q_)), steps > 1)
        self.state_q, self.state_qd, self.state_qdd = q, qd, qdd
        self.count += steps


cdef cnp.ndarray _joint_parameter(str name, value, Py_ssize_t n):
    array = np.array(_floats(value, name))
    if array.shape not in ((), (n,)):
        raise _shape_error(name, array, f"({n},) or a scalar")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name}: expected finite values >= 0, got {value}")
    return np.ascontiguousarray(np.broadcast_to(array, (n,)))

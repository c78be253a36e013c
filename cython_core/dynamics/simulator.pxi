# Simulator: the state of a simulated robot, and time_stepping.pxd called on it.

cdef tuple PARAMETERS = ("damping", "friction", "armature", "stop_stiffness", "stop_damping",
                         "prescribed", "load", "thinning")
cdef dict INTEGRATORS = {"semi_implicit_euler": SEMI_IMPLICIT_EULER, "implicit": IMPLICIT,
                         "rk4": RK4}


cdef struct LoopSimulator:             # what the functions of a SimulatorInterface work on
    System* system
    Workspace* work
    const Drives* drives
    double* held                       # (nv,) 1 for joints, 0 for a floating base
    double* zeros                      # (nv,)


cdef const double* loaded(const LoopSimulator* simulator, const Loads* loads) noexcept nogil:
    """External forces on the bodies, NULL for none."""
    cdef const System* system = simulator.system
    cdef Workspace* work = simulator.work
    cdef Py_ssize_t i, link
    if loads == NULL or loads.count == 0:
        return NULL
    for i in range(6 * (system.N + 1)):
        work.f_ext[i] = 0.0
    for i in range(loads.count):
        link = loads.load[i].link
        link_wrench(system.link_pose + 12 * link, loads.load[i].wrench,
                    work.f_ext + 6 * system.link_slot[link])
    return work.f_ext


cdef Py_ssize_t loop_advance(void* self, Py_ssize_t steps, const double* tau,
                             const double* armature, const Prescribed* prescribed,
                             const Loads* loads, double* q, double* qd,
                             double* qdd) noexcept nogil:
    cdef const LoopSimulator* simulator = <const LoopSimulator*> self
    cdef Drives drives = simulator.drives[0]
    if armature != NULL:
        drives.armature, drives.rigid = armature, False
    if prescribed != NULL and prescribed.count:
        drives.motions, drives.prescribed, drives.instant, drives.rigid = (
            prescribed.count, prescribed.freedom, prescribed.motion, False)
        drives.prescribed_friction = simulator.zeros
    simulator.work.external = loaded(simulator, loads)
    return advance(simulator.system, simulator.work, &drives, steps, tau, q, qd, qdd)


cdef Py_ssize_t loop_hold(void* self, bint base_is_free, const double* q, const double* qd,
                          const Loads* loads, double* qdd, double* tau) noexcept nogil:
    cdef const LoopSimulator* simulator = <const LoopSimulator*> self
    cdef const double* f_ext = loaded(simulator, loads)
    cdef double* given = simulator.work.qdd
    cdef Py_ssize_t i
    jcalc(simulator.system, simulator.work, q)
    if not base_is_free:
        rnea(simulator.system, simulator.work, qd, <const double*> qdd, f_ext, tau)
        return 0
    for i in range(simulator.system.n):
        given[i] = simulator.held[i] * qdd[i]                   # no force on the base
    return hybrid(simulator.system, simulator.work, qd, <const double*> given,
                  <const double*> simulator.held, f_ext, qdd, tau)


cdef void loop_place(void* self, const double* positions) noexcept nogil:
    cdef const LoopSimulator* simulator = <const LoopSimulator*> self
    place_locked(simulator.system, simulator.work, positions)


cdef class Simulator(WorkspaceOwner):
    """Integrates a model's forward dynamics, with damping, friction, armature and joint stops.

    The equation of motion is (H + armature) qdd = tau - C - damping qd - friction sign(qd) + stops
    + J^T f_ext. Coulomb friction and joint stops are evaluated at the end of each step, so that
    they never add energy. Friction in a joint that slips equals its Coulomb limit; in one that
    sticks it is what keeps the joint exactly at rest. Damping is explicit in
    ``semi_implicit_euler`` and ``rk4``. In ``implicit`` it is evaluated at the end of the step,
    which is stable for any damping. To simulate a batch, call ``reset`` with states (B, nq).

    The Euler integrators are of order 1. ``rk4`` is of order 4, except in a step in which a joint
    comes to rest or turns round under friction or reaches a stop: the error of that step is of the
    order of time_step^2.

    Where energy matters over a long time, take ``rk4``. Semi-implicit Euler is symplectic with
    momenta, not with joint velocities, on whose side the inertia changes with the position: a
    double pendulum without friction, 5.7 J above its rest, lost 4.0 J in 10^6 steps of 1 ms, with
    ``rk4`` 3e-6 J, at four times the cost.

    If ``time_step`` is too long for the robot, its state grows without bound. An arm without
    friction that falls until its wrist spins at 200 rad/s does so at 1 ms with both Euler
    integrators, but not with ``rk4``. Armature or damping like those of real drives, ``rk4``, or a
    shorter step help.

    Args:
        model: A ``Model``.
        time_step: [s], positive.
        integrator: ``"semi_implicit_euler"``, ``"implicit"`` or ``"rk4"``.
        damping: Scalar or (n,) [N m s/rad, N s/m]; None takes ``model.damping``.
        friction: Scalar or (n,) Coulomb friction [N m, N]; None takes ``model.friction``.
        armature: Scalar or (n,) inertia of the drive on the joint's side [kg m^2, kg]; None takes
            ``model.armature``.
        stop_stiffness: Scalar or (n,) of a spring beyond ``model.lower`` and ``model.upper`` [N
            m/rad, N/m]; None or zero is no stop.
        stop_damping: Scalar or (n,) of the stop [N m s/rad, N s/m]; a stop pushes but never pulls.
        prescribed: Mapping of joint name to a motion over ``time`` that the joint follows whatever
            force it takes. A motion is a function of the time [s] that returns position, velocity
            and acceleration; or a table (T, 4) of time, position, velocity and acceleration,
            interpolated by polynomials of degree 5; or (T, 3) without the acceleration, degree 3.
            (For positions alone use scipy's CubicSpline.) It is the same for all states of a batch.
            The other joints, and a floating base, move under their forces (hybrid dynamics, RBDA
            section 9.2).
        load: Scalar or (n,), from 0 to below 1: Coulomb friction per torque that the gear carries,
            beside ``friction``; None is zero. Joints in ``prescribed`` have none.
        thinning: Scalar or (n,) reciprocal of the speed at which half of the damping is left
            [s/rad, s/m], see ``featherstone_ros.model.drives``; None is zero.

    Raises:
        ValueError: A negative or non-finite parameter, a wrong shape or an unknown integrator, by
            name.
        UnknownNameError: ``prescribed`` names no joint of ``model.joint_names``, e.g. a mimic joint
            or a locked one.
    """

    cdef readonly object model         # as given
    cdef readonly double time_step
    cdef readonly str integrator
    cdef Drives drives
    cdef long long count
    cdef cnp.ndarray state_q, state_qd, state_qdd, state_forces
    cdef cnp.ndarray next_q, next_qd, next_qdd   # of the same shapes: where step writes, before
                                                 # they become the state
    cdef readonly cnp.ndarray damping, friction, armature, stop_stiffness, stop_damping
    cdef readonly cnp.ndarray load, thinning
    cdef cnp.ndarray lower, upper, free_friction, prescribed_friction, prescribed_joint
    cdef cnp.ndarray all_held, zeros
    cdef dict motions
    cdef bint sampling                           # functions among them are being called
    cdef LoopSimulator loop
    cdef SimulatorInterface interface

    def __init__(self, model, double time_step=0.001, integrator="semi_implicit_euler",
                 damping=None, friction=None, armature=None, stop_stiffness=None, stop_damping=None,
                 prescribed=None, load=None, thinning=None):
        self.adopt(model)
        self.model = model
        cdef Py_ssize_t base = self.compiled.system.n - model.n  # zeros before those of the joints
        if not (time_step > 0 and isfinite(time_step)):
            raise ValueError(f"time_step: expected a positive number of seconds, got {time_step}")
        if integrator not in INTEGRATORS:
            raise ValueError(f"integrator: expected one of {', '.join(INTEGRATORS)}, "
                             f"got {integrator!r}")
        self.time_step, self.integrator = time_step, integrator
        given = {"damping": damping, "friction": friction, "armature": armature,
                 "stop_stiffness": stop_stiffness, "stop_damping": stop_damping, "load": load,
                 "thinning": thinning}
        (self.damping, self.friction, self.armature, self.stop_stiffness, self.stop_damping,
         self.load, self.thinning) = [
            _joint_parameter(name, getattr(model, name, 0.0) if value is None else value, model.n,
                             base) for name, value in given.items()]
        if (self.load >= 1).any():
            raise ValueError(f"load: expected less than 1, got {load}: a gear that locks itself")
        self.motions = _motions_by_joint(model, prescribed)
        joints = [model.joint_names.index(joint) for joint in self.motions]
        self.prescribed_joint = base + np.array(joints, np.intp)
        self.prescribed_friction = self.friction[joints]
        self.free_friction = np.concatenate([np.zeros(base), self.friction])
        self.free_friction[self.prescribed_joint] = 0.0
        self.lower = np.concatenate([np.full(base, -np.inf), model.lower])
        self.upper = np.concatenate([np.full(base, np.inf), model.upper])
        self.drives.integrator, self.drives.time_step = INTEGRATORS[integrator], time_step
        self.drives.damping, self.drives.friction = (
            data(self.damping) - base, data(self.free_friction))
        self.drives.armature = data(self.armature) - base
        self.drives.lower, self.drives.upper = data(self.lower), data(self.upper)
        self.drives.stop_stiffness, self.drives.stop_damping = (
            data(self.stop_stiffness) - base, data(self.stop_damping) - base)
        self.drives.stops = self.stop_stiffness.any() or self.stop_damping.any()
        self.drives.load, self.drives.thinning = data(self.load) - base, data(self.thinning) - base
        self.drives.loaded = self.load.any() or self.thinning.any()
        self.drives.frictional = self.free_friction.any() or self.load.any()
        self.drives.motions = len(self.motions)
        self.drives.prescribed = <const Py_ssize_t*> cnp.PyArray_DATA(self.prescribed_joint)
        self.drives.prescribed_friction = data(self.prescribed_friction)
        self.drives.rigid = not (self.drives.stops or self.damping.any() or self.friction.any()
                                 or self.armature.any() or self.motions or self.load.any())
        self.zeros, self.all_held = np.zeros(base + model.n), np.zeros(base + model.n)
        self.all_held[base:] = 1.0
        self.loop = LoopSimulator(&self.compiled.system, &self.work, &self.drives,
                                  data(self.all_held), data(self.zeros))
        self.interface = SimulatorInterface(&self.loop, self.compiled.system.nq, base + model.n,
                                            self.time_step, instants(&self.drives), loop_advance,
                                            loop_place, loop_hold)
        self.reset()

    def __reduce__(self):
        settings = {name: getattr(self, name)
                    for name in ("model", "time_step", "integrator", *PARAMETERS)}
        state = self.q, self.qd, self.qdd, self.prescribed_tau, self.count
        return copyreg.__newobj__, (type(self),), (settings, state, getattr(self, "__dict__", {}))

    def __setstate__(self, state):
        settings, (q, qd, qdd, forces, count), attributes = state
        Simulator.__init__(self, **settings)
        self.take(q, qd, qdd, forces, count)
        for name, value in attributes.items():
            setattr(self, name, value)

    def __repr__(self):
        if self.state_q is None:
            return f"<{type(self).__name__} without a model>"
        states = "" if cnp.PyArray_NDIM(self.state_q) == 1 else f"{len(self.state_q)} states of "
        return (f"<{type(self).__name__} of {states}{self.model!r}: {self.integrator}, "
                f"steps of {self.time_step:g} s, at {self.time:g} s>")

    @property
    def _interface(self):
        self.require_model()
        if self.motions:
            raise ValueError("prescribed: a compiled twin takes no prescribed motion, "
                             f"got that of {', '.join(self.motions)}")
        return PyCapsule_New(&self.interface, SIMULATOR_INTERFACE, NULL)

    @property
    def q(self):
        """(nq,) or (B, nq) positions, a copy [rad, m]; those of a floating base come first, see
        ``Model``.
        """
        return self.state_q.copy()

    @property
    def qd(self):
        """(nv,) or (B, nv) velocities, a copy [rad/s, m/s]."""
        return self.state_qd.copy()

    @property
    def qdd(self):
        """(nv,) or (B, nv) accelerations of the last step, a copy; zero before the first."""
        return self.state_qdd.copy()

    @property
    def prescribed(self):
        """The motions that are prescribed, by joint, in the order of ``model.joint_names``."""
        return dict(self.motions)

    @property
    def prescribed_tau(self):
        """(p,) or (B, p) forces that the p joints in ``prescribed`` needed at the beginning of the
        last step, a copy [N m, N].

        Friction, damping, armature and stops are included; zero before the first step.
        """
        return self.state_forces.copy()

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""
        return self.count * self.time_step

    def reset(self, q=None, qd=None):
        """Start again at time 0.

        Args:
            q: (nq,) or (B, nq) positions [rad, m]; None is ``model.neutral``: zero, a floating base
                upright at the world's origin. Joints in ``prescribed`` begin with their motion
                instead.
            qd: (nv,) or (B, nv) velocities [rad/s, m/s], likewise; None is zero. A single q or qd
                beside a batch holds for all its states.

        Raises:
            ValueError: A shape does not fit, or a number is not finite; or a table in
                ``prescribed`` begins later.
        """
        self.begin_at(0, self.model.neutral if q is None else q, qd)

    def set_state(self, q, qd=None):
        """Move the robot without touching the time. Arguments as for ``reset``."""
        self.begin_at(self.count, q, qd)

    def set_momentum(self, momentum):
        """Change the velocity of a floating base so that the robot has this momentum.

        Momentum that no force on the robot changes drifts by the errors of the integrator: set it
        to what it was, and the drift is gone. Joints keep their rates, and positions and time do
        not change.

        Args:
            momentum: (6,) or (B, 6) as of ``Dynamics.momentum``: linear, then angular about the
                centre of mass, in the world's axes [N s, N m s].

        Raises:
            ValueError: The base does not float, a shape does not fit, or a number is not finite.

        Source: Jain, Robot and Multibody Dynamics, 2011, V_0 = R_0^-1 (h - A qd).
        """
        if not self.compiled.system.floating:
            raise ValueError("set_momentum: expected a model with a floating base")
        cdef cnp.ndarray wanted = like_states(momentum, self.state_qd, 6, "momentum")
        A = Dynamics(self.model).centroidal_momentum_matrix(self.state_q)
        qd = self.state_qd.copy()
        missing = wanted - np.einsum("...ij,...j->...i", A[..., 6:], qd[..., 6:])
        qd[..., :6] = np.linalg.solve(A[..., :6], missing[..., np.newaxis])[..., 0]
        self.set_state(self.state_q, qd)

    cdef int begin_at(self, long long count, q, qd) except -1:
        cdef Py_ssize_t n = self.compiled.system.n
        cdef cnp.ndarray q_ = as_positions(q, self.compiled.system.nq, qd, qd)
        cdef cnp.ndarray still = np.zeros(np.shape(q_)[:cnp.PyArray_NDIM(q_) - 1] + (n,))
        cdef cnp.ndarray qd_ = still if qd is None else like_states(qd, q_, n, "qd")
        _require_finite("q", q_, self.compiled, self.compiled.system.nq)
        _require_finite("qd", qd_, self.compiled, n)
        if self.compiled.system.floating:
            check_quaternions(q_)
        q_, qd_ = q_.copy(), qd_.copy()
        if self.motions:
            now = self.motion_at(np.array([count * self.time_step]))[0]
            q_[..., self.prescribed_joint + (self.compiled.system.nq - n)] = now[:, 0]
            qd_[..., self.prescribed_joint] = now[:, 1]
        self.require_idle()
        self.take(q_, qd_, still, np.zeros(np.shape(q_)[:-1] + (len(self.motions),)), count)
        return 0

    cdef int take(self, q, qd, qdd, forces, long long count) except -1:
        self.state_q, self.state_qd, self.state_qdd, self.state_forces, self.count = (
            q, qd, qdd, forces, count)
        self.next_q, self.next_qd, self.next_qdd = (
            np.empty_like(q), np.empty_like(qd), np.empty_like(qdd))
        return 0

    cdef cnp.ndarray motion_at(self, cnp.ndarray times):
        """Position, velocity and acceleration, (len(times), p, 3), of joints in ``prescribed``."""
        if self.sampling:
            raise RuntimeError(f"prescribed: step, reset and set_state of this "
                               f"{type(self).__name__} cannot be called while it asks for the "
                               f"motion of {', '.join(self.motions)}: a motion may only return "
                               "position, velocity and acceleration")
        self.sampling = True
        try:
            rows = [_sampled_motion(joint, motion, times) for joint, motion in self.motions.items()]
        finally:
            self.sampling = False
        return np.stack(rows, axis=1)

    def step(self, tau, Py_ssize_t steps=1, f_ext=None):
        """Advance by steps * time_step under a constant torque, in compiled code without the GIL.

        Ctrl-C interrupts it within milliseconds. After that, as after any error, state and time are
        what they were before the call.

        Args:
            tau: (nv,) or (B, nv) torques [N m, N], (nv,) for all states of a batch; those of
                joints in ``prescribed`` are ignored.
            steps: Number of time steps.
            f_ext: Wrenches on links, constant in the links' own axes: see ``Dynamics`` [N, N m].

        Raises:
            DivergenceError: The state is no longer finite: see the class about ``time_step``.
            SingularInertiaError: A joint moves no inertia.
            ValueError: A shape does not fit, ``steps`` is negative, or a motion in ``prescribed``
                gives no numbers for some time; names the joint.
            RuntimeError: This simulator is at work in another thread.
            KeyboardInterrupt: Ctrl-C.
        """
        if self.work.memory == NULL:
            self.require_model()
        # The state that this step begins with, whatever set_state does while it runs.
        cdef cnp.ndarray q_ = self.state_q, qd_ = self.state_qd, qdd_ = self.state_qdd
        cdef Py_ssize_t nq = self.compiled.system.nq, n = self.compiled.system.n
        cdef cnp.ndarray tau_ = like_states(tau, q_, n, "tau")
        # A step in another thread may still be writing there.
        if Py_REFCNT(<PyObject*> self.next_q) > 1:
            self.next_q, self.next_qd, self.next_qdd = (
                np.empty_like(q_), np.empty_like(qd_), np.empty_like(qdd_))
        cdef cnp.ndarray q = self.next_q, qd = self.next_qd, qdd = self.next_qdd, motion, forces
        cdef Py_ssize_t failure
        cdef Drives driven
        cdef Call call
        if steps < 0:
            raise ValueError(f"steps: expected a count, got {steps}")
        if steps == 0:
            self.require_idle()
            return
        begin(&call, ADVANCE, &self.compiled.system)
        call.repeats = call.count = steps
        call.fed_back = 3                                       # q, qd and qdd
        call.drives = &self.drives
        if self.drives.motions:
            tau_ = tau_.copy()
            tau_[..., self.prescribed_joint] = 0.0
            per_step = instants(&self.drives)
            counts = self.count + np.arange(per_step * steps + 1) / per_step
            motion = self.motion_at(counts * self.time_step)
            driven = self.drives
            driven.instant = data(motion)
            call.drives = &driven
        add_input(&call, q_, nq)
        add_input(&call, qd_, n)
        add_input(&call, qdd_, n)
        add_input(&call, tau_, n)
        add_output(&call, q, nq)
        add_output(&call, qd, n)
        add_output(&call, qdd, n)
        if self.drives.motions:
            forces = np.empty_like(self.state_forces)
            add_output(&call, forces, driven.motions)
        failure = self.run(&call, q_, f_ext)
        if failure:
            raise self.divergence(-failure - 1, &call, q, qd)
        self.state_q, self.state_qd, self.state_qdd = q, qd, qdd
        self.next_q, self.next_qd, self.next_qdd = q_, qd_, qdd_
        if self.drives.motions:
            self.state_forces = forces
        self.count += steps

    cdef object divergence(self, Py_ssize_t lost, const Call* call, cnp.ndarray q, cnp.ndarray qd):
        """The DivergenceError for a result -(1 + lost) of ``advance``."""
        cdef Py_ssize_t n = self.compiled.system.n
        row = None
        if cnp.PyArray_NDIM(q) > 1:
            row = call.row
            joints = q[row:row + LANES, np.shape(q)[1] - n:]
            row += int(np.argmin(np.isfinite(joints + qd[row:row + LANES]).all(axis=1)))
        time = (self.count + call.done + lost // n + 1) * self.time_step
        return DivergenceError(self.compiled.owner(lost % n), time, row,
                               self.compiled.kind(lost % n))


cdef dict _motions_by_joint(model, prescribed):
    """The checked motions in the order of ``model.joint_names``."""
    if prescribed is None:
        return {}
    if not isinstance(prescribed, Mapping):
        raise TypeError("prescribed: expected a mapping of joint name to motion, "
                        f"got {type(prescribed).__name__}")
    for joint in prescribed:
        if joint not in model.joint_names:
            raise UnknownNameError("joint", joint, model.joint_names)
    return {joint: _checked_motion(joint, prescribed[joint])
            for joint in model.joint_names if joint in prescribed}


cdef bint _is_finite(const double* x, Py_ssize_t size) noexcept nogil:
    cdef lanes sum = broadcast(0.0)
    cdef double rest = 0.0
    cdef Py_ssize_t k = 0
    while k + LANES <= size:
        sum = sum + 0.0 * load(x + k)                           # NaN of what is not finite
        k += LANES
    while k < size:
        rest += 0.0 * x[k]
        k += 1
    return rest == 0 and not any_nonzero(1.0 - less_lanes(sum, broadcast(1.0)))


cdef int _require_finite(str name, cnp.ndarray states, CompiledModel model,
                         Py_ssize_t width) except -1:
    cdef Py_ssize_t k, freedom
    if _is_finite(data(states), cnp.PyArray_SIZE(states)):
        return 0
    for k in range(cnp.PyArray_SIZE(states)):
        if not isfinite(data(states)[k]):
            freedom = max(k % width - (width - model.system.n), 0)
            raise ValueError(f"{name}: expected finite numbers, got {data(states)[k]} "
                             f"of {model.kind(freedom)} {model.owner(freedom)!r}")
    return 0


cdef cnp.ndarray _joint_parameter(str name, value, Py_ssize_t n, Py_ssize_t base):
    """(n,) the value of each joint, a view of an array (base + n,) that begins with zeros."""
    cdef cnp.ndarray whole = np.zeros(base + n)
    array = np.array(_floats(value, name))
    if array.shape not in ((), (n,)):
        raise _shape_error(name, array, f"({n},) or a scalar")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name}: expected finite values >= 0, got {value}")
    whole[base:] = array
    return whole[base:]

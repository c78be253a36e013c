# CompiledController: the owner of a ControlCycle, and Python's way to it.

cdef int64_t _nanoseconds(double now) except? -1:
    if not isfinite(now):
        raise ValueError(f"now is {now}, expected a finite time [s]")
    return <int64_t> (now * 1e9)


cdef class CompiledController(CycleOwner):
    """The compiled torque controller: see featherstone_ros.control.controller.TorqueController for
    its use from Python, its options too.

    ``tip``: index of the link that the end effector is part of, -1: there is none; ``offset``:
    (4, 4) pose of the end effector's frame in it. ``sensors``: links on which a wrench may be
    measured, with their poses (4, 4) in that frame; ``wrench_link``: index of the one that a wrench
    comes from whose frame is none of them, -1: it is refused. ``show_period``: time between two
    messages about the motion [s].
    """

    cdef readonly list sensors         # links on which a wrench may be measured, by name
    cdef ControlCycle control
    cdef Collector collector           # of the calls below
    cdef dict in_use                   # objects that the controller may point to, by number
    cdef cnp.ndarray command_array     # (n,) the last command

    def __cinit__(self, space, settings, ModelRequest model not None, Py_ssize_t tip, offset,
                  str base, dict sensors, double show_period=0.02, bint sends_joints=False,
                  bint has_position_loops=False, units=None, double ahead=0.0, int wrench_link=-1):
        cdef Py_ssize_t n = len(space.names)
        cdef Controller* c = &self.control.controller
        if interface_of(model.dynamics).n != n:
            raise ValueError(f"model: expected {n} joints, got {interface_of(model.dynamics).n}")
        self.collector, self.in_use = Collector(0), {model.number: model.dynamics}
        self._lay_out(n, space)
        # Owns its memory: an array that kept this object alive would keep it for ever.
        self.command_array = np.zeros(n)
        c.sent.governor.command = floats(self.command_array)
        c.task.cartesian.law.link = tip
        fill(c.task.cartesian.law.offset, offset, 16, "offset")
        copy_drive_units(&self.control.drives.units, self.memory, units)
        self.control.drives.sends_joints = sends_joints
        c.servos.governor.used = self.control.drives.units.any_position
        c.positions.used = (sends_joints or has_position_loops
                            or c.servos.governor.used)
        c.servos.ahead = ahead
        c.servos.compliance = c.servos.lag = c.zero
        if units is not None:
            c.servos.compliance = self.memory.copy(units.compliance, n)
            c.servos.lag = self.memory.copy(units.compliance * units.damping, n)
        self._make_messages(space.names, base, model.dynamics.model.locked_joints)
        self.lay_out_locked(&self.control.locked, model.dynamics.model)
        self.sensors = list(sensors)
        self.memory.list_names(&self.control.links, self.sensors)
        self.control.wrench_link = wrench_link
        self.control.link_pose = self.memory.copy(
            np.ravel(list(sensors.values())), 16 * len(sensors))
        for phase in range(PHASES):
            for event in range(EVENTS):
                c.machine.next[<int> phase][<int> event] = TRANSITIONS[phase].get(event, -1)
        for cause, (_, action, _) in CAUSE_TABLE.items():
            c.machine.action[<int> cause] = action
        c.arm.models.newest.model = interface_of(model.dynamics)
        c.arm.models.newest.number = model.number
        self.control.models[0], self.control.model_count = model.number, 1
        self.control.show_period, self.control.answered = <int64_t> (show_period * 1e9), -1
        self._begin(settings)

    # Construction.

    cdef _lay_out(self, Py_ssize_t n, space):
        """Give all arrays their memory, and the limits their values."""
        cdef Controller* c = &self.control.controller
        cdef Memory m = self.memory
        cdef Observer* o = &c.observer
        cdef StuckJoints* s = &c.stuck
        cdef Governor* g = &c.sent.governor
        cdef double** vectors[43]
        vectors[:] = [
            &o.accepted_q, &o.outlier, &o.outlier_count, &o.proven_speed, &o.disagreed,
            &o.unchanged, &o.step, &o.discrepancy, &o.travelled, &s.change, &s.speed, &s.gained,
            &s.inertia, &s.friction, &s.max_friction, &s.feedback, &g.asked, &g.difference,
            &g.wanted, &g.moving, &g.noise, &g.low, &g.high, &c.arm.models.part,
            &c.watch.speeding, &c.watch.swings, &c.watch.direction, &c.task.presliding,
            &c.task.driven, &c.task.cartesian.asked_posture, &c.sent.acting, &c.sent.contact,
            &c.sent.torque, &c.sent.gravity_torque, &c.sent.bias, &c.sent.speed.acceleration,
            &c.sent.speed.reduction, &c.unlimited, &c.turned, &c.servos.governor.q,
            &c.servos.governor.qd, &c.servos.offset, &self.control.drives.command]
        c.n = o.n = s.n = g.n = c.arm.models.n = c.positions.n = c.servos.governor.n = n
        for k in range(43):
            vectors[k][0] = m.doubles(n)
        o.q, c.task.desired, c.task.state = m.doubles(4 * n), m.doubles(4 * n), m.doubles(4 * n)
        c.scratch, c.zero, c.arm.models.scratch = (
            m.doubles(4 * n), m.doubles(4 * n), m.doubles(4 * n))
        s.lower_bound, s.expected, s.scratch = m.doubles(3 * n), m.doubles(3 * n), m.doubles(10 * n)
        s.H = m.doubles(n * n)
        o.at_state, o.age, s.push = m.doubles(2 * n), m.doubles(2 * n), m.doubles(2 * n)
        g.feedback, c.watch.swung_at = m.doubles(2 * n), m.doubles(2 * n)
        c.positions.q, c.servos.goal, c.task.set_points.q = (
            m.doubles(2 * n), m.doubles(2 * n), m.doubles(2 * n))
        c.positions.qd, c.servos.speed = c.positions.q + n, c.servos.goal + n
        c.task.set_points.velocity, o.qd, o.qdd = c.task.set_points.q + n, o.q + n, o.q + 2 * n
        self.control.drives.cut = m.doubles(5 * n)
        self.control.drives.squared = self.control.drives.cut + n
        self.control.drives.echo = self.control.drives.cut + 2 * n
        place_rows(<double**> &c.arm.joints, sizeof(JointSettings),
                   m.doubles(len(JOINT_SETTINGS) * n), n)
        place_motion(&c.task.motion, n, m.doubles(MOTION_ROWS * n), &c.arm.limits)
        place_impedance(&c.task.cartesian.law, m.doubles(impedance_memory(n)), n)
        place_rows(<double**> &c.task.cartesian.virtual_arm, sizeof(VirtualArm), m.doubles(4 * n),
                   n)
        s.stopped, s.moved = <bint*> m.block(n, np.intc), <bint*> m.block(n, np.intc)
        self.memory.place_parts(&self.control.parts, n)
        self.control.sequence = <int64_t*> m.block(n, np.int64)
        c.arm.limits = joint_limits(n, space.lower, space.upper, np.where(
            space.velocity > 0.0, space.velocity, INFINITY), space.rates, m.owned)
        c.arm.limits.continuous = <bint*> m.block(n, np.intc)
        turns = space.continuous
        for i in range(n):
            c.arm.limits.continuous[i], c.unlimited[i] = turns[i], INFINITY
        o.limits = &c.arm.limits
        c.sent.speed.speed, c.sent.speed.bias = c.arm.limits.velocity, c.sent.bias
        c.sent.speed.Minv, c.sent.speed.qd = c.task.cartesian.law.Minv, o.qd

    cdef _make_messages(self, names, base, locked):
        cdef MessageMemory memory = self.memory
        states = joint_state(names)
        memory.list_names(&self.control.names, names, locked)
        self.control.message.index = <int32_t*> memory.block(len(names) + len(locked), np.int32)
        memory.template(&self.control.command, states if self.control.drives.sends_joints
                        else float64_multi_array(len(names)))
        memory.template(&self.control.desired, states)
        memory.template(&self.control.error, states)
        memory.template(&self.control.pose, stamped(base, 7))
        memory.template(&self.control.twist, stamped(base, 6))

    cdef _begin(self, settings):
        """Take the first settings, hold at zero, and fill the capsule's structure."""
        cdef Controller* c = &self.control.controller
        cdef ConfigureRequest request = ConfigureRequest(settings)
        if configure(c, &request.change) == NO_TIP:
            raise ValueError(f"mode: {settings.mode} needs a tip")
        start_clock(&c.clock, -INFINITY)
        forget_wrench(&c.task.cartesian.measured)
        hold_at(&c.task.motion, 0.0, c.zero)
        c.stuck.begins, c.stuck.joint = True, -1
        c.observer.inconsistent = c.watch.inconsistent = -1
        c.task.cartesian.pose_at = c.task.cartesian.twist_at = -INFINITY
        c.task.cartesian.wrench_at = -INFINITY
        c.heartbeat, c.updated = INFINITY, -INFINITY
        c.machine.hold_until = c.machine.noted_at = -INFINITY
        c.machine.notify = record_note
        c.machine.listener = self.cycle.self = &self.control
        self.cycle.message, self.cycle.request = on_message, on_request
        self.cycle.due, self.cycle.tick, self.cycle.is_safe_to_end = on_due, on_tick, on_safe_to_end
        self.control.output = &self.collector.output

    # Calls from Python, where no loop runs.

    def take_state(self, double now, cnp.ndarray q not None, qd=None, effort=None,
                   double stamp=0.0):
        """As ``TorqueController.accept_state``; a stamp on the clock of ``now`` tells its age."""
        self._measure(0, q, "q")
        self._measure(1, qd, "qd")
        self._measure(2, effort, "effort")
        begin_call(&self.control, _nanoseconds(now), &self.collector.output)
        return self._tell(take_part(&self.control, now, stamp, age_by_stamp(now, stamp), True))

    def take_locked(self, Py_ssize_t joint, double position):
        """Take the position of a locked joint by its index; returns whether it is plausible."""
        hear(&self.control.locked, joint, position)
        return not self.control.locked.refused[joint]

    def take_wrench(self, double now, cnp.ndarray wrench not None, Py_ssize_t sensor):
        """Take a wrench (6,) that is measured on one of the ``sensors``, by its index."""
        cdef Controller* c = &self.control.controller
        take_measured(&c.task.cartesian.measured, &c.task.cartesian.law.settings,
                      self.control.link_pose + 16 * sensor,
                      numbers(wrench, 6, "wrench"), now, NAN, c.arm.settings.wrench_timeout)

    def check_age(self, double now):
        """Look at the age of the state; returns a command as ``take_state`` does, or None."""
        begin_call(&self.control, _nanoseconds(now), &self.collector.output)
        return self._tell(check_age(&self.control.controller, now))

    def apply(self, ControlRequest request not None, double now):
        """Do what is asked for; returns 0, or why not (``Refusal``)."""
        cdef Request asked
        asked.kind, asked.answer, asked.payload = request.kind, 0, <void*> request.address
        self.keep_alive(request)
        on_request(&self.control, &asked, _nanoseconds(now), &self.collector.output)
        if asked.answer:
            self.release(request.number)
        return asked.answer

    cdef int _measure(self, Py_ssize_t row, array, str name) except -1:
        """Take what is measured of all joints; NaN for None."""
        cdef Py_ssize_t n = self.control.controller.n
        cdef double* part = self.control.parts.values + row * n
        if array is not None:
            memcpy(part, numbers(array, n, name), n * sizeof(double))
            return 0
        for i in range(n):
            part[i] = NAN
        return 0

    cdef _tell(self, bint commands):
        """Return the command, if there is one, with what the drives are told for it worked out."""
        if commands and self.control.drives.units.converts:
            convert_command(&self.control.drives, &self.control.controller, self.control.now)
        release_unused(&self.control)
        return self.command_array if commands else None

    @property
    def has_records(self):
        return bool(self.collector.records)

    def records(self):
        """Take all records of calls from Python: (kind, index, time [ns], four values, object)."""
        taken, self.collector.records = self.collector.records, []
        return taken

    # Objects that the structures point to.

    def keep_alive(self, request):
        """Keep what a request brings, before it is made, until ``release``."""
        if request.brings is not None:
            self.in_use[request.number] = request.brings

    def release(self, uint64_t number):
        """Let go of an object that a record says is not in use, or of a refused request."""
        self.in_use.pop(number, None)

    # Single numbers, which may be read at any time, also while a loop runs: all else is in a
    # ``SnapshotRequest``.

    @property
    def objects(self):
        """Number of objects that are kept."""
        return len(self.in_use)

    @property
    def phase(self):
        return <int> self.control.controller.machine.phase

    @property
    def refusal(self):
        """Why no motion of the joints can be followed now, a ``Refusal``; 0: it can."""
        return <int> why_no_joints(&self.control.controller)

    # Copies for each step of a simulation, where no loop runs.

    @property
    def q(self):
        """(n,) position of the last good state."""
        return values(self.control.controller.observer.q, self.control.controller.n)

    @property
    def qd(self):
        """(n,) velocity of the last good state, measured or estimated."""
        return values(self.control.controller.observer.qd, self.control.controller.n)

    @property
    def desired(self):
        """(4, n) motion state of the last command."""
        return values(self.control.controller.task.desired, (4, self.control.controller.n))

    @property
    def position_command(self):
        """(2, n) position and velocity of the last command to drives with position loops."""
        return values(self.control.controller.positions.q, (2, self.control.controller.n))

    @property
    def told(self):
        """(n,) the last command in the drives' units; of a position, with its torque's offset."""
        cdef ControlCycle* cycle = &self.control
        return values(cycle.drives.command if cycle.drives.units.converts
                      else cycle.controller.sent.governor.command, cycle.controller.n)

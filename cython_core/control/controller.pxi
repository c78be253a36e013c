# CompiledController: the owner of a ControlCycle, and Python's way to it.

cdef class CompiledController(CycleOwner):
    """The compiled torque controller: see featherstone_ros.control.controller.TorqueController for
    its use from Python.

    Args:
        names: (n) joint names.
        lower, upper, velocity: (n,) limits, +-inf where there is none.
        settings: A ``featherstone_ros.control.Settings``.
        model: A ``ModelRequest``: the first model.
        show_period: Time between two messages about the motion [s].
        tip: Index of the link that the hand is part of, in the model's ``link_names``; -1: there is
            none.
        offset: (4, 4) pose of the hand's frame in that link's; None: the same.
        base: Name of the base link.
        continuous: (n,) which joints turn without end; None: none.
        commands_joints: Commands are JointStates for drives with loops of their own, not efforts
            alone.
    """

    cdef ControlCycle its
    cdef Collector collector           # of the calls below
    cdef double* block
    cdef dict in_use                   # objects that the controller may point to, by number
    cdef cnp.ndarray command_array     # (n,) the last command

    def __cinit__(self, names, lower, upper, velocity, settings, ModelRequest model not None,
                  double show_period=0.02, Py_ssize_t tip=-1, offset=None, str base="",
                  continuous=None, bint commands_joints=False):
        cdef Py_ssize_t n = len(names)
        cdef Memory memory = self.memory
        if interface_of(model.dynamics).n != n:
            raise ValueError(f"model: expected {n} joints, got {interface_of(model.dynamics).n}")
        self.collector, self.in_use = Collector(0), {model.number: model.dynamics}
        self.block = memory.doubles(self._lay_out(n))
        self._lay_out(n)
        self.its.message.place = <int32_t*> memory.block(n, np.int32)
        self.its.there = <bint*> memory.block(n, np.intc)
        self.its.controller.limits.continuous = <bint*> memory.block(n, np.intc)
        self.its.controller.stuck.stopped = <bint*> memory.block(n, np.intc)
        self.its.sequence = <int64_t*> memory.block(n, np.int64)
        # Owns its memory: an array that kept this object alive would keep it for ever.
        self.command_array = np.zeros(n)
        self.its.controller.governor.command = <double*> cnp.PyArray_DATA(self.command_array)
        self.its.controller.hand.law.link = tip
        fill(self.its.controller.hand.law.offset, np.eye(4) if offset is None else offset, 16,
             "offset")
        memory.list_names(&self.its.names, names)
        self._set_limits(lower, upper, velocity)
        for i in range(n):
            self.its.controller.limits.continuous[i] = continuous is not None and continuous[i]
        self.its.commands_joints = commands_joints
        self._make_messages(names, base)
        self._fill_table()
        self.its.controller.models.newest.model = interface_of(model.dynamics)
        self.its.controller.models.newest.number = model.number
        self.its.models[0], self.its.model_count = model.number, 1
        self.its.show_period = <int64_t> (show_period * 1e9)
        self._begin(settings)
        self._connect()

    # Construction.

    cdef double* _room(self, double** at, Py_ssize_t count):
        """The next so many numbers of the block."""
        cdef double* here = at[0]
        at[0] += count
        return here

    cdef Py_ssize_t _lay_out(self, Py_ssize_t n):
        """Give all arrays their place in the block; returns how many numbers they take, also before
        there is a block.
        """
        cdef Controller* c = &self.its.controller
        cdef double* at = self.block
        c.n = c.observer.n = c.stuck.n = c.governor.n = c.motion.n = n
        place_arrays(&c.settings, self._room(&at, SETTINGS_ARRAYS * n), n)
        c.limits.lower, c.limits.upper, c.limits.velocity = (
            self._room(&at, n), self._room(&at, n), self._room(&at, n))
        self._lay_out_observer(&at)
        self._lay_out_stuck_joints(&at)
        c.models.part = self._room(&at, n)
        c.governor.asked = self._room(&at, n)
        c.governor.difference, c.governor.wanted = self._room(&at, n), self._room(&at, n)
        c.governor.moving = self._room(&at, n)
        c.governor.allowed.low, c.governor.allowed.high = self._room(&at, n), self._room(&at, n)
        c.motion.base, c.motion.base_effort = self._room(&at, 6 * n), self._room(&at, 2 * n)
        c.motion.correction, c.motion.correction_effort = (
            self._room(&at, 6 * n), self._room(&at, 2 * n))
        c.watch.speeding, c.watch.swings = self._room(&at, n), self._room(&at, n)
        c.watch.direction, c.watch.swung_at = self._room(&at, n), self._room(&at, n)
        c.desired, c.scratch, c.offset = (
            self._room(&at, 4 * n), self._room(&at, 4 * n), self._room(&at, 4 * n))
        c.zero, c.state = self._room(&at, 4 * n), self._room(&at, 4 * n)
        c.presliding = self._room(&at, n)
        c.torque, c.gravity_torque, c.turned = (
            self._room(&at, n), self._room(&at, n), self._room(&at, n))
        self.its.part, self.its.shown = self._room(&at, 3 * n), self._room(&at, n)
        lay_out_mode(&c.hand, n, self._room(&at, mode_memory(n)))
        c.bias = self._room(&at, n)
        c.speed.speed, c.speed.Minv, c.speed.bias = c.limits.velocity, c.hand.law.Minv, c.bias
        c.speed.acceleration, c.speed.given_up = self._room(&at, n), self._room(&at, n)
        c.speed.qd = c.observer.qd
        return at - self.block

    cdef _lay_out_observer(self, double** at):
        cdef Observer* o = &self.its.controller.observer
        cdef Py_ssize_t n = o.n
        o.limits = &self.its.controller.limits
        o.q = self._room(at, 4 * n)
        o.qd, o.qdd = o.q + n, o.q + 2 * n
        o.taken, o.jumped, o.agreeing = self._room(at, n), self._room(at, n), self._room(at, n)
        o.shown, o.doubts = self._room(at, n), self._room(at, n)
        o.age, o.unchanged, o.step = self._room(at, 2 * n), self._room(at, n), self._room(at, n)
        o.discrepancy, o.travelled = self._room(at, n), self._room(at, n)
        o.contradicted = self.its.controller.watch.contradicted = -1

    cdef _lay_out_stuck_joints(self, double** at):
        cdef StuckJoints* s = &self.its.controller.stuck
        cdef Py_ssize_t n = s.n
        s.begins, s.joint = True, -1
        s.push, s.change, s.start = self._room(at, 2 * n), self._room(at, n), self._room(at, n)
        s.lower_bound, s.expected = self._room(at, 3 * n), self._room(at, 3 * n)
        s.inertia, s.friction, s.max_friction = (
            self._room(at, n), self._room(at, n), self._room(at, n))
        s.given, s.scratch = self._room(at, n), self._room(at, 5 * n)

    cdef _set_limits(self, lower, upper, velocity):
        cdef Controller* c = &self.its.controller
        cdef Py_ssize_t i
        for i in range(c.n):
            c.limits.lower[i], c.limits.upper[i] = lower[i], upper[i]
            c.limits.velocity[i] = velocity[i] if velocity[i] > 0.0 else INFINITY
        start_clock(&c.clock)

    cdef _make_messages(self, names, base):
        cdef Memory memory = self.memory
        states = joint_state(names)
        memory.template(&self.its.command, float64_multi_array(len(names)))
        memory.template(&self.its.joint_command, states)
        memory.template(&self.its.desired, states)
        memory.template(&self.its.error, states)
        memory.template(&self.its.pose, stamped(base, 7))
        memory.template(&self.its.twist, stamped(base, 6))

    cdef _fill_table(self):
        cdef int phase, event
        for phase in range(PHASES):
            for event in range(EVENTS):
                self.its.controller.next[phase][event] = TRANSITIONS[phase].get(event, -1)

    cdef _begin(self, settings):
        """Take the first settings; hold at zero."""
        cdef Controller* c = &self.its.controller
        cdef ConfigureRequest request = ConfigureRequest(settings)
        if configure(c, &request.its) == NO_TIP:
            raise ValueError("mode: cartesian_impedance needs a tip")
        hold_at(&c.motion, 0.0, c.zero)
        c.heartbeat, c.updated, c.hold_until, c.noted_at = INFINITY, -INFINITY, -INFINITY, -INFINITY

    cdef _connect(self):
        """Fill the capsule's structure."""
        self.its.controller.notify, self.its.controller.listener = record_note, &self.its
        self.cycle.self, self.cycle.message, self.cycle.request = &self.its, on_message, on_request
        self.cycle.due, self.cycle.tick, self.cycle.is_safe_to_end = on_due, on_tick, on_safe_to_end
        self.its.output = &self.collector.output

    # Calls from Python, where no loop runs.

    def take_state(self, double now, cnp.ndarray q not None, qd=None, effort=None,
                   double stamp=0.0):
        """Answer a joint state.

        Args:
            now: Steady time of arrival [s].
            q: (n,) position [rad] or [m].
            qd: (n,) velocity, NaN where it was not measured; None: nowhere.
            effort: (n,) what the drives apply [N m] or [N], None if unknown.
            stamp: Of the state [s], 0 for none.

        Returns:
            The command (n,) [N m] or [N], overwritten by the next call, or None.
        """
        cdef Py_ssize_t n = self.its.controller.n, i
        cdef const double* measured = NULL
        memcpy(self.its.part, numbers(q, n, "q"), n * sizeof(double))
        if qd is None:
            for i in range(n):
                self.its.part[n + i] = NAN
        else:
            memcpy(self.its.part + n, numbers(qd, n, "qd"), n * sizeof(double))
        if effort is not None:
            measured = numbers(effort, n, "effort")
        self._at(now)
        if take_state(&self.its.controller, now, stamp, NAN, self.its.part, self.its.part + n,
                      measured):
            result = self.command_array
        else:
            result = None
        release_unused(&self.its)
        return result

    def check_age(self, double now):
        """Look at the age of the state; returns a command as ``take_state`` does, or None."""
        self._at(now)
        result = self.command_array if check_age(&self.its.controller, now) else None
        release_unused(&self.its)
        return result

    def apply(self, ControlRequest request not None, double now):
        """Do what is asked for; returns 0, or why not (``Refusal``)."""
        cdef Request its
        its.kind, its.answer, its.payload = request.kind, 0, <void*> request.address
        self.keep_alive(request)
        on_request(&self.its, &its, <int64_t> (now * 1e9), &self.collector.output)
        return its.answer

    cdef _at(self, double now):
        self.its.now, self.its.output = <int64_t> (now * 1e9), &self.collector.output

    @property
    def has_records(self):
        return bool(self.collector.records)

    def records(self):
        """Take all records of calls from Python: tuples (kind, index, time [ns], four values,
        object).
        """
        taken, self.collector.records = self.collector.records, []
        return taken

    # Objects that the structures point to.

    def keep_alive(self, request):
        """Keep what a request brings until ``release`` is called with its number; before the
        request is made.
        """
        if isinstance(request, FollowRequest):
            self.in_use[request.path.number] = request.path
        elif isinstance(request, ModelRequest):
            self.in_use[request.number] = request.dynamics

    def release(self, uint64_t number):
        """Let go of an object: a record has said that it is not in use, or the request was not
        granted.
        """
        self.in_use.pop(number, None)

    # What may be read at any time, also while a loop runs: single numbers.

    @property
    def objects(self):
        """Number of objects that are kept."""
        return len(self.in_use)

    @property
    def phase(self):
        return <int> self.its.controller.phase

    @property
    def refusal(self):
        """Why no motion of the joints can be followed now, a ``Refusal``; 0: it can."""
        return <int> why_no_joints(&self.its.controller)

    @property
    def hold(self):
        """Why the arm was last held: number of the cause, index of a joint or -1, what was found,
        its bound.
        """
        return told(&self.its.controller.hold)

    @property
    def received(self):
        """Steady time of the last good state [s], -inf before the first."""
        return self.its.controller.clock.received

    @property
    def time(self):
        """The controller's time [s]."""
        return self.its.controller.clock.time

    @property
    def dt(self):
        """Time between the last two good states [s]."""
        return self.its.controller.clock.dt

    @property
    def accepted(self):
        """Number of good states."""
        return self.its.controller.observer.accepted

    @property
    def rejected(self):
        """Numbers of states that were not accepted, by ``Rejection``."""
        return [self.its.controller.observer.rejected[k] for k in range(REJECTIONS)]

    @property
    def rejection(self):
        """Of the last state: number of the rejection (0: accepted), joint, what was found, its
        bound.
        """
        its = &self.its.controller.observer.last
        return its.rejection, its.joint, its.found, its.bound

    @property
    def q(self):
        """(n,) position of the last good state, a copy."""
        return self._copy(self.its.controller.observer.q)

    @property
    def qd(self):
        """(n,) velocity of the last good state, measured or estimated, a copy."""
        return self._copy(self.its.controller.observer.qd)

    @property
    def heard(self):
        """Steady time of the last complete state, accepted or not [s], 0 before the first."""
        return 1e-9 * self.its.heard

    @property
    def heard_qd(self):
        """(n,) velocity in that state, NaN where it was not measured; a copy."""
        return self._copy(self.its.part + self.its.controller.n)

    @property
    def standing_speed(self):
        """(n,) speed below which a joint stands [rad/s or m/s]."""
        its = &self.its.controller.observer
        return np.array([standing_speed(its, i) for i in range(its.n)])

    @property
    def desired(self):
        """(4, n) motion state of the last command, a copy."""
        cdef Py_ssize_t n = self.its.controller.n
        rows = [self._copy(self.its.controller.desired + k * n) for k in range(4)]
        return np.concatenate(rows).reshape(4, -1)

    cdef _copy(self, const double* values):
        cdef cnp.ndarray array = np.empty(self.its.controller.n)
        memcpy(cnp.PyArray_DATA(array), values, self.its.controller.n * sizeof(double))
        return array

    @property
    def is_late(self):
        """Whether more commands than are tolerated came too late within the last second."""
        return self.its.deadline.missed

    def has_several_publishers(self, double now):
        """Whether, at a steady time [s], several publishers name the same joints."""
        return (self.its.falls[self.its.fall] > 0
                and now * 1e9 - self.its.falls[self.its.fall] < FALL_TIME)

    def counters(self):
        """Counts since the beginning, by name."""
        c = &self.its.controller
        return {"commands": c.commands, "saturated": c.governor.saturated,
                "interventions": c.governor.interventions, "states": self.its.states,
                "foreign": self.its.foreign, "malformed": self.its.malformed}

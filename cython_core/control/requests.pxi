# What the controller may be asked for: the payload of a request, and what keeps it alive.


cdef class ControlRequest:
    """Something that the controller is asked for; plain ones have no payload.

    Attributes:
        kind: Which one, of cycle_requests.pxd.
        address: Of its payload; this object must outlive the request.
    """

    cdef readonly int kind
    cdef readonly size_t address

    def __init__(self, int kind):
        self.kind = kind


ACTIVATE_REQUEST = ControlRequest(REQUEST_ACTIVATE)
DEACTIVATE_REQUEST = ControlRequest(REQUEST_DEACTIVATE)
HOLD_REQUEST = ControlRequest(REQUEST_HOLD)
FALL_BACK_REQUEST = ControlRequest(REQUEST_FALL_BACK)


cdef class _Detailed(ControlRequest):
    """A request that may be refused with figures."""

    cdef Hold* its_detail

    @property
    def detail(self):
        """Of a refusal: index of the joint or -1, what was found, and its bound."""
        return self.its_detail.joint, self.its_detail.found, self.its_detail.bound


cdef class FollowRequest(_Detailed):
    """Follow a path.

    Args:
        path: A ``CompiledPath``.
        start: When its time is zero, by the controller's time [s]; None: now.
    """

    cdef FollowPayload its
    cdef readonly CompiledPath path

    def __init__(self, CompiledPath path not None, start=None):
        super().__init__(REQUEST_FOLLOW)
        self.path = path
        self.its.path, self.its.number = &path.path, path.number
        self.its.start = -INFINITY if start is None else start
        self.address, self.its_detail = <size_t> &self.its, &self.its.detail


cdef class SetPointRequest(_Detailed):
    """Follow a set-point: (4, n) position, velocity, acceleration and effort."""

    cdef SetPointPayload its
    cdef cnp.ndarray state

    def __init__(self, state):
        super().__init__(REQUEST_SET_POINT)
        self.state = np.array(state, dtype=float, order="C")
        self.its.state = floats(self.state)
        self.address, self.its_detail = <size_t> &self.its, &self.its.detail


cdef class ConfigureRequest(ControlRequest):
    """Take other settings, a ``featherstone_ros.control.Settings``."""

    cdef Settings its
    cdef ImpedanceChange impedance
    cdef cnp.ndarray arrays, joints

    def __init__(self, settings):
        cdef Py_ssize_t n = settings.n
        super().__init__(REQUEST_CONFIGURE)
        self.arrays = np.ascontiguousarray(np.concatenate([settings.p, settings.d, settings.damping,
                                                           settings.fault_damping,
                                                           settings.coulomb, settings.viscous,
                                                           settings.offset, settings.armature,
                                                           settings.effort_limit,
                                                           settings.torque_rate, settings.load,
                                                           settings.thinning]), dtype=float)
        place_arrays(&self.its, <double*> cnp.PyArray_DATA(self.arrays), n)
        self.its.mode = <Mode> <int> _enumerations.Mode[str(settings.mode).upper()]
        self.its.terms = <Terms> <int> _enumerations.Terms[str(settings.feedforward_terms).upper()]
        self.its.on_timer = str(settings.update_on) == "timer"
        self.its.hardware_adds_gravity = settings.hardware_adds_gravity
        self.its.start_from_measured_effort = settings.start_from_measured_effort
        self.its.blind_stop = settings.blind_stop
        self.its.period = settings.period
        self.its.presliding_displacement = settings.presliding_displacement
        self.its.blend_time, self.its.decay_time = settings.blend_time, settings.decay_time
        self.its.stop_time, self.its.state_timeout = settings.stop_time, settings.state_timeout
        self.its.reference_timeout = settings.reference_timeout
        self.its.executor_timeout = settings.executor_timeout
        self.its.give_up_after, self.its.start_tolerance = (
            settings.give_up_after, settings.start_tolerance)
        self.its.path_tolerance = settings.path_tolerance
        self.its.velocity_cutoff, self.its.target_timeout = (
            settings.velocity_cutoff, settings.target_timeout)
        if settings.impedance is not None:
            self.joints = take_impedance(&self.impedance, n, settings.impedance)
            self.its.impedance = &self.impedance
        self.address = <size_t> &self.its


cdef void place_arrays(Settings* its, double* block, Py_ssize_t n) noexcept:
    """Let the arrays of settings be in a block, in the order of the struct."""
    its.p, its.d, its.damping, its.fault_damping = block, block + n, block + 2 * n, block + 3 * n
    its.coulomb, its.viscous, its.offset = block + 4 * n, block + 5 * n, block + 6 * n
    its.armature, its.effort_limit, its.torque_rate = block + 7 * n, block + 8 * n, block + 9 * n
    its.load, its.thinning = block + 10 * n, block + 11 * n


cdef class TargetRequest(ControlRequest):
    """Lead the end effector; base axes, what is None stays as it is.

    Args:
        pose: (4, 4).
        twist: (6,) linear, then angular velocity at the target.
        wrench: (6,) force, then moment to press with.
    """

    cdef CartesianTarget its

    def __init__(self, pose=None, twist=None, wrench=None):
        super().__init__(REQUEST_TARGET)
        self.its.has_pose = fill(self.its.pose, pose, 16, "pose")
        self.its.has_twist = fill(self.its.twist, twist, 6, "twist")
        self.its.has_wrench = fill(self.its.wrench, wrench, 6, "wrench")
        self.address = <size_t> &self.its


cdef class ModelRequest(ControlRequest):
    """Go over to another payload or gravity.

    Args:
        dynamics: A ``BoundDynamics``, for nobody else's use.
        transition: [s]; 0 at once.
    """

    cdef ModelPayload its
    cdef readonly object dynamics
    cdef readonly uint64_t number

    def __init__(self, dynamics, double transition=0.0):
        super().__init__(REQUEST_MODEL)
        self.dynamics, self.number = dynamics, next(_numbers)
        self.its.model = interface_of(dynamics)
        self.its.number, self.its.transition = self.number, transition
        self.address = <size_t> &self.its


cdef class CheckRequest(_Detailed):
    """Tell why other settings cannot be taken, and another model if there is one; changes nothing.

    Args:
        settings: A ``ConfigureRequest``.
        model: A ``ModelRequest``; None: as it is.
    """

    cdef CheckPayload its
    cdef ConfigureRequest settings
    cdef ModelRequest model

    def __init__(self, ConfigureRequest settings not None, ModelRequest model=None):
        super().__init__(REQUEST_CHECK)
        self.settings, self.model = settings, model
        self.its.settings = &settings.its
        if model is not None:
            self.its.model = model.its.model
        self.address, self.its_detail = <size_t> &self.its, &self.its.detail


cdef class DeadlineRequest(ControlRequest):
    """Count commands that take longer than ``cycle_time`` [s], and hold the arm while there are too
    many.
    """

    cdef DeadlinePayload its

    def __init__(self, double cycle_time, int allowed=0, bint holds=False):
        super().__init__(REQUEST_DEADLINE)
        self.its.cycle_time, self.its.allowed, self.its.holds = cycle_time, allowed, holds
        self.address = <size_t> &self.its


cdef class SnapshotRequest(ControlRequest):
    """What the controller knows at one moment.

    Attributes:
        q, qd: (n,) of the last good state.
        desired: (4, n) motion state of the last command: position, velocity, acceleration, extra
            effort.
        command: (n,) the last command, ``asked`` what was asked for before the governor.
        gravity: (n,) at q; ``model_torque`` (n,) what the law takes from the model.
        time: The controller's time [s]; ``origin``: stamp at which it was zero [s], NaN: states
            have none.
        received: Steady time of the last good state [s]; ``stamp``: its stamp, (sec, nanosec).
        phase: Number of the phase.
        path: Number of the path in force, 0 for none; ``elapsed``: its time [s].
        since_end: Since what is asked for came to rest [s], negative before.
        hand: (3, 6) the hand's error from its desired pose, that pose's way to the target [m, rad],
            and the commanded wrench [N, N m], linear first, base axes; 0 in other modes.
        strain: The hand's error relative to where its spring pulls with all of its force or moment.
        hold: Why the arm was last held, as ``CompiledController.hold``; ``causes``: how often it
            was, for a cause.
    """

    cdef SnapshotPayload its
    cdef readonly cnp.ndarray arrays, model_torque

    def __init__(self, Py_ssize_t n):
        super().__init__(REQUEST_SNAPSHOT)
        self.arrays, self.model_torque = np.zeros((9, n)), np.zeros(n)
        self.its.arrays, self.its.model_torque = floats(self.arrays), floats(self.model_torque)
        self.address = <size_t> &self.its

    def __getattr__(self, str name):
        try:
            return (<dict> self.its.figures)[name]
        except KeyError:
            raise AttributeError(name) from None

    q = property(lambda self: self.arrays[0])
    qd = property(lambda self: self.arrays[1])
    desired = property(lambda self: self.arrays[2:6])
    command = property(lambda self: self.arrays[6])
    asked = property(lambda self: self.arrays[7])
    gravity = property(lambda self: self.arrays[8])

    @property
    def stamp(self):
        """(sec, nanosec) of the last good state."""
        return self.its.figures.sec, self.its.figures.nanosec

    @property
    def hand(self):
        return np.reshape(self.its.hand, (3, 6))

    @property
    def hold(self):
        return told(&self.its.hold)


cdef tuple told(const Hold* hold):
    """Number of the cause, index of a joint or -1, what was found, its bound."""
    return <int> hold.cause, hold.joint, hold.found, hold.bound

# What the controller may be asked for: the payload of a request, and what keeps it alive.


cdef class ControlRequest:
    """Something that the controller is asked for. ``address``: of the payload, 0: none, which this
    object must outlive; ``brings``: what the controller then points to, with its ``number``.
    """

    cdef readonly int kind
    cdef readonly size_t address
    cdef readonly object brings
    cdef readonly uint64_t number
    cdef Reason* refused          # NULL: it is refused without figures

    def __init__(self, int kind):
        self.kind = kind

    cdef _carry(self, int kind, void* payload, Reason* refused=NULL):
        self.kind, self.address, self.refused = kind, <size_t> payload, refused

    def why(self, int refusal):
        """Why it was refused, a ``Reason``, by the answer to it."""
        cdef Reason it = because(refusal, -1, 0.0, 0.0)
        if self.refused != NULL and self.refused.code == refusal:
            it = self.refused[0]
        return as_reason(_enumerations.Refusal, &it)


ACTIVATE_REQUEST = ControlRequest(REQUEST_ACTIVATE)
DEACTIVATE_REQUEST = ControlRequest(REQUEST_DEACTIVATE)
HOLD_REQUEST = ControlRequest(REQUEST_HOLD)
FALL_BACK_REQUEST = ControlRequest(REQUEST_FALL_BACK)


cdef class FollowRequest(ControlRequest):
    """Follow a path; ``start``: when its time is zero, by the controller's time [s]; None: now."""

    cdef FollowPayload payload
    cdef readonly CompiledPath path

    def __init__(self, CompiledPath path not None, start=None):
        self.path = self.brings = path
        self.number = self.payload.number = path.number
        self.payload.path = &path.path
        self.payload.start = -INFINITY if start is None else start
        self._carry(REQUEST_FOLLOW, &self.payload, &self.payload.detail)


cdef class SetPointRequest(ControlRequest):
    """Follow a set-point (4, n); a velocity that it does not have is estimated from a stream."""

    cdef SetPointPayload payload
    cdef cnp.ndarray state

    def __init__(self, state, bint has_velocity=True):
        self.payload.has_velocity = has_velocity
        self.state = np.array(state, dtype=float, order="C")
        self.payload.state = floats(self.state)
        self._carry(REQUEST_SET_POINT, &self.payload, &self.payload.detail)


cdef tuple joint_settings_names():
    """Names of the rows of JointSettings in order, as Python's settings and ``Drives`` have them.

    Rows are written by name and read by index: each must be named, and once.
    """
    cdef JointSettings rows
    address = {
        "p": <size_t> &rows.p,
        "d": <size_t> &rows.d,
        "damping": <size_t> &rows.damping,
        "fault_damping": <size_t> &rows.fault_damping,
        "coulomb": <size_t> &rows.drives.coulomb,
        "viscous": <size_t> &rows.drives.viscous,
        "offset": <size_t> &rows.drives.offset,
        "armature": <size_t> &rows.drives.armature,
        "effort_limit": <size_t> &rows.effort_limit,
        "torque_rate": <size_t> &rows.torque_rate,
        "load": <size_t> &rows.drives.load,
        "thinning": <size_t> &rows.drives.thinning,
        "stiffness": <size_t> &rows.drives.stiffness,
    }
    cdef size_t first = <size_t> &rows
    every = range(first, first + sizeof(JointSettings), sizeof(double*))
    if sorted(address.values()) != list(every):
        raise ImportError(f"JointSettings has {len(every)} rows, named are {', '.join(address)}")
    return tuple(sorted(address, key=address.get))


JOINT_SETTINGS = joint_settings_names()


cdef class ConfigureRequest(ControlRequest):
    """Take other settings, a ``featherstone_ros.control.settings.ControllerSettings``, all of them;
    ``rates``: (3, n) as ``JointSpace.rates``, None: as they are.
    """

    cdef SettingsChange change
    cdef ImpedanceChange impedance
    cdef cnp.ndarray rows, impedance_rows, rates

    def __init__(self, settings, rates=None):
        values = vars(settings) | vars(settings.drives)
        self.change.settings = values | {
            "mode": {"leads": settings.mode.leads, "feedback": settings.mode.feedback},
            "terms": _enumerations.Terms[str(settings.feedforward_terms).upper()],
            "on_timer": str(settings.update_on) == "timer",
            "period": settings.period,
        }
        self.rows = np.array([values[name] for name in JOINT_SETTINGS], dtype=float)
        place_rows(<double**> &self.change.joints, sizeof(JointSettings), floats(self.rows),
                   settings.n)
        if settings.impedance is not None:
            self.impedance_rows = take_impedance(&self.impedance, settings.n, settings.impedance)
            self.change.impedance = &self.impedance
        if rates is not None:
            self.rates = np.array(rates, dtype=float, order="C")
            self.change.rates = floats(self.rates)
        self._carry(REQUEST_CONFIGURE, &self.change)


cdef class TargetRequest(ControlRequest):
    """Lead the end effector: ``pose`` (4, 4), ``twist`` (6,) there, and ``wrench`` (6,) to press
    with, base axes; what is None stays as it is. ``lasting``: after that time the velocity ends,
    also before ``target_timeout`` [s].
    """

    cdef CartesianTarget target

    def __init__(self, pose=None, twist=None, wrench=None, double lasting=INFINITY):
        self.target.has_pose = fill(self.target.pose, pose, 16, "pose")
        self.target.has_twist = fill(self.target.twist, twist, 6, "twist")
        self.target.twist_lasts = lasting
        self.target.has_wrench = fill(self.target.wrench, wrench, 6, "wrench")
        self._carry(REQUEST_TARGET, &self.target)


cdef class ModelRequest(ControlRequest):
    """Go over to another payload or gravity, a ``BoundDynamics`` of its own, in a time [s]."""

    cdef ModelPayload change
    cdef readonly object dynamics

    def __init__(self, dynamics, double transition=0.0):
        self.dynamics = self.brings = dynamics
        self.number = next(_numbers)
        self.change.model = interface_of(dynamics)
        self.change.number, self.change.transition = self.number, transition
        self._carry(REQUEST_MODEL, &self.change)


cdef class CheckRequest(ControlRequest):
    """Tell why other settings cannot be taken, and a model if there is one; changes nothing."""

    cdef CheckPayload check
    cdef ConfigureRequest settings
    cdef ModelRequest model

    def __init__(self, ConfigureRequest settings not None, ModelRequest model=None):
        self.settings, self.model = settings, model
        self.check.change = &settings.change
        if model is not None:
            self.check.model = model.change.model
        self._carry(REQUEST_CHECK, &self.check, &self.check.detail)


cdef class ZeroRequest(ControlRequest):
    """Take what the sensor of the wrench reads as its offset; once granted, ``offset`` (6,) of
    force and moment in the end effector's frame [N, N m], and that frame's ``rotation`` (3, 3).
    """

    cdef ZeroPayload zero

    def __init__(self):
        self._carry(REQUEST_ZERO, &self.zero, &self.zero.detail)

    @property
    def offset(self):
        return np.array(self.zero.offset)

    @property
    def rotation(self):
        return np.reshape(self.zero.rotation, (3, 3))


cdef class LockedRequest(ControlRequest):
    """Take other positions (m,) for locked joints that no joint state tells [rad or m]."""

    cdef LockedPlaces places

    def __init__(self, positions):
        self.places = LockedPlaces(positions)
        self._carry(REQUEST_LOCKED, <void*> self.places.address)


cdef class DeadlineRequest(ControlRequest):
    """Count commands that take longer than ``cycle_time`` [s]; while too many do, hold the arm."""

    cdef Deadline deadline

    def __init__(self, double cycle_time, int allowed=0, bint holds=False):
        self.deadline.cycle_time, self.deadline.allowed, self.deadline.holds = (
            cycle_time, allowed, holds)
        self._carry(REQUEST_DEADLINE, &self.deadline)


SNAPSHOT = {  # rows of its ``arrays``
    "q": 0, "qd": 1, "desired": slice(2, 6), "command": 6, "asked": 7, "gravity": 8,
    "model_torque": 9, "heard_qd": 10, "standing_speed": 11, "drive_counts": slice(12, 17),
}


cdef class SnapshotRequest(ControlRequest):
    """What the controller knows at one moment.

    Attributes:
        q, qd: (n,) of the last good state, measured or estimated.
        desired: (4, n) motion state of the last command: position, velocity, acceleration, extra
            effort.
        command: (n,) the last command, ``asked`` what was asked for before the governor.
        gravity: (n,) at q; ``model_torque`` (n,) what the law takes from the model.
        heard_qd: (n,) velocity in the last complete state, accepted or not, NaN where it was not
            measured; ``standing_speed`` (n,) below which a joint stands [rad/s or m/s].
        drive_counts: (5, n) how many commands the drives' own limits cut; integral of the motors'
            squared currents [A^2 s]; sums of squared commands, of squared efforts that were
            measured under them, of their products.
        stamp: (sec, nanosec) of the last good state; ``phase``: number of the phase.
        end_effector: (4, 6) its error from the desired pose, that pose's displacement to the target
            [m, rad], the commanded wrench and the one that it yields to in mode admittance
            [N, N m], linear first, base axes; 0 in other modes.
        hold: Why the arm was last held, ``rejection``: why the last state was not used, each a
            ``Reason``; ``rejected``: numbers of such states, by ``Rejection``.

    The others are those of ``SnapshotFigures``.
    """

    cdef SnapshotPayload payload
    cdef readonly cnp.ndarray arrays

    def __init__(self, Py_ssize_t n):
        self.arrays = np.zeros((SNAPSHOT_ROWS, n))
        self.payload.arrays = floats(self.arrays)
        self._carry(REQUEST_SNAPSHOT, &self.payload)

    def __getattr__(self, str name):
        if name in SNAPSHOT:
            return self.arrays[SNAPSHOT[name]]
        try:
            return (<dict> self.payload.figures)[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def stamp(self):
        """(sec, nanosec) of the last good state."""
        return self.payload.figures.sec, self.payload.figures.nanosec

    @property
    def end_effector(self):
        return np.reshape(self.payload.end_effector, (4, 6))

    @property
    def hold(self):
        return as_reason(_enumerations.Cause, &self.payload.hold)

    @property
    def rejection(self):
        return as_reason(_enumerations.Rejection, &self.payload.rejection)

    @property
    def rejected(self):
        return list(self.payload.rejected)


cdef object as_reason(kind, const Reason* it):
    """A ``featherstone_ros.control.reasons.Reason``; kind: its code's."""
    return REASON(kind(it.code), it.joint, it.found, it.bound)

# What the arm is asked to do, for Python: made and sampled by the same code (motion.pxd).

_numbers = itertools.count(1)          # of objects that a controller may hold on to
_BINOMIALS = np.array([[comb(j, power) for j in range(6)] for power in range(6)])
_POWERS = np.maximum(np.arange(6) - np.arange(6)[:, None], 0)


def _contiguous(values, shape, str name):
    array = np.array(values, dtype=float, order="C")
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    array.flags.writeable = False
    return array


cdef JointLimits joint_limits(Py_ssize_t n, lower, upper, velocity, rates, list kept):
    """Limits (n,) as compiled code takes them; None: none. kept: gets what must outlive them."""
    cdef JointLimits limits
    cdef cnp.ndarray rows = np.full((6, n), np.inf)
    rows[0], rows[1] = lower, upper
    if velocity is not None:
        rows[2] = velocity
    if rates is not None:
        rows[3:] = rates
    kept.append(rows)
    place_rows(<double**> &limits, 6 * sizeof(double*), floats(rows), n)
    limits.continuous = NULL
    return limits


def stopping_position(cnp.ndarray state not None, double duration, lower, upper, velocity=None,
                      rates=None):
    """Where a stop from a motion state (4, n) ends, and how long it takes in each joint: (n,) each.

    ``duration`` [s]: more where the limits ask for it.
    """
    cdef Py_ssize_t n = len(lower)
    cdef cnp.ndarray position = np.empty(n), lasts = np.empty((3, n))
    cdef list kept = []
    cdef JointLimits limits = joint_limits(n, lower, upper, velocity, rates, kept)
    c_stopping_position(n, numbers(state, 4 * n, "state"), duration, &limits, floats(lasts),
                        floats(position))
    return position, lasts[1:].max(axis=0)


cdef class CompiledPath:
    """A trajectory of K points as the controller follows it: immutable.

    ``times``: (K,) of the points from the trajectory's start [s]; ``points``: (K, 4, n) position,
    velocity, acceleration and effort, 0 for what one does not have; ``degrees``: (K,) 0: a point
    has neither velocity nor acceleration, 1: it has velocity, 2: both. ``stop_time``: a last point
    that moves is followed by a stop of so long [s], more where ``rates`` ask for it; 0: it is held.
    ``period``: mean time between the points of a stream, which had positions alone [s]; 0: it is
    none. That of a stream is stopped anyway, and the arm returns to its last point.
    ``tolerance``: (2, n) how far position and velocity may be off on the way, 0: any distance.
    Afterwards ``times``, ``coefficients`` and ``effort`` are those of its pieces, see motion.pxd.
    """

    cdef Path path
    cdef readonly uint64_t number
    cdef readonly cnp.ndarray times, coefficients, effort, points, tolerance

    @property
    def duration(self):
        return self.path.duration

    @property
    def is_stream(self):
        return self.path.period > 0.0

    def __init__(self, times, points, degrees, has_effort, double stop_time,
                 cnp.ndarray lower not None, cnp.ndarray upper not None, tolerance=None,
                 double period=0.0, velocity=None, rates=None):
        cdef Py_ssize_t count = len(times), n = len(lower), more = 0
        cdef list kept = []
        cdef cnp.ndarray rest = None, lasts
        cdef JointLimits limits = joint_limits(n, lower, upper, velocity, rates, kept)
        self.number = next(_numbers)
        self.points = _contiguous(points, (count, 4, n), "points")
        self.tolerance = _contiguous(np.zeros((2, n)) if tolerance is None else tolerance, (2, n),
                                     "tolerance")
        if period > 0.0 and self.points[count - 1, 1].any():
            rest, lasts = self.points[count - 1, 0], np.empty((3, n))
            for k in range(n):
                return_of_joint(&limits, k, floats(self.points)[(4 * count - 3) * n + k],
                                floats(lasts) + k, n)
        elif stop_time > 0.0 and self.points[count - 1, 1].any():
            rest, lasts = np.empty(n), np.empty((3, n))
            c_stopping_position(n, floats(self.points) + 4 * n * (count - 1), stop_time, &limits,
                                floats(lasts), floats(rest))
        if rest is not None:
            ends = np.unique(lasts)
            times, more = [*times, *times[count - 1] + ends], len(ends)
        self.times = _contiguous(times, (count + more,), "times")
        self.coefficients = np.zeros((count + more, 6, n))
        self.effort = np.zeros((count + more, 2, n))
        for k in range(count - 1):
            self._connect(k, min(degrees[k], degrees[k + 1]), has_effort[k] and has_effort[k + 1])
        self.coefficients[count - 1:, 0] = self.points[count - 1, 0]
        self.effort[count - 1:, 0] = self.points[count - 1, 3]
        if more:
            self._stop(rest, lasts, ends)
        self.path.pieces, self.path.times = count + more, floats(self.times)
        self.path.coefficients, self.path.first = floats(self.coefficients), floats(self.points)
        self.path.effort = floats(self.effort) if self.effort.any() else NULL
        self.path.tolerance, self.path.duration = floats(self.tolerance), times[count - 1]
        self.path.lead, self.path.leads_effort = <Degree> <int> degrees[0], has_effort[0]
        self.path.period = period

    cdef _connect(self, Py_ssize_t k, int degree, bint with_effort):
        """Make the piece from a point to the next."""
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2)
        cdef const double* start = floats(self.points) + 4 * n * k
        cdef double duration = floats(self.times)[k + 1] - floats(self.times)[k]
        connect(n, start, start + 4 * n, <Degree> degree, duration,
                floats(self.coefficients) + 6 * n * k)
        if with_effort:
            line(n, start + 3 * n, start + 7 * n, duration, floats(self.effort) + 2 * n * k)

    cdef _stop(self, cnp.ndarray rest, cnp.ndarray lasts, cnp.ndarray ends):
        """Make the pieces after the last point: each ``Part`` ends when its time is over."""
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2), last = len(self.points) - 1
        cdef cnp.ndarray size = self.points[last, :3].copy(), one = np.zeros(6)
        cdef cnp.ndarray whole = np.zeros((3, 6, n))
        size[0] += (size[1] * lasts[1] / 2.0 + size[2] * lasts[2] ** 2 / 12.0) - rest
        for part in range(3):
            for i in range(n):
                part_coefficients(<Part> part, size[part, i], lasts[part, i], floats(one))
                whole[part, :, i] = one
        since = np.append(0.0, ends)[:, None, None]
        moving = np.where((lasts > since)[:, :, None], whole, 0.0).sum(axis=1)
        self.coefficients[last:] = (_BINOMIALS * since ** _POWERS) @ moving  # Taylor's series then
        self.coefficients[last:, 0] += rest

    def sample(self, double time):
        """The motion state (4, n) at a time; before the first point: that point's."""
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2)
        cdef cnp.ndarray state = np.zeros((4, n))
        sample_path(&self.path, n, piece_at(&self.path, 0, time), time, floats(state))
        return state

    def why_not_start(self, double elapsed, cnp.ndarray q not None,
                      cnp.ndarray velocity not None, double tolerance):
        """As ``why_not_start`` in motion.pxd, a ``Reason``; and where the motion begins (n,)."""
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2)
        cdef cnp.ndarray begin = np.zeros((4, n))
        cdef Reason why = why_not_start(&self.path, n, elapsed, numbers(q, n, "q"),
                                        numbers(velocity, n, "velocity"), tolerance, floats(begin))
        return as_reason(_enumerations.Refusal, &why), begin[0]


cdef class CompiledMotion:
    """What is asked for when the controller follows a path, by the path's time: from ``now`` on,
    when the motion state ``desired`` (4, n) was asked for. ``transition``: shortest time in which
    that difference is removed [s].

    ``end``: from then on the motion stands still [s]; ``correction``: when the difference is
    removed, from and to [s].
    """

    cdef Motion motion
    cdef JointLimits limits
    cdef list kept                     # memory of the limits
    cdef cnp.ndarray memory
    cdef readonly CompiledPath path

    def __init__(self, CompiledPath path not None, double now, cnp.ndarray desired not None,
                 cnp.ndarray lower not None, cnp.ndarray upper not None,
                 cnp.ndarray velocity not None, cnp.ndarray rates not None, double transition):
        cdef Py_ssize_t n = cnp.PyArray_DIM(path.points, 2)
        self.kept = []
        self.limits = joint_limits(n, lower, upper, velocity, rates, self.kept)
        self.path, self.memory = path, np.zeros(MOTION_ROWS * n)
        place_motion(&self.motion, n, floats(self.memory), &self.limits)
        extrapolate(&self.motion, now, numbers(desired, 4 * n, "desired"))
        follow_path(&self.motion, &path.path, 0.0, now, numbers(desired, 4 * n, "desired"),
                    transition)

    @property
    def end(self):
        return self.motion.end

    @property
    def correction(self):
        return self.motion.correction_start, self.motion.correction_end

    def sample(self, cnp.ndarray times not None, cnp.ndarray inside not None):
        """Motion states (4, N, n) at times (N,), of the polynomials that hold at ``inside``."""
        cdef Py_ssize_t n = self.motion.n, count = cnp.PyArray_SIZE(times)
        cdef const double* time = numbers(times, count, "times")
        cdef const double* within = numbers(inside, count, "inside")
        cdef cnp.ndarray states = np.empty((4, count, n)), state = np.empty(4 * n)
        cdef double* one = floats(state)
        cdef double* all = floats(states)
        with nogil:
            for i in range(count):
                sample_inside(&self.motion, within[i], time[i], one)
                for row in range(4):
                    memcpy(all + (row * count + i) * n, one + row * n, n * sizeof(double))
        return states

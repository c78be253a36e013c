# What the arm is asked to do, for Python: made and sampled by the same code (motion.pxd).

_numbers = itertools.count(1)          # of objects that a controller may hold on to


def _contiguous(values, shape, str name):
    array = np.array(values, dtype=float, order="C")
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    array.flags.writeable = False
    return array


def stopping_position(cnp.ndarray state not None, double duration, cnp.ndarray lower not None,
                      cnp.ndarray upper not None):
    """Where a stop from a motion state (4, n) ends, within position limits (n,), and how long it
    takes in each joint, at most ``duration`` [s]: (n,) each.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(lower)
    cdef cnp.ndarray position = np.empty(n), lasts = np.empty(n)
    cdef JointLimits limits
    limits.lower, limits.upper = (
        <double*> numbers(lower, n, "lower"), <double*> numbers(upper, n, "upper"))
    c_stopping_position(n, numbers(state, 4 * n, "state"), duration, &limits, floats(lasts),
                        floats(position))
    return position, lasts


cdef class CompiledPath:
    """A trajectory of K points as the controller follows it: immutable.

    Args:
        times: (K,) increasing times of the points from the trajectory's start [s].
        points: (K, 4, n) position, velocity, acceleration and effort, 0 for what a point does not
            have.
        degrees: (K,) 0: a point has neither velocity nor acceleration, 1: it has velocity, 2: both.
        has_effort: (K,) which points have effort.
        stop_time: A last point that moves is followed by a stop of so long at most [s]; 0: it is
            held.
        lower, upper: (n,) position limits, which the stop respects.
        tolerance: (2, n) how far position and velocity may be off on the way, 0 for any distance;
            None: any.
        is_spline: The points had positions alone, and got a spline's velocities and accelerations.

    Attributes:
        times: When pieces begin [s]; coefficients, effort: theirs, see motion.pxd.
    """

    cdef Path path
    cdef readonly uint64_t number
    cdef readonly cnp.ndarray times, coefficients, effort, points, tolerance

    @property
    def duration(self):
        return self.path.duration

    def __init__(self, times, points, degrees, has_effort, double stop_time,
                 cnp.ndarray lower not None, cnp.ndarray upper not None, tolerance=None,
                 bint is_spline=False):
        cdef Py_ssize_t count = len(times), n = len(lower), more = 0, k
        self.number = next(_numbers)
        self.points = _contiguous(points, (count, 4, n), "points")
        self.tolerance = _contiguous(np.zeros((2, n)) if tolerance is None else tolerance, (2, n),
                                     "tolerance")
        if stop_time > 0.0 and self.points[count - 1, 1].any():
            rest, lasts = stopping_position(self.points[count - 1], stop_time, lower, upper)
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
        self.path.is_spline = is_spline

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
        """Make the pieces after the last point: to rest, at which each joint arrives when its time
        is over, and there.
        """
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2), last = len(self.points) - 1
        cdef Py_ssize_t i, k, power
        cdef const double* start = floats(self.points) + 4 * n * last
        cdef cnp.ndarray goal = np.zeros((4, n)), whole = np.zeros((6, n))
        goal[0] = rest
        for i in range(n):
            quintic_of(n, i, start, floats(goal), floats(lasts)[i], floats(whole))
        for k, since in enumerate([0.0, *ends]):
            moving = lasts > since
            for power in range(6):                              # Taylor's series at that time
                self.coefficients[last + k, power, moving] = sum(
                    comb(j, power) * since ** (j - power) * whole[j, moving]
                    for j in range(power, 6))
            self.coefficients[last + k, 0, ~moving] = rest[~moving]

    def sample(self, double time):
        """The motion state (4, n) at a time; before the first point: that point's."""
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2)
        cdef cnp.ndarray state = np.zeros((4, n))
        sample_path(&self.path, n, piece_at(&self.path, 0, time), time, floats(state))
        return state

    def start(self, double elapsed, cnp.ndarray q not None, cnp.ndarray velocity not None,
              double tolerance):
        """Whether an arm at q (n,) may follow from a time on: see ``start_of`` in motion.pxd.

        Returns:
            Whether it is over; index of the joint that is furthest beyond what is allowed, -1 for
            none; its distance (or how long ago the end was [s]), what is allowed, and where it
            begins.
        """
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.points, 2)
        cdef cnp.ndarray begin = np.zeros((4, n))
        cdef Start start = start_of(&self.path, n, elapsed, numbers(q, n, "q"),
                                    numbers(velocity, n, "velocity"), tolerance, floats(begin))
        return start.is_over, start.joint, start.found, start.bound, begin[0, start.joint]


cdef class CompiledMotion:
    """What is asked for when the controller follows a path, by the path's time.

    Args:
        path: The path.
        now: When it takes over [s].
        desired: (4, n) motion state that is asked for then.
        lower, upper, velocity: (n,) the joints' limits, infinite where there is none.
        rates: (3, n) those of acceleration, deceleration and jerk.
        transition: Shortest time in which a difference at ``now`` is removed [s].

    Attributes:
        end: From then on the motion stands still [s]; correction: when a difference is removed,
            from and to [s].
    """

    cdef Motion motion
    cdef cnp.ndarray memory
    cdef readonly CompiledPath path

    def __init__(self, CompiledPath path not None, double now, cnp.ndarray desired not None,
                 cnp.ndarray lower not None, cnp.ndarray upper not None,
                 cnp.ndarray velocity not None, cnp.ndarray rates not None, double transition):
        cdef Py_ssize_t n = cnp.PyArray_DIM(path.points, 2)
        cdef JointLimits limits
        self.path, self.memory = path, np.zeros(MOTION_ROWS * n)
        place_motion(&self.motion, n, floats(self.memory))
        extrapolate(&self.motion, now, numbers(desired, 4 * n, "desired"))
        limits.lower, limits.upper = (
            <double*> numbers(lower, n, "lower"), <double*> numbers(upper, n, "upper"))
        limits.velocity = <double*> numbers(velocity, n, "velocity")
        limits.acceleration = <double*> numbers(rates, 3 * n, "rates")
        limits.deceleration, limits.jerk = limits.acceleration + n, limits.acceleration + 2 * n
        follow_path(&self.motion, &path.path, 0.0, now, numbers(desired, 4 * n, "desired"),
                    &limits, transition)

    @property
    def end(self):
        return self.motion.end

    @property
    def correction(self):
        return self.motion.correction_start, self.motion.correction_end

    def sample(self, cnp.ndarray times not None, cnp.ndarray inside not None):
        """Motion states (4, N, n) at times (N,), each of the polynomials that hold at ``inside``.
        """
        cdef Py_ssize_t n = self.motion.n, count = cnp.PyArray_SIZE(times), i, row
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

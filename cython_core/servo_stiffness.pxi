# Stiffnesses of servos, learned: their memory, and the same for plain Python.

cdef int lay_out_stiffness(ServoStiffness* s, Memory memory, units, double rate,
                           tolerance) except -1:
    """Begin with what a ``featherstone_ros.model.drive_units.DriveUnits`` says."""
    cdef Py_ssize_t n = units.n
    tolerance = np.broadcast_to(tolerance, n)
    learns = tolerance > 0.0
    s.given = memory.copy(units.compliance, n)
    s.compliance = <double*> memory.copy(units.compliance, n)
    s.rate = memory.copy(np.where(learns, rate, 0.0), n)
    s.tolerance = memory.copy(np.where(learns, tolerance, USUAL_TOLERANCE), n)
    s.strayed, s.product, s.square = memory.doubles(n), memory.doubles(n), memory.doubles(n)
    lag = units.compliance * units.damping
    s.lag, s.given_lag = <double*> memory.copy(lag, n), memory.copy(lag, n)
    return 0


cdef tuple stiffness_shown(const ServoStiffness* s, Py_ssize_t n):
    """(n,) each: the compliance as learned, for how long none has fitted [s], what torques and
    deflections show, NaN for nothing, and the lag as learned [s].
    """
    if s.given == NULL:
        return np.zeros(n), np.zeros(n), np.full(n, np.nan), np.zeros(n)
    product, square = values(s.product, n), values(s.square, n)
    shown = np.divide(product, square, out=np.full(n, np.nan), where=square > 0.0)
    return values(s.compliance, n), values(s.strayed, n), shown, values(s.lag, n)


cdef class LearnedStiffness:
    """The stiffnesses of drives with position loops, learned: see servo_stiffness.pxd.

    Args:
        units: A ``featherstone_ros.model.drive_units.DriveUnits``.
        tolerance: (n,) error that teaches nothing [rad or m]; 0: the stiffness stays as given.
        rate: At which stiffnesses are learned [1/s].
    """

    cdef ServoStiffness its
    cdef Memory memory
    cdef Py_ssize_t n

    def __cinit__(self, units, tolerance, double rate=LEARNING_RATE):
        self.memory, self.n = Memory(), units.n
        lay_out_stiffness(&self.its, self.memory, units, rate, tolerance)

    def learn(self, cnp.ndarray torque not None, cnp.ndarray error not None,
              cnp.ndarray deflection not None, cnp.ndarray speed not None, double dt, learns):
        """Take what joints show within a time dt [s].

        Args:
            torque: (n,) [N m or N].
            error: Of the desired position (n,) [rad or m].
            deflection: From the joints to what their drives are told (n,) [rad or m].
            speed: Desired (n,) [rad/s or m/s].
            dt: [s].
            learns: (n,) where nothing else is known that may be the cause.
        """
        cdef Py_ssize_t i
        cdef const double* u = numbers(torque, self.n, "torque")
        cdef const double* e = numbers(error, self.n, "error")
        cdef const double* d = numbers(deflection, self.n, "deflection")
        cdef const double* v = numbers(speed, self.n, "speed")
        for i in range(self.n):
            learn_stiffness(&self.its, i, learns[i], u[i], e[i], d[i], v[i], dt)

    @property
    def shown(self):
        """See ``stiffness_shown``."""
        return stiffness_shown(&self.its, self.n)

# Stiffnesses of servos, learned: their memory.

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

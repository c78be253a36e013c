# Motion of joints prescribed over time, by functions and tables, sampled at the instants of a
# simulation's steps.

class _Table:
    """A table of joint motion, interpolated by polynomials that match the position, velocity and,
    if given, acceleration of both neighbouring rows.
    """

    def __init__(self, rows):
        time, x, v = rows.T[:3]
        T = np.diff(time)
        v0, v1, step = T * v[:-1], T * v[1:], np.diff(x)
        self.time, self.T, self.c = time, T, np.zeros((6, len(T)))
        self.c[:2] = x[:-1], v0
        if rows.shape[1] == 3:
            self.c[2:4] = 3 * step - 2 * v0 - v1, v0 + v1 - 2 * step
            return
        a0, a1 = T * T * rows[:-1, 3], T * T * rows[1:, 3]
        d, dv, da = step - v0 - a0 / 2, v1 - v0 - a0, a1 - a0
        self.c[2:] = (
            a0 / 2, 10 * d - 4 * dv + da / 2, -15 * d + 7 * dv - da, 6 * d - 3 * dv + da / 2)

    def sampled(self, times):
        """Position, velocity and acceleration (len(times), 3)."""
        k = np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self.T) - 1)
        s = np.clip((times - self.time[k]) / self.T[k], 0.0, 1.0)
        c, T = self.c[:, k], self.T[k]
        powers = s ** np.arange(6)[:, None]
        orders = np.arange(1, 6)[:, None]
        c1 = orders * c[1:]
        c2 = orders[:4] * c1[1:]
        return np.stack([(c * powers).sum(0), (c1 * powers[:5]).sum(0) / T,
                         (c2 * powers[:4]).sum(0) / T**2], axis=1)


cdef object _checked_motion(str joint, motion):
    """A function as it is, a table as a read-only copy."""
    if callable(motion):
        return motion
    rows = np.array(_floats(motion, f"motion of joint {joint!r}"))
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] not in (3, 4):
        raise ValueError(f"motion of joint {joint!r}: expected a function of time, or a table "
                         "(T, 3) or (T, 4) of time, position, velocity and acceleration, "
                         f"got shape {rows.shape}")
    if not np.isfinite(rows).all():
        row = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise ValueError(f"motion of joint {joint!r}: expected finite numbers, "
                         f"got {rows[row].tolist()} in row {row}")
    if not (np.diff(rows[:, 0]) > 0).all():
        row = int(np.argmin(np.diff(rows[:, 0]) > 0)) + 1
        raise ValueError(f"motion of joint {joint!r}: expected times that increase, "
                         f"got {rows[row, 0]:g} s after {rows[row - 1, 0]:g} s in row {row}")
    rows.flags.writeable = False
    return rows


cdef cnp.ndarray _sampled_motion(str joint, motion, cnp.ndarray times):
    """Position, velocity and acceleration (len(times), 3)."""
    if isinstance(motion, np.ndarray):
        # times are rounded
        begin, end, slack = motion[0, 0], motion[-1, 0], 1e-9 * (1 + abs(times[-1]))
        if times[0] < begin - slack or times[-1] > end + slack:
            raise ValueError(f"motion of joint {joint!r}: the table goes from {begin:g} to {end:g} "
                             f"s, the simulation from {times[0]:g} to {times[-1]:g} s")
        return _Table(motion).sampled(times)
    rows = np.empty((len(times), 3))
    for row, t in zip(rows, times.tolist()):
        given = motion(t)
        try:
            row[0], row[1], row[2] = given
        except (TypeError, ValueError):
            row[:] = np.nan
        if not np.isfinite(row).all():
            raise ValueError(f"motion of joint {joint!r} at {t:g} s: expected position, velocity "
                             f"and acceleration, got {given!r}")
    return rows

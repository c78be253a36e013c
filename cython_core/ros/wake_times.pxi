# The floor for anything periodic: a loop that only sleeps.

cdef extern from "<time.h>" nogil:
    int clock_nanosleep(int clock, int flags, const timespec* until, timespec* left) noexcept
    enum: TIMER_ABSTIME


def wake_times(int64_t period, Py_ssize_t count):
    """Sleep until each of ``count`` times that are ``period`` [ns] apart, in C and without the
    interpreter.

    The thread is as punctual as that of a loop (``RclLoop.run``) meanwhile.

    Returns:
        (count,) when it woke, by the steady clock [ns].
    """
    woke = np.empty(count, np.int64)
    cdef int64_t[::1] times = woke
    cdef int64_t due = steady_now()
    cdef Py_ssize_t k
    cdef timespec until
    be_punctual(True)
    with nogil:
        for k in range(count):
            due += period
            until.tv_sec, until.tv_nsec = <long> (due // SECOND), <long> (due % SECOND)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)
            times[k] = steady_now()
    be_punctual(False)
    return woke

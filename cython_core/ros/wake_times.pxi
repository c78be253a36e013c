# A loop that only sleeps: the best wake-up times that a periodic loop can have on this machine.

cdef extern from "<time.h>" nogil:
    int clock_nanosleep(int clock, int flags, const timespec* until, timespec* left) noexcept
    enum: TIMER_ABSTIME


def wake_times(int64_t period, Py_ssize_t count):
    """Sleep until each of ``count`` times that are ``period`` [ns] apart, without the interpreter.

    The thread has the same settings for wake-up latency as that of ``RclLoop.run``.

    Returns:
        (count,) steady times of the wake-ups [ns].
    """
    woke = np.empty(count, np.int64)
    cdef int64_t[::1] times = woke
    cdef int64_t due = steady_now()
    cdef Py_ssize_t k
    cdef timespec until
    reduce_wake_up_latency(True)
    with nogil:
        for k in range(count):
            due += period
            until.tv_sec, until.tv_nsec = <long> (due // SECOND), <long> (due % SECOND)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)
            times[k] = steady_now()
    reduce_wake_up_latency(False)
    return woke

# The end of a node's process where Python cannot see to it, and of a child that it has forked.

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t* thread, const void* attributes,
                       void* (*run)(void*) noexcept nogil, void* argument) noexcept

cdef extern from "<unistd.h>" nogil:
    unsigned int sleep(unsigned int seconds) noexcept
    void _exit(int status) noexcept

cdef extern from "<stdlib.h>" nogil:
    int on_exit(void (*call)(int status, void* argument) noexcept nogil, void* argument) noexcept

cdef enum: STUCK = 4                  # exit status of a process that did not end by itself


cdef void* exit_later(void* seconds) noexcept nogil:
    sleep(<unsigned int> <size_t> seconds)
    _exit(STUCK)
    return NULL


def await_signal(int fd, double rest, double end):
    """Wait for the number of a signal; from then on all loops come to rest, and the process ends.

    Both without the interpreter, which may be blocked: by a terminal that nobody reads, say.

    Args:
        fd: A pipe, see ``signal.set_wakeup_fd``.
        rest: Time in which the loops are to stop when it is safe, and after which they stop [s].
        end: Time after which the process ends with status 4, if it has not ended by itself [s].

    Returns:
        The signal's number.
    """
    cdef unsigned char number = 0
    cdef pthread_t thread
    with nogil:
        while read(fd, &number, 1) != 1:    # interrupted
            pass
        store_time(&all_stop_by, steady_now() + <int64_t> (rest * 1e9), RELEASE)
        pthread_create(&thread, NULL, exit_later, <void*> <size_t> end)
    return number


cdef void exit_at_once(int status, void* none) noexcept nogil:
    _exit(status)


def skip_exit_handlers():
    """Let this process end without the exit handlers of its libraries; for a forked child.

    Those of the middleware would tell all others that the parent's participant has ended.
    """
    on_exit(exit_at_once, NULL)

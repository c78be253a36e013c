# How soon a thread that sleeps is running again.

from libc.stdint cimport int32_t, uint32_t, uint64_t

from ros.atomic cimport syscall

cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, ...) noexcept
    enum: PR_SET_TIMERSLACK

cdef extern from "<sys/syscall.h>" nogil:
    enum: SYS_sched_getattr
    enum: SYS_sched_setattr

cdef extern from "<sched.h>" nogil:
    enum: SCHED_OTHER

cdef enum: SHORT_SLICE = 100000           # [ns], the shortest that Linux allows

cdef struct SchedulingAttributes:         # struct sched_attr, see sched_setattr(2)
    uint32_t size, policy
    uint64_t flags
    int32_t nice
    uint32_t priority
    uint64_t runtime, deadline, period    # runtime: time slice under default scheduling; 0: the
                                          # default one


cdef inline void reduce_wake_up_latency() noexcept nogil:
    """Let the calling thread wake up with little delay from now on.

    Its timers become exact, as for real-time threads, and its time slice short, so that it preempts
    threads with a longer one when it wakes up (Linux 6.12 and newer).
    """
    cdef SchedulingAttributes attributes
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0
            and attributes.policy == SCHED_OTHER):
        attributes.runtime = SHORT_SLICE
        syscall(SYS_sched_setattr, 0, &attributes, 0)

# What two threads share without a lock: atomic words, and sleeping until one changes (futex(2));
# how soon a thread that sleeps is running again.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from *:
    enum: ACQUIRE "__ATOMIC_ACQUIRE"
    enum: RELEASE "__ATOMIC_RELEASE"
    enum: IN_ONE_ORDER "__ATOMIC_SEQ_CST"
    uint32_t load32 "__atomic_load_n"(const uint32_t* word, int order) noexcept nogil
    uint64_t load64 "__atomic_load_n"(const uint64_t* word, int order) noexcept nogil
    int64_t load_time "__atomic_load_n"(const int64_t* word, int order) noexcept nogil
    void store32 "__atomic_store_n"(uint32_t* word, uint32_t value, int order) noexcept nogil
    void store64 "__atomic_store_n"(uint64_t* word, uint64_t value, int order) noexcept nogil
    void store_time "__atomic_store_n"(int64_t* word, int64_t value, int order) noexcept nogil
    uint32_t add32 "__atomic_fetch_add"(uint32_t* word, uint32_t value, int order) noexcept nogil
    uint32_t exchange32 "__atomic_exchange_n"(uint32_t* word, uint32_t value,
                                              int order) noexcept nogil
    int64_t exchange_time "__atomic_exchange_n"(int64_t* word, int64_t value,
                                                int order) noexcept nogil
    bint compare_exchange32 "__atomic_compare_exchange_n"(uint32_t* word, uint32_t* expected,
                                                          uint32_t value, bint weak, int order,
                                                          int order_if_not) noexcept nogil

cdef extern from "<sys/syscall.h>" nogil:
    enum: SYS_futex
    enum: SYS_sched_getattr
    enum: SYS_sched_setattr

cdef extern from "<linux/futex.h>" nogil:
    enum: FUTEX_WAIT_BITSET_PRIVATE
    enum: FUTEX_WAKE_PRIVATE
    enum: FUTEX_BITSET_MATCH_ANY

cdef extern from "<unistd.h>" nogil:
    long syscall(long number, ...) noexcept

cdef extern from "<time.h>" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* time) noexcept
    enum: CLOCK_MONOTONIC
    enum: CLOCK_REALTIME

cdef extern from "<limits.h>" nogil:
    enum: INT_MAX

cdef enum: SECOND = 1_000_000_000      # [ns]


cdef inline int64_t clock_now(int clock) noexcept nogil:
    cdef timespec time
    clock_gettime(clock, &time)
    return <int64_t> time.tv_sec * SECOND + time.tv_nsec


cdef inline int64_t steady_now() noexcept nogil:
    return clock_now(CLOCK_MONOTONIC)


cdef inline bint claim(uint32_t* word, uint32_t expected, uint32_t value) noexcept nogil:
    """Compare and exchange: return whether the word was as expected and has been changed."""
    return compare_exchange32(word, &expected, value, False, IN_ONE_ORDER, ACQUIRE)


cdef inline void sleep_while(const uint32_t* word, uint32_t value, int64_t until) noexcept nogil:
    """Sleep until another thread calls ``wake``, or until a steady time [ns].

    Returns at once if the word no longer has this value.
    """
    cdef timespec time
    time.tv_sec, time.tv_nsec = <long> (until // SECOND), <long> (until % SECOND)
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &time, NULL, FUTEX_BITSET_MATCH_ANY)


cdef inline void wake(const uint32_t* word) noexcept nogil:
    """Wake all threads that sleep on a word."""
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0)


cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, ...) noexcept
    enum: PR_SET_TIMERSLACK

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

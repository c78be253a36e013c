# The threads that share a batch. They take its tiles a few at a time, and a caller waits only for
# those in the middle of some: beside a busy machine a thread that is not scheduled takes none.
# (OpenMP's loops wait until every thread has come to their end.)

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef unsigned long pthread_t
    int pthread_mutex_init(pthread_mutex_t*, const void*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, const void*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_broadcast(pthread_cond_t*)
    int pthread_create(pthread_t*, const void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)

cdef extern from "<sched.h>" nogil:
    int sched_getcpu()

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    enum: SIG_SETMASK
    int sigfillset(sigset_t*)
    int pthread_sigmask(int, const sigset_t*, sigset_t*)

cdef extern from *:
    enum: RELAXED "__ATOMIC_RELAXED"
    Py_ssize_t load_count "__atomic_load_n"(const Py_ssize_t*, int) noexcept nogil

cdef enum:
    MAX_THREADS = 1024
    SHARE = 16                         # tiles that make another thread worth its start, and at most
                                       # those that it takes at a time
    FEW = 4                            # repeats at first, so that signals are soon checked

cdef double SPIN = 1e-4                # [s] to look for work before sleeping
cdef double WAIT = 2e-5                # [s] to look for its end; a caller that sleeps gives its
                                       # processor to whom it waits for
cdef double WORTH = 2e-5               # [s] of work left that is worth waking others
cdef double SHORT = 2e-3               # [s] repeats that take less are doubled the next time
cdef double OFTEN = 5e-3               # [s] between two checks for signals (Ctrl-C)

cdef struct Job:                       # a batch at work, on its caller's stack
    Call* call
    Workspace* workspaces              # (max_members,) of its threads, the caller's first
    Py_ssize_t next, last              # rows that nobody has taken yet
    Py_ssize_t working                 # threads in the middle of some
    int members, max_members           # threads that have taken part, and may
    Py_ssize_t failure                 # of the first row that failed, call.row
    Job* other                         # the next in ``jobs``

# All of them, and every Job, are changed under the mutex.
cdef pthread_mutex_t mutex
cdef pthread_cond_t posted             # there is a new job
cdef pthread_cond_t finished           # nobody is working on some job, nor will
cdef Job* jobs = NULL
cdef Py_ssize_t posts = 0              # jobs so far
cdef int processor = -1                # on which the caller of the last one runs: a helper there
                                       # would only stand in its way
cdef int helpers = 0, sleeping = 0     # threads, and those that wait for ``posted``
cdef Py_ssize_t _num_threads = 1
cdef Py_ssize_t _generation = 0        # of forked processes


def set_num_threads(Py_ssize_t k):
    """Let batches (B, n) be computed by k threads, in every Dynamics and Simulator; 1 to begin
    with.

    Args:
        k: From 1 to 1024. A forked child process begins with 1 again.

    Raises:
        ValueError: k is out of range.
    """
    global _num_threads
    if not 1 <= k <= MAX_THREADS:
        raise ValueError(f"k: expected a number of threads from 1 to {<int> MAX_THREADS}, got {k}")
    _num_threads = k


def get_num_threads() -> int:
    """How many threads compute a batch."""
    return _num_threads


def _begin_in_process():
    """No thread of the parent is in a forked child; objects that were at work there are idle."""
    global _generation, helpers, sleeping, jobs
    _generation += 1
    helpers, sleeping, jobs = 0, 0, NULL
    pthread_mutex_init(&mutex, NULL)
    pthread_cond_init(&posted, NULL)
    pthread_cond_init(&finished, NULL)
    set_num_threads(1)


_begin_in_process()
os.register_at_fork(after_in_child=_begin_in_process)


cdef inline double seconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


cdef bint is_interrupted(double* checked) noexcept nogil:
    """Check for signals if the last time was a while ago; whether a handler has raised."""
    if seconds() - checked[0] < OFTEN:
        return False
    with gil:
        if PyErr_CheckSignals() != 0:
            return True
    checked[0] = seconds()
    return False


cdef bint spin(const Py_ssize_t* word, Py_ssize_t value, double time,
               int processor) noexcept nogil:
    """Wait at most for a time [s], not on a processor, for another thread to change a word."""
    cdef double began = seconds()
    while load_count(word, RELAXED) == value:
        if seconds() - began > time or sched_getcpu() == processor:
            return False
    return True


cdef bint work_on(Job* job, Workspace* work, double* checked) noexcept nogil:
    """Take tiles until none are left, with the mutex locked.

    checked: of the caller, who checks for signals; NULL for others. Returns whether a signal's
    handler has raised.
    """
    cdef Py_ssize_t first, last, tiles, failure
    cdef double began = seconds()
    cdef bint interrupted = False, woken = checked == NULL or job.max_members == 1
    while job.next < job.last:
        if (not woken and sleeping and job.next > 0
                and job.next * WORTH < (seconds() - began) * (job.last - job.next)):
            pthread_cond_broadcast(&posted)
            woken = True
        # Less at the end, so that all have done at once.
        tiles = (job.last - job.next) // (2 * job.max_members * LANES)
        first, last = job.next, min(job.last, job.next + LANES * min(SHARE, max(1, tiles)))
        job.next = last
        job.working += 1
        pthread_mutex_unlock(&mutex)
        failure = run_tiles(job.call, work, first, last)
        interrupted = checked != NULL and not failure and is_interrupted(checked)
        pthread_mutex_lock(&mutex)
        job.working -= 1
        if failure or interrupted:
            job.next = job.last
        if failure and (not job.failure or work.row < job.call.row):
            job.failure, job.call.row = failure, work.row
    return interrupted


cdef void* help_with_jobs(void* nothing) noexcept nogil:
    """What every thread but the callers' does, for ever."""
    global sleeping
    cdef Job* job
    cdef Py_ssize_t seen
    pthread_mutex_lock(&mutex)
    while True:
        job = jobs if sched_getcpu() != processor else NULL
        while job != NULL and (job.next >= job.last or job.members == job.max_members):
            job = job.other
        if job != NULL:
            job.members += 1
            work_on(job, &job.workspaces[job.members - 1], NULL)
            if job.working == 0:
                pthread_cond_broadcast(&finished)
            continue
        seen = posts
        pthread_mutex_unlock(&mutex)
        spin(&posts, seen, SPIN, processor)
        pthread_mutex_lock(&mutex)
        while posts == seen:
            sleeping += 1
            pthread_cond_wait(&posted, &mutex)
            sleeping -= 1


cdef void start_helpers(int wanted) noexcept nogil:
    """Have so many, or as many as the system allows; signals are for the other threads."""
    global helpers
    cdef sigset_t every, before
    cdef pthread_t thread
    if helpers >= wanted:
        return
    sigfillset(&every)
    pthread_sigmask(SIG_SETMASK, &every, &before)
    while helpers < wanted and pthread_create(&thread, NULL, help_with_jobs, NULL) == 0:
        pthread_detach(thread)
        helpers += 1
    pthread_sigmask(SIG_SETMASK, &before, NULL)


cdef Py_ssize_t run_rows(Call* call, Workspace* workspaces, int threads, Py_ssize_t rows,
                         double* checked) except? -1 nogil:
    """All rows on up to ``threads`` threads; the failure of the first that has one, or 0."""
    global jobs, posts, processor
    cdef Job job
    cdef Job** entry = &jobs
    cdef Py_ssize_t working
    cdef bint interrupted, soon = True
    job.call, job.workspaces, job.next, job.last = call, workspaces, 0, rows
    job.working, job.members, job.max_members, job.failure = 0, 1, threads, 0
    pthread_mutex_lock(&mutex)
    if threads > 1:
        start_helpers(threads - 1)
        job.other, jobs = jobs, &job
        processor = sched_getcpu()
        posts += 1                     # those that have not yet gone to sleep see it
    interrupted = work_on(&job, workspaces, checked)
    while job.working:
        if soon:
            working = job.working
            pthread_mutex_unlock(&mutex)
            soon = spin(&job.working, working, WAIT, -1)
            pthread_mutex_lock(&mutex)
        else:
            pthread_cond_wait(&finished, &mutex)
    if threads > 1:
        while entry[0] != &job:
            entry = &entry[0].other
        entry[0] = job.other
    pthread_mutex_unlock(&mutex)
    return -1 if interrupted else job.failure


cdef Py_ssize_t run_watched(Call* call, Workspace* workspaces, int threads,
                            Py_ssize_t rows) except? -1 nogil:
    """Run all rows (1 if it is no batch) and repeats, and check for signals every few milliseconds.

    Raises:
        KeyboardInterrupt, or whatever else a signal handler raises.
    """
    cdef Py_ssize_t k, failure
    cdef double checked = seconds(), began
    call.count = min(call.repeats, FEW)
    while True:
        began = seconds()
        call.count = min(call.count, call.repeats - call.done)
        failure = (run_rows(call, workspaces, threads, rows, &checked) if workspaces != NULL
                   else run_one(call, call.alone))
        if failure:
            return failure
        for k in range(call.fed_back if call.done == 0 else 0):
            call.x[k] = call.y[k]
        call.done += call.count
        if call.done >= call.repeats:
            return 0
        if is_interrupted(&checked):
            return -1
        if seconds() - began < SHORT:
            call.count *= 2

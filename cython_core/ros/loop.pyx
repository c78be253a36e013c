"""Runs a cycle (cycle.pxd) on rclpy's handles, in a thread that Python code cannot delay.

``RclLoop`` waits, takes and publishes through librcl without the interpreter: requests go in,
records come out, and the cycle never waits for Python.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.errno cimport errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, llabs, malloc
from libc.string cimport memset

from cycle cimport (ENDED, PUBLISH_FAILED, STOP_REQUESTED, TAKE_FAILED, TOO_LARGE, UNTIMED, Cycle,
                    IncomingMessage, Output, Record, Request, record_values)
from locked_positions cimport ABSURD_LOCKED
from ros.atomic cimport (ACQUIRE, CLOCK_REALTIME, IN_ONE_ORDER, RELEASE, SECOND,
                         add32, claim, clock_now, exchange32, exchange_time, load32, load64,
                         load_time, reduce_wake_up_latency, sleep_while, steady_now, store32,
                         store_time, wake)
from ros.message_faults cimport FIELD_STAMP, MESSAGE_WHOLE
from ros.loop_clock cimport (STANDING, LoopClock, follow, hear_clock, hear_stamp, ros_time_now,
                             standstill, steady_time_of, time_now)
from ros.messages cimport Reader, open_message, read_uint32
from ros.queue cimport (DONE, FREE, RESERVED, REQUESTS, TAKEN, WAITING, WITHDRAWN, Records,
                        Requests, Slot, free_slot, put_record, put_request, take_record,
                        take_request)
from ros.rcl cimport (NOTHING_TAKEN, Allocator, MessageInfo, OnMessage, Rcl, Serialized,
                      check_layout, find_functions, no_deallocate, no_zero_allocate)
from ros.timing cimport (COARSE, COARSE_WIDTH, FINE, Histogram, Sequences, Timing, count_missing,
                         count_response, count_wake_up)

from contextlib import ExitStack

from featherstone_ros.errors import MiddlewareError

cdef extern from "<unistd.h>" nogil:
    int close(int fd) noexcept
    ssize_t read(int fd, void* data, size_t size) noexcept

cdef extern from "<sys/eventfd.h>" nogil:
    int eventfd(unsigned int initial, int flags) noexcept
    enum: EFD_CLOEXEC

ENDED_RECORD, TOO_LARGE_RECORD = ENDED, TOO_LARGE
PUBLISH_FAILED_RECORD, UNTIMED_RECORD = PUBLISH_FAILED, UNTIMED
ABSURD_LOCKED_RECORD = ABSURD_LOCKED
HISTOGRAM_SIZES = FINE, COARSE, COARSE_WIDTH    # as ros/timing.pxd has them
STANDSTILL = STANDING * 1e-9         # [s] after which simulated time counts as standing
MAX_OBJECTS = RESERVED               # in use at the same time, so that no record about one is lost

include "spin.pxi"           # the loop's thread, without Python
include "rcl_loop.pxi"       # RclLoop, its side that is Python's

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
    """Wait for a signal's number from a pipe (see ``signal.set_wakeup_fd``) and return it. From
    then on all loops come to rest, ``rest`` seconds at most, and after ``end`` seconds the process
    ends with status 4, if it has not ended by itself.

    Both without the interpreter, which may be blocked: by a terminal that nobody reads, say.
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

# The loop's time, from which a cycle has all of its own: the steady clock; or ROS time, where the
# node's parameter use_sim_time is true.
#
# ROS time is the newer of the last /clock and the last stamp of a joint state. It never goes back
# for the cycle, and never leaps: when the clock is set, the loop's time goes on from where it was.
# Class 1 of docs/faults.md.
#
# A time on /clock takes effect with a later one, or with a joint state that has reached it:
# whether a state overtakes the clock's message of the same instant must make no difference, or a
# run would depend on the machine.

from libc.stdint cimport INT64_MAX, int64_t
from libc.stdlib cimport llabs

from ros.atomic cimport CLOCK_REALTIME, clock_now, steady_now

cdef enum:
    LEAP = 500000000         # [ns] a step that is larger sets the clock, if it is no mistake
    MISTAKES = 2             # messages in a row that may tell a wrong time
    STANDING = 1000000000    # [ns] after which simulated time counts as standing, and so the arm

cdef struct LoopClock:
    bint simulated           # ROS time, which messages tell
    bint begun               # some message has
    int64_t now              # the loop's time [ns]
    int64_t ahead            # how far it is ahead of its source [ns]: nothing, until one is set
    int64_t ros_time         # the newest that was heard [ns]
    int leaps                # messages in a row that leap
    int64_t leapt            # all of them
    int64_t heard            # steady time at which ROS time last went on [ns]


cdef inline int64_t time_now(LoopClock* k) noexcept nogil:
    """The loop's time [ns]."""
    if not k.simulated:
        k.now = steady_now() + k.ahead
    return k.now


cdef inline int64_t ros_time_now(const LoopClock* k) noexcept nogil:
    """The time by which messages are stamped [ns]."""
    return k.ros_time if k.simulated else clock_now(CLOCK_REALTIME)


cdef inline int64_t standstill(const LoopClock* k) noexcept nogil:
    """For how long simulated time has stood still, by the steady clock [ns]; else 0."""
    return steady_now() - k.heard if k.simulated else 0


cdef inline int64_t steady_time_of(const LoopClock* k, int64_t due) noexcept nogil:
    """At which steady time something is due; simulated: long ago, or when no one knows."""
    if k.simulated:
        return 0 if due <= k.now else INT64_MAX
    return due if due == INT64_MAX else due - k.ahead


cdef inline void follow(LoopClock* k, bint simulated) noexcept nogil:
    """Take the time from another source; it goes on from where it is."""
    cdef int64_t now = time_now(k)
    k.simulated, k.begun, k.leaps, k.heard = simulated, False, 0, steady_now()
    if not simulated:
        k.ahead = now - k.heard


cdef inline bint hear(LoopClock* k, int64_t time) noexcept nogil:
    """Take note of a ROS time [ns], which takes effect with ``pass_on``; False: it is a mistake."""
    cdef int64_t step = time - k.ros_time
    if not k.begun:
        # a loop that has had no time so far has the clock's
        k.ahead, k.begun = (k.now - time if k.now or time < 0 else 0), True
    elif llabs(step) > LEAP:
        k.leaps, k.leapt = k.leaps + 1, k.leapt + 1
        if k.leaps <= MISTAKES:
            return False
        k.ahead -= step if step < 0 else step - LEAP
    elif step <= 0:
        k.leaps = 0
        return True
    k.leaps, k.ros_time, k.heard = 0, time, steady_now()
    return True


cdef inline void pass_on(LoopClock* k, int64_t time) noexcept nogil:
    """Let the cycle's time advance to a ROS time that was heard [ns]."""
    k.now = max(k.now, time + k.ahead)


cdef inline void hear_clock(LoopClock* k, int64_t time) noexcept nogil:
    """Take a message of /clock."""
    if k.begun and time > k.ros_time:
        pass_on(k, k.ros_time)
    hear(k, time)


cdef inline void hear_stamp(LoopClock* k, int64_t stamp) noexcept nogil:
    """Take the stamp of a joint state; 0: it has none."""
    if stamp != 0 and hear(k, stamp):
        pass_on(k, stamp)

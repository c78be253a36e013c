"""The loop's time (ros/loop_clock.pxd): see __init__.py."""

from libc.string cimport memset

from ros.loop_clock cimport LoopClock, follow, hear_clock, hear_stamp, ros_time_now, time_now


cdef class Clock:
    """A loop's time. All times are in nanoseconds."""

    cdef LoopClock clock

    def __cinit__(self, bint simulated):
        memset(&self.clock, 0, sizeof(LoopClock))
        self.clock.simulated = simulated

    def hear_clock(self, time):
        """Take a message of /clock; return the loop's time."""
        hear_clock(&self.clock, time)
        return self.now

    def hear_stamp(self, time):
        """Take a joint state's stamp; return the loop's time."""
        hear_stamp(&self.clock, time)
        return self.now

    def follow(self, bint simulated):
        """Take the time from another source; return the loop's time."""
        follow(&self.clock, simulated)
        return self.now

    @property
    def now(self):
        """The loop's time."""
        return time_now(&self.clock)

    @property
    def ros_time(self):
        """The newest ROS time."""
        return ros_time_now(&self.clock)

    @property
    def leapt(self):
        """How many messages leapt."""
        return self.clock.leapt

# How the stamp of a joint state follows that of the state before it: newer, the same, late, or of a
# clock that has been set. The controller (control/state_clock.pxd) and the shadow
# (observer/shadow.pxd) differ in what they do then.

cdef enum StampOrder:
    SET_BACK                 # a clock was: the new stamp belongs to another time
    OLDER                    # it is late
    SAME
    NEWER
    SET_AHEAD                # a clock was, or there was a gap


cdef inline StampOrder stamp_order(double dt, double jump) noexcept nogil:
    """How a stamp follows that of dt [s] before; from a jump [s] on, time has not just passed."""
    if dt <= -jump:
        return SET_BACK
    if dt <= 0.0:
        return OLDER if dt < 0.0 else SAME
    return NEWER if dt <= jump else SET_AHEAD

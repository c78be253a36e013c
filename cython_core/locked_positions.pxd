# Where the joints of the description that are not moved here stand: as joint states say, else as
# parameters say. Arrays are (n,) in the order of ``Model.locked_joints``.
#
# What is believed follows what is said no faster than the joint may move: neither a glitch of an
# encoder nor a publisher that begins late is a step in gravity or in the pose of the end effector.

from libc.math cimport fabs, isfinite, isnan
from libc.stdint cimport int32_t, int64_t

from cycle cimport Output, record_values
from ros.messages cimport JointStateMessage, double_at

cdef enum: ABSURD_LOCKED = 100  # kind of records, of every cycle; index: locked joint; value: its
                                # absurd position, least and greatest

cdef struct LockedJoints:
    int32_t n
    double* at               # where they are taken to stand [rad or m]
    double* given            # where the parameters say
    double* heard            # where joint states say; NaN: nothing yet
    bint* refused            # the last position of a joint was
    const double* lowest     # beyond these a position is absurd: another unit, a broken encoder
    const double* highest
    const double* speed      # [rad/s or m/s]


cdef inline bint hear(LockedJoints* joints, int32_t k, double position) noexcept nogil:
    """Take a published position, unless it is absurd; returns whether the first of these comes now.
    """
    cdef bint absurd = not (isfinite(position)
                            and joints.lowest[k] <= position <= joints.highest[k])
    cdef bint first = absurd and not joints.refused[k]
    joints.refused[k] = absurd
    if not absurd:
        joints.heard[k] = position
    return first


cdef inline void hear_message(LockedJoints* joints, const JointStateMessage* message, int32_t ours,
                              int64_t now, Output* output) noexcept nogil:
    """Take the positions in a message, in which those of ``ours`` joints come first, and tell of
    those that become absurd.
    """
    cdef int32_t k
    for k in range(joints.n if message.position.length else 0):
        if message.index[ours + k] < 0:
            continue
        position = double_at(&message.position, message.index[ours + k])
        if hear(joints, k, position):
            record_values(output, ABSURD_LOCKED, k, now, position, joints.lowest[k],
                          joints.highest[k], 0.0, 0)


cdef inline bint follow_locked(LockedJoints* joints, double duration) noexcept nogil:
    """Move on to where they are said to stand, in a time [s]; returns whether any has moved."""
    cdef double step, most
    cdef bint moved = False
    cdef int32_t k
    for k in range(joints.n):
        step = (joints.given[k] if isnan(joints.heard[k]) else joints.heard[k]) - joints.at[k]
        most = joints.speed[k] * max(duration, 0.0)             # time may have been set back
        if fabs(step) > most:
            step = most if step > 0.0 else -most
        joints.at[k] += step
        moved |= step != 0.0
    return moved

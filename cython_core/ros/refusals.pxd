# Refused messages: counted, and recorded unless there is a flood of them.
#
# featherstone_ros/message_faults.py turns the records into text.

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from cycle cimport IncomingMessage, Output, record_values
from ros.message_faults cimport (BEYOND_BOUND, FIELD_DATA, FIELD_FORCE, FIELD_FRAME, FIELD_STAMP,
                                 FIELD_TORQUE, MESSAGE_WHOLE, NOT_FINITE, OTHER_LENGTH,
                                 UNKNOWN_LINK)
from ros.messages cimport (Doubles, JointNames, Reader, Text, double_at, find_joint, open_message,
                           read_multi_array, read_text, read_uint32, refuse_message, take_bytes)

cdef extern from *:
    """
    #define ABSURD 1e6
    """
    const double ABSURD      # in any unit: no arm measures a value so large, nor feels one

cdef enum: REFUSED = 0       # kind of the records, of every cycle that refuses

cdef enum:
    MAX_REPORTED = 20                  # records per period
    REPORT_PERIOD = 1_000_000_000       # [ns]

cdef struct Refusals:
    int64_t count            # messages refused
    int64_t since, reported  # beginning of the report period, records in it
    int input                # of the current message
    size_t size              # of the current message [bytes]
    int64_t now
    Output* output


cdef inline void set_message(Refusals* refusals, int input, const IncomingMessage* incoming,
                             int64_t now, Output* output) noexcept nogil:
    """Let it be the current message."""
    refusals.input, refusals.size, refusals.now, refusals.output = input, incoming.size, now, output


cdef inline void begin_message(Refusals* refusals, int input, const IncomingMessage* incoming,
                               int64_t now, Output* output, Reader* r) noexcept nogil:
    """Begin to read a message."""
    set_message(refusals, input, incoming, now, output)
    open_message(r, incoming.data, incoming.size)


cdef inline void refuse(Refusals* refusals, int reason, int field, int32_t which, double a,
                        double b, double c, double d) noexcept nogil:
    """Refuse the current message for a MessageFault or a ContentFault."""
    refusals.count += 1
    if refusals.now - refusals.since >= REPORT_PERIOD:
        refusals.since, refusals.reported = refusals.now, 0
    if refusals.reported >= MAX_REPORTED:
        return
    refusals.reported += 1
    # decoded in message_faults.py
    record_values(refusals.output, REFUSED,
                  refusals.input | reason << 4 | field << 12 | (which + 1) << 18, refusals.now,
                  a, b, c, d, 0)


cdef inline void refuse_reader(Refusals* refusals, const Reader* r) noexcept nogil:
    """Refuse the current message for the fault that its reader has found."""
    refuse(refusals, r.fault, r.field, r.which, refusals.size, r.claimed, r.expected, 0.0)


cdef inline void refuse_figure(Refusals* refusals, int reason, int field, int32_t which,
                               double figure, double bound) noexcept nogil:
    refuse(refusals, reason, field, which, figure, bound, 0.0, 0.0)


cdef inline bint within(Refusals* refusals, int field, int32_t which, double figure,
                        double bound) noexcept nogil:
    """Whether |figure| <= bound; else the message is refused, also for NaN."""
    if fabs(figure) <= bound:
        return True
    refuse_figure(refusals, BEYOND_BOUND if isfinite(figure) else NOT_FINITE, field, which, figure,
                  bound)
    return False


cdef inline bint read_efforts(Refusals* refusals, Reader* r, int32_t n, double bound,
                              double* out) noexcept nogil:
    """Read a std_msgs/Float64MultiArray of n numbers, each of at most ``bound`` in size; returns
    False if it is refused.
    """
    cdef Doubles values = read_multi_array(r)
    if r.fault == MESSAGE_WHOLE and values.length != <size_t> n:
        r.claimed, r.expected = values.length, n
        refuse_message(r, OTHER_LENGTH, FIELD_DATA)
    if r.fault != MESSAGE_WHOLE:
        refuse_reader(refusals, r)
        return False
    for i in range(n):
        out[i] = double_at(&values, i)
        if not within(refusals, FIELD_DATA, i, out[i], bound):
            return False
    return True


cdef inline void refuse_name(Refusals* refusals, int reason, int field,
                             const Text* text) noexcept nogil:
    cdef double[4] value               # its characters
    memset(value, 0, sizeof(value))
    if text.data != NULL:
        memcpy(value, text.data, min(text.length, sizeof(value)))
    refuse(refusals, reason, field, -1, value[0], value[1], value[2], value[3])


cdef inline int32_t read_wrench(Refusals* refusals, Reader* r, JointNames* links, int32_t meant,
                                double* out, double* stamp) noexcept nogil:
    """Read a geometry_msgs/WrenchStamped: force and torque (6), none of them absurd, on the link
    that its frame names, and its stamp [s]. meant: the link that other frames stand for; -1: none.

    Returns the link's index; -1 if it is refused.
    """
    cdef Doubles values
    stamp[0] = <int32_t> read_uint32(r, FIELD_STAMP)
    stamp[0] += 1e-9 * read_uint32(r, FIELD_STAMP)
    frame = read_text(r, FIELD_FRAME)
    values.data, values.length, values.big_endian = (
        take_bytes(r, 6 * sizeof(double), 8, FIELD_TORQUE), 6, r.big_endian)
    if r.fault != MESSAGE_WHOLE:
        refuse_reader(refusals, r)
        return -1
    link = find_joint(links, 0, &frame)
    link = meant if link < 0 else link
    if link < 0:
        refuse_name(refusals, UNKNOWN_LINK, FIELD_FRAME, &frame)
        return -1
    for i in range(6):
        out[i] = double_at(&values, i)
        if not within(refusals, FIELD_FORCE, i, out[i], ABSURD):
            return -1
    return link


cdef inline void refuse_joints(Refusals* refusals, int reason, int field, const int32_t* index,
                               int32_t n) noexcept nogil:
    """Refuse the current message because it lacks joints: those with a negative index (n,)."""
    cdef uint64_t[4] bits
    cdef double[4] value
    memset(bits, 0, sizeof(bits))
    for i in range(min(n, 256)):
        if index[i] < 0:
            bits[i // 64] |= <uint64_t> 1 << (i % 64)
    memcpy(value, bits, sizeof(value))
    refuse(refusals, reason, field, -1, value[0], value[1], value[2], value[3])

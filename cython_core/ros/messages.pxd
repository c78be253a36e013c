# The messages of the control loop between CDR and C arrays, without Python: nothing here raises,
# allocates or needs the GIL.
#
# XCDR1 (OMG DDS-XTypes 7.4.1), either byte order when read, little-endian when written. Values are
# aligned to their own size, counted from the end of the encapsulation header; an empty sequence of
# doubles has no padding, as Fast CDR writes it. A message that is malformed or incomplete sets
# ``fault`` and ``field`` of its Reader; all that is read after that is zero.

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from ros.atomic cimport SECOND
from ros.message_faults cimport (CUT_OFF, FIELD_DATA, FIELD_EFFORT, FIELD_ENCAPSULATION,
                                 FIELD_FRAME, FIELD_LAYOUT, FIELD_NAME, FIELD_POSITION, FIELD_STAMP,
                                 FIELD_VELOCITY, FOREIGN, MESSAGE_WHOLE, NAMED_TWICE, NOT_PLAIN_CDR,
                                 NOT_TERMINATED, OTHER_LENGTH, TOO_LONG, TOO_MANY, Field,
                                 MessageFault)

cdef extern from *:
    uint32_t bswap32 "__builtin_bswap32"(uint32_t x) noexcept nogil
    uint64_t bswap64 "__builtin_bswap64"(uint64_t x) noexcept nogil

cdef enum:
    HEADER_SIZE = 4          # [byte], the encapsulation: 0, byte order, 2 of options
    MAX_NAMES = 1000        # in a message: no robot has more

cdef struct Reader:
    const uint8_t* data      # behind the header
    size_t size
    size_t at
    bint big_endian
    MessageFault fault
    Field field
    uint64_t claimed, expected
    int32_t which

cdef struct Doubles:         # a sequence in a message, not aligned
    const uint8_t* data
    size_t length
    bint big_endian

cdef struct Text:
    const uint8_t* data
    size_t length            # without the zero byte at its end

cdef struct JointNames:      # of an arm, and their order in the last message
    int32_t n
    int32_t others           # names after those: found if they are there, but not asked for
    const char** name        # (n + others,)
    size_t* length           # (n + others,)
    int32_t* guess           # (MAX_NAMES,) joint of the k-th name of the last message; -1: none of
                             # these

cdef struct JointStateMessage:
    int32_t sec
    uint32_t nanosec
    size_t count             # names in the message
    int32_t found            # how many of the arm's joints it names
    int32_t* index           # (n + others,) of each joint in the message, -1: not there
    Text unknown             # the first name that is none of theirs
    Doubles position, velocity, effort


cdef inline void refuse_message(Reader* r, MessageFault fault, Field field) noexcept nogil:
    """Set the fault, unless there is one already, and skip the rest of the message."""
    if r.fault == MESSAGE_WHOLE:
        r.fault, r.field = fault, field
    r.at = r.size


cdef inline void open_message(Reader* r, const uint8_t* data, size_t size) noexcept nogil:
    """Read the encapsulation header."""
    r.fault, r.field, r.which, r.claimed, r.expected = MESSAGE_WHOLE, FIELD_ENCAPSULATION, -1, 0, 0
    r.data, r.size, r.at, r.big_endian = data, 0, 0, False
    if size < HEADER_SIZE:
        refuse_message(r, CUT_OFF, FIELD_ENCAPSULATION)
    elif data[0] != 0 or data[1] > 1:
        r.claimed = data[0] << 8 | data[1]
        refuse_message(r, NOT_PLAIN_CDR, FIELD_ENCAPSULATION)
    else:
        r.data, r.size, r.big_endian = data + HEADER_SIZE, size - HEADER_SIZE, data[1] == 0


cdef inline const uint8_t* take_bytes(Reader* r, size_t size, size_t alignment,
                                      Field field) noexcept nogil:
    """Skip padding and take ``size`` bytes; NULL if the message ends before."""
    cdef size_t start = r.at + (-r.at & (alignment - 1))
    if r.fault != MESSAGE_WHOLE:
        return NULL
    if start > r.size or size > r.size - start:
        refuse_message(r, CUT_OFF, field)
        return NULL
    r.at = start + size
    return r.data + start


cdef inline uint32_t read_uint32(Reader* r, Field field) noexcept nogil:
    cdef const uint8_t* data = take_bytes(r, 4, 4, field)
    cdef uint32_t value = 0
    if data != NULL:
        memcpy(&value, data, 4)
    return bswap32(value) if r.big_endian else value


cdef inline size_t read_length(Reader* r, size_t item_size, Field field) noexcept nogil:
    """Length of a sequence whose items take at least ``item_size`` bytes each."""
    cdef uint32_t length = read_uint32(r, field)
    if r.fault == MESSAGE_WHOLE and length > (r.size - r.at) / item_size:
        r.claimed, r.expected = length, r.size - r.at
        refuse_message(r, TOO_LONG, field)
    return length if r.fault == MESSAGE_WHOLE else 0


cdef inline size_t read_item_count(Reader* r, size_t item_size, Field field) noexcept nogil:
    """Length of a sequence whose items are read one by one: at most MAX_NAMES."""
    cdef size_t count = read_length(r, item_size, field)
    if count > MAX_NAMES:
        r.claimed = count
        refuse_message(r, TOO_MANY, field)
        return 0
    return count


cdef inline Text read_text(Reader* r, Field field) noexcept nogil:
    """A string. One of length 0, without the zero byte at its end, is empty, as for Fast CDR."""
    cdef Text text
    cdef size_t length = read_length(r, 1, field)
    text.data, text.length = NULL, 0
    if length:
        text.data = take_bytes(r, length, 1, field)
        if text.data != NULL and text.data[length - 1] != 0:
            refuse_message(r, NOT_TERMINATED, field)
        text.length = length - 1
    return text


cdef inline Doubles read_doubles(Reader* r, Field field) noexcept nogil:
    cdef Doubles values
    values.data, values.big_endian = NULL, r.big_endian
    values.length = read_length(r, sizeof(double), field)
    if values.length:
        values.data = take_bytes(r, values.length * sizeof(double), sizeof(double), field)
        if values.data == NULL:
            values.length = 0
    return values


cdef inline double double_at(const Doubles* values, size_t k) noexcept nogil:
    cdef double value
    memcpy(&bits, values.data + sizeof(double) * k, sizeof(double))
    if values.big_endian:
        bits = bswap64(bits)
    memcpy(&value, &bits, sizeof(double))
    return value


cdef inline bint same_text(const JointNames* names, int32_t joint, const Text* text) noexcept nogil:
    return (names.length[joint] == text.length
            and memcmp(names.name[joint], text.data, text.length) == 0)


cdef inline int32_t find_joint(JointNames* names, size_t k, const Text* text) noexcept nogil:
    """Index of the joint that the k-th name of a message names, -1 for none.

    Publishers seldom change their order, so the joint of the last message is tried first.
    """
    cdef int32_t joint = names.guess[k]
    if joint >= 0 and same_text(names, joint, text):
        return joint
    for joint in range(names.n + names.others):
        if same_text(names, joint, text):
            names.guess[k] = joint
            return joint
    return -1


cdef inline Doubles read_joint_field(Reader* r, size_t count, bint required,
                                     Field field) noexcept nogil:
    """One of JointState's arrays: a value for every name or, if it is not required, empty."""
    cdef Doubles values = read_doubles(r, field)
    if r.fault == MESSAGE_WHOLE and values.length != count and (required or values.length):
        r.claimed, r.expected = values.length, count
        refuse_message(r, OTHER_LENGTH, field)
    return values


cdef inline void read_joint_names(Reader* r, JointNames* names,
                                  JointStateMessage* message) noexcept nogil:
    """Header and names of a sensor_msgs/JointState, and the indices of the arm's joints in them."""
    message.found, message.unknown.data, message.unknown.length = 0, NULL, 0
    for joint in range(names.n + names.others):
        message.index[joint] = -1
    message.sec = <int32_t> read_uint32(r, FIELD_STAMP)
    message.nanosec = read_uint32(r, FIELD_STAMP)
    read_text(r, FIELD_FRAME)
    message.count = read_item_count(r, sizeof(uint32_t), FIELD_NAME)
    for k in range(message.count):
        text = read_text(r, FIELD_NAME)
        if r.fault != MESSAGE_WHOLE:
            return
        joint = find_joint(names, k, &text)
        if joint >= names.n:
            message.index[joint] = <int32_t> k
        elif joint >= 0:
            if message.index[joint] >= 0:
                r.which = joint
                refuse_message(r, NAMED_TWICE, FIELD_NAME)
                return
            message.index[joint] = <int32_t> k
            message.found += 1
        elif message.unknown.data == NULL:
            message.unknown = text


cdef inline void read_joint_values(Reader* r, JointStateMessage* message,
                                   bint with_position) noexcept nogil:
    """The arrays after the names; ``with_position``: positions are required."""
    message.position = read_joint_field(r, message.count, with_position, FIELD_POSITION)
    message.velocity = read_joint_field(r, message.count, False, FIELD_VELOCITY)
    message.effort = read_joint_field(r, message.count, False, FIELD_EFFORT)


cdef inline void read_joint_state(Reader* r, JointNames* names,
                                  JointStateMessage* message) noexcept nogil:
    """A sensor_msgs/JointState that names some of the arm's joints; else the fault is FOREIGN."""
    read_joint_names(r, names, message)
    read_joint_values(r, message, message.found > 0)
    if r.fault == MESSAGE_WHOLE and message.found == 0:
        refuse_message(r, FOREIGN, FIELD_NAME)


cdef inline void gather(const JointStateMessage* message, const Doubles* values, int32_t n,
                        double* out) noexcept nogil:
    """The values of the arm's joints, in its order; NaN where the message has none."""
    for joint in range(n):
        out[joint] = (double_at(values, message.index[joint])
                      if message.index[joint] >= 0 and values.length else NAN)


cdef struct JointParts:      # a state that comes in one message or in several
    int32_t n
    double* values           # (3, n) latest position, velocity and effort
    bint* there              # (n,) received since the last complete state
    double* scratch          # (n,)


cdef inline void gather_named(JointParts* parts, const JointStateMessage* message,
                              const Doubles* values, double* out) noexcept nogil:
    """The values of the joints that the message names; the others keep theirs."""
    gather(message, values, parts.n, parts.scratch)
    for joint in range(parts.n):
        if message.index[joint] >= 0:
            out[joint] = parts.scratch[joint]


cdef inline bint collect_joints(JointParts* parts, const JointStateMessage* message) noexcept nogil:
    """Take the values of a message; return whether the state is now complete."""
    cdef bint complete = True
    cdef int32_t n = parts.n
    if message.found == n:
        gather(message, &message.position, n, parts.values)
        gather(message, &message.velocity, n, parts.values + n)
        gather(message, &message.effort, n, parts.values + 2 * n)
        memset(parts.there, 0, n * sizeof(bint))
        return True
    gather_named(parts, message, &message.position, parts.values)
    gather_named(parts, message, &message.velocity, parts.values + n)
    gather_named(parts, message, &message.effort, parts.values + 2 * n)
    for joint in range(n):
        parts.there[joint] |= message.index[joint] >= 0
        complete &= parts.there[joint]
    if complete:
        memset(parts.there, 0, n * sizeof(bint))
    return complete


cdef inline Doubles read_multi_array(Reader* r) noexcept nogil:
    """The data of a std_msgs/Float64MultiArray.

    Its layout is ignored, as forward_command_controller does.
    """
    cdef size_t dimensions = read_item_count(r, 3 * sizeof(uint32_t), FIELD_LAYOUT)
    for k in range(dimensions):
        read_text(r, FIELD_LAYOUT)
        read_uint32(r, FIELD_LAYOUT)
        read_uint32(r, FIELD_LAYOUT)
    read_uint32(r, FIELD_LAYOUT)
    return read_doubles(r, FIELD_DATA)


# Writing: a message is made once, as bytes in Python (message_templates.py); its stamp and values
# are then overwritten in place.

cdef struct Template:
    uint8_t* data
    size_t size


cdef inline void write_stamp(Template* message, int32_t sec, uint32_t nanosec) noexcept nogil:
    """The stamp of a message that begins with a std_msgs/Header."""
    memcpy(message.data + HEADER_SIZE, &sec, sizeof(sec))
    memcpy(message.data + HEADER_SIZE + sizeof(sec), &nanosec, sizeof(nanosec))


cdef inline void write_time(uint8_t* stamp, int64_t time) noexcept nogil:
    """A stamp in a message, from a time [ns]."""
    cdef int64_t whole = time // SECOND - (time % SECOND < 0)
    cdef int32_t sec = <int32_t> whole
    cdef uint32_t nanosec = <uint32_t> (time - whole * SECOND)
    memcpy(stamp, &sec, sizeof(sec))
    memcpy(stamp + sizeof(sec), &nanosec, sizeof(nanosec))


cdef inline void write_last(Template* message, int32_t n, int32_t before,
                            const double* values) noexcept nogil:
    """Overwrite an array (n,) of doubles near the end of a message, which is followed by ``before``
    arrays of the same length.
    """
    cdef size_t step = n * sizeof(double) + 8  # with length and padding
    memcpy(message.data + message.size - n * sizeof(double) - before * step, values,
           n * sizeof(double))

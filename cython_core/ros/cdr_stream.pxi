# XCDR1 (OMG DDS-XTypes 7.4.1) as far as the two messages need it: each read checks that the message goes so far.
#
# Values are aligned to their own size, counted from the end of the encapsulation header. A sequence of doubles without
# any has no padding, as Fast CDR writes it. Hosts are little-endian, as all are that ROS 2 is released for.

cdef enum:
    HEADER = 4                                                  # [byte], the encapsulation: 0, byte order, 2 of options
    MOST_ITEMS = 1000                                           # of a list that is read one by one, in a real-time loop

cdef struct Stream:
    const unsigned char* data                                   # behind the header
    size_t size
    size_t at
    bint big_endian


cdef object _cut_off(Stream* s, str field):
    return MalformedMessageError(f"message of {s.size + HEADER} bytes ends within {field}")


cdef int open_stream(Stream* s, bytes message) except -1:
    """Read the header."""
    cdef const unsigned char* data = <const unsigned char*> PyBytes_AS_STRING(message)
    cdef size_t size = PyBytes_GET_SIZE(message)
    if size < HEADER:
        raise MalformedMessageError(f"message of {size} bytes ends within the encapsulation header")
    if data[0] != 0 or data[1] > 1:
        raise MalformedMessageError(f"encapsulation is 0x{data[0]:02x}{data[1]:02x}, expected 0x0000 or 0x0001 (plain CDR)")
    s.data, s.size, s.at, s.big_endian = data + HEADER, size - HEADER, 0, data[1] == 0
    return 0


cdef inline size_t padding(size_t at, size_t alignment) noexcept:
    return -at & (alignment - 1)


cdef inline const unsigned char* take(Stream* s, size_t size, size_t alignment, str field) except NULL:
    """Pass over padding and so many bytes; return where these are."""
    cdef size_t start = s.at + padding(s.at, alignment)
    if start > s.size or size > s.size - start:
        raise _cut_off(s, field)
    s.at = start + size
    return s.data + start


cdef inline int read_uint32(Stream* s, uint32_t* value, str field) except -1:
    memcpy(value, take(s, 4, 4, field), 4)
    if s.big_endian:
        value[0] = bswap32(value[0])
    return 0


cdef inline int read_length(Stream* s, uint32_t* length, size_t item_size, str field) except -1:
    """Read how many items of at least that size follow."""
    read_uint32(s, length, field)
    if length[0] > (s.size - s.at) / item_size:
        raise MalformedMessageError(f"{field} claims a length of {length[0]}, but {s.size - s.at} bytes follow")
    return 0


cdef inline int read_item_count(Stream* s, uint32_t* count, size_t item_size, str field) except -1:
    """Read how many items other than plain numbers follow."""
    read_length(s, count, item_size, field)
    if count[0] > MOST_ITEMS:
        raise MalformedMessageError(f"{field} has {count[0]} items, expected at most {MOST_ITEMS}")
    return 0


cdef str read_string(Stream* s, str field):
    """Read a string; one of length 0, without even its end, is empty to Fast CDR, too."""
    cdef uint32_t length
    cdef const char* text
    read_length(s, &length, 1, field)
    if length == 0:
        return ""
    text = <const char*> take(s, length, 1, field)
    if text[length - 1] != 0:
        raise MalformedMessageError(f"{field} does not end with a zero byte")
    if memchr(text, 0, length - 1) != NULL:
        raise MalformedMessageError(f"{field} has a zero byte within")
    try:
        return PyUnicode_DecodeUTF8(text, length - 1, NULL)
    except UnicodeDecodeError as error:
        raise MalformedMessageError(f"{field} is not UTF-8: {error}") from error


cdef struct Doubles:
    const unsigned char* data                                   # not aligned
    size_t length
    bint big_endian


cdef inline int read_doubles(Stream* s, Doubles* values, str field) except -1:
    cdef uint32_t length
    read_length(s, &length, sizeof(double), field)
    values.data, values.length, values.big_endian = NULL, length, s.big_endian
    if length:
        values.data = take(s, length * sizeof(double), sizeof(double), field)
    return 0


cdef inline double double_at(const Doubles* values, size_t k) noexcept:
    cdef uint64_t bits
    cdef double value
    memcpy(&bits, values.data + sizeof(double) * k, sizeof(double))
    if values.big_endian:
        bits = bswap64(bits)
    memcpy(&value, &bits, sizeof(double))
    return value


# Writing: a message is made once, and what changes in it is overwritten in a copy.

cdef class Draft:
    """A message in the making, little-endian."""

    cdef bytearray data

    def __cinit__(self):
        self.data = bytearray(b"\0\1\0\0")

    cdef size_t add(self, bytes value, size_t alignment):
        """Append; return where it begins, header included."""
        self.data += bytes(padding(len(self.data) - HEADER, alignment))
        cdef size_t start = len(self.data)
        self.data += value
        return start

    cdef size_t add_uint32(self, uint32_t value):
        return self.add((<char*> &value)[:4], 4)

    cdef add_string(self, str text, str field):
        if "\0" in text:
            raise ValueError(f"{field} is {text!r}, expected no zero byte within")
        data = text.encode() + b"\0"
        self.add_uint32(len(data))
        self.add(data, 1)

    cdef size_t add_header(self, str frame_id):
        """Append a std_msgs/Header; return where its stamp begins."""
        cdef size_t stamp = self.add_uint32(0)
        self.add_uint32(0)
        self.add_string(frame_id, "frame_id")
        return stamp

    cdef size_t add_doubles(self, size_t length):
        """Append zeros; return where they begin."""
        self.add_uint32(length)
        return self.add(bytes(sizeof(double) * length), sizeof(double) if length else 1)

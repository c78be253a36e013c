"""The two messages of the control loop, sensor_msgs/JointState and std_msgs/Float64MultiArray, between CDR and arrays; and
those about a floating base, to be filled in.

Bytes are as DDS carries them and rclpy's raw subscriptions and publishers take them: XCDR1, either byte order when read,
little-endian when written. It knows nothing else of ROS. Objects are for one thread; after construction only what
``encode`` returns is allocated as long as the names in messages stay the same.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport NAN
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

cdef extern from *:
    uint32_t bswap32 "__builtin_bswap32"(uint32_t x) noexcept
    uint64_t bswap64 "__builtin_bswap64"(uint64_t x) noexcept

import numpy as np

from featherstone_ros.errors import MalformedMessageError
from featherstone_ros.joint_map import JointMap, check_length

cnp.import_array()

include "cdr_stream.pxi"


cdef inline double* data(cnp.ndarray array) noexcept:
    return <double*> cnp.PyArray_DATA(array)


cdef class JointStateDecoder:
    """Reads sensor_msgs/JointState messages, for one arm.

    Publishers send the same names in the same order in every message; where they stand is learnt from the first one.

    Attributes:
        position: (n,) in the order of the joint names, overwritten by every message; so are
        velocity: (n,), nan if the message has none, and
        effort: (n,), nan if the message has none.
        has_velocity: Whether the last message had velocities.
        has_effort: Whether the last message had efforts.
        sec: Stamp of the last message [s], and
        nanosec: the rest of it [ns].
    """

    cdef readonly cnp.ndarray position, velocity, effort
    cdef readonly bint has_velocity, has_effort
    cdef readonly int32_t sec
    cdef readonly uint32_t nanosec
    cdef object _joints                                         # JointMap
    cdef list _names                                            # of the last message
    # Frame and names of the last message that had all our joints, as they came; _mask is 0 where there is padding, which
    # publishers leave undefined, and 255 elsewhere.
    cdef bytes _section, _mask
    cdef bint _big_endian
    cdef list _complete_names
    cdef cnp.ndarray _indices                                   # (n,) where each of our joints stands among them
    cdef size_t _count                                          # of them

    def __cinit__(self, joint_names):
        self._joints = JointMap(joint_names)
        n = len(self._joints.joint_names)
        self.position, self.velocity, self.effort = np.full((3, n), NAN)
        self._names, self._section, self._mask = [], b"", b""

    @property
    def names(self):
        """The joints that the last message named, in its order, also if it was refused for them."""
        return list(self._names)

    @property
    def stamp(self):
        """Of the last message [s]."""
        return self.sec + 1e-9 * self.nanosec

    def decode(self, bytes message not None):
        """Read a message; finiteness is not checked. If it is refused, all is left as it was but ``names``.

        Raises:
            MessageError: A joint is missing or named twice, or an array's length differs from the names'.
            MalformedMessageError: The bytes are no such message.
        """
        cdef Stream s
        cdef uint32_t sec, nanosec
        cdef Doubles position, velocity, effort
        open_stream(&s, message)
        read_uint32(&s, &sec, "header.stamp")
        read_uint32(&s, &nanosec, "header.stamp")
        if self._is_known(&s):
            s.at += PyBytes_GET_SIZE(self._section)
            self._names = self._complete_names
        else:
            self._learn(&s)
        read_doubles(&s, &position, "position")
        read_doubles(&s, &velocity, "velocity")
        read_doubles(&s, &effort, "effort")
        if position.length != self._count:
            check_length(position.length, self._count, "position")
        if velocity.length and velocity.length != self._count:
            check_length(velocity.length, self._count, "velocity")
        if effort.length and effort.length != self._count:
            check_length(effort.length, self._count, "effort")
        self.sec, self.nanosec = <int32_t> sec, nanosec
        self.has_velocity, self.has_effort = velocity.length != 0, effort.length != 0
        self._gather(&position, self.position)
        self._gather(&velocity, self.velocity)
        self._gather(&effort, self.effort)

    cdef bint _is_known(self, Stream* s) noexcept:
        """Whether frame and names are those of the last complete message."""
        cdef const unsigned char* known = <const unsigned char*> PyBytes_AS_STRING(self._section)
        cdef const unsigned char* mask = <const unsigned char*> PyBytes_AS_STRING(self._mask)
        cdef const unsigned char* here = s.data + s.at
        cdef size_t k, size = PyBytes_GET_SIZE(self._section)
        cdef unsigned char different = 0
        if size == 0 or size > s.size - s.at or s.big_endian != self._big_endian:
            return False
        for k in range(size):
            different |= (here[k] ^ known[k]) & mask[k]
        return different == 0

    cdef int _learn(self, Stream* s) except -1:
        """Read frame and names, and find our joints."""
        cdef size_t start = s.at
        cdef uint32_t k, count
        cdef list names = []
        mask = bytearray()
        read_string(s, "header.frame_id")
        extend_mask(mask, start, s)
        read_item_count(s, &count, sizeof(uint32_t), "name")
        extend_mask(mask, start, s)
        for k in range(count):
            names.append(read_string(s, "name"))
            extend_mask(mask, start, s)
        self._names = names
        self._indices = self._joints.complete(names)
        self._section, self._mask = (<const char*> s.data)[start:s.at], bytes(mask)
        self._big_endian, self._complete_names, self._count = s.big_endian, names, count
        return 0

    cdef void _gather(self, const Doubles* values, cnp.ndarray array) noexcept:
        cdef const cnp.npy_intp* indices = <const cnp.npy_intp*> cnp.PyArray_DATA(self._indices)
        cdef Py_ssize_t k
        for k in range(cnp.PyArray_DIM(array, 0)):
            data(array)[k] = double_at(values, indices[k]) if values.length else NAN


cdef int extend_mask(bytearray mask, size_t start, Stream* s) except -1:
    """Extend to where the stream is by a value that is aligned to 4 bytes; the mask begins at ``start``, aligned as well."""
    mask += bytes(padding(len(mask), 4))
    mask += b"\xff" * (s.at - start - len(mask))
    return 0


cdef class JointStateEncoder:
    """Writes sensor_msgs/JointState messages.

    Attributes:
        position: (n,), what the next message holds, and
        velocity: (n,), and
        effort: (n,); all zero at first.
    """

    cdef readonly cnp.ndarray position, velocity, effort
    cdef bytes _message                                         # as it was made, with zeros
    cdef size_t _places[3]                                      # of the three arrays in it

    def __cinit__(self, joint_names, str frame_id not None=""):
        cdef Draft draft = Draft()
        names = tuple(joint_names)
        self.position, self.velocity, self.effort = np.zeros((3, len(names)))
        draft.add_header(frame_id)
        draft.add_uint32(len(names))
        for name in names:
            draft.add_string(name, "joint name")
        for k in range(3):
            self._places[k] = draft.add_doubles(len(names))
        self._message = bytes(draft.data)

    def encode(self, int32_t sec, uint32_t nanosec):
        """Return a message with this stamp [s] + [ns] and what the arrays hold now.

        Raises:
            OverflowError: The stamp does not fit its fields, int32 and uint32.
        """
        cdef bytes message = copied(self._message)
        cdef char* start = PyBytes_AS_STRING(message)
        cdef size_t size = sizeof(double) * cnp.PyArray_DIM(self.position, 0)
        memcpy(start + HEADER, &sec, sizeof(sec))
        memcpy(start + HEADER + sizeof(sec), &nanosec, sizeof(nanosec))
        memcpy(start + self._places[0], data(self.position), size)
        memcpy(start + self._places[1], data(self.velocity), size)
        memcpy(start + self._places[2], data(self.effort), size)
        return message


cdef class Float64MultiArrayDecoder:
    """Reads std_msgs/Float64MultiArray messages. Their layout is passed over, as forward_command_controller does.

    Attributes:
        values: (n,) overwritten by every message; another array if ``count`` is None and a message has another length.
    """

    cdef readonly cnp.ndarray values
    cdef bint _any_length

    def __cinit__(self, count):
        """Expect ``count`` values, or any number if it is None."""
        self._any_length = count is None
        self.values = np.full(count or 0, NAN)

    def decode(self, bytes message not None):
        """Read a message; finiteness is not checked. If it is refused, all is left as it was.

        Raises:
            MessageError: It has another number of values than expected.
            MalformedMessageError: The bytes are no such message.
        """
        cdef Stream s
        cdef Doubles values
        cdef uint32_t unused, dimensions
        cdef size_t k
        open_stream(&s, message)
        read_item_count(&s, &dimensions, 3 * sizeof(uint32_t), "layout.dim")
        for k in range(dimensions):
            read_string(&s, "layout.dim.label")
            read_uint32(&s, &unused, "layout.dim.size")
            read_uint32(&s, &unused, "layout.dim.stride")
        read_uint32(&s, &unused, "layout.data_offset")
        read_doubles(&s, &values, "data")
        if values.length != <size_t> cnp.PyArray_DIM(self.values, 0):
            if not self._any_length:
                check_length(values.length, cnp.PyArray_DIM(self.values, 0), "data")
            self.values = np.empty(values.length)
        for k in range(values.length):
            data(self.values)[k] = double_at(&values, k)


cdef class Float64MultiArrayEncoder:
    """Writes std_msgs/Float64MultiArray messages with an empty layout.

    Attributes:
        values: (n,), what the next message holds; zero at first.
    """

    cdef readonly cnp.ndarray values
    cdef bytes _message
    cdef size_t _place

    def __cinit__(self, count):
        """Write ``count`` values."""
        cdef Draft draft = Draft()
        self.values = np.zeros(count)
        draft.add_uint32(0)                                     # layout.dim
        draft.add_uint32(0)                                     # layout.data_offset
        self._place = draft.add_doubles(count)
        self._message = bytes(draft.data)

    def encode(self):
        """Return a message with what the array holds now."""
        cdef bytes message = copied(self._message)
        cdef char* start = PyBytes_AS_STRING(message)
        memcpy(start + self._place, data(self.values), sizeof(double) * cnp.PyArray_DIM(self.values, 0))
        return message


cdef inline bytes copied(bytes message):
    """A copy that may be changed as long as nobody else knows it."""
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))


# How a floating base moves: a message as bytes with zeros, and where in it stand the stamp (int32, uint32), the pose
# (position, quaternion x y z w) and the twist (linear, angular) as doubles; 0: nowhere.

def odometry(str frame_id not None, str child_frame_id not None):
    """A nav_msgs/Odometry: pose in ``frame_id``, twist in the axes of ``child_frame_id``; covariances zero."""
    cdef Draft draft = Draft()
    stamp = draft.add_header(frame_id)
    draft.add_string(child_frame_id, "child_frame_id")
    pose = draft.add(bytes(7 * sizeof(double)), sizeof(double))
    draft.add(bytes(36 * sizeof(double)), sizeof(double))
    twist = draft.add(bytes(6 * sizeof(double)), sizeof(double))
    draft.add(bytes(36 * sizeof(double)), sizeof(double))
    return bytes(draft.data), stamp, pose, twist


def stamped(str frame_id not None, size_t count):
    """A std_msgs/Header and so many doubles, which a geometry_msgs/PoseStamped, TwistStamped or WrenchStamped is."""
    cdef Draft draft = Draft()
    draft.add_header(frame_id)
    draft.add(bytes(count * sizeof(double)), sizeof(double))
    return bytes(draft.data)


def pose_stamped(str frame_id not None):
    """A geometry_msgs/PoseStamped."""
    message = stamped(frame_id, 7)
    return message, HEADER, len(message) - 7 * sizeof(double), 0


def twist_stamped(str frame_id not None):
    """A geometry_msgs/TwistStamped."""
    message = stamped(frame_id, 6)
    return message, HEADER, 0, len(message) - 6 * sizeof(double)


def tf_message(str frame_id not None, str child_frame_id not None):
    """A tf2_msgs/TFMessage with one transform."""
    cdef Draft draft = Draft()
    draft.add_uint32(1)
    stamp = draft.add_header(frame_id)
    draft.add_string(child_frame_id, "child_frame_id")
    pose = draft.add(bytes(7 * sizeof(double)), sizeof(double))
    return bytes(draft.data), stamp, pose, 0

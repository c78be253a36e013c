"""Messages between CDR and Python: decoders and encoders of sensor_msgs/JointState and
std_msgs/Float64MultiArray, which read as the loop's cycles do (messages.pxd), and templates of
messages that compiled code fills in.

Bytes are as DDS carries them, for rclpy's raw subscriptions and publishers: XCDR1, either byte
order when read, little-endian when written. No ROS is needed. An object is for one thread.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport NAN
from libc.stdint cimport int32_t, uint8_t, uint32_t

from ros.messages cimport (FIELD_DATA, HEADER_SIZE, MESSAGE_WHOLE, MOST_NAMES, NAMED_TWICE,
                           OTHER_LENGTH, Doubles, JointNames, JointStateMessage, Reader, Template,
                           double_at, gather, open_message, read_joint_names, read_joint_values,
                           read_multi_array, refuse_message, write_last, write_stamp)

import numpy as np

from featherstone_ros.errors import MalformedMessageError, MessageError
from featherstone_ros.message_faults import message_fault

cnp.import_array()

include "memory.pxi"         # Memory: a template's bytes and names


cdef inline double* data(cnp.ndarray array) noexcept:
    return <double*> cnp.PyArray_DATA(array)


# Reading.

cdef void begin(Reader* r, bytes message) noexcept:
    open_message(r, <const uint8_t*> PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))


cdef int end(const Reader* r, bytes message, tuple names) except -1:
    """Raise the fault that the reader has found, if any."""
    if r.fault == MESSAGE_WHOLE:
        return 0
    error = MessageError if r.fault in (NAMED_TWICE, OTHER_LENGTH) else MalformedMessageError
    joint = names[r.which] if r.which >= 0 else ""
    raise error(message_fault(r.fault, r.field, r.claimed, r.expected, joint, len(message)))


cdef class JointStateDecoder:
    """Reads sensor_msgs/JointState messages of one arm. Each message overwrites the arrays.

    Attributes:
        position: (n,) in the order of the joint names [rad or m].
        velocity: (n,) [rad/s or m/s], NaN if the message has none.
        effort: (n,) [N m or N], NaN if the message has none.
        has_velocity: Whether the last message had velocities.
        has_effort: Whether the last message had efforts.
        sec: Whole seconds of the last message's stamp [s].
        nanosec: The rest of the stamp [ns].
    """

    cdef readonly cnp.ndarray position, velocity, effort
    cdef readonly bint has_velocity, has_effort
    cdef readonly int32_t sec
    cdef readonly uint32_t nanosec
    cdef tuple names
    cdef Memory memory
    cdef JointNames joints
    cdef JointStateMessage message

    def __cinit__(self, joint_names):
        self.names, self.memory = tuple(joint_names), Memory()
        self.memory.list_names(&self.joints, self.names)
        self.message.place = <int32_t*> self.memory.block(self.joints.n, np.int32)
        self.position, self.velocity, self.effort = np.full((3, len(self.names)), NAN)

    @property
    def stamp(self):
        """Stamp of the last message [s]."""
        return self.sec + 1e-9 * self.nanosec

    def decode(self, bytes message not None):
        """Read a message. Values may be NaN or infinite; if it raises, nothing changes.

        Raises:
            MessageError: A joint is missing or named twice, or an array's length differs from the
                number of names.
            MalformedMessageError: The bytes are no such message.
        """
        cdef JointStateMessage* m = &self.message
        cdef int32_t n = self.joints.n
        cdef Reader r
        begin(&r, message)
        read_joint_names(&r, &self.joints, m)
        read_joint_values(&r, m, True)
        end(&r, message, self.names)
        if m.found < n:
            raise MessageError("joints missing: "
                               + ", ".join([self.names[i] for i in range(n) if m.place[i] < 0]))
        self.sec, self.nanosec = m.sec, m.nanosec
        self.has_velocity, self.has_effort = m.velocity.length != 0, m.effort.length != 0
        gather(m, &m.position, n, data(self.position))
        gather(m, &m.velocity, n, data(self.velocity))
        gather(m, &m.effort, n, data(self.effort))


cdef class Float64MultiArrayDecoder:
    """Reads std_msgs/Float64MultiArray messages. Like forward_command_controller, it ignores their
    layout.

    Attributes:
        values: (n,) overwritten by every message; a new array if ``count`` is None and the length
            changes.
    """

    cdef readonly cnp.ndarray values
    cdef bint _any_length

    def __cinit__(self, count):
        """Expect ``count`` values, or any number if it is None."""
        self._any_length = count is None
        self.values = np.full(count or 0, NAN)

    def decode(self, bytes message not None):
        """Read a message. Values may be NaN or infinite; if it raises, nothing changes.

        Raises:
            MessageError: The number of values is not as expected.
            MalformedMessageError: The bytes are no such message.
        """
        cdef size_t count = cnp.PyArray_DIM(self.values, 0), k
        cdef Doubles values
        cdef Reader r
        begin(&r, message)
        values = read_multi_array(&r)
        if r.fault == MESSAGE_WHOLE and values.length != count and not self._any_length:
            r.claimed, r.expected = values.length, count
            refuse_message(&r, OTHER_LENGTH, FIELD_DATA)
        end(&r, message, ())
        if values.length != count:
            self.values = np.empty(values.length)
        for k in range(values.length):
            data(self.values)[k] = double_at(&values, k)


# Writing: a message is made once; its stamp and values are then overwritten in copies.

cdef class Writer:
    """A message being built, little-endian."""

    cdef bytearray data

    def __cinit__(self):
        self.data = bytearray(b"\0\1\0\0")

    cdef size_t add(self, bytes value, size_t alignment):
        """Append a value; return its offset from the beginning of the message, header included."""
        cdef size_t end = len(self.data) - HEADER_SIZE
        self.data += bytes(-end & (alignment - 1))
        start = len(self.data)
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
        """Append a std_msgs/Header; return the offset of its stamp."""
        cdef size_t stamp = self.add_uint32(0)
        self.add_uint32(0)
        self.add_string(frame_id, "frame_id")
        return stamp

    cdef size_t add_doubles(self, size_t length):
        """Append a sequence of zeros; return the offset of the first."""
        self.add_uint32(length)
        return self.add(bytes(sizeof(double) * length), sizeof(double) if length else 1)


cdef bytes copied(bytes content, Template* message):
    """A copy of content, and ``message`` to write into it before it is handed out."""
    cdef bytes copy = PyBytes_FromStringAndSize(PyBytes_AS_STRING(content),
                                                PyBytes_GET_SIZE(content))
    message.data, message.size = <uint8_t*> PyBytes_AS_STRING(copy), PyBytes_GET_SIZE(copy)
    return copy


cdef class JointStateEncoder:
    """Writes sensor_msgs/JointState messages.

    Attributes:
        position, velocity, effort: (n,) contents of the next message; zero at first.
    """

    cdef readonly cnp.ndarray position, velocity, effort
    cdef bytes _message                                         # with zeros as values

    def __cinit__(self, joint_names, str frame_id not None=""):
        cdef Writer writer = Writer()
        names = tuple(joint_names)
        self.position, self.velocity, self.effort = np.zeros((3, len(names)))
        writer.add_header(frame_id)
        writer.add_uint32(len(names))
        for name in names:
            writer.add_string(name, "joint name")
        for _ in range(3):
            writer.add_doubles(len(names))
        self._message = bytes(writer.data)

    def encode(self, int32_t sec, uint32_t nanosec):
        """Return a message with this stamp ([s], [ns]) and the arrays' present values.

        Raises:
            OverflowError: The stamp does not fit its fields, int32 and uint32.
        """
        cdef Template message
        cdef bytes encoded = copied(self._message, &message)
        cdef int32_t n = <int32_t> cnp.PyArray_DIM(self.position, 0)
        write_stamp(&message, sec, nanosec)
        write_last(&message, n, 2, data(self.position))
        write_last(&message, n, 1, data(self.velocity))
        write_last(&message, n, 0, data(self.effort))
        return encoded


cdef class Float64MultiArrayEncoder:
    """Writes std_msgs/Float64MultiArray messages with an empty layout.

    Attributes:
        values: (n,) contents of the next message; zero at first.
    """

    cdef readonly cnp.ndarray values
    cdef bytes _message

    def __cinit__(self, count):
        """Write ``count`` values."""
        cdef Writer writer = Writer()
        self.values = np.zeros(count)
        writer.add_uint32(0)                                     # layout.dim
        writer.add_uint32(0)                                     # layout.data_offset
        writer.add_doubles(count)
        self._message = bytes(writer.data)

    def encode(self):
        """Return a message with the array's present values."""
        cdef Template message
        cdef bytes encoded = copied(self._message, &message)
        write_last(&message, <int32_t> cnp.PyArray_DIM(self.values, 0), 0, data(self.values))
        return encoded


# Messages about the motion of a floating base: each as bytes with zeros, and the offsets of the
# stamp (int32, uint32), the pose (position, quaternion x y z w) and the twist (linear, angular),
# both as doubles. An offset of 0 means that the message has no such field.

def odometry(str frame_id not None, str child_frame_id not None):
    """A nav_msgs/Odometry: pose in ``frame_id``, twist in the axes of ``child_frame_id``, zero
    covariances.
    """
    cdef Writer writer = Writer()
    stamp = writer.add_header(frame_id)
    writer.add_string(child_frame_id, "child_frame_id")
    pose = writer.add(bytes(7 * sizeof(double)), sizeof(double))
    writer.add(bytes(36 * sizeof(double)), sizeof(double))
    twist = writer.add(bytes(6 * sizeof(double)), sizeof(double))
    writer.add(bytes(36 * sizeof(double)), sizeof(double))
    return bytes(writer.data), stamp, pose, twist


def stamped(str frame_id not None, size_t count):
    """A std_msgs/Header and ``count`` doubles: the layout of a geometry_msgs/PoseStamped,
    TwistStamped or WrenchStamped.
    """
    cdef Writer writer = Writer()
    writer.add_header(frame_id)
    writer.add(bytes(count * sizeof(double)), sizeof(double))
    return bytes(writer.data)


def pose_stamped(str frame_id not None):
    """A geometry_msgs/PoseStamped."""
    message = stamped(frame_id, 7)
    return message, HEADER_SIZE, len(message) - 7 * sizeof(double), 0


def twist_stamped(str frame_id not None):
    """A geometry_msgs/TwistStamped."""
    message = stamped(frame_id, 6)
    return message, HEADER_SIZE, 0, len(message) - 6 * sizeof(double)


def tf_message(str frame_id not None, str child_frame_id not None):
    """A tf2_msgs/TFMessage with one transform."""
    cdef Writer writer = Writer()
    writer.add_uint32(1)
    stamp = writer.add_header(frame_id)
    writer.add_string(child_frame_id, "child_frame_id")
    pose = writer.add(bytes(7 * sizeof(double)), sizeof(double))
    return bytes(writer.data), stamp, pose, 0

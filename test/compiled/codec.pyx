"""Decoders and encoders of messages, which read and write as the loop's cycles do
(ros/messages.pxd): see __init__.py. An object is for one thread.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport NAN
from libc.stdint cimport int32_t, uint8_t, uint32_t

from ros.message_faults cimport FIELD_DATA, MESSAGE_WHOLE, NAMED_TWICE, OTHER_LENGTH
from ros.messages cimport (MAX_NAMES, Doubles, JointNames, JointParts, JointStateMessage, Reader,
                           Template, double_at, gather, open_message, read_joint_names,
                           read_joint_values, read_multi_array, refuse_message, write_last,
                           write_stamp)

import numpy as np

from featherstone_ros.errors import MalformedMessageError, MessageError
from featherstone_ros.message_faults import message_fault
from featherstone_ros.message_templates import float64_multi_array, joint_state

cnp.import_array()

include "message_memory.pxi" # MessageMemory: the names


cdef inline double* data(cnp.ndarray array) noexcept:
    return <double*> cnp.PyArray_DATA(array)


cdef void begin(Reader* r, bytes message) noexcept:
    open_message(r, <const uint8_t*> PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))


cdef int end(const Reader* r, bytes message, tuple names) except -1:
    """Raise the fault that the reader has found, if any."""
    if r.fault == MESSAGE_WHOLE:
        return 0
    error = MessageError if r.fault in (NAMED_TWICE, OTHER_LENGTH) else MalformedMessageError
    joint = names[r.which] if r.which >= 0 else ""
    raise error(message_fault(<int> r.fault, <int> r.field, r.claimed, r.expected, joint,
                              len(message)))


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
    cdef MessageMemory memory
    cdef JointNames joints
    cdef JointStateMessage message

    def __cinit__(self, joint_names):
        self.names, self.memory = tuple(joint_names), MessageMemory()
        self.memory.list_names(&self.joints, self.names)
        self.message.index = <int32_t*> self.memory.block(self.joints.n, np.int32)
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
                               + ", ".join([self.names[i] for i in range(n) if m.index[i] < 0]))
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


# Writing: stamp and values are overwritten in copies of a template.

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
        self.position, self.velocity, self.effort = np.zeros((3, len(joint_names)))
        self._message = joint_state(joint_names, frame_id)

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
        self.values = np.zeros(count)
        self._message = float64_multi_array(count)

    def encode(self):
        """Return a message with the array's present values."""
        cdef Template message
        cdef bytes encoded = copied(self._message, &message)
        write_last(&message, <int32_t> cnp.PyArray_DIM(self.values, 0), 0, data(self.values))
        return encoded

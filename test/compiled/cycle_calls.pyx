"""A loop's calls of a cycle, one by one from Python (cycle.pxd): see __init__.py."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t

from cycle cimport STOP_REQUESTED, Cycle, IncomingMessage, Output, Record, Request


cdef int publish(void* loop, int output, const uint8_t* data, size_t size) noexcept with gil:
    (<object> loop).publish(output, PyBytes_FromStringAndSize(<const char*> data, size))
    return 0


cdef bint is_watched(void* loop, int output) noexcept with gil:
    return output in (<object> loop).watched


cdef bint is_fed(void* loop, int input) noexcept nogil:
    return True


cdef bint keep(void* loop, const Record* record) noexcept with gil:
    (<object> loop).records.append((record.kind, record.index, [record.value[k] for k in range(4)]))
    return True


cdef int64_t ros_time(void* loop) noexcept nogil:
    return 0


cdef int64_t silence(void* loop) noexcept with gil:
    return (<object> loop).silence


cdef class Calls:
    """A cycle, by its capsule, in a loop: whatever has watched, silence, records and publish."""

    cdef Cycle* cycle
    cdef Output output

    def __init__(self, capsule, loop):
        self.cycle = <Cycle*> PyCapsule_GetPointer(capsule, "featherstone_ros.Cycle")
        self.output.loop, self.output.publish = <void*> loop, publish
        self.output.is_watched, self.output.is_fed, self.output.record = is_watched, is_fed, keep
        self.output.ros_time, self.output.silence = ros_time, silence

    def message(self, int input, bytes data not None, int64_t now, int64_t ros_time,
                int64_t received, int64_t sent, int64_t written, int64_t sequence):
        cdef IncomingMessage incoming
        incoming.data, incoming.size, incoming.ros_time = data, len(data), ros_time
        incoming.received, incoming.sent, incoming.written = received, sent, written
        incoming.sequence = sequence
        self.cycle.message(self.cycle.self, input, &incoming, now, &self.output)

    def stop(self, int64_t now):
        cdef Request request
        request.kind, request.answer, request.payload = STOP_REQUESTED, 0, NULL
        self.cycle.request(self.cycle.self, &request, now, &self.output)

    def tick(self, int64_t now):
        self.cycle.tick(self.cycle.self, now, &self.output)

    def is_safe_to_end(self, int64_t now):
        return self.cycle.is_safe_to_end(self.cycle.self, now)

    @property
    def due(self):
        return self.cycle.due(self.cycle.self)

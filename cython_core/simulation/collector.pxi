# What a cycle publishes and records, gathered in lists: for whoever calls a twin from Python.

cdef class Collector:
    cdef list published, records
    cdef int64_t ros_time
    cdef Output output

    def __cinit__(self, int64_t ros_time):
        self.published, self.records, self.ros_time = [], [], ros_time
        self.output.loop = <void*> self
        self.output.publish, self.output.is_watched, self.output.record = collect, always_watched, collect_record
        self.output.ros_time, self.output.heartbeat = given_time, no_heartbeat


cdef int collect(void* loop, int output, const uint8_t* data, size_t size) noexcept with gil:
    (<Collector> loop).published.append((output, PyBytes_FromStringAndSize(<const char*> data, size)))
    return 0


cdef bint collect_record(void* loop, const Record* record) noexcept with gil:
    (<Collector> loop).records.append((record.kind, record.index, record.time, tuple([record.value[k] for k in range(4)]),
                                       record.object))
    return True


cdef bint always_watched(void* loop, int output) noexcept nogil:
    return True


cdef int64_t given_time(void* loop) noexcept with gil:
    return (<Collector> loop).ros_time


cdef int64_t no_heartbeat(void* loop) noexcept nogil:
    return 0

# A cycle in Python, for work that is not compiled: in a loop's thread, but as late as the interpreter is.

cdef void python_message(void* self, int input, const IncomingMessage* incoming, int64_t now,
                         Output* output) noexcept with gil:
    cycle = <PythonCycle> self
    try:
        cycle.take(input, PyBytes_FromStringAndSize(<const char*> incoming.data, incoming.size))
    except Exception as error:
        cycle.fail(error)


cdef void python_request(void* self, Request* request, int64_t now, Output* output) noexcept nogil:
    request.answer = 0


cdef int64_t python_due(void* self) noexcept nogil:
    return INT64_MAX


cdef void python_tick(void* self, int64_t now, Output* output) noexcept nogil:
    pass


cdef bint python_is_safe_to_end(void* self, int64_t now) noexcept nogil:
    return True


cdef class PythonCycle:
    """Hands messages to Python, one after the other, in the thread of the loop; it publishes nothing itself.

    What waits meanwhile waits in the middleware, as many messages as the subscription's queue is deep.

    Attributes:
        capsule: For a runner.
    """

    cdef Cycle cycle
    cdef object take, fail
    cdef readonly object capsule

    def __init__(self, take, fail):
        """Prepare.

        Args:
            take: Called with the number of the topic and a serialised message.
            fail: Called with an exception that ``take`` raises; must not raise itself.
        """
        cdef Cycle* cycle = &self.cycle
        self.take, self.fail = take, fail
        cycle.self, cycle.message, cycle.request, cycle.due = <void*> self, python_message, python_request, python_due
        cycle.tick, cycle.is_safe_to_end = python_tick, python_is_safe_to_end
        self.capsule = PyCapsule_New(cycle, "featherstone_ros.Cycle", NULL)

# Memory for the messages of a cycle.

include "memory.pxi"         # Memory

cdef class MessageMemory(Memory):
    """Memory with names and messages."""

    cdef int template(self, Template* message, content) except -1:
        """A message whose figures are overwritten in place."""
        cdef bytearray data = bytearray(content)
        self.owned.append(data)
        message.data, message.size = data, len(data)
        return 0

    cdef int place_parts(self, JointParts* parts, Py_ssize_t n) except -1:
        """A state of n joints that comes in one message or in several."""
        parts.n, parts.values, parts.scratch = <int32_t> n, self.doubles(3 * n), self.doubles(n)
        parts.there = <bint*> self.block(n, np.intc)
        return 0

    cdef int list_names(self, JointNames* names, list_of_names, others=()) except -1:
        cdef Py_ssize_t k
        cdef bytes text
        texts = [name.encode() for name in [*list_of_names, *others]]
        self.owned.append(texts)
        names.n, names.others = <int32_t> len(list_of_names), <int32_t> len(others)
        names.name = <const char**> self.block(len(texts), np.uintp)
        names.length = <size_t*> self.block(len(texts), np.uintp)
        names.guess = <int32_t*> self.block(MAX_NAMES, np.int32)
        for k in range(MAX_NAMES):
            names.guess[k] = -1
        for k in range(len(texts)):
            text = texts[k]
            names.name[k], names.length[k] = PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
        return 0

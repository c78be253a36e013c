# Memory that compiled structures point to.

cdef class Memory:
    """Memory that lives as long as this object."""

    cdef list owned

    def __cinit__(self):
        self.owned = []

    cdef void* block(self, Py_ssize_t count, kind) except NULL:
        """Zeroed."""
        cdef cnp.ndarray array = np.zeros(max(count, 1), kind)
        self.owned.append(array)
        return cnp.PyArray_DATA(array)

    cdef double* doubles(self, Py_ssize_t count) except NULL:
        return <double*> self.block(count, float)

    cdef const double* copy(self, values, count) except NULL:
        """A copy of values (count,)."""
        cdef cnp.ndarray array = np.array(values, float)
        if np.shape(array) != (count,):
            raise ValueError(f"expected {count} values, got shape {np.shape(values)}")
        self.owned.append(array)
        return <const double*> cnp.PyArray_DATA(array)

    cdef int template(self, Template* message, content) except -1:
        """A message whose figures are overwritten in place."""
        cdef bytearray data = bytearray(content)
        self.owned.append(data)
        message.data, message.size = data, len(data)
        return 0

    cdef int list_names(self, JointNames* names, list_of_names) except -1:
        cdef Py_ssize_t k
        cdef bytes text
        texts = [name.encode() for name in list_of_names]
        self.owned.append(texts)
        names.n = <int32_t> len(texts)
        names.name = <const char**> self.block(names.n, np.uintp)
        names.length = <size_t*> self.block(names.n, np.uintp)
        names.guess = <int32_t*> self.block(MAX_NAMES, np.int32)
        for k in range(MAX_NAMES):
            names.guess[k] = -1
        for k in range(names.n):
            text = texts[k]
            names.name[k], names.length[k] = PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
        return 0

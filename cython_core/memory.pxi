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

    cdef double* cache_lines(self, Py_ssize_t count) except NULL:
        """``doubles`` from the begin of a cache line on."""
        return <double*> ((<size_t> self.doubles(count + 8) + 63) & ~<size_t> 63)

    cdef double* doubles(self, Py_ssize_t count) except NULL:
        return <double*> self.block(count, float)

    cdef Py_ssize_t* indices(self, Py_ssize_t count) except NULL:
        return <Py_ssize_t*> self.block(count, np.intp)

    cdef const double* copy(self, values, count) except NULL:
        """A copy of values (count,)."""
        cdef cnp.ndarray array = np.array(values, float)
        if np.shape(array) != (count,):
            raise ValueError(f"expected {count} values, got shape {np.shape(values)}")
        self.owned.append(array)
        return <const double*> cnp.PyArray_DATA(array)

# A ring buffer of states between one writing and one reading thread. States that find it full are
# dropped.

from libc.stdint cimport uint64_t

from ros.atomic cimport ACQUIRE, RELEASE, load64, store64

cdef struct StateRing:
    double* rows             # (capacity, width)
    uint64_t capacity
    Py_ssize_t width
    uint64_t put             # rows written so far
    uint64_t taken           # rows read so far


cdef inline double* next_row(StateRing* ring) noexcept nogil:
    """Where to write the next row, then call ``put_row``; NULL if the buffer is full."""
    if ring.put - load64(&ring.taken, ACQUIRE) >= ring.capacity:
        return NULL
    return ring.rows + (ring.put % ring.capacity) * ring.width


cdef inline void put_row(StateRing* ring) noexcept nogil:
    store64(&ring.put, ring.put + 1, RELEASE)


cdef inline const double* oldest_row(const StateRing* ring) noexcept nogil:
    """The next row to read, then call ``take_row``; NULL if there is none."""
    if load64(&ring.put, ACQUIRE) == ring.taken:
        return NULL
    return ring.rows + (ring.taken % ring.capacity) * ring.width


cdef inline void take_row(StateRing* ring) noexcept nogil:
    store64(&ring.taken, ring.taken + 1, RELEASE)

# States put aside by one thread and taken by another, which may be late: what finds no room
# meanwhile is lost.

from libc.stdint cimport uint64_t

from ros.atomic cimport ACQUIRE, RELEASE, load64, store64

cdef struct StateRing:
    double* rows             # (capacity, width)
    uint64_t capacity
    Py_ssize_t width
    uint64_t put             # so far
    uint64_t taken


cdef inline double* next_row(StateRing* ring) noexcept nogil:
    """Where to write a row, to be followed by ``put_row``; NULL: there is no room."""
    if ring.put - load64(&ring.taken, ACQUIRE) >= ring.capacity:
        return NULL
    return ring.rows + (ring.put % ring.capacity) * ring.width


cdef inline void put_row(StateRing* ring) noexcept nogil:
    store64(&ring.put, ring.put + 1, RELEASE)


cdef inline const double* oldest_row(const StateRing* ring) noexcept nogil:
    """The next row to read, to be followed by ``take_row``; NULL: there is none."""
    if load64(&ring.put, ACQUIRE) == ring.taken:
        return NULL
    return ring.rows + (ring.taken % ring.capacity) * ring.width


cdef inline void take_row(StateRing* ring) noexcept nogil:
    store64(&ring.taken, ring.taken + 1, RELEASE)

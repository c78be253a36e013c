# Requests to a loop and records from it: lock-free ring buffers with one writing and one reading
# thread.

from libc.stdint cimport uint32_t, uint64_t

from cycle cimport Record, Request
from ros.atomic cimport ACQUIRE, RELEASE, load32, load64, store32, store64

cdef enum:
    RECORDS = 2048           # powers of two
    RESERVED = 512           # of them only for records about objects, so that these are never lost
    REQUESTS = 64

cdef struct Records:
    Record[RECORDS] ring
    uint64_t taken           # read so far
    uint64_t put             # written so far
    uint64_t dropped         # because the ring was full

cdef enum SlotState:
    FREE, WAITING, TAKEN, DONE, WITHDRAWN

cdef struct Slot:
    Request request
    uint32_t state           # the thread that changes it from WAITING decides: to TAKEN the request
                             # is done, to WITHDRAWN it is not
    bint is_awaited

cdef struct Requests:
    Slot[REQUESTS] slots
    uint32_t[REQUESTS] ring  # indices of slots; as long as there are slots, so it is never full
    uint64_t taken
    uint64_t put


cdef inline bint put_record(Records* records, const Record* record) noexcept nogil:
    cdef uint64_t used = records.put - load64(&records.taken, ACQUIRE)
    if used >= <uint64_t> (RECORDS if record.object else RECORDS - RESERVED):
        store64(&records.dropped, records.dropped + 1, RELEASE)
        return False
    records.ring[records.put % RECORDS] = record[0]
    store64(&records.put, records.put + 1, RELEASE)
    return True


cdef inline bint take_record(Records* records, Record* record) noexcept nogil:
    if records.taken == load64(&records.put, ACQUIRE):
        return False
    record[0] = records.ring[records.taken % RECORDS]
    store64(&records.taken, records.taken + 1, RELEASE)
    return True


cdef inline Slot* free_slot(Requests* requests) noexcept nogil:
    """Return a slot without a request, NULL if there is none."""
    for i in range(REQUESTS):
        if load32(&requests.slots[i].state, ACQUIRE) == FREE:
            return &requests.slots[i]
    return NULL


cdef inline void put_request(Requests* requests, Slot* slot) noexcept nogil:
    store32(&slot.state, WAITING, RELEASE)
    requests.ring[requests.put % REQUESTS] = <uint32_t> (slot - requests.slots)
    store64(&requests.put, requests.put + 1, RELEASE)


cdef inline Slot* take_request(Requests* requests) noexcept nogil:
    """Return the oldest request, NULL if there is none."""
    if requests.taken == load64(&requests.put, ACQUIRE):
        return NULL
    slot = &requests.slots[requests.ring[requests.taken % REQUESTS]]
    store64(&requests.taken, requests.taken + 1, RELEASE)
    return slot


# A ring buffer of states between one writing and one reading thread. States that find it full are
# dropped.

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

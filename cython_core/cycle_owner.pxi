# What owns a cycle (cycle.pxd), and its run call by call from Python, where no loop runs it.

cdef class Collector:
    """Gathers in lists what a cycle publishes and records."""

    cdef list published, records
    cdef int64_t ros_time
    cdef bint is_fed
    cdef Output output

    def __cinit__(self, int64_t ros_time, bint is_fed=True):
        self.published, self.records, self.ros_time = [], [], ros_time
        self.is_fed, self.output.is_fed = is_fed, given_feeding
        self.output.loop = <void*> self
        self.output.publish, self.output.is_watched, self.output.record = (
            collect_message, always_watched, collect_record)
        self.output.ros_time, self.output.silence = given_time, no_silence


cdef int collect_message(void* loop, int output, const uint8_t* data,
                         size_t size) noexcept with gil:
    (<Collector> loop).published.append((output,
                                         PyBytes_FromStringAndSize(<const char*> data, size)))
    return 0


cdef bint collect_record(void* loop, const Record* record) noexcept with gil:
    (<Collector> loop).records.append((record.kind, record.index, record.time,
                                       tuple([record.value[k] for k in range(4)]), record.object))
    return True


cdef bint always_watched(void* loop, int output) noexcept nogil:
    return True


cdef bint given_feeding(void* loop, int input) noexcept with gil:
    return (<Collector> loop).is_fed


cdef int64_t given_time(void* loop) noexcept with gil:
    return (<Collector> loop).ros_time


cdef int64_t no_silence(void* loop) noexcept nogil:
    return -1


cdef class CycleOwner:
    """What a loop runs, through ``capsule``, or Python call by call. Whoever has a loop run it only
    reads from then on, and asks for all else by requests.
    """

    cdef Cycle cycle
    cdef MessageMemory memory          # what the cycle's pointers point to
    cdef dict kept                     # what it was given with requests, by their kind
    cdef LockedJoints* locked_joints   # in the cycle
    cdef readonly object capsule

    def __cinit__(self, *arguments, **options):
        self.memory, self.kept = MessageMemory(), {}
        self.capsule = PyCapsule_New(&self.cycle, "featherstone_ros.Cycle", NULL)

    cdef int lay_out_locked(self, LockedJoints* joints, model) except -1:
        """Give locked joints their memory; at first they stand where the model has them."""
        names, ranges = model.locked_joints, model.locked_ranges
        cdef Py_ssize_t n = len(names), k
        self.locked_joints, joints.n = joints, <int32_t> n
        joints.at, joints.given, joints.heard = (
            self.memory.doubles(n), self.memory.doubles(n), self.memory.doubles(n))
        joints.refused = <bint*> self.memory.block(n, np.intc)
        joints.lowest, joints.highest, joints.speed = (
            self.memory.copy(ranges[0], n), self.memory.copy(ranges[1], n),
            self.memory.copy(ranges[2], n))
        for k in range(n):
            joints.at[k] = joints.given[k] = model.locked[names[k]]
            joints.heard[k] = NAN
        return 0

    @property
    def locked(self):
        """(m,) where the locked joints are taken to stand, a copy."""
        return values(self.locked_joints.at, self.locked_joints.n)

    @property
    def heard_locked(self):
        """(m,) where joint states have them, NaN where they say nothing; a copy."""
        return values(self.locked_joints.heard, self.locked_joints.n)

    @property
    def due(self) -> int:
        """When ``tick`` is wanted next; 2**63 - 1: never, 0: at any time."""
        return self.cycle.due(self.cycle.self)

    def message(self, int input, bytes data not None, int64_t now, int64_t ros_time=0,
                int64_t written=0):
        """Take a serialised message (CDR, with its header) that comes at a steady time [ns] by one
        of ``INPUTS``. Returns what was published, a list of (one of ``OUTPUTS``, bytes), and
        records (kind, index, time, four values).

        ``ros_time``: time of stamps [ns], 0: the system's; ``written``: when the message was
        published, by the system's clock [ns], 0: unknown.
        """
        cdef Collector collector = Collector(ros_time)
        cdef IncomingMessage incoming
        incoming.data, incoming.size = data, len(data)
        incoming.received, incoming.sent, incoming.written, incoming.sequence = 0, 0, written, -1
        incoming.ros_time = ros_time or clock_now(CLOCK_REALTIME)
        self.cycle.message(self.cycle.self, input, &incoming, now, &collector.output)
        return collector.published, collector.records

    def request(self, int kind, int64_t now, payload=None, int64_t ros_time=0):
        """Do what is asked for by one of ``REQUESTS``; returns the answer, 0 if it is done, and
        what ``message`` returns.
        """
        cdef Collector collector = Collector(ros_time)
        cdef Request request
        cdef size_t address = 0 if payload is None else payload.address
        request.kind, request.answer, request.payload = kind, 0, <void*> address
        self.cycle.request(self.cycle.self, &request, now, &collector.output)
        if request.answer == 0:
            self.keep(kind, payload, True)
        return request.answer, collector.published, collector.records

    def keep(self, int kind, payload, bint alone=False):
        """Keep alive what a loop is given with a request, and what it was given before, which may
        be in use; not once it has taken this over (``alone``).
        """
        self.kept[kind] = [payload] if alone else [*self.kept.get(kind, ()), payload]

    def tick(self, int64_t now, int64_t ros_time=0, bint is_fed=True):
        """Do what is due; returns what ``message`` returns. is_fed: the inputs have publishers."""
        cdef Collector collector = Collector(ros_time, is_fed)
        self.cycle.tick(self.cycle.self, now, &collector.output)
        return collector.published, collector.records


cdef class LockedPlaces:
    """Where the parameters have the locked joints (m,) [rad or m]: the payload of a request.

    Attributes:
        address: Of the numbers; this object must outlive the request.
    """

    cdef cnp.ndarray positions
    cdef readonly size_t address

    def __cinit__(self, positions):
        self.positions = np.array(positions, dtype=float)
        self.address = <size_t> cnp.PyArray_DATA(self.positions)

"""Limits on what the middleware allocates because a message claims to be large.

A request of eighty bytes that claims to hold five million parameters costs the process that decodes
it 1.2 GB and two seconds: ROS's generated C allocates all of them before it checks that they are
there, and rclpy holds the interpreter lock meanwhile. Fast CDR in turn enlarges a buffer that is
shorter than the claimed content, by gigabytes if need be.

Both allocate through functions that are defined here under the same names. This module is loaded
before ROS and for all libraries (RTLD_GLOBAL), so the dynamic linker finds these functions first;
they check the size and call the real ones. In a version of ROS with other names nothing changes.
"""

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* path, int flags)
    void* dlsym(void* library, const char* name)
    enum: RTLD_LAZY
    enum: RTLD_NOLOAD

cdef extern from "<link.h>" nogil:
    cdef struct dl_phdr_info:
        const char* dlpi_name
    int dl_iterate_phdr(int (*callback)(dl_phdr_info* info, size_t size, void* data) noexcept nogil,
                        void* data)

ctypedef bint (*Room)(void* owner, size_t size) noexcept nogil

cdef enum: PARAMETERS = 10000         # in one request
cdef enum: STRINGS = 100000           # names of joints or parameters
cdef enum: NUMBERS = 1000000  # of any type: the largest trajectory accepted has half as many
cdef enum: POINTS = 100000            # of a trajectory
cdef enum: DIMENSIONS = 1000          # of a std_msgs/Float64MultiArray
cdef enum: BYTES = 50000000           # by which a buffer is made longer

ctypedef const char* Name

cdef enum: LIBRARIES = 2000
cdef struct Paths:
    int count
    Name[LIBRARIES] path

cdef Room[10] real                    # the functions that these replace
cdef size_t refused = 0


cdef int collect(dl_phdr_info* library, size_t size, void* data) noexcept nogil:
    cdef Paths* paths = <Paths*> data
    if paths.count < LIBRARIES:
        paths.path[paths.count] = library.dlpi_name
        paths.count += 1
    return 0


cdef Room find(const char* name, Room own) noexcept nogil:
    """The function of this name in the first library that has it, other than this module."""
    cdef Paths paths
    cdef Room found
    cdef void* library
    cdef int i
    paths.count = 0
    dl_iterate_phdr(collect, &paths)
    for i in range(1, paths.count):   # the first is the program
        library = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD)
        found = <Room> dlsym(library, name) if library != NULL else NULL
        if found != NULL and found != own:
            return found
    return NULL


cdef bint room(int kind, const char* name, Room own, void* owner, size_t size,
               size_t most) noexcept nogil:
    """Allocate ``size`` items by the real function, unless ``size`` exceeds ``most``."""
    global refused
    if size > most:
        refused += 1
        return False
    if real[kind] == NULL:
        real[kind] = find(name, own)
    return real[kind] != NULL and real[kind](owner, size)


cdef public bint rosidl_runtime_c__String__Sequence__init(void* sequence,
                                                          size_t size) noexcept nogil:
    return room(0, b"rosidl_runtime_c__String__Sequence__init",
                rosidl_runtime_c__String__Sequence__init, sequence, size, STRINGS)


cdef public bint rosidl_runtime_c__double__Sequence__init(void* sequence,
                                                          size_t size) noexcept nogil:
    return room(1, b"rosidl_runtime_c__double__Sequence__init",
                rosidl_runtime_c__double__Sequence__init, sequence, size, NUMBERS)


cdef public bint rosidl_runtime_c__int64__Sequence__init(void* sequence,
                                                         size_t size) noexcept nogil:
    return room(2, b"rosidl_runtime_c__int64__Sequence__init",
                rosidl_runtime_c__int64__Sequence__init, sequence, size, NUMBERS)


cdef public bint rosidl_runtime_c__boolean__Sequence__init(void* sequence,
                                                           size_t size) noexcept nogil:
    return room(3, b"rosidl_runtime_c__boolean__Sequence__init",
                rosidl_runtime_c__boolean__Sequence__init, sequence, size, NUMBERS)


cdef public bint rosidl_runtime_c__octet__Sequence__init(void* sequence,
                                                         size_t size) noexcept nogil:
    return room(4, b"rosidl_runtime_c__octet__Sequence__init",
                rosidl_runtime_c__octet__Sequence__init, sequence, size, NUMBERS)


cdef public bint rosidl_runtime_c__uint8__Sequence__init(void* sequence,
                                                         size_t size) noexcept nogil:
    return room(5, b"rosidl_runtime_c__uint8__Sequence__init",
                rosidl_runtime_c__uint8__Sequence__init, sequence, size, NUMBERS)


cdef public bint rcl_interfaces__msg__Parameter__Sequence__init(void* sequence,
                                                                size_t size) noexcept nogil:
    return room(6, b"rcl_interfaces__msg__Parameter__Sequence__init",
                rcl_interfaces__msg__Parameter__Sequence__init, sequence, size, PARAMETERS)


cdef public bint trajectory_msgs__msg__JointTrajectoryPoint__Sequence__init(
        void* sequence, size_t size) noexcept nogil:
    return room(7, b"trajectory_msgs__msg__JointTrajectoryPoint__Sequence__init",
                trajectory_msgs__msg__JointTrajectoryPoint__Sequence__init, sequence, size, POINTS)


cdef public bint std_msgs__msg__MultiArrayDimension__Sequence__init(void* sequence,
                                                                    size_t size) noexcept nogil:
    return room(8, b"std_msgs__msg__MultiArrayDimension__Sequence__init",
                std_msgs__msg__MultiArrayDimension__Sequence__init, sequence, size, DIMENSIONS)


# bool eprosima::fastcdr::FastBuffer::resize(size_t)
cdef public bint _ZN8eprosima7fastcdr10FastBuffer6resizeEm(void* buffer,
                                                           size_t size) noexcept nogil:
    return room(9, b"_ZN8eprosima7fastcdr10FastBuffer6resizeEm",
                _ZN8eprosima7fastcdr10FastBuffer6resizeEm, buffer, size, BYTES)


def refusals() -> int:
    """Return how often an allocation has been refused."""
    return refused

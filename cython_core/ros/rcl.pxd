# librcl, as rclpy has loaded it. Its functions are looked up by name at run time, so building this
# needs no ROS.
#
# The structures are laid out as in Jazzy and Kilted. ``check_layout`` tests the first two; values
# of a MessageInfo that are not plausible count as unknown.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* name, int flags) noexcept
    void* dlsym(void* library, const char* name) noexcept
    enum: RTLD_NOW
    enum: RTLD_NOLOAD

cdef enum:
    NOTHING_TAKEN = 401      # RCL_RET_SUBSCRIPTION_TAKE_FAILED: no message there
    SPARE = 256              # bytes after the known members, in case a structure has grown

cdef struct Allocator:       # rcutils_allocator_t
    void* (*allocate)(size_t size, void* state) noexcept nogil
    void (*deallocate)(void* pointer, void* state) noexcept nogil
    void* (*reallocate)(void* pointer, size_t size, void* state) noexcept nogil
    void* (*zero_allocate)(size_t count, size_t size, void* state) noexcept nogil
    void* state

cdef struct Serialized:      # rcutils_uint8_array_t
    uint8_t* buffer
    size_t length
    size_t capacity
    Allocator allocator
    uint8_t[SPARE] spare

cdef struct MessageInfo:     # rmw_message_info_t
    int64_t published        # by the system clock [ns]
    int64_t received
    uint64_t sequence        # the publisher's number of the message
    uint64_t taken           # the subscription's
    const char* middleware
    uint64_t[2] publisher    # its identifier, 16 bytes
    uint8_t[SPARE] spare

ctypedef void (*OnMessage)(const void* data, size_t count) noexcept nogil

cdef struct Rcl:
    int (*take)(void* subscription, Serialized* message, MessageInfo* info,
                void* none) noexcept nogil
    int (*publish)(void* publisher, const Serialized* message, void* none) noexcept nogil
    int (*on_message)(void* subscription, OnMessage call, const void* data) noexcept nogil
    int (*subscription_count)(void* publisher, size_t* count) noexcept nogil
    int (*publisher_count)(void* subscription, size_t* count) noexcept nogil
    int (*ros_time)(void* clock, int64_t* now) noexcept nogil
    int (*initialize)(Serialized* message, size_t capacity,
                      const Allocator* allocator) noexcept nogil
    void (*forget_error)() noexcept nogil


cdef inline const char* find_functions(Rcl* rcl) noexcept nogil:
    """Look the functions up; return the name of the first that is missing, or NULL."""
    cdef void* library = dlopen("librcl.so", RTLD_NOW | RTLD_NOLOAD)
    cdef void** function = <void**> rcl
    cdef const char** names = [
        "rcl_take_serialized_message",
        "rcl_publish_serialized_message",
        "rcl_subscription_set_on_new_message_callback",
        "rcl_publisher_get_subscription_count",
        "rcl_subscription_get_publisher_count",
        "rcl_clock_get_now",
        "rcutils_uint8_array_init",
        "rcutils_reset_error",
    ]
    if library == NULL:
        return "librcl.so"
    for i in range(sizeof(Rcl) // sizeof(void*)):
        function[i] = dlsym(library, names[i])     # looks in what librcl is linked with, too
        if function[i] == NULL:
            return names[i]
    return NULL


cdef struct Trial:           # records the call of the allocator
    uint8_t[SPARE] memory
    size_t size


cdef inline void* trial_allocate(size_t size, void* state) noexcept nogil:
    (<Trial*> state).size = size
    return (<Trial*> state).memory


cdef inline void* no_reallocate(void* pointer, size_t size, void* state) noexcept nogil:
    return NULL


cdef inline void* no_zero_allocate(size_t count, size_t size, void* state) noexcept nogil:
    return NULL


cdef inline void no_deallocate(void* pointer, void* state) noexcept nogil:
    pass


cdef inline bint check_layout(const Rcl* rcl) noexcept nogil:
    """Whether a serialised message and its allocator are laid out as expected."""
    cdef Trial trial
    cdef Serialized message
    cdef Allocator allocator
    memset(&trial, 0, sizeof(trial))
    memset(&message, 0, sizeof(message))
    memset(&message.spare, 0xA5, sizeof(message.spare))
    allocator.allocate, allocator.deallocate = trial_allocate, no_deallocate
    allocator.reallocate, allocator.zero_allocate, allocator.state = (
        no_reallocate, no_zero_allocate, &trial)
    if rcl.initialize(&message, 24, &allocator) != 0:
        rcl.forget_error()
        return False
    for i in range(<size_t> SPARE):
        if message.spare[i] != 0xA5:
            return False
    return (trial.size == 24 and message.buffer == trial.memory and message.length == 0
            and message.capacity == 24 and message.allocator.allocate == trial_allocate
            and message.allocator.deallocate == no_deallocate
            and message.allocator.reallocate == no_reallocate
            and message.allocator.zero_allocate == no_zero_allocate
            and message.allocator.state == &trial)

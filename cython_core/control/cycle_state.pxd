# The controller's cycle (control_cycle.pxd): all that it knows, and what it tells Python.

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from control.controller_state cimport Controller
from control.events cimport NOTE_RELEASED, NoteKind
from control.model_blend cimport uses
from cycle cimport Output, Record
from ros.messages cimport JointNames, JointStateMessage, Reader, Template
from ros.refusals cimport Refusals

cdef enum OutputNumber:
    OUTPUT_COMMANDS, OUTPUT_DESIRED, OUTPUT_ERROR, OUTPUT_POSE, OUTPUT_TWIST

cdef enum InputNumber:
    INPUT_STATES, INPUT_WRENCH

cdef enum:
    BUCKETS = 10             # of a second, in which late commands are counted
    FALLS = 3                # of sequence numbers, within
    FALL_TIME = 2000000000   # [ns], are no accident

cdef struct Deadline:        # how long a command may take after the joint state that it answers
    double cycle_time        # [s]; 0: any time
    int allowed              # longer ones per second that are tolerated
    bint holds               # the arm is held while there are more
    bint missed              # there are more
    int[BUCKETS] counts
    int64_t bucket           # the newest: tenths of a second

cdef struct ControlCycle:
    Controller controller
    JointNames names
    Reader reader
    JointStateMessage message
    JointNames links         # on which a wrench may be measured, and
    const double* link_pose  # (links, 16) their poses in the end effector's frame
    Refusals refusals        # of wrenches
    Template command, joint_command, desired, error, pose, twist
    double* part             # (3, n) position, velocity, effort, as the messages bring them
    bint* there              # (n,) since the last complete state
    double* shown            # (n,) scratch
    int32_t sec              # stamp of the last complete state
    uint32_t nanosec
    uint64_t path_number     # of the path in use; 0: none
    uint64_t[6] models       # the numbers of the models in use
    int model_count
    int64_t tick_due         # [ns]
    int64_t show_due
    int64_t show_period
    Deadline deadline
    int64_t* sequence        # (n,) of the last message that named each joint
    int64_t[FALLS] falls     # when these fell back [ns]: several publishers name the same joints
    int fall
    long long states         # complete ones
    int64_t heard            # when the last of them came [ns]
    long long foreign        # messages that name none of our joints
    long long malformed
    Output* output           # of the call that is being answered
    int64_t now


cdef inline void begin_call(ControlCycle* cycle, int64_t now, Output* output) noexcept nogil:
    cdef int64_t silence = output.silence(output.loop)
    cycle.now, cycle.output = now, output
    cycle.controller.heartbeat = (now - silence) * 1e-9 if silence >= 0 else INFINITY


cdef inline void put_record(ControlCycle* cycle, int32_t kind, Py_ssize_t index, double a, double b,
                            double c, double d, uint64_t number) noexcept nogil:
    cdef Record record
    if cycle.output == NULL:
        return
    record.kind, record.index, record.time, record.object = kind, <int32_t> index, cycle.now, number
    record.value[0], record.value[1], record.value[2], record.value[3] = a, b, c, d
    cycle.output.record(cycle.output.loop, &record)


cdef inline void record_note(void* listener, NoteKind kind, Py_ssize_t index, double a, double b,
                             double c, double d) noexcept nogil:
    """Pass on what the controller notes (Controller.notify)."""
    put_record(<ControlCycle*> listener, kind, index, a, b, c, d, 0)


cdef inline void release(ControlCycle* cycle, uint64_t number) noexcept nogil:
    """Tell Python that it may free an object."""
    if number:
        put_record(cycle, NOTE_RELEASED, 0, 0.0, 0.0, 0.0, 0.0, number)


cdef inline bint knows_newest(const ControlCycle* cycle) noexcept nogil:
    return cycle.models[cycle.model_count - 1] == cycle.controller.arm.models.newest.number


cdef inline void release_unused(ControlCycle* cycle) noexcept nogil:
    """Release the path once no motion uses it, and the models that have lost their weight."""
    cdef const Controller* c = &cycle.controller
    cdef int k
    if cycle.path_number and c.motion.path == NULL:
        release(cycle, cycle.path_number)
        cycle.path_number = 0
    if cycle.model_count == c.arm.models.olds + 1 and knows_newest(cycle):
        return
    for k in range(cycle.model_count):
        if not uses(&c.arm.models, cycle.models[k]):
            release(cycle, cycle.models[k])
    for k in range(c.arm.models.olds):
        cycle.models[k] = c.arm.models.old[k].number
    cycle.models[c.arm.models.olds] = c.arm.models.newest.number
    cycle.model_count = c.arm.models.olds + 1

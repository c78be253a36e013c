# What Python is told by the controller's cycle (control_cycle.pxd).

from libc.stdint cimport int32_t, uint64_t

from control.controller_state cimport Controller
from control.cycle_state cimport ControlCycle
from control.events cimport NOTE_RELEASED, NoteKind
from control.model_blend cimport uses
from cycle cimport Record


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
    return cycle.models[cycle.model_count - 1] == cycle.controller.models.newest.number


cdef inline void release_unused(ControlCycle* cycle) noexcept nogil:
    """Release the path once no motion uses it, and the models that have lost their weight."""
    cdef const Controller* c = &cycle.controller
    cdef int k
    if cycle.path_number and c.motion.path == NULL:
        release(cycle, cycle.path_number)
        cycle.path_number = 0
    if cycle.model_count == c.models.olds + 1 and knows_newest(cycle):
        return
    for k in range(cycle.model_count):
        if not uses(&c.models, cycle.models[k]):
            release(cycle, cycle.models[k])
    for k in range(c.models.olds):
        cycle.models[k] = c.models.old[k].number
    cycle.models[c.models.olds] = c.models.newest.number
    cycle.model_count = c.models.olds + 1

# The command as a message: efforts, or what drives with loops of their own are to follow.

from libc.stdint cimport int32_t

from control.controller_state cimport Controller, is_blind, is_tracking
from control.cycle_state cimport OUTPUT_COMMANDS, ControlCycle
from control.phases cimport FLOATING
from ros.messages cimport Template, write_last, write_stamp


cdef inline void send_command(ControlCycle* cycle) noexcept nogil:
    cdef Template* message = &cycle.joint_command if cycle.commands_joints else &cycle.command
    cdef Py_ssize_t n = cycle.controller.n
    if cycle.commands_joints:
        write_drives_motion(cycle)
    write_last(message, <int32_t> n, 0, cycle.controller.governor.command)
    cycle.output.publish(cycle.output.loop, OUTPUT_COMMANDS, message.data, message.size)


cdef inline void write_drives_motion(ControlCycle* cycle) noexcept nogil:
    """Write the position and velocity that the drives' own loops are to follow.

    Where no motion is asked for, that is the measured position at rest: the drives damp the arm.
    """
    cdef const Controller* c = &cycle.controller
    cdef bint follows = is_tracking(c) or c.phase == FLOATING or (is_blind(c) and c.is_open_loop)
    cdef Py_ssize_t n = c.n, i
    for i in range(n):
        cycle.shown[i] = (c.desired[i] if follows else c.observer.q[i]) - c.turned[i]
    write_stamp(&cycle.joint_command, cycle.sec, cycle.nanosec)
    write_last(&cycle.joint_command, <int32_t> n, 2, cycle.shown)
    for i in range(n):
        cycle.shown[i] = c.desired[n + i] if follows else 0.0
    write_last(&cycle.joint_command, <int32_t> n, 1, cycle.shown)

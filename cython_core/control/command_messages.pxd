# The command as a message: efforts, or what drives with loops of their own are to follow.

from libc.stdint cimport int32_t

from control.controller_state cimport Controller, is_blind, is_tracking
from control.cycle_state cimport OUTPUT_COMMANDS, ControlCycle
from control.phases cimport FLOATING
from ros.messages cimport Template, write_last, write_stamp


cdef inline void send_command(ControlCycle* its) noexcept nogil:
    cdef Template* message = &its.joint_command if its.commands_joints else &its.command
    cdef Py_ssize_t n = its.controller.n
    if its.commands_joints:
        write_drives_motion(its)
    write_last(message, <int32_t> n, 0, its.controller.governor.command)
    its.output.publish(its.output.loop, OUTPUT_COMMANDS, message.data, message.size)


cdef inline void write_drives_motion(ControlCycle* its) noexcept nogil:
    """Write the position and velocity that the drives' own loops are to follow.

    Where no motion is asked for, that is the measured position at rest: the drives damp the arm.
    """
    cdef const Controller* c = &its.controller
    cdef bint follows = is_tracking(c) or c.phase == FLOATING or (is_blind(c) and c.is_open_loop)
    cdef Py_ssize_t n = c.n, i
    for i in range(n):
        its.shown[i] = (c.desired[i] if follows else c.observer.q[i]) - c.turned[i]
    write_stamp(&its.joint_command, its.sec, its.nanosec)
    write_last(&its.joint_command, <int32_t> n, 2, its.shown)
    for i in range(n):
        its.shown[i] = c.desired[n + i] if follows else 0.0
    write_last(&its.joint_command, <int32_t> n, 1, its.shown)

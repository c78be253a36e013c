# What the controller publishes: the command, as efforts or as what drives with loops of their own
# are to follow, and the motion, for subscribers that watch it.

from libc.stdint cimport int32_t, int64_t, uint32_t

from control.cartesian_impedance cimport update_kinematics
from control.cartesian_mode cimport write_pose
from control.controller_state cimport Controller
from control.cycle_state cimport (OUTPUT_COMMANDS, OUTPUT_DESIRED, OUTPUT_ERROR, OUTPUT_POSE,
                                  OUTPUT_TWIST, ControlCycle)
from control.laws cimport model_torque
from control.model_blend cimport gravity
from control.phases cimport FLOATING
from control.settings cimport GRAVITY_COMPENSATION
from control.state_machine cimport is_tracking
from ros.atomic cimport SECOND
from ros.messages cimport Template, write_last, write_stamp


cdef inline void send_command(ControlCycle* cycle) noexcept nogil:
    cdef bint positions = cycle.controller.positions.used
    cdef Template* message = &cycle.joint_command if positions else &cycle.command
    cdef Py_ssize_t n = cycle.controller.n
    if positions:
        write_drives_motion(cycle)
    write_last(message, <int32_t> n, 0, cycle.controller.governor.command)
    cycle.output.publish(cycle.output.loop, OUTPUT_COMMANDS, message.data, message.size)


cdef inline void write_drives_motion(ControlCycle* cycle) noexcept nogil:
    """Write the position and velocity that the drives' own loops are to follow, of the turn on
    which they measure.
    """
    cdef const Controller* c = &cycle.controller
    cdef Py_ssize_t n = c.n, i
    for i in range(n):
        cycle.shown[i] = c.positions.q[i] - c.turned[i]
    write_stamp(&cycle.joint_command, cycle.sec, cycle.nanosec)
    write_last(&cycle.joint_command, <int32_t> n, 2, cycle.shown)
    write_last(&cycle.joint_command, <int32_t> n, 1, c.positions.qd)


cdef inline void work_out_model_torque(const Controller* c, double* torque) noexcept nogil:
    """Find the model's part of the last command: gravity alone if no motion is followed."""
    if c.arm.settings.mode == GRAVITY_COMPENSATION:
        gravity(&c.arm.models, c.observer.q, torque)
    else:
        model_torque(&c.arm, c.desired, c.presliding, torque)


cdef inline void write_row(Template* message, Py_ssize_t n, int before, const double* values,
                           const double* less, double* scratch) noexcept nogil:
    """Write values, minus ``less`` unless NULL, in place of one of a JointState's arrays."""
    cdef Py_ssize_t i
    for i in range(n):
        scratch[i] = values[i] - (less[i] if less != NULL else 0.0)
    write_last(message, <int32_t> n, before, scratch)


cdef inline bint is_watched(const ControlCycle* cycle, int one, int other) noexcept nogil:
    return (cycle.output.is_watched(cycle.output.loop, one)
            or cycle.output.is_watched(cycle.output.loop, other))


cdef inline void show(ControlCycle* cycle) noexcept nogil:
    """Publish the motion, if that is due and somebody subscribes."""
    cdef Controller* c = &cycle.controller
    cdef int32_t sec = cycle.sec
    cdef uint32_t nanosec = cycle.nanosec
    cdef int64_t time
    if cycle.now < cycle.show_due:
        return
    cycle.show_due = max(cycle.show_due + cycle.show_period, cycle.now)
    if not (is_tracking(&c.machine) or c.machine.phase == FLOATING):
        return
    if sec == 0 and nanosec == 0:
        time = cycle.output.ros_time(cycle.output.loop)
        sec, nanosec = <int32_t> (time // SECOND), <uint32_t> (time % SECOND)
    if is_watched(cycle, OUTPUT_DESIRED, OUTPUT_ERROR):
        show_joints(cycle, sec, nanosec)
    if c.hand.law.link >= 0 and is_watched(cycle, OUTPUT_POSE, OUTPUT_TWIST):
        show_hand(cycle, sec, nanosec)


cdef inline void show_hand(ControlCycle* cycle, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish pose and velocity of the hand, by the last good state."""
    cdef Controller* c = &cycle.controller
    cdef double[7] pose
    update_kinematics(&c.hand.law, c.arm.models.newest.model, c.observer.q, c.observer.qd)
    write_pose(c.hand.law.pose, pose)
    write_stamp(&cycle.pose, sec, nanosec)
    write_last(&cycle.pose, 7, 0, pose)
    write_stamp(&cycle.twist, sec, nanosec)
    write_last(&cycle.twist, 6, 0, c.hand.law.velocity)
    cycle.output.publish(cycle.output.loop, OUTPUT_POSE, cycle.pose.data, cycle.pose.size)
    cycle.output.publish(cycle.output.loop, OUTPUT_TWIST, cycle.twist.data, cycle.twist.size)


cdef inline void show_joints(ControlCycle* cycle, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish the desired state of the joints and the error."""
    cdef Controller* c = &cycle.controller
    cdef Py_ssize_t n = c.n, i
    work_out_model_torque(c, c.torque)
    write_stamp(&cycle.desired, sec, nanosec)
    write_stamp(&cycle.error, sec, nanosec)
    write_row(&cycle.desired, n, 2, c.desired, NULL, cycle.shown)
    write_row(&cycle.desired, n, 1, c.desired + n, NULL, cycle.shown)
    write_row(&cycle.desired, n, 0, c.torque, NULL, cycle.shown)
    write_row(&cycle.error, n, 2, c.desired, c.observer.q, cycle.shown)
    write_row(&cycle.error, n, 1, c.desired + n, c.observer.qd, cycle.shown)
    if c.arm.settings.hardware_adds_gravity:
        gravity(&c.arm.models, c.observer.q, c.gravity_torque)
        for i in range(n):
            c.torque[i] -= c.gravity_torque[i]
    write_row(&cycle.error, n, 0, c.governor.command, c.torque, cycle.shown)
    cycle.output.publish(cycle.output.loop, OUTPUT_DESIRED, cycle.desired.data, cycle.desired.size)
    cycle.output.publish(cycle.output.loop, OUTPUT_ERROR, cycle.error.data, cycle.error.size)

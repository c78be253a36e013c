# What is published about the motion, for subscribers that watch it.

from libc.stdint cimport int32_t, int64_t, uint32_t

from control.cartesian_mode cimport write_pose
from control.controller_state cimport Controller, is_tracking
from control.cycle_state cimport (OUTPUT_DESIRED, OUTPUT_ERROR, OUTPUT_POSE, OUTPUT_TWIST,
                                  ControlCycle)
from control.end_effector cimport update_kinematics
from control.laws cimport model_torque
from control.model_blend cimport gravity
from control.phases cimport FLOATING
from control.settings cimport GRAVITY_COMPENSATION
from ros.atomic cimport SECOND
from ros.messages cimport Template, write_last, write_stamp


cdef inline void work_out_model_torque(ControlCycle* its, double* torque) noexcept nogil:
    """Find the model's part of the last command: gravity alone if no motion is followed."""
    cdef Controller* c = &its.controller
    if c.settings.mode == GRAVITY_COMPENSATION:
        gravity(&c.models, c.observer.q, torque)
    else:
        model_torque(&c.settings, &c.models, c.n, c.desired, c.presliding, torque)


cdef inline void write_row(Template* message, Py_ssize_t n, int before, const double* values,
                           const double* less, double* scratch) noexcept nogil:
    """Write values, minus ``less`` unless NULL, in place of one of a JointState's arrays."""
    cdef Py_ssize_t i
    for i in range(n):
        scratch[i] = values[i] - (less[i] if less != NULL else 0.0)
    write_last(message, <int32_t> n, before, scratch)


cdef inline bint is_watched(const ControlCycle* its, int one, int other) noexcept nogil:
    return (its.output.is_watched(its.output.loop, one)
            or its.output.is_watched(its.output.loop, other))


cdef inline void show(ControlCycle* its) noexcept nogil:
    """Publish the motion, if that is due and somebody subscribes."""
    cdef Controller* c = &its.controller
    cdef int32_t sec = its.sec
    cdef uint32_t nanosec = its.nanosec
    cdef int64_t time
    if its.now < its.show_due:
        return
    its.show_due = max(its.show_due + its.show_period, its.now)
    if not (is_tracking(c) or c.phase == FLOATING):
        return
    if sec == 0 and nanosec == 0:
        time = its.output.ros_time(its.output.loop)
        sec, nanosec = <int32_t> (time // SECOND), <uint32_t> (time % SECOND)
    if is_watched(its, OUTPUT_DESIRED, OUTPUT_ERROR):
        show_joints(its, sec, nanosec)
    if c.hand.law.link >= 0 and is_watched(its, OUTPUT_POSE, OUTPUT_TWIST):
        show_hand(its, sec, nanosec)


cdef inline void show_hand(ControlCycle* its, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish pose and velocity of the hand, by the last good state."""
    cdef Controller* c = &its.controller
    cdef double[7] pose
    update_kinematics(&c.hand.law, c.models.newest.model, c.observer.q, c.observer.qd)
    write_pose(c.hand.law.pose, pose)
    write_stamp(&its.pose, sec, nanosec)
    write_last(&its.pose, 7, 0, pose)
    write_stamp(&its.twist, sec, nanosec)
    write_last(&its.twist, 6, 0, c.hand.law.velocity)
    its.output.publish(its.output.loop, OUTPUT_POSE, its.pose.data, its.pose.size)
    its.output.publish(its.output.loop, OUTPUT_TWIST, its.twist.data, its.twist.size)


cdef inline void show_joints(ControlCycle* its, int32_t sec, uint32_t nanosec) noexcept nogil:
    """Publish the desired state of the joints and the error."""
    cdef Controller* c = &its.controller
    cdef Py_ssize_t n = c.n, i
    work_out_model_torque(its, c.torque)
    write_stamp(&its.desired, sec, nanosec)
    write_stamp(&its.error, sec, nanosec)
    write_row(&its.desired, n, 2, c.desired, NULL, its.shown)
    write_row(&its.desired, n, 1, c.desired + n, NULL, its.shown)
    write_row(&its.desired, n, 0, c.torque, NULL, its.shown)
    write_row(&its.error, n, 2, c.desired, c.observer.q, its.shown)
    write_row(&its.error, n, 1, c.desired + n, c.observer.qd, its.shown)
    if c.settings.hardware_adds_gravity:
        gravity(&c.models, c.observer.q, c.gravity_torque)
        for i in range(n):
            c.torque[i] -= c.gravity_torque[i]
    write_row(&its.error, n, 0, c.governor.command, c.torque, its.shown)
    its.output.publish(its.output.loop, OUTPUT_DESIRED, its.desired.data, its.desired.size)
    its.output.publish(its.output.loop, OUTPUT_ERROR, its.error.data, its.error.size)

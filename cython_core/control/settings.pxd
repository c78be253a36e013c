# Everything about the controller that may change while it runs; requests.pxi fills it from
# featherstone_ros.control.Settings, which has checked the values and says what each means.

from control.fault_bounds cimport FALLBACK_SPEED
from joint_drives cimport JointDrives

cpdef enum Leads:
    LEADS_NOTHING, LEADS_JOINTS, LEADS_END_EFFECTOR

cpdef enum Feedback:         # what errors make: damping alone, or by gains, or by its spring
    FEEDBACK_DAMPING, FEEDBACK_TORQUES, FEEDBACK_ACCELERATIONS, FEEDBACK_SPRING

cdef struct Mode:            # ``Mode`` of Python's settings names each pair
    Leads leads
    Feedback feedback

cpdef enum Terms:
    TERMS_NONE, TERMS_GRAVITY, TERMS_FULL

cdef struct Settings:
    Mode mode
    Terms terms
    bint on_timer
    bint hardware_adds_gravity
    bint start_from_measured_effort
    bint blind_stop
    double period
    double command_period
    double presliding_displacement
    double blend_time
    double decay_time
    double stop_time
    double state_timeout
    double reference_timeout
    double executor_timeout
    double give_up_after
    double start_tolerance
    double path_tolerance
    double velocity_cutoff
    double target_timeout
    double wrench_timeout

cdef struct JointSettings:   # (n,) each: rows of one array, which requests.pxi names
    double* p
    double* d
    double* damping
    double* fault_damping
    double* effort_limit
    double* torque_rate
    JointDrives drives

cdef struct JointLimits:     # (n,) each, +-inf where there is none
    double* lower
    double* upper
    double* velocity
    double* acceleration     # (3, n) of a speed that grows; these three go by effort and payload
    double* deceleration     # its second row, of a speed that falls
    double* jerk             # its third
    bint* continuous         # turns without end


cdef inline double speed_bound(const JointLimits* limits, Py_ssize_t i) noexcept nogil:
    """A joint's speed limit, as far as it counts where there is none, or a vast one."""
    return min(limits.velocity[i], FALLBACK_SPEED)


cdef inline double within_joint(const JointLimits* limits, Py_ssize_t i, double q,
                                double goal) noexcept nogil:
    """The goal, within the joint's limits, or at the position q if that is beyond them."""
    return min(max(goal, min(limits.lower[i], q)), max(limits.upper[i], q))

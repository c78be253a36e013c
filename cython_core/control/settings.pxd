# Everything about the controller that may change while it runs; control.pyx fills it from
# featherstone_ros.control.Settings, which has checked the values and says what each means.

from control.impedance_state cimport ImpedanceChange

cpdef enum Mode:
    GRAVITY_COMPENSATION, FEEDFORWARD, COMPUTED_TORQUE, CARTESIAN_IMPEDANCE

cpdef enum Terms:
    TERMS_NONE, TERMS_GRAVITY, TERMS_FULL

cdef enum:
    SETTINGS_ARRAYS = 12     # of the struct below

cdef struct Settings:
    Mode mode
    Terms terms
    bint on_timer
    bint hardware_adds_gravity
    bint start_from_measured_effort
    bint blind_stop
    double period
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
    const ImpedanceChange* impedance   # of a request; NULL: as they are
    double* p                # (n,) each, in one block that begins here
    double* d
    double* damping
    double* fault_damping
    double* coulomb
    double* viscous
    double* offset
    double* armature
    double* effort_limit
    double* torque_rate
    double* load
    double* thinning

cdef struct JointLimits:     # (n,) each, +-inf where there is none
    double* lower
    double* upper
    double* velocity
    bint* continuous         # turns without end

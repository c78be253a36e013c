# Drives in their own units: the laws of featherstone_ros/model/drive_units.py, joint by joint, for
# what goes out of the controller and into the twin and the shadow.

from libc.math cimport copysign
from libc.stdint cimport int32_t

from smooth_friction cimport smooth_sign

cdef enum Law:               # in the order of drive_units.COMMANDS
    LAW_TORQUE, LAW_CURRENT, LAW_DUTY, LAW_POSITION

cdef struct DriveUnits:      # (n,) each, as Python's class names them
    bint converts            # some drive is told something else than a torque
    bint any_position        # some drive is told a position
    bint loses               # some gear has losses
    bint measures            # some measured effort is no torque
    bint hides               # some lacks that of gravity
    const int32_t* law
    const double* torque_per_current
    const double* voltage_per_speed
    const double* resistance
    const double* supply_voltage
    const double* even       # the motor's torque per torque: mean and
    const double* odd        # half difference of the directions of power
    const double* compliance # 1 / stiffness; 0: not told a position
    const double* damping
    const double* max_command # current or duty; inf: no limit
    const double* max_current
    const double* effort_gain
    const double* hides_gravity


cdef inline double clipped(double value, double limit) noexcept nogil:
    return max(min(value, limit), -limit)


# Commands.

cdef inline double motor_share(const DriveUnits* u, Py_ssize_t i, double torque,
                               double qd) noexcept nogil:
    """The motor's torque per torque behind the gears; torque: either, for its sign."""
    return u.even[i] + u.odd[i] * copysign(1.0, torque) * smooth_sign(qd)


cdef inline double current_for(const DriveUnits* u, Py_ssize_t i, double torque,
                               double qd) noexcept nogil:
    """The motor's current for a torque [A], 0 where it is not known."""
    cdef double per_current = u.torque_per_current[i]
    return motor_share(u, i, torque, qd) * torque / per_current if per_current != 0.0 else 0.0


cdef inline double drive_command(const DriveUnits* u, Py_ssize_t i, double torque,
                        double qd) noexcept nogil:
    """What a drive is to be told for a torque; not of one that is told a position."""
    cdef double current
    if u.law[i] == LAW_TORQUE:
        return torque
    current = current_for(u, i, torque, qd)
    if u.law[i] == LAW_CURRENT:
        return current
    return (u.resistance[i] * current + u.voltage_per_speed[i] * qd) / u.supply_voltage[i]


cdef inline double stall_torque(const DriveUnits* u, Py_ssize_t i, double command) noexcept nogil:
    """The motor's torque at standstill when it is told a torque, current or duty."""
    if u.law[i] == LAW_TORQUE:
        return command
    if u.law[i] == LAW_DUTY:
        command *= u.supply_voltage[i] / u.resistance[i]
    return u.torque_per_current[i] * command


# Measured efforts.

cdef inline double torque_of(const DriveUnits* u, Py_ssize_t i, double effort,
                             double gravity) noexcept nogil:
    """The torque that an effort means."""
    return u.effort_gain[i] * effort + u.hides_gravity[i] * gravity


cdef inline double effort_of(const DriveUnits* u, Py_ssize_t i, double torque,
                             double gravity) noexcept nogil:
    """What a drive reports of a torque."""
    return (torque - u.hides_gravity[i] * gravity) / u.effort_gain[i]

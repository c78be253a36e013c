# Friction of a joint: viscous qd + coulomb sign(qd), the one law of
# featherstone_ros/model/friction.py.
#
# The sign of a velocity that is measured or desired means nothing near zero: there it is smooth. A
# simulated joint sticks exactly, dynamics/joint_friction.pxd.

from libc.math cimport fabs, tanh


cdef inline double smooth_sign(double speed, double sliding_speed) noexcept nogil:
    """76 % of the sign at the sliding speed."""
    return tanh(speed / sliding_speed)


cdef inline double friction_torque(double viscous, double coulomb, double speed,
                                   double sliding_speed) noexcept nogil:
    """What moving a joint takes."""
    return viscous * speed + coulomb * smooth_sign(speed, sliding_speed)


cdef inline double drag(double viscous, double coulomb, double speed,
                        double sticking_speed) noexcept nogil:
    """Friction per unit of speed, for implicit time steps; below the sticking speed Coulomb's is
    viscous.
    """
    return viscous + coulomb / max(fabs(speed), sticking_speed)

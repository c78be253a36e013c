# Friction of a joint: viscous qd + coulomb sign(qd), the one law of
# featherstone_ros/model/friction.py.
#
# The sign of a velocity that is measured means nothing near zero: there it is smooth. That of a
# desired motion is followed over a distance. A simulated joint sticks exactly,
# dynamics/joint_friction.pxd.

from libc.math cimport copysign, exp, expm1, fabs, tanh

cdef extern from *:
    """
    #define RELEASE_TIME (0.05)
    """
    const double RELEASE_TIME  # [s] in which the presliding state of a resting joint decays


cdef inline double smooth_sign(double speed, double sliding_speed) noexcept nogil:
    """76 % of the sign at the sliding speed."""
    return tanh(speed / sliding_speed)


cdef inline double friction_torque(double viscous, double coulomb, double speed,
                                   double sliding_speed) noexcept nogil:
    """What moving a joint takes."""
    return viscous * speed + coulomb * smooth_sign(speed, sliding_speed)


cdef inline double presliding(double state, double velocity, double dt,
                              double displacement) noexcept nogil:
    """The presliding state, -1 to 1, after a time dt [s] more: the share of Coulomb friction that a
    desired motion meets.

    It approaches the sign of the velocity, over a displacement however slow the motion is (Dahl, A
    Solid Friction Model, Aerospace Corporation, 1968), and at rest zero.
    """
    if velocity == 0.0:
        return state * exp(-dt / RELEASE_TIME)
    return state - (copysign(1.0, velocity) - state) * expm1(-fabs(velocity) * dt / displacement)


cdef inline double drag(double viscous, double coulomb, double speed,
                        double sticking_speed) noexcept nogil:
    """Friction per unit of speed, for implicit time steps; below the sticking speed Coulomb's is
    viscous.
    """
    return viscous + coulomb / max(fabs(speed), sticking_speed)

# Friction of a joint, the one law of featherstone_ros/model/drives.py.
#
# Its presliding state follows the desired motion in the controller; in the observer a least and a
# greatest one follow the measured motion. A simulated joint sticks exactly,
# dynamics/joint_friction.pxd.

from libc.math cimport copysign, exp, expm1, fabs, tanh

cdef extern from *:
    """
    #define SLIDING_SPEED (0.02)
    #define RELEASE_TIME (0.05)
    #define PLAY (0.5)
    """
    const double SLIDING_SPEED # [rad/s or m/s]
    const double RELEASE_TIME  # [s] in which what is known of a resting joint's state decays
    const double PLAY


cdef inline double smooth_sign(double speed) noexcept nogil:
    return tanh(speed / SLIDING_SPEED)


cdef inline double damping(double viscous, double thinning, double speed) noexcept nogil:
    """Viscous friction per unit of speed: less at speed if the lubricant is thinned by shear."""
    return viscous / (1.0 + thinning * fabs(speed))


cdef inline double viscous_torque(double viscous, double thinning, double speed) noexcept nogil:
    return damping(viscous, thinning, speed) * speed


cdef inline double dry_torque(double coulomb, double load, double carried,
                              double state) noexcept nogil:
    """Coulomb friction of a gear that carries a torque; state: presliding."""
    return (coulomb + load * fabs(carried)) * state


cdef inline double dry_share(double coulomb, double load, double torque,
                             double state) noexcept nogil:
    """The part of a torque, viscous friction taken off, that is dry friction; the gear carries the
    rest.
    """
    cdef double left = torque - coulomb * state
    return torque - left / (1.0 + load * (state if left > 0.0 else -state))


cdef inline double after_motion(double state, double moved, double displacement) noexcept nogil:
    """The presliding state, -1 to 1, after a motion: it approaches the sign of the motion over a
    displacement, however slow that is (Dahl, A Solid Friction Model, Aerospace Corporation, 1968).
    """
    return state - (copysign(1.0, moved) - state) * expm1(-fabs(moved) / displacement)


cdef inline double after_rest(double state, double to, double dt) noexcept nogil:
    """The presliding state after a time at rest [s]: what it is there becomes ever less certain."""
    return to + (state - to) * exp(-dt / RELEASE_TIME)


cdef inline double presliding(double state, double velocity, double dt,
                              double displacement) noexcept nogil:
    """The presliding state after a time dt [s] more of a desired motion; at rest it goes to zero.
    """
    if velocity == 0.0:
        return after_rest(state, 0.0, dt)
    return after_motion(state, velocity * dt, displacement)


cdef inline double counted_motion(double* counted, double position,
                                  double displacement) noexcept nogil:
    """The motion to a measured position from where the joint counts as being, which follows.

    An encoder flickers, also at rest: what is within half the displacement does not count.
    """
    cdef double moved = position - counted[0]
    moved -= copysign(min(fabs(moved), PLAY * displacement), moved)
    counted[0] += moved
    return moved

# Joint torque and friction from what an arm measures.
#
# The joint torque is all that the drive exerts: it accelerates rotor and links, holds them against
# gravity, and overcomes friction:
#     (H + armature) qdd + C qd + g + friction = torque + J^T w.
#
# Coulomb friction is smoothed around zero velocity (smooth_friction.pxd). At standstill the sign of
# a measured velocity is noise, and friction may have any value up to its Coulomb limit.

from smooth_friction cimport friction_torque
from observer.settings cimport MOTOR_CURRENT, WITHOUT_FRICTION, WITHOUT_GRAVITY, Settings


cdef inline double friction_at(const Settings* settings, Py_ssize_t i, double speed) noexcept nogil:
    """Friction torque of a joint at a speed, constant offset included [N m or N]."""
    return (friction_torque(settings.viscous[i], settings.coulomb[i], speed, settings.sliding_speed)
            + settings.offset[i])


cdef inline double sliding_threshold(const Settings* settings, Py_ssize_t i) noexcept nogil:
    """Friction torque above which a joint certainly slides [N m or N]."""
    return settings.viscous[i] * settings.sliding_speed + 0.5 * settings.coulomb[i]


cdef inline void joint_torque(const Settings* settings, Py_ssize_t n, const double* gravity,
                              const double* qd, const double* effort,
                              double* torque) noexcept nogil:
    """torque (n,) that a reported effort (n,) means under the effort contract [N m or N]."""
    cdef Py_ssize_t i
    for i in range(n):
        torque[i] = effort[i]
        if settings.contract == MOTOR_CURRENT:
            torque[i] = settings.effort_gain[i] * effort[i]
        elif settings.contract == WITHOUT_GRAVITY:
            torque[i] = effort[i] + gravity[i]
        elif settings.contract == WITHOUT_FRICTION:
            torque[i] = effort[i] + friction_at(settings, i, qd[i])

# Joint torque, and what of it friction takes, from what an arm measures.
#
# Joint torque is what the drive exerts on rotor, friction and links together:
# (H + armature) qdd + C qd + g + friction = torque + J^T w.
#
# Coulomb friction is smooth through zero (friction.pxd): the sign of a measured velocity is noise
# when the arm stands still, and dry friction can then be anything up to Coulomb's anyway.

from friction cimport friction_torque
from observer.settings cimport MOTOR_CURRENT, WITHOUT_FRICTION, WITHOUT_GRAVITY, Settings


cdef inline double friction_at(const Settings* settings, Py_ssize_t i, double speed) noexcept nogil:
    """Torque that moving a joint takes."""
    return (friction_torque(settings.viscous[i], settings.coulomb[i], speed, settings.sliding_speed)
            + settings.offset[i])


cdef inline double surely_sliding(const Settings* settings, Py_ssize_t i) noexcept nogil:
    """Friction above which a joint slides for certain."""
    return settings.viscous[i] * settings.sliding_speed + 0.5 * settings.coulomb[i]


cdef inline void joint_torque(const Settings* settings, Py_ssize_t n, const double* gravity,
                              const double* qd, const double* effort,
                              double* torque) noexcept nogil:
    """What a reported effort stands for, by the effort contract."""
    cdef Py_ssize_t i
    for i in range(n):
        torque[i] = effort[i]
        if settings.contract == MOTOR_CURRENT:
            torque[i] = settings.effort_gain[i] * effort[i]
        elif settings.contract == WITHOUT_GRAVITY:
            torque[i] = effort[i] + gravity[i]
        elif settings.contract == WITHOUT_FRICTION:
            torque[i] = effort[i] + friction_at(settings, i, qd[i])

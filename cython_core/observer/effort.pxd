# Joint torque and friction from what an arm measures.
#
# The joint torque is all that the drive exerts: it accelerates rotor and links, holds them against
# gravity, and overcomes friction:
#     (H + armature) qdd + C qd + g + friction = torque + J^T w.
#
# Dry friction follows the measured motion (smooth_friction.pxd): a joint that has come to rest
# keeps it. The gear carries what the drive's torque leaves after friction, contact included.

from smooth_friction cimport dry_share, dry_torque, follow, viscous_torque
from observer.settings cimport MOTOR_CURRENT, WITHOUT_FRICTION, WITHOUT_GRAVITY, Settings

cdef struct Friction:
    double* torque           # (n,) friction, constant offset included [N m or N]
    double* state            # (n,) presliding
    double* place            # (n,) where the joint counts as being, see ``follow``


cdef inline void follow_motion(const Settings* settings, Py_ssize_t n, const double* q,
                               Friction* friction) noexcept nogil:
    """Advance the presliding states to a position (n,)."""
    cdef Py_ssize_t i
    for i in range(n):
        friction.state[i] = follow(friction.state[i], &friction.place[i], q[i],
                                   settings.displacement)


cdef inline void joint_torque(const Settings* settings, Py_ssize_t n, const double* gravity,
                              const double* qd, const double* effort, Friction* friction,
                              double* torque) noexcept nogil:
    """torque (n,) that a reported effort (n,) means under the effort contract, and the friction
    in it [N m or N].
    """
    cdef double moving, dry
    cdef Py_ssize_t i
    for i in range(n):
        moving = (viscous_torque(settings.viscous[i], settings.thinning[i], qd[i])
                  + settings.offset[i])
        if settings.contract == WITHOUT_FRICTION:
            dry = dry_torque(settings.coulomb[i], settings.load[i], effort[i], friction.state[i])
            torque[i] = effort[i] + moving + dry
        else:
            torque[i] = effort[i]
            if settings.contract == MOTOR_CURRENT:
                torque[i] = settings.effort_gain[i] * effort[i]
            elif settings.contract == WITHOUT_GRAVITY:
                torque[i] = effort[i] + gravity[i]
            dry = dry_share(settings.coulomb[i], settings.load[i], torque[i] - moving,
                            friction.state[i])
        friction.torque[i] = moving + dry

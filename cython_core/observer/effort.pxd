# Joint torque and friction from what an arm measures.
#
# The joint torque is all that the drive exerts: it accelerates rotor and links, holds them against
# gravity, and overcomes friction:
#     (H + armature) qdd + C qd + g + friction = torque + J^T w.
#
# Dry friction follows the measured motion (smooth_friction.pxd). A joint that moves shows which way
# its friction acts; at rest this balances whatever it can, and is known only to lie between the two
# directions. So both a least and a greatest friction are followed. The gear carries what the
# drive's torque leaves after friction, contact included.

from drive_units cimport torque_of
from joint_drives cimport moving_torque
from smooth_friction cimport after_rest, after_motion, counted_motion, dry_share, dry_torque
from observer.settings cimport ShadowSettings

cdef struct Friction:
    double* minimum          # (n,) it is at least this, spring and offset included [N m or N]
    double* maximum          # (n,) at most
    double* middle           # (n,)
    double* low              # (n,) presliding state of the minimum
    double* high             # (n,)
    double* position         # (n,) where the joint counts as being, see ``counted_motion``


cdef inline void begin_motion(Py_ssize_t n, const double* q, Friction* friction) noexcept nogil:
    """Nothing is known of how an arm came to a position (n,)."""
    cdef Py_ssize_t i
    for i in range(n):
        friction.low[i], friction.high[i], friction.position[i] = -1.0, 1.0, q[i]


cdef inline void follow_motion(const ShadowSettings* settings, Py_ssize_t n, double dt,
                               const double* q, Friction* friction) noexcept nogil:
    """Advance the presliding states to a position (n,), dt [s] later."""
    cdef double moved
    cdef Py_ssize_t i
    for i in range(n):
        moved = counted_motion(&friction.position[i], q[i], settings.displacement)
        if moved == 0.0:
            friction.low[i] = after_rest(friction.low[i], -1.0, dt)
            friction.high[i] = after_rest(friction.high[i], 1.0, dt)
        else:
            friction.low[i] = after_motion(friction.low[i], moved, settings.displacement)
            friction.high[i] = after_motion(friction.high[i], moved, settings.displacement)


cdef inline void joint_torque(const ShadowSettings* settings, Py_ssize_t n, const double* gravity,
                              const double* state, Friction* friction,
                              double* torque) noexcept nogil:
    """torque (n,) that the effort of a state (3, n) means under the effort contract, and the
    friction in it [N m or N].
    """
    cdef const double* effort = state + 2 * n
    cdef double moving, coulomb, load
    cdef Py_ssize_t i
    for i in range(n):
        coulomb, load = settings.drives.coulomb[i], settings.drives.load[i]
        moving = moving_torque(&settings.drives, i, state[i], state[n + i])
        if settings.behind_gears:
            friction.minimum[i] = friction.maximum[i] = moving + dry_torque(
                coulomb, load, effort[i], 0.5 * (friction.low[i] + friction.high[i]))
            torque[i] = effort[i] + friction.minimum[i]
        else:
            torque[i] = torque_of(&settings.units, i, effort[i], gravity[i])
            friction.minimum[i] = moving + dry_share(coulomb, load, torque[i] - moving,
                                                   friction.low[i])
            friction.maximum[i] = moving + dry_share(coulomb, load, torque[i] - moving,
                                                  friction.high[i])
        friction.middle[i] = 0.5 * (friction.minimum[i] + friction.maximum[i])

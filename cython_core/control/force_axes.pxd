# Force control along axes of the compliance: the target is led by the error of the force, so that
# the spring presses with what is asked for.
#
#     d/dt x_target = (asked force + force felt) / (K T),   at most ``contact_speed``
#
# This is integral action on the measured force through the spring K, with the time constant T in
# stiff contact; K is soft, so that delays which the spring bears matter little. Without contact the
# target moves on at the bounded speed. Once in contact and without it for LOST_TIME, or without
# measured force, the spring alone is left, until the force is no longer asked for.
#
# Dry friction of a joint that stands follows the torque on it, from one sign to the other within
# twice itself. So it is compensated (command.pxd), or the spring would make up for it and would
# press too hard as the hand begins to slide. The gain of the loop is at most doubled by that.

from libc.math cimport copysign, fmax, fmin

from control.impedance_modes cimport from_axes, to_axes
from control.impedance_state cimport Impedance

cdef extern from *:
    """
    #define FORCE_TIME (0.2)
    #define TOUCHES (0.5)
    #define LOST_SHARE (0.1)
    #define LOST_TIME (0.1)
    """
    const double FORCE_TIME      # T [s]
    const double TOUCHES         # share of the asked force from which there is contact
    const double LOST_SHARE      # share below which there is none
    const double LOST_TIME       # [s]

cdef struct ForceAxes:       # for each axis
    bint[3] leads            # the target is led by the force
    bint[3] touches          # there has been contact since the force was asked for
    double[3] apart          # time without it since then [s]
    double[6] more           # what the last step has added to the spring's wrench, base axes


cdef inline bint is_apart(ForceAxes* axes, Py_ssize_t k, double pressed, double dt) noexcept nogil:
    """Whether contact was there and is lost. pressed: share of the asked force that is felt."""
    if pressed > TOUCHES:
        axes.touches[k], axes.apart[k] = True, 0.0
    elif axes.touches[k] and pressed < LOST_SHARE:
        axes.apart[k] += dt
    return axes.apart[k] > LOST_TIME


cdef inline double led_speed(const Impedance* law, Py_ssize_t k, double asked, double felt,
                             double error) noexcept nogil:
    """The speed of the target along an axis [m/s]. error: from the end effector to the target."""
    cdef double stiffness = law.settings.stiffness[k]
    cdef double speed = (asked + felt) / (stiffness * FORCE_TIME)
    if stiffness * error * copysign(1.0, asked) > law.settings.max_wrench[0] and (
            speed * asked > 0.0):
        return 0.0                                  # the spring presses with all it may
    return fmax(fmin(speed, law.settings.contact_speed), -law.settings.contact_speed)


cdef inline void place_difference(const double* pose, const double* target,
                                  double* out) noexcept nogil:
    """out, (6): from the place of a pose (16) to that of another; no rotation."""
    cdef Py_ssize_t k
    for k in range(3):
        out[k], out[3 + k] = target[4 * k + 3] - pose[4 * k + 3], 0.0


cdef inline void shift(const Impedance* law, const double* by, double* pose) noexcept nogil:
    """Move a pose (16) by a way (6) in compliance axes."""
    cdef double[6] way
    cdef Py_ssize_t k
    from_axes(law, by, way)
    for k in range(3):
        pose[4 * k + 3] += way[k]


cdef inline void lead_by_force(ForceAxes* axes, Impedance* law, const double* wrench, bint measured,
                               double dt) noexcept nogil:
    """Move target and desired pose along the force axes, and feed the rest of the asked wrench (6)
    forward.

    measured: whether ``law.felt`` is.
    """
    cdef double[6] asked, felt, error, way
    cdef Py_ssize_t k
    to_axes(law, wrench, 1, asked)
    to_axes(law, law.felt, 1, felt)
    place_difference(law.pose, law.target, way)
    to_axes(law, way, 1, error)
    for k in range(6):
        way[k] = 0.0
    for k in range(3):
        axes.leads[k] = measured and asked[k] != 0.0 and law.settings.force_axes[k] != 0.0
        if axes.leads[k]:
            axes.leads[k] = not is_apart(axes, k, -felt[k] / asked[k], dt)
        else:
            axes.touches[k], axes.apart[k] = False, 0.0
        if axes.leads[k]:
            way[k] = dt * led_speed(law, k, asked[k], felt[k], error[k])
        if law.settings.force_axes[k] != 0.0:
            asked[k] = 0.0
    from_axes(law, asked, law.feedforward)
    # The desired pose goes along, and is no faster for it: D V_d would be proportional action.
    shift(law, way, law.target)
    shift(law, way, law.desired)
    for k in range(3):
        way[k] *= law.settings.stiffness[k]
    from_axes(law, way, axes.more)


cdef inline void keep_force_axes(const ForceAxes* axes, const Impedance* law,
                                 double* pose) noexcept nogil:
    """Give a new target (16) the place of the present one along the axes that the force leads."""
    cdef double[6] way, kept
    cdef Py_ssize_t k
    place_difference(pose, law.target, way)
    to_axes(law, way, 1, kept)
    for k in range(3):
        kept[k] = kept[k] if axes.leads[k] else 0.0
    shift(law, kept, pose)

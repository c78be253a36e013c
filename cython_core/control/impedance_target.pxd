# Cartesian impedance control (cartesian_impedance.pxd): what leads the hand, the desired pose on
# its way to the target (rule 6) and the stiffness on its way to the one that is set.

from libc.math cimport fmin, sqrt

from control.impedance_state cimport Approach, Impedance, ImpedanceSettings
from task_space.pose cimport norm, pose_error, turn

cdef extern from *:
    """
    #define AT_REST (1e-12)
    """
    const double AT_REST  # [m/s, rad/s]; with the denormal numbers that a decay ends in a cycle
                          # took three times as long


cdef inline void approach_part(const Approach* limits, Py_ssize_t part, const double* way,
                               const double* wanted, double dt, double* velocity) noexcept nogil:
    """velocity (3) of the desired pose after dt, linear (part 0) or angular (1), on its way to a
    target with ``wanted``.
    """
    cdef double distance = norm(way), most = limits.acceleration[part], speed, size, factor
    cdef double[3] change
    cdef Py_ssize_t k
    speed = fmin(fmin(limits.rate[part] * distance, sqrt(most * distance)), limits.speed[part])
    for k in range(3):
        change[k] = wanted[k] - velocity[k]
        if distance > 0.0:
            change[k] += speed / distance * way[k]
        change[k] *= fmin(4.0 * limits.rate[part] * dt, 1.0)
    size = norm(change)
    factor = most * dt / size if size > most * dt else 1.0
    for k in range(3):
        velocity[k] += factor * change[k]
    size = norm(velocity)
    for k in range(3):
        if size > limits.speed[part]:
            velocity[k] *= limits.speed[part] / size
        elif size < AT_REST:
            velocity[k] = 0.0


cdef inline void approach(Impedance* its, const ImpedanceSettings* settings,
                          double dt) noexcept nogil:
    """Move the desired pose towards the target (rule 6)."""
    cdef double[3] phi
    cdef Py_ssize_t k
    pose_error(its.desired, its.target, its.way + 3, its.way)
    for k in range(2):
        approach_part(&settings.approach, k, its.way + 3 * k, its.target_velocity + 3 * k, dt,
                      its.desired_velocity + 3 * k)
    for k in range(3):
        its.desired[4 * k + 3] += dt * its.desired_velocity[k]
        phi[k] = dt * its.desired_velocity[3 + k]
    turn(phi, its.desired)


cdef inline void blend_stiffness(Impedance* its, const ImpedanceSettings* settings,
                                 double dt) noexcept nogil:
    """Lead the stiffness from the old one to the one that is set, with zero slope at both ends."""
    cdef double p = 1.0
    cdef Py_ssize_t k
    its.elapsed += dt
    if its.elapsed < settings.transition_time:
        p = its.elapsed / settings.transition_time
        p = p * p * (3.0 - 2.0 * p)
    for k in range(6):
        its.stiffness[k] = its.old_stiffness[k] + p * (settings.stiffness[k] - its.old_stiffness[k])

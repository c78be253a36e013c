# Cartesian impedance control (cartesian_impedance.pxd): what leads the end effector, the desired
# pose on its way to the target (rule 6) and the stiffness on its way to the one that is set.

from libc.math cimport fmin, sqrt

from control.impedance_state cimport Impedance
from task_space.pose cimport norm, pose_error, turn

cdef extern from *:
    """
    #define AT_REST (1e-12)
    """
    const double AT_REST  # [m/s, rad/s]; with the denormal numbers that a decay ends in a cycle
                          # took three times as long


cdef inline void approach_part(Impedance* law, Py_ssize_t part, double dt) noexcept nogil:
    """Velocity of the desired pose after dt, linear (part 0) or angular (1)."""
    cdef const double* remaining = law.remaining + 3 * part
    cdef double* velocity = law.desired_velocity + 3 * part
    cdef double rate = law.settings.approach_rate[part], max_speed = law.settings.max_speed[part]
    cdef double max_acceleration = law.settings.max_acceleration[part]
    cdef double distance = norm(remaining), speed, size, factor
    cdef double[3] change
    cdef Py_ssize_t k
    speed = fmin(fmin(rate * distance, sqrt(max_acceleration * distance)), max_speed)
    for k in range(3):
        change[k] = law.target_velocity[3 * part + k] - velocity[k]
        if distance > 0.0:
            change[k] += speed / distance * remaining[k]
        change[k] *= fmin(4.0 * rate * dt, 1.0)
    size = norm(change)
    factor = max_acceleration * dt / size if size > max_acceleration * dt else 1.0
    for k in range(3):
        velocity[k] += factor * change[k]
    size = norm(velocity)
    for k in range(3):
        if size > max_speed:
            velocity[k] *= max_speed / size
        elif size < AT_REST:
            velocity[k] = 0.0


cdef inline void displace(double* pose, const double* velocity, double time) noexcept nogil:
    """Move a pose (16) by a velocity (6) that lasts for a time [s]."""
    cdef double[3] phi
    cdef Py_ssize_t k
    for k in range(3):
        pose[4 * k + 3] += time * velocity[k]
        phi[k] = time * velocity[3 + k]
    turn(phi, pose)


cdef inline void approach(Impedance* law, double dt) noexcept nogil:
    """Move the desired pose towards the target (rule 6)."""
    pose_error(law.desired, law.target, law.remaining + 3, law.remaining)
    approach_part(law, 0, dt)
    approach_part(law, 1, dt)
    displace(law.desired, law.desired_velocity, dt)


cdef inline void blend_stiffness(Impedance* law, double dt) noexcept nogil:
    """Lead the stiffness from the old one to the one that is set, with zero slope at both ends."""
    cdef double p = 1.0
    cdef Py_ssize_t k
    law.elapsed += dt
    if law.elapsed < law.settings.transition_time:
        p = law.elapsed / law.settings.transition_time
        p = p * p * (3.0 - 2.0 * p)
    for k in range(6):
        law.stiffness[k] = (law.old_stiffness[k]
                            + p * (law.settings.stiffness[k] - law.old_stiffness[k]))

# The speed from which a joint still stops where it is to be: of the position governor's commands
# (control/position_governor.pxd), and of simulated drives (simulation/twin_arm.pxd).

from libc.math cimport fmax, sqrt


cdef inline double stopping_speed(double distance, double speed, double braking,
                                  double h) noexcept nogil:
    """The speed after a step h [s] from which a joint still stops after a distance, which it
    begins with ``speed``.

    The step takes (speed + v) h / 2 of the distance, braking takes v^2 / (2 braking).
    """
    cdef double half = 0.5 * braking * h
    return sqrt(fmax(half * half + braking * (2.0 * distance - speed * h), 0.0)) - half


cdef inline double speed_to_reach(double distance, double speed, double braking,
                                  double h) noexcept nogil:
    """The same for a distance in either direction."""
    if distance < 0.0:
        return -stopping_speed(-distance, -speed, braking, h)
    return stopping_speed(distance, speed, braking, h)

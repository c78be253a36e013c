# The position governor: what stands between the motion and drives with position loops of their own,
# as the torque governor does for torques.
#
# Each joint's command is a position and a velocity. Whatever is asked for, from one command to the
# next:
#
# 1. the velocity stays within the speed limit, and changes by at most DRIVE_ACCELERATION: the
#    position is the integral of it and so has no steps;
# 2. a joint always can stop before its limits, also where what is asked for lies beyond (as where a
#    floating arm is pushed); one that stands beyond them goes no further;
# 3. what is asked for is commanded to the bit where these bounds allow to be there; otherwise the
#    joint is led there, at a speed from which it can still be braked.
#
# While no command comes, drives stand where they were told: the time beyond a usual step, of which
# they know nothing, brakes the command and does not move it.
#
# To some of these drives the torque goes as an offset of the position (``ServoGovernor``): what
# they are told is governed likewise, after it.

from libc.math cimport copysign, fabs, fmax, fmin, isfinite

from control.fault_bounds cimport LIMIT_SLACK
from control.settings cimport JointLimits, speed_bound, within_joint
from stopping_speed cimport speed_to_reach, stopping_speed

cdef extern from *:
    const double DRIVE_ACCELERATION "10.0"  # in speed limits per second: full speed within .1 s.
                                            # Arms state 3 to 8; a stop within the default stop_time
                                            # takes 6
    const double CATCHING_UP "0.7"          # share of it that brakes a joint towards what is asked
                                            # for: the rest is for the acceleration of that
    const double TOUCHING "1e-6"            # share of the speed limit by which rounding may exceed
                                            # it

cdef struct PositionGovernor:
    Py_ssize_t n
    bint used                # the drives follow positions; otherwise there are none
    double* q                # (2, n) the last command: position,
    double* qd               # velocity


cdef inline double drive_acceleration(const JointLimits* limits, Py_ssize_t i) noexcept nogil:
    return DRIVE_ACCELERATION * speed_bound(limits, i)


cdef inline double speed_at_rest(double speed, double braking, double idle) noexcept nogil:
    """What is left of a speed after a time without commands [s]."""
    return copysign(fmax(fabs(speed) - braking * fmax(idle, 0.0), 0.0), speed)


cdef inline bint is_in_reach(double off, double slip, double a, double h) noexcept nogil:
    """Whether a joint can be where it is to be after h [s], accelerated by ``a``, then braked. off,
    slip: its position and speed minus those from which a constant speed leads there.
    """
    cdef double share = slip / (a * h)
    return fabs(off + 0.5 * slip * h) <= 0.25 * a * h * h * (1.0 - share * share)


cdef inline bint stops_before(double distance, double speed, double braking) noexcept nogil:
    """Whether a joint can stop within the distance to a limit."""
    return speed <= 0.0 or speed * speed <= 2.0 * braking * distance


cdef inline void follow_position(double* q, double* qd, double goal, double speed, double lower,
                                 double upper, double max_speed, double a,
                                 double h) noexcept nogil:
    """Lead a joint to a position and velocity after a step h [s]; a: bound of acceleration."""
    lower, upper = fmin(lower - LIMIT_SLACK, q[0]), fmax(upper + LIMIT_SLACK, q[0])
    if not lower <= goal <= upper:
        goal, speed = fmin(fmax(goal, lower), upper), 0.0
    off, slip = q[0] - goal + speed * h, qd[0] - speed
    if (is_in_reach(off, slip, a, h)
            and fabs(speed) <= (1.0 + TOUCHING) * max_speed
            and fabs(goal - q[0]) <= (1.0 + TOUCHING) * max_speed * h
            and stops_before(upper - goal, speed, a)
            and stops_before(goal - lower, -speed, a)):
        q[0], qd[0] = goal, speed
        return
    next = speed + speed_to_reach(-off, slip, CATCHING_UP * a, h)
    next = fmin(fmax(next, -max_speed), max_speed)
    next = fmin(next, stopping_speed(upper - q[0], qd[0], a, h))
    next = fmax(next, -stopping_speed(q[0] - lower, -qd[0], a, h))
    next = fmin(fmax(next, qd[0] - a * h), qd[0] + a * h)
    q[0] += 0.5 * (qd[0] + next) * h
    qd[0] = next


cdef inline void govern_positions(PositionGovernor* g, const JointLimits* limits,
                                  const double* goal, const double* speed, double dt,
                                  double longest) noexcept nogil:
    """The next command; what is not finite stops a joint. Of dt [s] ``longest`` may move joints."""
    cdef double h = fmin(dt, longest)
    for i in range(g.n):
        a = drive_acceleration(limits, i)
        g.qd[i] = speed_at_rest(g.qd[i], a, dt - h)
        follows = isfinite(goal[i]) and isfinite(speed[i])
        if h > 0.0:
            follow_position(g.q + i, g.qd + i, goal[i] if follows else g.q[i],
                            speed[i] if follows else 0.0, limits.lower[i], limits.upper[i],
                            limits.velocity[i], a, h)


# Drives that are told a torque as an offset of their position, of which their loop makes it:
# position + compliance torque + lag velocity, see featherstone_ros/model/drive_units.py. The
# position is that of the middle of the time in which it acts.

cdef struct ServoGovernor:
    PositionGovernor governor # ``used``: there are such drives
    const double* compliance # (n,) of the drives [rad/(N m), m/N]; 0: not told a position
    const double* lag        # (n,) of their damping [s]
    double ahead             # until the middle of the time in which a command acts [s]
    double* offset           # (n,) the last one
    double* goal             # (2, n) what is asked for: position,
    double* speed            # velocity


cdef inline double offset_for(const ServoGovernor* g, Py_ssize_t i, double torque,
                              double speed, double ahead) noexcept nogil:
    """What is added to a desired position. torque: of the joint; speed: desired."""
    return g.compliance[i] * torque + (g.lag[i] + ahead) * speed


cdef inline void start_positions(PositionGovernor* positions, ServoGovernor* g,
                                 const JointLimits* limits, const double* q,
                                 const double* torque) noexcept nogil:
    """Begin at rest at a position (n,), with the torque (n,) that holds it. A stiffness that is
    stated too small asks for a position beyond the limits.
    """
    for i in range(positions.n):
        positions.q[i] = q[i]
        g.offset[i] = offset_for(g, i, torque[i], 0.0, 0.0)
        g.goal[i] = g.governor.q[i] = within_joint(limits, i, q[i], q[i] + g.offset[i])
        positions.qd[i] = g.governor.qd[i] = 0.0


cdef inline void govern_servos(ServoGovernor* g, const JointLimits* limits,
                               const PositionGovernor* positions, const double* torque,
                               double ahead, double dt, double longest) noexcept nogil:
    """Work out what drives are told for a position, as governed, and a torque (n,), which does not
    lead a command beyond a joint's limits. ahead: by which the position is to be [s].
    """
    cdef double h = fmin(dt, longest)
    for i in range(g.governor.n):
        q = positions.q[i]
        offset = offset_for(g, i, torque[i], positions.qd[i], ahead)
        g.speed[i] = positions.qd[i] + ((offset - g.offset[i]) / h if h > 0.0 else 0.0)
        g.offset[i] = offset
        g.goal[i] = within_joint(limits, i, q, q + offset)
        if g.goal[i] != q + offset:
            g.speed[i] = 0.0
    govern_positions(&g.governor, limits, g.goal, g.speed, dt, longest)

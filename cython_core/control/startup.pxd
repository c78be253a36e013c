# The first command after activation or silence: whether the arm can be taken over where it stands,
# and the effort that holds it there, from which the commands go on without a step. effort: as
# measured (n,), NaN where it is not.

from libc.math cimport INFINITY, fabs, isfinite, isinf
from libc.string cimport memset

from control.arm cimport gravity, suffices
from control.controller_state cimport Controller, note
from control.events cimport (CAUSE_CANNOT_HOLD, CAUSE_DISPUTED, CAUSE_OUTSIDE, NOTE_OUTSIDE,
                             NO_CAUSE, Reason, because)
from control.fault_bounds cimport BEYOND_GRAVITY, LIMIT_SLACK
from control.motion cimport any_nonzero
from control.phase_changes cimport respond, take_over
from control.phases cimport WAITING
from control.position_governor cimport start_positions, start_servos
from control.settings cimport JointLimits
from control.state_observer cimport forget
from control.torque_governor cimport start_from
from joint_drives cimport standing_torque


cdef inline bint is_measured(const Controller* c, const double* effort) noexcept nogil:
    """Whether an effort tells what holds the arm; exactly zero on all joints means that it is not
    measured, or that brakes hold the arm.
    """
    return (c.arm.settings.start_from_measured_effort
            and not c.arm.settings.hardware_adds_gravity and any_nonzero(effort, c.n))


cdef inline Py_ssize_t disputed(const Controller* c, const double* effort) noexcept nogil:
    """The first joint whose measured effort is too far from ``gravity_torque`` for a load and
    friction, or -1: it would throw the arm.

    Effort or position is wrong, unless something else holds the arm. Without an effort limit there
    is no measure of "far".
    """
    if not is_measured(c, effort):
        return -1
    for i in range(c.n):
        if (BEYOND_GRAVITY * c.arm.joints.effort_limit[i]
                < fabs(effort[i] - c.sent.gravity_torque[i]) < INFINITY):
            return i
    return -1


cdef inline bint is_judged(const Controller* c, const double* effort) noexcept nogil:
    """Whether ``disputed`` has judged the efforts of all joints."""
    for i in range(c.n):
        if isinf(c.arm.joints.effort_limit[i]) or not isfinite(effort[i]):
            return False
    return is_measured(c, effort)


cdef inline const double* holding_effort(const Controller* c, const double* effort) noexcept nogil:
    """The command that continues the torque that holds the arm: measured and not ``disputed``, or
    ``gravity_torque``.

    Drives that add gravity themselves hold the arm at command zero, whatever they report. After
    silence the drives still apply the last command.
    """
    if is_judged(c, effort):
        return effort
    if c.sent.has_begun:
        return c.sent.governor.command
    return c.zero if c.arm.settings.hardware_adds_gravity else c.sent.gravity_torque


cdef inline double standing_effort(const Controller* c, Py_ssize_t i) noexcept nogil:
    """What holds a joint where it is measured: ``gravity_torque``, spring and offset."""
    return c.sent.gravity_torque[i] + standing_torque(&c.arm.joints.drives, i, c.observer.q[i])


cdef inline Py_ssize_t too_heavy(const Controller* c) noexcept nogil:
    """The first joint whose effort limit is too small for its ``gravity_torque``, or -1."""
    for i in range(c.n):
        if not suffices(&c.arm.joints, i, standing_effort(c, i)):
            return i
    return -1


cdef inline Py_ssize_t outside(const Controller* c, Py_ssize_t first, double slack) noexcept nogil:
    """The next joint from ``first`` on that stands further beyond its limits than ``slack``, or -1.
    """
    for i in range(first, c.n):
        if not c.arm.limits.lower[i] - slack <= c.observer.q[i] <= c.arm.limits.upper[i] + slack:
            return i
    return -1


cdef inline Reason why_not_begin(const Controller* c, const double* effort) noexcept nogil:
    """Why the arm cannot be taken over where it stands.

    If all positions are exactly zero, any distance beyond the limits counts: that is what hardware
    reports before it has heard from its arm.
    """
    cdef const double* q = c.observer.q
    cdef const JointLimits* limits = &c.arm.limits
    cdef double slack = c.arm.settings.start_tolerance if any_nonzero(q, c.n) else LIMIT_SLACK
    cdef Py_ssize_t i = outside(c, 0, slack) if c.machine.phase == WAITING else -1
    if i >= 0:
        return because(CAUSE_OUTSIDE, i, q[i],
                       limits.lower[i] if q[i] < limits.lower[i] else limits.upper[i])
    i = too_heavy(c)
    if i >= 0:
        return because(CAUSE_CANNOT_HOLD, i, standing_effort(c, i),
                       c.arm.joints.effort_limit[i])
    i = disputed(c, effort)
    if i >= 0:
        return because(CAUSE_DISPUTED, i, effort[i], c.sent.gravity_torque[i])
    return because(NO_CAUSE, -1, 0.0, 0.0)


cdef inline bint begin_commands(Controller* c, double now, const double* effort) noexcept nogil:
    """Begin with the effort that holds the arm now, unless none can, or the positions cannot be the
    arm's.

    Drives that follow positions begin with the measured one, when a second state agrees with it.
    """
    if c.positions.used and not c.observer.confirmed:
        return False
    gravity(&c.arm.models, c.observer.q, c.sent.gravity_torque)
    reason = why_not_begin(c, effort)
    if reason.code != NO_CAUSE:
        if c.machine.hold.code != reason.code:
            respond(c, now, &reason)
        forget(&c.observer)
        return False
    if c.machine.hold.code in (CAUSE_CANNOT_HOLD, CAUSE_OUTSIDE, CAUSE_DISPUTED):
        c.machine.hold.code = NO_CAUSE
    i = outside(c, 0, c.arm.settings.start_tolerance)
    while i >= 0:
        note(&c.machine, NOTE_OUTSIDE, i, c.observer.q[i], c.arm.limits.lower[i],
             c.arm.limits.upper[i], 0.0)
        i = outside(c, i + 1, c.arm.settings.start_tolerance)
    start_from(&c.sent.governor, &c.arm.joints, holding_effort(c, effort))
    start_positions(&c.positions, c.observer.q)
    start_servos(&c.servos, &c.arm.limits, c.observer.q, c.sent.governor.command)
    memset(c.task.presliding, 0, c.n * sizeof(double))
    take_over(c, now)
    return True

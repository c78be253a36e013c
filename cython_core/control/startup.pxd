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
from control.position_governor cimport start_positions
from control.settings cimport JointLimits
from control.state_observer cimport forget
from control.torque_governor cimport start_from
from joint_drives cimport standing_torque


cdef inline bint is_measured(const Controller* c, const double* effort) noexcept nogil:
    """Whether an effort tells what holds the arm; 0 in all joints: not measured, or brakes do."""
    return (c.arm.settings.start_from_measured_effort
            and not c.arm.settings.hardware_adds_gravity and any_nonzero(effort, c.n))


cdef inline const double* holding_effort(const Controller* c, const double* effort) noexcept nogil:
    """The command that continues the torque that holds the arm: as measured and judged
    (``why_not_begin``), the last one, which drives still apply after silence, or
    ``gravity_torque``; zero where drives add gravity.
    """
    cdef bint is_judged = is_measured(c, effort)
    for i in range(c.n):
        is_judged &= not isinf(c.arm.joints.effort_limit[i]) and isfinite(effort[i])
    if is_judged:
        return effort
    if c.sent.has_begun:
        return c.sent.governor.command
    return c.zero if c.arm.settings.hardware_adds_gravity else c.sent.gravity_torque


cdef inline bint is_outside(const Controller* c, Py_ssize_t i, double slack) noexcept nogil:
    """Whether a joint stands beyond its limits by more than ``slack``."""
    return not (c.arm.limits.lower[i] - slack <= c.observer.q[i] <= c.arm.limits.upper[i] + slack)


cdef inline Reason why_not_begin(const Controller* c, const double* effort) noexcept nogil:
    """Why the arm cannot be taken over where it stands: beyond its limits (by any distance if all
    positions are exactly zero, which is what hardware reports before it has heard from its arm); a
    joint that its effort limit cannot hold; a measured effort too far from ``gravity_torque`` for a
    load and friction, which would throw the arm: effort or position is wrong, unless something else
    holds it. Without an effort limit there is no measure of "far".
    """
    cdef const double* q = c.observer.q
    cdef const JointLimits* limits = &c.arm.limits
    cdef const double* gravity_torque = c.sent.gravity_torque
    cdef double slack = c.arm.settings.start_tolerance if any_nonzero(q, c.n) else LIMIT_SLACK
    for i in range(c.n if c.machine.phase == WAITING else 0):
        if is_outside(c, i, slack):
            return because(CAUSE_OUTSIDE, i, q[i],
                           limits.lower[i] if q[i] < limits.lower[i] else limits.upper[i])
    for i in range(c.n):
        holding = gravity_torque[i] + standing_torque(&c.arm.joints.drives, i, q[i])
        if not suffices(&c.arm.joints, i, holding):
            return because(CAUSE_CANNOT_HOLD, i, holding, c.arm.joints.effort_limit[i])
    for i in range(c.n if is_measured(c, effort) else 0):
        if (BEYOND_GRAVITY * c.arm.joints.effort_limit[i]
                < fabs(effort[i] - gravity_torque[i]) < INFINITY):
            return because(CAUSE_DISPUTED, i, effort[i], gravity_torque[i])
    return because(NO_CAUSE, -1, 0.0, 0.0)


cdef inline bint begin_commands(Controller* c, double now, const double* effort) noexcept nogil:
    """Begin with the effort that holds the arm now, unless none can, or the positions cannot be its
    own; drives that follow positions, when a second state agrees with the first.
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
    for i in range(c.n):
        if is_outside(c, i, c.arm.settings.start_tolerance):
            note(&c.machine, NOTE_OUTSIDE, i, c.observer.q[i], c.arm.limits.lower[i],
                 c.arm.limits.upper[i], 0.0)
    start_from(&c.sent.governor, &c.arm.joints, holding_effort(c, effort))
    start_positions(&c.positions, &c.servos, &c.arm.limits, c.observer.q, c.sent.governor.command)
    memset(c.task.presliding, 0, c.n * sizeof(double))
    take_over(c, now)
    return True

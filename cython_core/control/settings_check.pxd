# Whether settings and a model leave the arm enough effort, where it is now: to be held, to be
# brought to rest if it moves, and for all that the law would ask for at this moment. Asked before
# the first command and before every change. What needs no arm is checked in
# featherstone_ros/control/controller_parameters.py: friction alone, and gains.

from libc.math cimport fabs

from control.arm cimport Arm, is_same, suffices
from control.controller_state cimport Controller, is_commanding, is_tracking
from control.events cimport (GRANTED, GRAVITY_IN_USE, NO_TIP, TIMEOUT_TOO_SHORT, TOO_LITTLE_EFFORT,
                             Reason, Refusal, because)
from control.impedance_state cimport ImpedanceChange
from control.laws cimport law
from control.phases cimport FLOATING
from control.settings cimport LEADS_END_EFFECTOR, JointSettings, Settings
from dynamics_interface cimport DynamicsInterface
from joint_drives cimport standing_torque

cdef struct SettingsChange:
    Settings settings
    JointSettings joints
    const ImpedanceChange* impedance # NULL: stays as it is
    const double* rates              # (3, n) acceleration, deceleration and jerk; NULL: likewise

cdef struct CheckPayload:
    const SettingsChange* change
    const DynamicsInterface* model   # NULL: stays as it is
    Reason detail                    # of a refusal


cdef inline void stopping_effort(double stop_time, const JointSettings* joints,
                                 const DynamicsInterface* model, const double* state,
                                 double* acceleration, double* effort) noexcept nogil:
    """The effort (n,) that brings the arm from a state (2, n) to rest within stop_time [s], gravity
    included; friction would help. acceleration: (n,) scratch.
    """
    cdef const double* qd = state + model.n
    for i in range(model.n):
        acceleration[i] = -qd[i] / stop_time
    model.rnea(model.self, state, qd, acceleration, effort)
    for i in range(model.n):
        effort[i] += (joints.drives.armature[i] * acceleration[i]
                      + standing_torque(&joints.drives, i, state[i]))


cdef inline Refusal conflict(const Controller* c, const Settings* settings) noexcept nogil:
    """Why the controller cannot go over to other settings in its present phase."""
    if settings.mode.leads == LEADS_END_EFFECTOR and c.task.cartesian.law.link < 0:
        return NO_TIP
    if (is_commanding(&c.machine)
            and settings.hardware_adds_gravity != c.arm.settings.hardware_adds_gravity):
        return GRAVITY_IN_USE
    return GRANTED


cdef inline bint takes_too_much(const Controller* c, CheckPayload* check, const double* before,
                                const double* after) noexcept nogil:
    """Whether some joint would need an effort (n,) that it does not have, and more than before:
    settings in force may suffice no longer, as after a push; then others must be no worse.
    """
    cdef const JointSettings* joints = &check.change.joints
    for i in range(c.n):
        if not suffices(joints, i, after[i]) and (
                joints.effort_limit[i] < c.arm.joints.effort_limit[i]
                or not fabs(after[i]) <= fabs(before[i])):
            check.detail = because(TOO_LITTLE_EFFORT, i, after[i], joints.effort_limit[i])
            return True
    return False


cdef inline void law_effort(const Controller* c, const Settings* settings,
                            const JointSettings* joints, double* effort) noexcept nogil:
    """What a law of the joints would ask for now (n,), all summands: the model's effort, friction,
    feedback or damping.
    """
    cdef Arm arm = c.arm
    arm.settings, arm.joints = settings[0], joints[0]
    law(&arm, c.observer.q, c.task.desired, c.task.presliding, 0.0, effort)


cdef inline Refusal why_not_configure(const Controller* c, CheckPayload* check) noexcept nogil:
    """Why other settings, and another model if there is one, cannot be taken now."""
    cdef const DynamicsInterface* present = c.arm.models.newest.model
    cdef const JointSettings* joints = &check.change.joints
    cdef const Settings* settings = &check.change.settings
    cdef double* acceleration = c.arm.models.scratch
    cdef double* before = c.scratch
    cdef double* after = c.scratch + c.n
    cdef Refusal refusal = conflict(c, settings)
    if refusal != GRANTED or not is_commanding(&c.machine):
        return refusal                                          # the first command's check follows
    if settings.state_timeout < c.arm.settings.state_timeout and (
            settings.state_timeout <= c.clock.interval):        # each state would be a gap
        check.detail = because(TIMEOUT_TOO_SHORT, -1, settings.state_timeout, c.clock.interval)
        return TIMEOUT_TOO_SHORT
    stopping_effort(c.arm.settings.stop_time, &c.arm.joints, present, c.observer.q, acceleration,
                    before)
    stopping_effort(settings.stop_time, joints, present if check.model == NULL else check.model,
                    c.observer.q, acceleration, after)
    if takes_too_much(c, check, before, after):
        return TOO_LITTLE_EFFORT
    if (not is_same(settings.mode, c.arm.settings.mode) or settings.mode.leads == LEADS_END_EFFECTOR
            or not (is_tracking(&c.machine) or c.machine.phase == FLOATING)):
        return GRANTED                                          # it begins without an error
    law_effort(c, &c.arm.settings, &c.arm.joints, before)
    law_effort(c, settings, joints, after)
    return TOO_LITTLE_EFFORT if takes_too_much(c, check, before, after) else GRANTED

# Whether settings and a model leave the arm enough effort, where it is now: to be held, and to be
# brought to rest if it moves. Asked before the first command and before every change.

from libc.math cimport fabs

from control.controller_state cimport Controller, Hold, answers_states, is_blind
from control.events cimport GRANTED, GRAVITY_IN_USE, NO_TIP, TOO_LITTLE_EFFORT, Refusal
from control.settings cimport CARTESIAN_IMPEDANCE, Settings
from dynamics_interface cimport DynamicsInterface

cdef struct CheckPayload:
    const Settings* settings
    const DynamicsInterface* model   # NULL: stays as it is
    Hold detail                      # of a refusal


cdef inline bint suffices(const Settings* its, Py_ssize_t i, double effort) noexcept nogil:
    """Whether a joint's effort limit allows an effort. With a limit of 0 nothing is controlled."""
    return fabs(effort) <= its.effort_limit[i] and its.effort_limit[i] > 0.0


cdef inline void stopping_effort(const Settings* its, const DynamicsInterface* model,
                                 const double* q, const double* qd, double* acceleration,
                                 double* effort) noexcept nogil:
    """The effort (n,) that brings the arm from a velocity to rest within stop_time, gravity
    included; friction would help. acceleration: (n,) scratch.
    """
    cdef Py_ssize_t i
    for i in range(model.n):
        acceleration[i] = -qd[i] / its.stop_time
    model.rnea(model.self, q, qd, acceleration, effort)
    for i in range(model.n):
        effort[i] += its.armature[i] * acceleration[i] + its.offset[i]


cdef inline Refusal conflict(const Controller* c, const Settings* settings) noexcept nogil:
    """Why the controller cannot go over to other settings in its present phase."""
    if settings.mode == CARTESIAN_IMPEDANCE and c.hand.law.link < 0:
        return NO_TIP
    if ((answers_states(c) or is_blind(c))
            and settings.hardware_adds_gravity != c.settings.hardware_adds_gravity):
        return GRAVITY_IN_USE
    return GRANTED


cdef inline Refusal why_not_configure(Controller* c, const Settings* settings,
                                      const DynamicsInterface* model,
                                      Hold* detail) noexcept nogil:
    """Why other settings, and another model unless it is NULL, cannot be taken now.

    Those in force may suffice no longer, as after a push; then others must be no worse.
    """
    cdef const DynamicsInterface* present = c.models.newest.model
    cdef const double* q = c.observer.q
    cdef const double* qd = c.observer.qd
    cdef double* before = c.scratch + c.n
    cdef Refusal refusal = conflict(c, settings)
    cdef Py_ssize_t i
    if refusal != GRANTED or not (answers_states(c) or is_blind(c)):
        return refusal                                          # the first command's check follows
    stopping_effort(&c.settings, present, q, qd, c.scratch, before)
    stopping_effort(settings, present if model == NULL else model, q, qd, c.scratch, c.torque)
    for i in range(c.n):
        if not suffices(settings, i, c.torque[i]) and (
                settings.effort_limit[i] < c.settings.effort_limit[i]
                or not fabs(c.torque[i]) <= fabs(before[i])):
            detail.joint, detail.found, detail.bound = i, c.torque[i], settings.effort_limit[i]
            return TOO_LITTLE_EFFORT
    return GRANTED

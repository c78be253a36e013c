# The arm as the controller is told of it: settings, limits, and the model. Only ``configure`` and
# ``take_model`` (request_handlers.pxd) change it while the controller runs. What a mode is, is
# asked here.

from libc.math cimport fabs
from libc.stdint cimport uint64_t

from control.settings cimport (FEEDBACK_ACCELERATIONS, FEEDBACK_SPRING, LEADS_END_EFFECTOR,
                               LEADS_NOTHING, TERMS_FULL, JointLimits, JointSettings, Mode,
                               Settings)
from dynamics_interface cimport DynamicsInterface

# Inverse dynamics while the payload or gravity changes smoothly.
#
# Efforts are linear in the inertial parameters and in gravity. So a weighted mean of two models'
# efforts is the effort of the model with the mean parameters.

cdef enum:
    MAX_MODELS = 4           # more changes within a transition are merged, and the governor smooths
                             # the step

cdef struct WeightedModel:
    const DynamicsInterface* model
    uint64_t number          # identifies it to Python
    double weight            # among the old models

cdef struct ModelBlend:
    WeightedModel newest
    WeightedModel[MAX_MODELS] old
    int olds
    double duration
    double elapsed
    Py_ssize_t n
    double* part             # (n,) scratch
    double* scratch          # (4, n) for those who ask


cdef inline double share(const ModelBlend* b) noexcept nogil:
    """Weight of the newest model, 0 to 1."""
    return b.elapsed / b.duration if b.olds else 1.0


cdef inline void combine(const ModelBlend* b, const double* q, const double* qd,
                         const double* qdd, double* tau) noexcept nogil:
    """tau = ID(q, qd, qdd), NULL being zero."""
    b.newest.model.rnea(b.newest.model.self, q, qd, qdd, tau)
    if b.olds == 0:
        return
    for i in range(b.n):
        tau[i] *= share(b)
    for k in range(b.olds):
        weight = (1.0 - share(b)) * b.old[k].weight
        b.old[k].model.rnea(b.old[k].model.self, q, qd, qdd, b.part)
        for i in range(b.n):
            tau[i] += weight * b.part[i]


cdef inline void gravity(const ModelBlend* b, const double* q, double* tau) noexcept nogil:
    """tau = g(q)."""
    combine(b, q, NULL, NULL, tau)


cdef inline void pass_time(ModelBlend* b, double dt) noexcept nogil:
    if b.olds:
        b.elapsed += dt
        if b.elapsed >= b.duration:
            b.olds = 0


cdef inline void change_model(ModelBlend* b, const DynamicsInterface* model, uint64_t number,
                              double duration) noexcept nogil:
    """Change to another model, linearly in time from what is in effect now; 0: at once."""
    cdef double newest = share(b), total = 0.0
    for k in range(b.olds):
        b.old[k].weight *= 1.0 - newest
    if b.olds == MAX_MODELS:
        for k in range(1, MAX_MODELS):
            b.old[k - 1] = b.old[k]
        b.olds -= 1
    b.old[b.olds] = b.newest
    b.old[b.olds].weight = newest
    b.olds = b.olds + 1 if duration > 0.0 else 0
    for k in range(b.olds):
        total += b.old[k].weight
    for k in range(b.olds):
        b.old[k].weight /= total
    b.newest.model, b.newest.number, b.newest.weight = model, number, 1.0
    b.duration, b.elapsed = duration, 0.0


cdef inline bint uses(const ModelBlend* b, uint64_t number) noexcept nogil:
    """Whether a model is still in use."""
    for k in range(b.olds):
        if b.old[k].number == number:
            return True
    return b.newest.number == number


cdef struct Arm:
    Settings settings
    JointSettings joints
    JointLimits limits
    ModelBlend models


cdef inline bint is_same(Mode one, Mode other) noexcept nogil:
    return one.leads == other.leads and one.feedback == other.feedback


cdef inline bint floats_free(const Arm* arm) noexcept nogil:
    """Whether the mode has nothing to follow."""
    return arm.settings.mode.leads == LEADS_NOTHING


cdef inline bint leads_end_effector(const Arm* arm) noexcept nogil:
    """Whether the end effector is led, not the joints."""
    return arm.settings.mode.leads == LEADS_END_EFFECTOR


cdef inline bint drives_end_effector(const Arm* arm) noexcept nogil:
    """Whether the torques are those of the end effector's spring, not of a motion of the joints."""
    return arm.settings.mode.feedback == FEEDBACK_SPRING


cdef inline bint moves_virtual_arm(const Arm* arm) noexcept nogil:
    """Whether a wrench moves a virtual arm, which the joints follow."""
    return leads_end_effector(arm) and not drives_end_effector(arm)


cdef inline bint accelerates(const Arm* arm) noexcept nogil:
    """Whether gains are of accelerations, not of torques."""
    return arm.settings.mode.feedback == FEEDBACK_ACCELERATIONS


cdef inline bint feeds_forward(const Arm* arm) noexcept nogil:
    """Whether an arm that is free follows the desired motion without feedback."""
    return not drives_end_effector(arm) and (arm.settings.terms == TERMS_FULL or accelerates(arm))


cdef inline bint suffices(const JointSettings* joints, Py_ssize_t i, double effort) noexcept nogil:
    """Whether a joint's effort limit allows an effort. With a limit of 0 nothing is controlled."""
    return fabs(effort) <= joints.effort_limit[i] and joints.effort_limit[i] > 0.0

# The arm as the controller is told of it: settings, limits, and the model. Only ``configure`` and
# ``take_model`` (request_handlers.pxd) change it while the controller runs.

from control.model_blend cimport ModelBlend
from control.settings cimport (ADMITTANCE, CARTESIAN_IMPEDANCE, JointLimits, JointSettings, Mode,
                               Settings)

cdef struct Arm:
    Settings settings
    JointSettings joints
    JointLimits limits
    ModelBlend models


cdef inline bint is_of_end_effector(Mode mode) noexcept nogil:
    """Whether a mode leads the end effector, not the joints."""
    return mode == CARTESIAN_IMPEDANCE or mode == ADMITTANCE


cdef inline bint leads_end_effector(const Arm* arm) noexcept nogil:
    return is_of_end_effector(arm.settings.mode)


cdef inline bint drives_end_effector(const Arm* arm) noexcept nogil:
    """Whether the torques are those of the end effector's spring, not of a motion of the joints."""
    return arm.settings.mode == CARTESIAN_IMPEDANCE

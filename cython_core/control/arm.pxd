# The arm as the controller is told of it: settings, limits, and the model. Only ``configure`` and
# ``take_model`` (request_handlers.pxd) change it while the controller runs.

from control.model_blend cimport ModelBlend
from control.settings cimport ADMITTANCE, CARTESIAN_IMPEDANCE, JointLimits, JointSettings, Settings

cdef struct Arm:
    Settings settings
    JointSettings joints
    JointLimits limits
    ModelBlend models


cdef inline bint leads_end_effector(const Arm* arm) noexcept nogil:
    """Whether the mode leads the end effector, not the joints."""
    return arm.settings.mode == CARTESIAN_IMPEDANCE or arm.settings.mode == ADMITTANCE


cdef inline bint drives_end_effector(const Arm* arm) noexcept nogil:
    """Whether the torques are those of the end effector's spring, not of a motion of the joints."""
    return arm.settings.mode == CARTESIAN_IMPEDANCE

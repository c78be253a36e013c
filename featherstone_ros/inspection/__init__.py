"""The inertial doctor: is a robot description fit for dynamics?

``doctor`` asks every rule: those of ``model`` about links and joints, ``geometry`` and ``meshes``
measured by ``sizes``, the ``mass_matrix`` and what is not plausible (``plausibility``) of the robot
with all joints free (``free_model``).
"""

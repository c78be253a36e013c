"""The inertial doctor: is a robot description fit for dynamics?

``doctor`` applies every rule: those of ``model`` on links and joints; ``sizes``, which compares
inertial values with the links' ``geometry`` and ``meshes``; ``mass_matrix`` and ``whole_robot``,
which examine the robot with all joints free (``free_model``).
"""

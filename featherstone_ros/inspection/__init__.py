"""The inertial doctor: is a robot description fit for dynamics?

``doctor`` applies every rule: those of ``model`` on links and joints; ``sizes``, which compares
inertial values with the links' ``geometry`` and ``meshes``; and ``whole_robot``, which
examines the robot with all joints free.
"""

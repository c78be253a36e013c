"""The inertial doctor: is a robot description fit for dynamics?

``doctor`` applies every rule: those of ``model`` on links and joints, and ``plausibility``, which
compares inertial values with the links' ``geometry`` and examines the robot as a whole.
"""

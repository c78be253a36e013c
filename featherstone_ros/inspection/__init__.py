"""The inertial doctor: is a robot description fit for dynamics?"""

"""``featherstone-ros preflight``: can the motors follow a trajectory, before the arm moves?

``source`` and ``topic`` get the trajectory, from a file, a recording or a topic, ``check`` checks
it by ``control.feasibility``, ``effort`` fills its effort fields, ``report`` and ``picture`` show
what came of it.
"""

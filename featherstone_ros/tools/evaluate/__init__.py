"""``featherstone-ros evaluate``: how well a model explains the torque that an arm measured.

``session`` runs the steps, which are in ``identification``; the other modules show and write the
result.
"""

"""``featherstone-ros evaluate``: how well a model explains the torque that an arm measured.

``session`` joins the steps, which are those of ``identification``; the others show and keep it.
"""

"""Can the motors follow a motion? Asked by the controller, and by ``featherstone-ros preflight``.

``demand`` computes position, speed and torque of every joint, ``excesses`` finds where they exceed
the arm's limits, and by which factor to slow it down; ``feasibility`` is the verdict, and
what of it is asked of the controller's input.
"""

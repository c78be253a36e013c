"""Can the motors follow a motion? Asked by the controller, and by ``featherstone-ros preflight``.

``demand`` computes position, speed and torque of every joint, ``limits`` finds where they exceed
the arm's limits, ``jumps`` where the velocity jumps, ``slow_down`` by which factor to slow it down;
``feasibility`` combines the four, and ``checks`` applies them to the controller's input.
"""

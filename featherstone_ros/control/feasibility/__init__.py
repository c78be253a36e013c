"""Can the motors follow a motion? Asked by the controller, and by ``featherstone-ros preflight``.

``demand`` is what a motion asks of every joint, ``limits`` where that is more than the arm has,
``slow_down`` how much slower it would have to be, ``verdict`` the three together; ``arrival``
checks a trajectory that reaches the controller.
"""

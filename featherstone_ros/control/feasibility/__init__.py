"""Can the motors follow a motion? Asked by the controller, and by ``featherstone-ros preflight``.

``demand`` is what a motion asks of every joint, ``limits`` where that is more than the arm has,
``jumps`` where its velocity jumps, ``slow_down`` how much slower it would have to be, ``verdict``
the four together; ``checks`` looks at what reaches the controller.
"""

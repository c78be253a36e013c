"""Will this trajectory stay within the motors? No rclpy here; the controller asks it, too.

- ``demand``: what a motion asks of every joint, apart by what slowing down does to it.
- ``limits``: where that is more than the arm has.
- ``slow_down``: how much slower it would have to be.
- ``verdict``: the three together.
- ``arrival``: the check of a trajectory that arrives at the controller.
- ``source``, ``topic``: the trajectory, from a file, a recording or a topic.
- ``arm``: the arm, from its URDF and a parameter file.
- ``flight``: such a trajectory checked for such an arm.
- ``effort``: the trajectory with its effort fields filled.
- ``report``, ``picture``: what the command ``featherstone-ros preflight`` shows.
"""

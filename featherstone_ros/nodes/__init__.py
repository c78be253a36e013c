"""The nodes and what they share; these modules need rclpy, the rest of the product does not.

The executable of a node (``featherstone_ros/<node>.py``) imports nothing slow,
so that a signal during the imports is not a traceback (see ``execution``).
"""

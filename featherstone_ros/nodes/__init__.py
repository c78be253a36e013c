"""The ROS half that both nodes share; these modules need rclpy, the rest of the package does not.

- ``execution``: runs a node as a process that nothing ends before its arm is at rest.
- ``signals``, ``output_pump``: what each signal means; output that never blocks.
- ``lifecycle``: ``ModelNode``, a lifecycle node that has a robot description and a model.
- ``realtime_loop``: a compiled cycle in a thread without the interpreter, or in the executor.
- ``parameters``: declaration, validation and atomic change of parameters.
- ``diagnostics``: one status on ``/diagnostics``, once a second.
- ``messages``: arrays in joint order from messages that name their joints.

A node's class stands here too; its executable (``featherstone_ros/<node>.py``) is a ``main`` that
imports nothing slow, so that a signal during the imports is not a traceback (see ``execution``).
"""

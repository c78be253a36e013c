"""The nodes and what they share; these modules need rclpy, the rest of the product does not.

The nodes, and what belongs to one of them:

- ``feedforward_controller`` with ``controller_loop``, ``motion_input`` (what the arm is to do) and
  ``controller_diagnostics`` (whether it does); ``controller_state``, ``follow_joint_trajectory``.
- ``digital_twin`` with ``simulate_mode``, ``floating_base``;
  ``shadow_mode``, ``payload_service``.

What they share:

- ``execution``: runs a node as a process that nothing ends before its arm is at rest.
- ``signals``: what each signal means.
- ``lifecycle``: ``ModelNode``, a lifecycle node that has a robot description and a model.
- ``loop_mode``: a compiled cycle with its topics, run by a ``realtime_loop``, a thread without the
  interpreter, and the messages that it refuses.
- ``parameters``: how they are declared to ROS, checked and changed as a set.
- ``diagnostics_publisher``: one status on ``/diagnostics``, once a second; the checks of the robot
  description and of publishers that it tells of.
- ``qos``: quality of service of every topic; ``callback_groups``: what no executor waits for.
- ``locked_report``: where joints stand that the node does not move.
- ``messages``: messages from bytes.
- ``throttled_log``, ``launch_support``: log lines, launch files.

The executable of a node (``featherstone_ros/<node>.py``) imports nothing slow,
so that a signal during the imports is not a traceback (see ``execution``).
"""

"""Scheduling of a real-time loop, and measurements of its timing; without ROS.

- ``histogram``: how long something took, cycle by cycle.
- ``loop_timing``: that of a compiled loop, and how regularly it wakes up, in words.
- ``scheduling``: real-time priority and processor of a thread.
- ``mailbox``: from one thread to another without waiting.
"""

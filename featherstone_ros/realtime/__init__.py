"""What keeps a loop punctual, and what tells how punctual it was; without ROS.

- ``histogram``: how long something took, cycle by cycle.
- ``jitter``: how regularly a loop wakes up.
- ``loop_timing``: both of a compiled loop.
- ``deadline``: how many cycles took too long lately.
"""

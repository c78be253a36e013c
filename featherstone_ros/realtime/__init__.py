"""What keeps a loop punctual, and what tells how punctual it was; without ROS.

- ``histogram``: how long something took, cycle by cycle.
- ``jitter``: how regularly a loop wakes up.
- ``loop_timing``: both of a compiled loop.
- ``timing``: both, and how many cycles took too long lately.
- ``scheduling``: real-time priority and processor of a thread.
- ``mailbox``: from one thread to another without waiting.
"""

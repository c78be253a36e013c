"""What keeps a loop punctual, and what tells how punctual it was; without ROS.

- ``histogram``: how long something took, cycle by cycle.
- ``loop_timing``: that of a compiled loop, and how regularly it wakes up, in words.
- ``scheduling``: real-time priority and processor of a thread.
- ``mailbox``: from one thread to another without waiting.
"""

"""What ``featherstone-ros monitor`` shows: the condition of our nodes, as heard on /diagnostics.

``roster`` keeps who was heard and what they said, ``view`` shows it with rich, ``lines`` without a
terminal; ``listen`` alone needs rclpy. What arrives may come from anybody: names and texts are cut
to a length and freed of control characters, which a terminal would obey.
"""

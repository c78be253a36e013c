"""What ``featherstone-ros monitor`` shows: the status of this package's nodes, from /diagnostics.

``node_status`` keeps the last status of every node, ``view`` shows it with rich, ``lines`` without
a terminal; only ``listen`` needs rclpy. Anybody may publish on /diagnostics: names and texts are
cut to a length, and control characters, which a terminal would obey, are removed.
"""

"""Times a path anew, as fast as the arm can follow it.

``path`` is where it leads, without times; ``timing`` the fastest timing within limits on a grid,
``demands`` the limits of an arm there, and by how much a timing exceeds them in between; ``retime``
combines the three.
"""

BLEND = 0.02  # [rad or m] that joints pass the corners of straight lines by

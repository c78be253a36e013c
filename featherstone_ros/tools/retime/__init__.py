"""``featherstone-ros retime``: a trajectory's path as fast as the arm can."""

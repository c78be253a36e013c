"""What ``featherstone-ros doctor`` is made of: checks of this machine, and of the ROS domain."""

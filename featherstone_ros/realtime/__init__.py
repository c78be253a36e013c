"""How the loops run: scheduling and timing. No ROS."""

"""``featherstone-ros replay``: trajectories are followed, and compared with what the arm did."""

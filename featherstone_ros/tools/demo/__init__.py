"""What ``featherstone-ros demo`` is made of: motion, node processes, recording, report."""

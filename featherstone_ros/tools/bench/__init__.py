"""What ``featherstone-ros bench`` is made of: cases, race, child processes, report, picture."""

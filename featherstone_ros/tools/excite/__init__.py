"""``featherstone-ros excite``: a motion to record, planned, checked and rehearsed."""

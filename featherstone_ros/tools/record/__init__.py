"""What ``featherstone-ros record`` is made of: topics heard as bytes, and the bag they go to."""

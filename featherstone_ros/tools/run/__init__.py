"""What ``featherstone-ros run`` is made of: nodes in one terminal, and a line about them."""

"""What ``featherstone-ros setup`` is made of: what it proposes, checks, writes and draws."""

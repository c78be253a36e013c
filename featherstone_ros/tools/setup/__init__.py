"""``featherstone-ros setup``: proposes, checks, writes and draws a new arm's parameters."""

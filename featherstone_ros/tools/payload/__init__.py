"""``featherstone-ros payload``: what hangs on a link, from a recording."""

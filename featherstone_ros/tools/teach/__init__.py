"""``featherstone-ros teach``: what is led by hand becomes trajectories; ``teaching`` makes them."""

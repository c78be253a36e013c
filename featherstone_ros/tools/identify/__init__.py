"""``featherstone-ros identify``: the model that the arm really has, from recordings."""

"""``featherstone-ros identify``: corrects a model from recordings of the arm."""

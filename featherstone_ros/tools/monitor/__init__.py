"""``featherstone-ros monitor``: the status of this package's nodes, from /diagnostics."""

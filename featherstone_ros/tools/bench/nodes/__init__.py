"""The nodes part of ``featherstone-ros bench``: real processes over DDS, against a bare echo node.

``reaction`` and ``jitter`` compare our nodes with floors of the same run; ``loops`` watches closed
loops of twin and controller: one at full rate for long, and several at once.
"""

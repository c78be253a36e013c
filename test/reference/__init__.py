"""Rigid-body dynamics as in the books, in NumPy: for reading, and to test the compiled core.

Functions are short rather than fast. The chapters of ``docs/dynamics.md`` explain them. The product
imports none of them: tests and readers do, so they lie here and are not installed.

spatial, robot: spatial vectors, and the tree that all algorithms share.
featherstone: RNEA, CRBA and ABA, as in RBDA's tables.
newton_euler, inertia: inverse dynamics in 3-vectors; the tensor of a rigid body.
explicit, kane: M(q), V(q, qd) and G(q) from Jacobians, after Lagrange; the same after Kane.
mirtich, articulated: forward dynamics by articulated bodies, for a chain and for a tree.
operators, composite, momentum, innovations: the spatial operator algebra of Rodriguez and Jain.
constraints: loops, closed by distances that are kept.
hinges, free_base: for the operators, joints with several degrees of freedom and a floating base.
examples: the robots of the chapters.
"""

from reference.robot import BASE, Robot

__all__ = ["BASE", "Robot"]

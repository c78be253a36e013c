"""Rigid-body dynamics as in RBDA, in NumPy: a small oracle for the compiled core, and for reading.

Functions are short rather than fast, and import nothing that is compiled.

spatial, robot: spatial vectors, and the tree that all algorithms share.
featherstone: RNEA, CRBA and ABA, as in RBDA's tables.
All others, which the chapters of ``docs/dynamics.md`` explain: docs/dynamics/reference/.
"""

from pathlib import Path

from reference.robot import BASE, Robot

__all__ = ["BASE", "Robot"]
__path__.append(str(Path(__file__).resolve().parents[2] / "docs/dynamics/reference"))

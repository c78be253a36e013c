"""How work that takes long tells how far it is."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]  # called with the steps done and their total

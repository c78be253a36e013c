"""What a check of the effort contract has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Finding(Enum):
    """Kinds of verdicts."""

    UNDECIDED = "undecided"
    KEPT = "kept"
    BROKEN = "broken"  # another contract fits
    UNEXPLAINED = "unexplained"  # none does


@dataclass(frozen=True)
class Verdict:
    """A finding with its reason.

    Attributes:
        finding: What was found.
        text: One sentence for a person.
    """

    finding: Finding
    text: str

"""What a check of the effort contract has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ContractState(Enum):
    """Kinds of verdicts."""

    UNDECIDED = "undecided"
    KEPT = "kept"
    BROKEN = "broken"  # another contract fits
    UNEXPLAINED = "unexplained"  # none does


@dataclass(frozen=True)
class ContractVerdict:
    """A finding with its reason.

    Attributes:
        finding: What was found.
        text: The reason, one sentence for the user.
    """

    finding: ContractState
    text: str

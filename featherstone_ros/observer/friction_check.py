"""In motion: is friction part of the effort, as the effort contract says?"""

from __future__ import annotations

from featherstone_ros.observer.effort_contract import (
    FULL,
    WITHOUT_FRICTION,
    ContractState,
    ContractVerdict,
)


class FrictionCheck:
    """Judges how much of the friction appears as external torque.

    That share is 0 if the contract is right, 1 if it is ``full`` but the effort is without
    friction, -1 in the opposite case (from ``update_sliding`` in
    cython_core/observer/effort_statistics.pxd).

    Attributes:
        verdict: The last conclusive one.
    """

    def __init__(self, contract: str) -> None:
        """Take the name of the configured contract."""
        self._contract = contract
        self.verdict = ContractVerdict(
            ContractState.UNDECIDED, "friction not checked yet: waits for motion"
        )

    def update(self, share: float) -> bool:
        """Take a share; return whether the verdict has changed."""
        before, self.verdict = self.verdict, self._judge(share)
        return self.verdict != before

    def _judge(self, share: float) -> ContractVerdict:
        contract = self._contract
        other = {FULL: WITHOUT_FRICTION, WITHOUT_FRICTION: FULL}.get(contract)
        expected = 1.0 if contract == FULL else -1.0
        if other and abs(share - expected) < 0.5:
            return ContractVerdict(
                ContractState.BROKEN,
                f"drives.<joint>.effort is {contract}, but in motion the effort fits {other} "
                f"({abs(share):.2f} of the friction appears as external torque)",
            )
        if abs(share) < 0.5:
            return ContractVerdict(ContractState.KEPT, f"effort as {contract} fits in motion")
        return ContractVerdict(
            ContractState.UNEXPLAINED,
            f"in motion friction is {1.0 - share:.2g} times that of the parameters: wrong ones, or "
            f"drives.<joint>.effort is wrong ({contract})",
        )

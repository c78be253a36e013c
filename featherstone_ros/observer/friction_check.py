"""In motion, the external torque must not follow the friction: is friction in the effort or not?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.observer.effort_contract import FULL, WITHOUT_FRICTION
from featherstone_ros.observer.friction import JointFriction
from featherstone_ros.observer.verdict import ContractState, ContractVerdict

Floats = NDArray[np.float64]

SLIDING = 5.0  # [s] that a joint must slide in either direction, over its range of positions
SIGNS = np.array([[1.0], [-1.0]])  # of the directions


class FrictionCheck:
    """Compares external torque with friction between the two directions of every joint.

    The difference of the means over both directions is free of what depends on position alone,
    such as errors of the gravity. Relative to that of the friction it is 0 if the contract is kept,
    1 if the effort is taken for full and is without friction, -1 the other way round. The median
    of the joints decides.

    Attributes:
        verdict: The last one that says something.
    """

    def __init__(self, contract: str, gain: Floats, friction: JointFriction) -> None:
        """Take what is configured.

        Args:
            contract: Name of the configured contract.
            gain: (n,) of the observer [1/s].
            friction: Of the joints.
        """
        self._contract = contract
        self._gain = gain
        self._friction = friction
        self._sliding = friction.sliding
        self._has_friction = bool(self._sliding.any())
        self.verdict = ContractVerdict(
            ContractState.UNDECIDED, "friction not checked yet: waits for motion"
        )
        self._begin()
        self.restart()

    def _begin(self) -> None:
        n = len(self._gain)
        self._time = np.zeros((2, n))  # slid forward and backward
        self._sums = np.zeros((2, 2, n))  # of friction and external torque, for either

    def restart(self) -> None:
        """Let the filter begin anew, as the observer does."""
        self._filtered = np.zeros_like(self._gain)

    def update(self, dt: float, qd: Floats, external_torque: Floats) -> bool:
        """Take a state; return whether there is another verdict.

        Args:
            dt: Time since the state before [s].
            qd: (n,) velocity [rad/s or m/s].
            external_torque: (n,) by the observer [N m or N].
        """
        if not self._has_friction:
            return False
        # Friction as the observer would show it, with the observer's delay.
        self._filtered -= np.expm1(-self._gain * dt) * (self._friction(qd) - self._filtered)
        slides = (SIGNS * self._filtered > self._sliding) * dt
        self._time += slides
        self._sums += slides[:, None] * (self._filtered, external_torque)
        ready = (self._time > SLIDING).all(axis=0)
        if not ready.sum() > 0.5 * (self._sliding > 0.0).sum():
            return False
        forward, backward = self._sums[:, :, ready] / self._time[:, None, ready]
        friction, external = forward - backward
        before, self.verdict = self.verdict, self._judge(float(np.median(external / friction)))
        self._begin()
        return self.verdict != before

    def _judge(self, share: float) -> ContractVerdict:
        contract = self._contract
        other = {FULL: WITHOUT_FRICTION, WITHOUT_FRICTION: FULL}.get(contract)
        expected = 1.0 if contract == FULL else -1.0
        if other and abs(share - expected) < 0.5:
            return ContractVerdict(
                ContractState.BROKEN,
                f"effort_contract is {contract}, but in motion the effort fits {other} "
                f"({abs(share):.2f} of the friction appears as external torque)",
            )
        if abs(share) < 0.5:
            return ContractVerdict(ContractState.KEPT, f"effort_contract {contract} fits in motion")
        return ContractVerdict(
            ContractState.UNEXPLAINED,
            f"in motion friction is {1.0 - share:.2g} times that of the parameters: wrong ones, or "
            f"effort_contract is wrong ({contract})",
        )

"""The effort contract: what an arm's effort field means (effort.pxd), and whether it does.

Its words are those of ``drives.<joint>.effort``, which says it joint by joint (``DriveUnits``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.model import drive_units
from featherstone_ros.model.drive_units import ANOTHER_UNIT, DriveUnits, in_proportion

CONTRACTS = FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT = (
    drive_units.TORQUE,  # of the joint
    drive_units.WITHOUT_GRAVITY,  # the drives add gravity and do not report it
    drive_units.WITHOUT_FRICTION,  # the torque after the friction of the gears
    drive_units.CURRENT,  # joint torque / gain; also percent of a rated torque
)
OF_ALL = (WITHOUT_GRAVITY, WITHOUT_FRICTION)  # contracts that hold for all joints or none

TOLERANCE = 0.25  # of the gravity load that the effort may differ by: errors of the model, noise
SIGNIFICANT = 5.0  # standard errors of the mean effort that a load must exceed
SLIGHT = 0.1  # of the gravity load: a smaller misfit does not contradict a contract
FAR_BETTER = 0.25  # share of the misfit of a contract that fits, for another one to replace it
SAME_AT_REST = {FULL, WITHOUT_FRICTION}
NOTICEABLE = 0.1  # of the greatest load: joints with less are not judged one by one


class ContractState(IntEnum):
    """What has been found of the contract; the greater, the worse."""

    UNDECIDED = 0
    KEPT = 1
    UNEXPLAINED = 2  # no contract fits
    BROKEN = 3  # another one fits


class ContractVerdict(NamedTuple):
    """The result of a check."""

    finding: ContractState  # what was found
    text: str  # the reason, one sentence for the user


def contract_of(units: DriveUnits) -> tuple[str, Floats]:
    """Return the contract that the drives' units make, and the torque per current or per cent (n,).

    Under another contract than ``MOTOR_CURRENT``, what it would be: 1 where that is not known.
    """
    for word in OF_ALL:
        has = np.array([effort == word for effort in units.effort])
        if has.all():
            return word, np.where(units.torque_constant > 0.0, units.torque_per_current, 1.0)
        if has.any():
            joint = int(has.argmin())
            raise ValueError(
                f"drives.{units.names[joint]}.effort is {units.effort[joint]}, expected {word} as "
                "for other joints: a shadow has one contract for all"
            )
    gain = units.effort_gain
    if (gain == 1.0).all():
        return FULL, np.where(units.torque_constant > 0.0, units.torque_per_current, 1.0)
    return MOTOR_CURRENT, gain


class EffortJudge:
    """Compares the efforts that an arm reports with those that each contract expects.

    Both by means of cython_core/observer/effort.pxd. At rest, friction may have any
    value up to its Coulomb limit, so the effort may differ by that much, except under
    ``without_friction``. A joint whose effort is out of proportion to its load contradicts a
    contract by itself, whatever the others carry. Full effort and effort without friction can only
    be told apart in motion. Once the configured contract has been confirmed, effort at rest that
    fits none is taken for contact.

    Attributes:
        at_rest: The last conclusive verdict of a standstill.
        in_motion: That of a motion.
    """

    def __init__(self, contract: str, gain: Floats, coulomb: Floats, names: tuple[str, ...]):
        """Begin without a verdict; ``gain``: (n,) torque per effort, for ``motor_current``."""
        self._contract = contract
        self._gain = gain
        self._coulomb = coulomb
        self._names = names
        undecided = ContractState.UNDECIDED
        self.at_rest = ContractVerdict(
            undecided, f"effort as {contract} not checked yet: waits for a rest"
        )
        self.in_motion = ContractVerdict(undecided, "friction not checked yet: waits for motion")

    @property
    def verdict(self) -> ContractVerdict:
        """The worse of both."""
        return max(self.at_rest, self.in_motion, key=lambda verdict: verdict.finding)

    def rest(self, effort: Floats, error: Floats, gravity: Floats) -> ContractVerdict | None:
        """Judge a standstill by means (n,): effort, its standard error, the gravity torque.

        Returns the verdict if it has changed.
        """
        before, self.at_rest = self.at_rest, self._judge(effort, error, gravity)
        return self.at_rest if self.at_rest != before else None

    def motion(self, share: float) -> ContractVerdict | None:
        """Judge how much of the friction appears as external torque; return as ``rest``.

        That is 0 if the contract is right, 1 if it is ``full`` but the effort is without friction,
        -1 in the opposite case.
        """
        before, contract = self.in_motion, self._contract
        other = {FULL: WITHOUT_FRICTION, WITHOUT_FRICTION: FULL}.get(contract)
        expected = 1.0 if contract == FULL else -1.0
        if other and abs(share - expected) < 0.5:
            self.in_motion = ContractVerdict(
                ContractState.BROKEN,
                f"drives.<joint>.effort is {contract}, but in motion the effort fits {other} "
                f"({abs(share):.2f} of the friction appears as external torque)",
            )
        elif abs(share) < 0.5:
            self.in_motion = ContractVerdict(
                ContractState.KEPT, f"effort as {contract} fits in motion"
            )
        else:
            self.in_motion = ContractVerdict(
                ContractState.UNEXPLAINED,
                f"in motion friction is {1.0 - share:.2g} times that of the parameters: wrong "
                f"ones, or drives.<joint>.effort is wrong ({contract})",
            )
        return self.in_motion if self.in_motion != before else None

    def _judge(self, effort: Floats, error: Floats, gravity: Floats) -> ContractVerdict:
        loads, load = np.abs(gravity), np.linalg.norm(gravity)
        if not load > SIGNIFICANT * np.linalg.norm(error):
            return self.at_rest
        nothing = np.zeros_like(effort)
        torques = {  # measured, expected, and what friction may make of that
            FULL: (effort, gravity, self._coulomb),
            WITHOUT_FRICTION: (effort, gravity, nothing),
            WITHOUT_GRAVITY: (effort, nothing, self._coulomb),
            MOTOR_CURRENT: (self._gain * effort, gravity, self._coulomb),
        }
        if (self._gain == 1.0).all() and self._contract != MOTOR_CURRENT:
            del torques[MOTOR_CURRENT]  # it would be full effort
        misfits = {name: float(_missed(*of) / load) for name, of in torques.items()}
        if misfits[WITHOUT_GRAVITY] < TOLERANCE and misfits[FULL] < TOLERANCE:
            return self.verdict  # friction could carry the arm: this pose tells nothing
        loaded = (loads > NOTICEABLE * loads.max()) & (loads > SIGNIFICANT * error)
        odd = {name: loaded & _in_another_unit(*of) for name, of in torques.items()}
        told = loaded & (np.abs(effort) > SIGNIFICANT * error)
        scaled = misfits[WITHOUT_GRAVITY] < SLIGHT and _follows(effort[told], gravity[told])
        own = odd[self._contract]
        suspects = own if own.any() and not scaled else loaded
        return self._choose(misfits, odd, scaled, self._possible_cause(effort, gravity, suspects))

    def _choose(
        self,
        misfits: dict[str, float],
        odd: dict[str, NDArray[np.bool_]],
        scaled: bool,
        cause: str,
    ) -> ContractVerdict:
        contract, misfit = self._contract, misfits[self._contract]
        kept = misfit < TOLERANCE and not odd[contract].any()
        found = f"{100 * misfit:.0f} % of the gravity load missed"
        if kept:
            bounds = dict.fromkeys(misfits, FAR_BETTER * misfit if misfit > SLIGHT else 0.0)
            bounds |= dict.fromkeys(SAME_AT_REST if contract in SAME_AT_REST else (), 0.0)
        else:
            # Motor current is little effort, too, if a gear multiplies it.
            bounds = dict.fromkeys(misfits, TOLERANCE) | {WITHOUT_GRAVITY: SLIGHT}
        if scaled:  # little effort that follows the loads
            bounds[WITHOUT_GRAVITY] = 0.0
        fitting = [name for name in misfits if misfits[name] < bounds[name] and not odd[name].any()]
        if fitting:
            return ContractVerdict(
                ContractState.BROKEN,
                f"drives.<joint>.effort is {contract}, but at rest the effort fits "
                f"{' or '.join(fitting)} ({found} as configured)",
            )
        if kept:
            return ContractVerdict(ContractState.KEPT, f"effort as {contract} fits at rest")
        if self.at_rest.finding is ContractState.KEPT:
            return self.at_rest
        if scaled:
            cause += "; or torque without gravity, under another load"
        return ContractVerdict(
            ContractState.UNEXPLAINED,
            f"drives.<joint>.effort is {contract}, but at rest the effort fits no unit ({found}): "
            f"{cause}",
        )

    def _possible_cause(self, effort: Floats, gravity: Floats, joints: NDArray[np.bool_]) -> str:
        gain = gravity[joints] / np.where(effort[joints] == 0.0, np.nan, effort[joints])
        names = np.array(self._names)[joints]
        if not (gain > 0.0).all():
            return f"{', '.join(names)}: wrong model, wrong payload, or something holds the arm"
        gains = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, gain, strict=True))
        return f"current with torque_constant {gains}; or wrong payload, or something holds the arm"


def _missed(torque: Floats, expected: Floats, play: Floats) -> np.floating[Any]:
    """Return by how much torques (n,) differ from those that are expected."""
    return np.linalg.norm(np.maximum(np.abs(torque - expected) - play, 0.0))


def _in_another_unit(torque: Floats, expected: Floats, play: Floats) -> NDArray[np.bool_]:
    """Return which torques (n,) are out of proportion to those that are expected."""
    torque, load, (low, high) = torque * np.sign(expected), np.abs(expected), ANOTHER_UNIT
    matters = np.abs(torque - load) - play > SLIGHT * np.linalg.norm(load)
    return matters & ((torque + play < low * load) | (torque - play > high * load))


def _follows(effort: Floats, gravity: Floats) -> bool:
    """Tell whether efforts (m,) are loads (m,) times one factor; a single one always would be."""
    product = effort @ gravity
    return len(effort) > 1 and bool(
        product > 0.0 and in_proportion(product, effort @ effort, gravity @ gravity)
    )

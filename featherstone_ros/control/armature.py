"""Inertia of the drives, which URDFs do not tell: the least with which there are stable gains.

A light joint on a heavy arm may have no stable gains: those that carry the arm are too stiff for
the joint alone. A real drive's rotor, which the joint feels by its gear ratio squared, is what
makes it bear them. Gains that are stable with little such inertia are also stable with more, so
that assuming too little is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.damping import Damping, choose_damping, wanted_damping
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    ChosenGains,
    NoStableGainsError,
    SampledLoop,
    Timing,
    choose_gains,
)
from featherstone_ros.control.settings import Settings
from featherstone_ros.model import EARTH, Model

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a joint's largest inertia
MORE = (3.0, 30.0)  # times the least: what real drives may have
MOST_NAMED = 4  # joints that are found one by one; where it is more, all joints get their share

# From (n,) armature; raises NoStableGainsError.
Choose = Callable[[Floats], tuple[ChosenGains, Damping]]


@dataclass(frozen=True, eq=False)
class HeldArm:
    """An arm that can be held.

    Attributes:
        armature: (n,) least inertia of the drives, 0 where none is needed [kg m^2 or kg].
        gains: With it.
        damping: Likewise.
    """

    armature: Floats
    gains: ChosenGains
    damping: Damping


def least_armature(
    model: Model,
    bandwidth: float = BANDWIDTH,
    timing: Timing | None = None,
    choose: Choose | None = None,
) -> HeldArm:
    """Find the least armature with which gains of mode feedforward, and damping, are stable.

    It is the least of ``SHARES`` of the largest inertia that a joint moves: on the joints that need
    it, or on all where these gains would not bear more.

    Args:
        model: The arm.
        bandwidth: Of the gains [rad/s].
        timing: Of the loop; None: the defaults.
        choose: A function that chooses them as ``choose_gains`` and ``choose_damping`` do, and may
            remember them; None: these.

    Raises:
        NoStableGainsError: None is enough; of the arm without any.
    """

    def chosen(armature: Floats) -> tuple[ChosenGains, Damping]:
        loop = SampledLoop(model, armature, timing)
        gains = choose_gains(loop, bandwidth, DAMPING_RATIO, model.friction)
        return gains, choose_damping(loop, wanted_damping(model, loop), Settings.state_timeout)

    choose = choose or chosen
    without = _held(choose, np.zeros(model.n))
    if isinstance(without, HeldArm):
        return without
    heaviest = SampledLoop(model, timing=timing).heaviest
    for share in SHARES:
        held = _held(choose, share * heaviest)
        if isinstance(held, HeldArm):
            few = _of_few(choose, held.armature, without.index)
            return few if few and _bears_more(few, held.armature, model, timing) else held
    raise without


def _bears_more(held: HeldArm, enough: Floats, model: Model, timing: Timing | None) -> bool:
    """Tell whether the gains are also stable with more armature, on these or on all joints."""
    return all(
        SampledLoop(model, more * armature, timing).is_stable(held.gains.p, held.gains.d)
        for armature in (held.armature, enough)
        for more in MORE
    )


def _of_few(choose: Choose, enough: Floats, index: int) -> HeldArm | None:
    """Give armature to one joint after another that has no gains without; None: to too many."""
    armature = np.zeros_like(enough)
    for _ in range(MOST_NAMED):
        armature[index] = enough[index]
        held = _held(choose, armature)
        if isinstance(held, HeldArm):
            return held
        index = held.index
    return None


def _held(choose: Choose, armature: Floats) -> HeldArm | NoStableGainsError:
    """Return the arm with an armature (n,), or why it cannot be held with it."""
    try:
        return HeldArm(armature, *choose(armature))
    except NoStableGainsError as error:
        return error


def assumed_armature(model: Model, choose: Choose | None = None) -> Floats:
    """Return what both nodes assume, (n,): the least armature at the default timing and bandwidth.

    Zero where no armature is enough, or where joints move no inertia at all.

    Args:
        model: The arm; its base counts as fixed on Earth, so that both nodes assume the same.
        choose: As for ``least_armature``.
    """
    try:
        arm = replace(model, base="fixed").with_gravity(EARTH)
        return least_armature(arm, choose=choose).armature
    except (NoStableGainsError, np.linalg.LinAlgError):
        return np.zeros(model.n)


def in_words(joints: Sequence[str], armature: Floats) -> str:
    """Return the joints that have armature, with its values; empty for none."""
    needy = [(joint, value) for joint, value in zip(joints, armature, strict=True) if value]
    text = ", ".join(f"armature.{joint} {value:.3g}" for joint, value in needy[:MOST_NAMED])
    more = len(needy) - MOST_NAMED
    return text + (f" and {more} more" if more > 0 else "")

"""Inertia of the drives, which few URDFs tell: else the least with which there are stable gains.

Both nodes' parameters of a joint's drive stand here, too.

A light joint on a heavy arm may have no stable gains: those that carry the arm are too stiff for
the joint alone. A real drive's rotor, which the joint feels by its gear ratio squared, is what
makes it bear them. Gains that are stable with little such inertia are also stable with more, so
that assuming too little is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    MAX_JOINTS,
    ChosenGains,
    Damping,
    NoStableGainsError,
    Timing,
    choose,
    choose_damping,
    linearised,
    wanted_damping,
)
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.errors import SingularInertiaError
from featherstone_ros.model import EARTH, Model
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.drives import Drives
from featherstone_ros.parameter import Parameter, Value, bounded, joint_parameters_of, per_joint

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of a joint's largest inertia
MORE = (3.0, 30.0)  # times the least: what real drives may have
SLOWEST_ROTOR = 30.0  # [s] in which the effort limit must bring a drive alone to its speed limit
LARGE_ROTOR = 0.1  # [s] likewise of a drive that is much slower than usual: those of arms take .05
ROTORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of that, which one may have
ANY_ARMATURE = 1e4  # [kg m^2 or kg] bound where a joint has no limits
FASTER = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03)  # shares of period and delay
MAX_NAMED = 4  # joints that are found one by one; where it is more, all joints get their share


@dataclass(frozen=True, eq=False)
class StableArm:
    """An arm with stable gains."""

    armature: Floats  # (n,) least inertia of the drives, 0 where none is needed [kg m^2 or kg]
    gains: ChosenGains  # with it
    damping: Damping  # likewise


def min_armature(
    model: Model, bandwidth: float = BANDWIDTH, timing: Timing | None = None
) -> StableArm:
    """Find the least armature with which gains of mode feedforward, and damping, are stable.

    It is the least of ``SHARES`` of the largest inertia that a joint moves: on the joints that need
    it, or on all where these gains would not bear more. Joints whose armature the model knows keep
    it.
    """
    timing = timing or Timing()

    def choose_with(armature: Floats) -> StableArm | NoStableGainsError:
        loop, cutoff = linearised(model, armature, timing), ControllerSettings.velocity_cutoff
        try:
            gains = choose(loop, bandwidth, DAMPING_RATIO, model.friction, cutoff)
            damping = choose_damping(
                loop, wanted_damping(model, loop), ControllerSettings.state_timeout
            )
        except NoStableGainsError as error:
            return error
        return StableArm(armature, gains, damping)

    armature, known = model.armature, model.armature > 0.0
    without = choose_with(armature)
    if isinstance(without, StableArm):
        return without
    heaviest = linearised(model, armature, timing).heaviest
    found = (choose_with(np.where(known, armature, share * heaviest)) for share in SHARES)
    all_joints = next((arm for arm in found if isinstance(arm, StableArm)), None)
    if all_joints is None:
        raise without
    index = without.index
    for _ in range(MAX_NAMED):
        armature = armature.copy()
        armature[index] = all_joints.armature[index]
        few = choose_with(armature)
        if isinstance(few, StableArm):
            bears_more = all(
                linearised(model, more * inertia, timing).is_stable(few.gains.p, few.gains.d)
                for inertia in (armature, all_joints.armature)
                for more in MORE
            )
            return few if bears_more else all_joints
        index = few.index
    return all_joints


def faster_loop(model: Model, bandwidth: float, timing: Timing) -> str:
    """Return which faster loop would have stable gains; where none has, what takes none."""
    for share in FASTER:
        faster = Timing(share * timing.period, share * timing.delay)
        try:
            min_armature(model, bandwidth, faster)
        except NoStableGainsError:
            continue
        return f"there would be with {faster}"
    return "drives that close their position loops need none (output: joint_state)"


@lru_cache(maxsize=8)
def assumed_armature(model: Model) -> Floats:
    """Return what both nodes assume, (n,): the model's armature, where it has none the least.

    That is the least at the default timing and bandwidth; zero where no armature is enough, where
    joints move no inertia at all, or where there are more joints than anything controls. The base
    counts as fixed on Earth, so that both nodes assume the same.
    """
    if model.n > MAX_JOINTS:
        return model.armature
    try:
        arm = replace(model, base="fixed", gravity=np.array(EARTH))
        return min_armature(arm).armature
    except (NoStableGainsError, SingularInertiaError):
        return model.armature


def max_armature(model: Model, time: float = SLOWEST_ROTOR) -> Floats:
    """Return the inertia (n,) of a drive alone that its effort limit takes to its speed limit."""
    effort, speed = model.effort_limit, model.velocity_limit
    limited = np.isfinite(effort) & np.isfinite(speed) & (effort > 0.0) & (speed > 0.0)
    inverse = np.where(limited, effort, np.inf) / np.where(limited, speed, 1.0)
    return np.minimum(time * inverse, ANY_ARMATURE)


def possible_armature(model: Model, armature: Floats, share: float = 1.0) -> Floats:
    """Return an armature (n,) that drives may have: where it is 0, a share of the largest."""
    return np.where(armature > 0.0, armature, share * max_armature(model, LARGE_ROTOR))


def in_words(joints: Sequence[str], armature: Floats) -> str:
    """Return the joints that have armature, with its values; empty for none."""
    needy = [(joint, value) for joint, value in zip(joints, armature, strict=True) if value]
    text = ", ".join(f"armature.{joint} {value:.3g}" for joint, value in needy[:MAX_NAMED])
    more = len(needy) - MAX_NAMED
    return text + (f" and {more} more" if more > 0 else "")


def drive_parameters(model: Model, index: int, armature: float) -> Iterator[Parameter]:
    """Yield friction, armature and units of a drive; friction is by default the description's."""
    joint = model.joint_names[index]
    of_model = {"coulomb": model.friction[index], "viscous": model.damping[index]}
    for parameter in joint_parameters_of(Drives, joint, armature=armature, **of_model):
        if parameter.name == f"armature.{joint}":
            max_value = max(float(max_armature(model)[index]), armature)
            why = "what the effort limit brings to the speed limit within 30 s"
            yield replace(parameter, check=bounded("most", max_value, why))
        else:
            yield parameter
    yield from joint_parameters_of(DriveUnits, joint)


def require_same_units(values: Mapping[str, Value], before: Mapping[str, Value]) -> None:
    """Check that drives keep their units, which nobody exchanges under an arm that is held."""
    for name in values:
        if name.startswith("drives.") and values[name] != before[name]:
            raise ValueError(f"{name} is fixed until the node is cleaned up and configured")


def unset_armature(
    values: Mapping[str, Value], default: Callable[[str], Value], model: Model
) -> tuple[str, str]:
    """Return in words the armature that is assumed, and the description's, where none is set."""
    armature = per_joint(values, "armature.{}", model.joint_names)
    defaults = np.array([default(f"armature.{joint}") for joint in model.joint_names])
    unset, described = np.where(armature == defaults, armature, 0.0), model.armature > 0.0
    texts = (np.where(described, 0.0, unset), np.where(described, unset, 0.0))
    assumed, told = (in_words(model.joint_names, text) for text in texts)
    return assumed, told

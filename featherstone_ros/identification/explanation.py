"""How well a model explains the measured torque, and what then speaks against the result.

Sound recordings may still yield nonsense. The few thresholds from which a recording itself is
accused are shared by all commands. An accusation needs

- a motion that can tell: no model explains a torque better than to ``least_noise``, so that a joint
  whose links are hidden by its friction tells nothing of its gain, its sign or its encoder;
- an improvement that matters: the torque becomes more probable by ``OF_SIZE`` or ``OF_KIND``, and
  what is found is ``CERTAIN`` and larger than anybody would mind;
- no other hypothesis that is nearly as good: a rival within ``OF_SIZE`` leaves it untold;
- of a gain, links that are seen in the effort: one near 0 also explains links of another arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.model.drives import Drives

# By how much the logarithm of the torque's probability must grow for an accusation: of a size,
# which may turn out to be small, and of a kind, which may not; for a second fault twice as much.
OF_SIZE, OF_KIND = 5.0, 12.0
CERTAIN = 3.0  # standard deviations
KNOWN = 0.025  # relative deviation of a gain that is offered: within 5 %, of 20 but one
VAGUE = 0.25  # relative deviation of a gain from which the motion does not tell it
TOLD = 0.1  # deviation of a gain (relative) or an offset [rad or m] that still tells something
# What is named: a ratio, [rad or m], [s], [rad] and [kg].
MIN_GAIN, MIN_OFFSET, MIN_DELAY, MIN_TILT, MIN_LOAD = 1.2, 0.03, 0.01, 0.03, 0.05
# Of a result: an offset by the weight that its joint bears; what is left by what was left before,
# or as a share of the variance, if it is more than a share of the torque; a factor that all links
# have, and its spread.
WEIGHT, WORSE, LOST, OF_TORQUE, COMMON, ALIKE = 0.5, 1.5, 0.01, 0.02, 1.1, 0.3
RESOLVED = 1e-4  # share of a joint's effort limit below which nobody measures
OF_LINKS, OF_DRIVE = 0.005, 0.03  # shares of their torque that no model of them explains
GRAVITY, RIGID, FITTED, WRITTEN = "gravity", "rigid links", "with friction", "as parameters"
GIVEN = "with parameters"  # from a file
CONSTANT = 1e-18  # share of the squares that rounding leaves of a constant torque's variance


def least_noise(links: Floats, drive: Floats) -> Floats:
    """Return the RMS that any model leaves of a joint's torque [N m or N]."""
    return np.hypot(OF_LINKS * links, OF_DRIVE * drive)


@dataclass(frozen=True, eq=False)
class Explanation:
    """A model's torque compared with the measured one."""

    name: str  # the model's, e.g. ``RIGID``
    effort: Floats  # (N, n) predicted [N m or N]
    rms: Floats  # (n,) root mean square of the unexplained torque [N m or N]
    r2: Floats  # (n,) share of the variance explained, NaN where the measured torque is constant


def explain(name: str, measured: Floats, predicted: Floats) -> Explanation:
    """Compare a model's torque with the measured one."""
    left_over = measured - predicted
    return Explanation(name, predicted, rms(left_over), determination(measured, left_over))


def rms(values: Floats) -> Floats:
    """Return the root mean square of each column."""
    return np.sqrt(np.mean(values**2, axis=0))


def squares_about_mean(values: Floats) -> Floats:
    """Return the sum of squares about the mean of each column."""
    return ((values - values.mean(axis=0)) ** 2).sum(axis=0)


def determination(measured: Floats, left_over: Floats) -> Floats:
    """Return R^2 of each joint: 1 - residual sum of squares / sum of squares about the mean."""
    about_mean = squares_about_mean(measured)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            about_mean > CONSTANT * (measured**2).sum(axis=0),
            1 - (left_over**2).sum(axis=0) / about_mean,
            np.nan,
        )


def unexplained(joints: Sequence[str], explained: Explanation) -> list[str]:
    """Name joints whose torque the model explains worse than its mean would."""
    least = -1.0 if explained.name == RIGID else 0.0
    those = [
        f"{joint} (R² {share:.3g})"
        for joint, share in zip(joints, explained.r2.tolist(), strict=True)
        if share < least
    ]
    said = f"A constant would explain the effort better than the model: {', '.join(those)}."
    return [said] * bool(those)


def frictionless(joints: Sequence[str], drives: Drives) -> list[str]:
    """Name joints whose friction came out at its bound, 0; drives are of these joints."""
    free = (drives.coulomb <= 0.0) & (drives.viscous <= 0.0)
    none = [joint for joint, least in zip(joints, free.tolist(), strict=True) if least]
    return [f"No friction was found, its bound: {', '.join(none)}."] * bool(none)


def weights_as_offsets(joints: Sequence[str], drives: Drives, gravity: Floats) -> list[str]:
    """Name joints whose constant torque is of the size of the weight that they bear."""
    borne = rms(gravity)
    offset = np.broadcast_to(drives.offset, borne.shape)
    large = (np.abs(offset) > WEIGHT * borne) & (borne > drives.coulomb) & (borne > 0)
    return [
        f"{joints[k]}: its constant torque of {offset[k]:.4g} is of the size of the weight "
        f"that it bears ({borne[k]:.4g} N m or N): a counterweight, a weight that the URDF lacks "
        "or the driver omits?"
        for k in np.flatnonzero(large).tolist()
    ]


def worse(joints: Sequence[str], after: Explanation, before: Explanation, least: Floats) -> str:
    """Name joints of which the result leaves more than what was before, worst first; empty: none.

    What all leave is compared by variances; where these are alike, what each leaves by its size.
    ``least`` (n,) RMS that nobody minds [N m or N].
    """
    lost = np.where(after.rms > least, before.r2 - after.r2, 0.0)
    those = lost > LOST
    if np.nansum(lost) <= LOST * len(lost):
        those = (after.rms > WORSE * before.rms) & (after.rms > least)
    return ", ".join(
        f"{joints[k]} {after.rms[k]:.3g} instead of {before.rms[k]:.3g} N m or N"
        for k in sorted(np.flatnonzero(those).tolist(), key=lambda k: -np.nan_to_num(lost)[k])
    )


def common_factor(found: Floats, given: Floats) -> float:
    """Return by what all links were scaled; 1 where that is not what was found."""
    moves = rms(given) > OF_TORQUE * rms(given).max()
    found, given = found[:, moves], given[:, moves]
    if moves.sum() < 2:
        return 1.0
    factors = (found * given).sum(axis=0) / (given**2).sum(axis=0)
    off = np.abs(np.log(np.maximum(factors, 1e-6)))
    alike = np.ptp(off) < ALIKE * np.median(off) and np.ptp(np.sign(factors - 1.0)) == 0
    return float(np.median(factors)) if alike and np.median(off) > np.log(COMMON) else 1.0


def outside(model: Model, before: Model, boxes: Mapping[str, tuple[Floats, Floats]]) -> list[str]:
    """Name links whose centre of mass left the link's volume."""
    texts = []
    for link, (lower, upper) in boxes.items():
        if link not in model.link_names:
            continue
        at = model.link_names.index(link)
        now, was = (_centre(each.tree.link_parameters[at]) for each in (model, before))
        off, before_off = (float(np.linalg.norm(c - np.clip(c, lower, upper))) for c in (now, was))
        if off > before_off + OF_TORQUE * float(np.linalg.norm(upper - lower)):
            texts.append(
                f"{link}: its centre of mass came out {1e3 * off:.2g} mm outside of it: a load "
                "that the URDF lacks, or not what it weighs."
            )
    return texts


def _centre(parameters: Floats) -> Floats:
    return np.asarray(parameters[1:4] / max(float(parameters[0]), 1e-300), float)

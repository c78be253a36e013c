"""Says of a result what speaks against it: inputs that are sound may still yield nonsense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from featherstone_ros import Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.explanation import (
    ALIKE,
    COMMON,
    LOST,
    OF_TORQUE,
    RIGID,
    WEIGHT,
    WORSE,
    Explanation,
    rms,
)
from featherstone_ros.model.drives import Drives


def unexplained(joints: Sequence[str], explained: Explanation) -> list[str]:
    """Name joints whose torque the model explains worse than its mean would.

    Links without friction are not blamed for friction.
    """
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
    """Name joints whose constant torque is of the size of the weight that they bear.

    ``gravity`` (N, n) torque of the links' weight [N m or N].
    """
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
    """Return by what all links were scaled; 1 where that is not what was found.

    ``found`` (N, n) torque of the links as identified [N m or N]. ``given`` (N, n) as described.
    """
    moves = rms(given) > OF_TORQUE * rms(given).max()
    found, given = found[:, moves], given[:, moves]
    if moves.sum() < 2:
        return 1.0
    factors = (found * given).sum(axis=0) / (given**2).sum(axis=0)
    off = np.abs(np.log(np.maximum(factors, 1e-6)))
    alike = np.ptp(off) < ALIKE * np.median(off) and np.ptp(np.sign(factors - 1.0)) == 0
    return float(np.median(factors)) if alike and np.median(off) > np.log(COMMON) else 1.0


def outside(model: Model, before: Model, boxes: Mapping[str, tuple[Floats, Floats]]) -> list[str]:
    """Name links whose centre of mass left the link's volume.

    ``boxes``: lower and upper corner of each link's volume in its frame [m].
    """
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

"""Where a new arm begins: near the middle of its range, easy to hold, clear, and not singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.control.gains import postures
from featherstone_ros.model import Model

EASY = 0.5  # share of the effort limits that gravity may take
INNER = 0.6  # share of the range of motion, about its middle, in which a posture is looked for
WAYS = (0.25, 0.5, 0.75, 1.0)  # shares of the way there at which it is looked for
AGILE = 0.7  # share of the largest least singular value that is enough
RANK = 1e-3  # of the largest singular value: what is less is zero
COUNT = 200  # postures that are looked at, each of these ways
DIGITS = 2  # of the result, if it is as good with them


class Agility:
    """How well a tip moves in the direction in which it moves worst.

    That is the least singular value of its Jacobian that is not zero in all postures; lengths count
    in units of the arm's reach.
    """

    def __init__(self, model: Model, tip: str, q: Floats) -> None:
        """Take the arm.

        ``tip``: its tool's link; empty if that is unknown: then all postures are the same. ``q``
        (B, n) postures that show what the arm can do.
        """
        self._dynamics, self._tip, self._reach = Dynamics(model), tip, 1.0
        if tip:
            speed = np.linalg.norm(self._dynamics.jacobian(q, tip)[:, :3], axis=1)
            self._reach = float(speed.max()) or 1.0
            values = self._singular_values(q)
            self._last = int((values > RANK * values[:, :1]).sum(axis=1).max()) - 1

    def _singular_values(self, q: Floats) -> Floats:
        J = self._dynamics.jacobian(q, self._tip)
        J[:, :3] /= self._reach
        return np.asarray(np.linalg.svd(J, compute_uv=False))

    def of(self, q: Floats) -> Floats:
        """Return it (B,) in postures (B, n)."""
        return self._singular_values(q)[:, self._last] if self._tip else np.ones(len(q))


def start_posture(
    model: Model, tip: str = "", clear: Callable[[Floats], NDArray[np.bool_]] | None = None
) -> Floats:
    """Return a posture (n,) near the middle of the range that is good to begin in.

    It is easy to hold, clear, and the tip can move in all directions; where no posture is easy to
    hold, it is the easiest, and where none of them is clear, this counts for nothing.
    """
    q = postures(model, COUNT)
    middle, far = q[0], INNER * (q[1:] - q[0])
    q = np.concatenate([middle[None], *(middle + way * far for way in WAYS)])
    load, agility = gravity_load(model, q), Agility(model, tip, q)
    if not (load <= EASY).any():
        return np.asarray(q[int(np.argmin(load))])
    enough = AGILE * agility.of(q[load <= EASY]).max()

    def are_good(q: Floats) -> NDArray[np.bool_]:
        good = np.asarray((gravity_load(model, q) <= EASY) & (agility.of(q) >= enough))
        if clear and good.any():
            good[good] = clear(q[good])
        return good

    good = q[are_good(q)]
    if not len(good):
        return start_posture(model, tip)
    displacement = (good - middle) / np.abs(far).max(axis=0, initial=1e-9)
    best = good[int(np.argmin(np.linalg.norm(displacement, axis=1)))]
    for joint in np.argsort(np.abs(best - middle)):  # what is not needed stays in the middle
        other = best.copy()
        other[joint] = middle[joint]
        best = other if are_good(other[None])[0] else best
    tidy = np.clip(np.round(best, DIGITS), model.lower, model.upper)
    return np.asarray(tidy if are_good(tidy[None])[0] else best)


def gravity_load(model: Model, q: Floats) -> Floats:
    """Return (B,) the largest share of an effort limit that gravity takes in postures (B, n)."""
    return np.asarray((np.abs(Dynamics(model).gravity(q)) / model.effort_limit).max(axis=1))

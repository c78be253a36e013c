"""How well models of growing detail explain the measured torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats

GRAVITY, RIGID, FITTED, WRITTEN = "gravity", "rigid links", "with friction", "as parameters"
KNOWN = "with parameters"  # from a file
CONSTANT = 1e-18  # share of the squares that rounding leaves of a constant torque's variance


@dataclass(frozen=True, eq=False)
class Explanation:
    """A model's torque compared with the measured one.

    Attributes:
        name: The model's, e.g. ``RIGID``.
        effort: (N, n) predicted [N m or N].
        rms: (n,) root mean square of the unexplained torque [N m or N].
        r2: (n,) share of the variance explained, NaN where the measured torque is constant.
    """

    name: str
    effort: Floats
    rms: Floats
    r2: Floats


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

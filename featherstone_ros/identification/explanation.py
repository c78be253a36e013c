"""How well a model explains the measured torque, and from when that accuses a recording.

The few thresholds are shared by all commands. An accusation needs

- a motion that can tell: no model explains a torque better than to ``least_noise``, so that a joint
  whose links are hidden by its friction tells nothing of its gain, its sign or its encoder;
- an improvement that matters: the torque becomes more probable by ``OF_SIZE`` or ``OF_KIND``, and
  what is found is ``CERTAIN`` and larger than anybody would mind;
- no other hypothesis that is nearly as good: a rival within ``OF_SIZE`` leaves it untold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featherstone_ros.arrays import Floats

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
    """Return the RMS that any model leaves of a joint's torque [N m or N].

    ``drive``: RMS of the drive's friction and inertia; shapes as ``links``.
    """
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

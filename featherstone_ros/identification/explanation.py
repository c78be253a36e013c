"""How well models of growing detail explain the measured torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import FittedDrives
from featherstone_ros.model.drives import Drives
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT

if TYPE_CHECKING:
    from featherstone_ros.identification.payload import Payload


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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A recording explained.

    Attributes:
        robot: The model's name.
        source: The recording's name.
        topic: Topic of its joint states.
        joint_names: n names, those of the model that were recorded.
        joint_types: Of each, e.g. "revolute".
        motion: The measured motion, filtered.
        period: Time between two samples [s].
        cut_off: Of the filter [Hz].
        explanations: From the least to the most detailed model.
        friction: The fitted friction, if a fit was requested.
        parameters: The same without negative terms, as the nodes take it.
        notes: What was changed in the recording, in words.
        suspicions: Signs that effort is not joint torque, in words.
        held_out: The most detailed model on the last third of the recording, after any fit to the
            first two thirds; None where that part is too short.
        payload: A load on the last link that would explain most of the rest.
        displacement: Over which Coulomb friction turns round [rad or m].
    """

    robot: str
    source: str
    topic: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    motion: SmoothMotion
    period: float
    cut_off: float
    explanations: tuple[Explanation, ...]
    friction: FittedDrives | None
    parameters: Drives | None
    notes: tuple[str, ...]
    suspicions: tuple[str, ...] = ()
    held_out: Explanation | None = None
    payload: Payload | None = None
    displacement: float = PRESLIDING_DISPLACEMENT

    @property
    def best(self) -> Explanation:
        """The most detailed model."""
        return self.explanations[-1]


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

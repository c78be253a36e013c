"""Joint states of a recording, whatever file they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError

Nanoseconds = NDArray[np.int64]


class BagError(FeatherstoneError):
    """A recording that cannot be used; the message names it and says what is missing."""


class NothingRecordedError(BagError):
    """It can be read, but has no message of the type or topic that is asked for."""


@dataclass(frozen=True, eq=False)
class JointStates:
    """The joint states on one topic that name the same joints in the same order.

    Attributes:
        topic: The topic's name.
        joint_names: n names, in the order of the messages.
        stamp: (N,) header stamps, in order of reception; 0 where not set [ns].
        received: (N,) times of reception [ns].
        position: (N, n) [rad or m], NaN where a message leaves the field empty.
        velocity: (N, n) [rad/s or m/s], likewise.
        effort: (N, n) [N m or N], likewise.
        notes: What was taken for what, in words.
    """

    topic: str
    joint_names: tuple[str, ...]
    stamp: Nanoseconds
    received: Nanoseconds
    position: Floats
    velocity: Floats
    effort: Floats
    notes: tuple[str, ...] = ()

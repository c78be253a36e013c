"""When a recording accuses: the few thresholds that all commands share, and the noise of any model.

An accusation needs

- a motion that can tell: no model explains a torque better than to ``least_noise``, so that a joint
  whose links are hidden by its friction tells nothing of its gain, its sign or its encoder;
- an improvement that matters: the torque becomes more probable by ``SIZE`` or ``KIND``, and what is
  found is ``CERTAIN`` and larger than anybody would mind;
- no other hypothesis that is nearly as good: a rival within ``SIZE`` leaves it untold.
"""

from __future__ import annotations

import numpy as np

from featherstone_ros.arrays import Floats

# By how much the logarithm of the torque's probability must grow for an accusation: of a size,
# which may turn out to be small, and of a kind, which may not; for a second fault twice as much.
SIZE, KIND = 5.0, 12.0
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


def least_noise(links: Floats, drive: Floats) -> Floats:
    """Return the RMS that any model leaves of a joint's torque [N m or N].

    ``drive``: RMS of the drive's friction and inertia; shapes as ``links``.
    """
    return np.hypot(OF_LINKS * links, OF_DRIVE * drive)

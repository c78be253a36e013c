"""One line for a user whose messages cannot be used: what was received, and what was expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.text import plain

MAX_NAMED = 3  # names in a line
LATE = 10.0  # [s] delay of a trajectory's start that causes a warning
DEGREES = np.pi / 180.0
SLACK = 0.5  # [rad] by which a real position may exceed a limit


def unusable_state(names: Sequence[str], position: Sequence[float], model: Model) -> str:
    """Say in one line why joint states are refused, with one message as an example.

    Only what the loop does not say by itself: whether names or units are others; else empty.
    """
    wrong = wrong_names(names, model.joint_names)
    if wrong or len(position) != len(names):
        return wrong
    order = [list(names).index(name) for name in model.joint_names]
    return out_of_range(np.asarray(position, float)[order], model)


def wrong_names(names: Sequence[str], expected: Sequence[str]) -> str:
    """Say what is wrong with the names of a message, empty for nothing."""
    missing = [name for name in expected if name not in names]
    if not missing:
        return ""
    if not len(names):
        return f"no joint is named, expected {name_few(expected)}"
    seen = f"the joints are {name_few(names)}, expected {name_few(expected)}"
    if prefix := prefix_of(names, expected):
        return f"{seen}: the prefix {plain(prefix, 40)!r} is too much"
    if prefix := prefix_of(expected, names):
        return f"{seen}: the prefix {plain(prefix, 40)!r} is missing"
    if len(missing) == len(expected):
        return f"{seen}: none of them"
    return f"{name_few(missing)} missing; {seen}"


def prefix_of(names: Sequence[str], bare: Sequence[str]) -> str:
    """Return the prefix that all bare names have in the other list, empty for none."""
    prefixes = {next((n.removesuffix(b) for n in names if b and n.endswith(b)), "") for b in bare}
    return prefixes.pop() if len(prefixes) == 1 else ""


def out_of_range(q: Floats, model: Model) -> str:
    """Name a position outside the joint's range, and say whether it looks like degrees."""
    outside = (q < model.lower - SLACK) | (q > model.upper + SLACK)
    turning = np.array([kind in ("revolute", "continuous") for kind in model.joint_types])
    if not outside.any():
        return ""
    index = int(np.argmax(outside))
    text = (
        f"position of {model.joint_names[index]} is {q[index]:g}, expected "
        f"{model.lower[index]:g} to {model.upper[index]:g}"
    )
    radians = np.where(turning, q * DEGREES, q)
    fits = (radians >= model.lower - SLACK) & (radians <= model.upper + SLACK)
    return f"{text}: degrees?" if fits.all() and turning[index] else text


def late_start(delay: float, clock: float) -> str:
    """Return a warning if a trajectory begins much later than the clock says, or empty."""
    if not delay > LATE:
        return ""
    return (
        f"the trajectory begins in {delay:.0f} s: its stamp is {clock + delay:.3f} and the time is "
        f"{clock:.3f}; stamp 0 begins at once"
    )


def name_few(names: Sequence[str]) -> str:
    """Return the first few names for a message."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(plain(name, 40) for name in names[:MAX_NAMED]) + more

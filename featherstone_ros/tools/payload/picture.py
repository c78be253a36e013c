"""A payload as a picture: the torque that the bare arm leaves unexplained, and that of the load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros import Dynamics
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import fit as fit_friction
from featherstone_ros.identification.payload import Payload
from featherstone_ros.identification.payload_report import in_short
from featherstone_ros.tools.style import BLUE, GREY, INK, finish, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROW, TITLE, FOOT = 1.2, 1.0, 0.5  # [inch] heights: of a joint, above and below all
POINTS = 2000  # drawn of each curve
BREAK = 0.5  # [s] without samples at which a curve is interrupted


def draw(
    found: Payload,
    arm: Arm,
    motion: SmoothMotion,
    judged: Sequence[int],
    fit_drives: bool,
    path: Path,
) -> None:
    """Write the picture.

    Args:
        found: What hangs on the arm.
        arm: Without it.
        motion: With it, of all joints.
        judged: Indices of the joints whose effort counted.
        fit_drives: The arm's friction is not known: what fits what is left is taken off.
        path: The file.
    """
    left, load = (torque[:, list(judged)] for torque in torques(found, arm, motion))
    if fit_drives:
        own = motion.of(list(judged))
        left = left - fit_friction(own, left - load, physical=True).torque(own)
    n = len(judged)
    height = ROW * n + TITLE + FOOT
    with picture(path) as pyplot:
        figure, axes = pyplot.subplots(
            n, squeeze=False, sharex=True, figsize=(11, height), dpi=100, facecolor="white",
            gridspec_kw={
                "hspace": 0.32, "left": 0.065, "right": 0.988, "top": 1 - TITLE / height,
                "bottom": FOOT / height,
            },
        )  # fmt: skip
        _title(figure, found, height)
        for k, j in enumerate(judged):
            name = arm.model.joint_names[j]
            _draw_joint(axes[k, 0], name, motion.time, left[:, k], load[:, k])
        axes[-1, 0].set_xlabel("time [s]")


def torques(found: Payload, arm: Arm, motion: SmoothMotion) -> tuple[Floats, Floats]:
    """Return what the arm without the load leaves unexplained (N, n), and the load's torque."""
    state = motion.position, motion.velocity, motion.acceleration
    loaded = arm.model.with_payload(found.link, found.mass, found.com, found.inertia)
    load = Dynamics(loaded).rnea(*state) - Dynamics(arm.model).rnea(*state)
    return motion.effort - arm.torque(motion), load


def _title(figure: Figure, found: Payload, height: float) -> None:
    figure.text(
        0.012, 1 - 0.28 / height, in_short(found), fontsize=13, fontweight="bold", color=INK,
        va="center",
    )  # fmt: skip
    legend = (("unexplained without the load [N m, N]", INK, 0.065), ("the load", BLUE, 0.4))
    for text, colour, x in legend:
        y = 1 - 0.62 / height
        figure.text(x, y, text, color=colour, fontsize=10, fontweight="bold", va="center")


def _draw_joint(axes: Axes, name: str, time: Floats, left: Floats, load: Floats) -> None:
    thin = slice(None, None, max(1, len(time) // POINTS))
    breaks = np.diff(time, prepend=time[0]) > BREAK
    t = np.where(breaks, np.nan, time)[thin]
    axes.plot(t, left[thin], color=INK, lw=2.4, alpha=0.35)
    axes.plot(t, load[thin], color=BLUE, lw=1.1)
    axes.set_title(name, loc="left", fontsize=9.5, color=INK, pad=2)
    before, after = (np.sqrt((x**2).mean()) for x in (left, left - load))
    axes.set_title(
        f"RMS  {before:.3g}  →  {after:.3g}", loc="right", fontsize=8.5, color=GREY, pad=2
    )
    finish(axes)

"""A payload as a picture: the torque that the bare arm leaves unexplained, and that of the load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.friction import fit as fit_friction
from featherstone_ros.identification.payload import Payload
from featherstone_ros.identification.payload_report import in_short
from featherstone_ros.tools import panels
from featherstone_ros.tools.style import BLUE, picture

HEAD = 1.0  # [inch] height above all panels


def draw(
    found: Payload,
    model: Model,
    motion: SmoothMotion,
    left: Floats,
    judged: Sequence[int],
    fit_drives: bool,
    path: Path,
) -> None:
    """Write the picture.

    Args:
        found: What hangs on the arm.
        model: Of the arm without it.
        motion: With it, of all joints.
        left: (N, n) torque that the bare arm leaves unexplained.
        judged: Indices of the joints whose effort counted.
        fit_drives: The arm's friction is not known: what fits what is left is taken off.
        path: The file.
    """
    carrying = model.with_payload(found.link, found.mass, found.com, found.inertia)
    load = Dynamics(carrying).rnea(*motion.state) - Dynamics(model).rnea(*motion.state)
    left, load = left[:, list(judged)], load[:, list(judged)]
    if fit_drives:
        own = motion.of(list(judged))
        left = left - fit_friction(own, left - load, physical=True).torque(own)
    n = len(judged)
    height = panels.ROW * n + HEAD + panels.FOOT
    with picture(path) as pyplot:
        figure, axes = pyplot.subplots(
            n, squeeze=False, sharex=True, figsize=(11, height), dpi=100, facecolor="white",
            gridspec_kw={
                "hspace": 0.42, "left": 0.065, "right": 0.988, "top": 1 - HEAD / height,
                "bottom": panels.FOOT / height,
            },
        )  # fmt: skip
        panels.write_title(figure, in_short(found), size=13)
        legend = [("unexplained without the load [N m, N]", panels.MEASURED), ("the load", BLUE)]
        panels.write_legend(figure, legend, panels.SUBTITLE)
        for k, j in enumerate(judged):
            without, loaded = left[:, k], load[:, k]
            before, after = (np.sqrt((x**2).mean()) for x in (without, without - loaded))
            curves, score = (
                [(without, panels.MEASURED), (loaded, BLUE)],
                f"RMS  {before:.3g}  →  {after:.3g}",
            )
            panels.draw_over_time(axes[k, 0], motion.time, curves, model.joint_names[j], score)
        axes[-1, 0].set_xlabel("time [s]")

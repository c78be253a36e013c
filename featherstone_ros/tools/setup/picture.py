"""The check as a picture: the arm in motion, errors, torques."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.tools import panels
from featherstone_ros.tools.proposal import Proposal
from featherstone_ros.tools.style import BLUE, FAINT, PANELS_STYLE, RED, picture, short_names
from featherstone_ros.tools.trial_drive import Drive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_ERROR = 1e-3  # [mrad] that is drawn


def draw(proposal: Proposal, drives: list[Drive], path: Path) -> None:
    """Write the picture."""
    model, timing, first = proposal.model, proposal.loop.timing, drives[0]
    names = short_names(model.joint_names)
    with picture(path, 128, PANELS_STYLE) as pyplot:
        figure = pyplot.figure(figsize=(12, 6.2), dpi=130, facecolor="white")
        low, gap = (0.2, 0.9) if panels.are_too_long(names) else (0.09, 0.42)
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1, 1.9), left=0.02, right=0.985, top=0.84, bottom=low, hspace=gap,
            wspace=0.14,
        )  # fmt: skip
        panels.write_title(
            figure,
            f"{model.name}: the first motion, simulated",
            f"All {model.n} joints at once, by the gains of the parameter file; a command every "
            f"{1e3 * timing.period:g} ms, which acts {1e3 * timing.delay:g} ms late.",
        )
        reached = first.record.q
        lines = panels.seen_from(panels.segments(model, reached[:: max(1, len(reached) // 50)]))
        panels.draw_arm(figure.add_subplot(grid[:, 0]), lines)
        errors = [
            (
                f"links {100 * drive.excess:g} % heavier" if drive.excess else "as the URDF says",
                np.maximum(1e3 * drive.peak, MIN_ERROR),
                colour,
            )
            for drive, colour in zip(drives, (BLUE, RED), strict=True)
        ]
        axes = figure.add_subplot(grid[0, 1])
        unit = "mrad or mm" if "prismatic" in model.joint_types else "mrad"
        axes.set_title(f"Largest tracking error [{unit}]")
        panels.draw_errors(axes, names, errors, lambda error: f"{error:.2g}")
        _draw_torques(figure.add_subplot(grid[1, 1]), proposal, first)
        panels.name_joints(figure.axes[-1], names)


def _draw_torques(axes: Axes, proposal: Proposal, drive: Drive) -> None:
    share = 100 * drive.record.command / proposal.model.effort_limit
    low, high = np.fmin.reduce(share, initial=0.0), np.fmax.reduce(share, initial=0.0)
    axes.axhspan(-100, 100, color=FAINT, alpha=0.5, lw=0)
    axes.bar(range(proposal.model.n), high - low, 0.5, bottom=low, color=BLUE)
    axes.set_ylim(-112, 112)
    axes.set_title("Torque, minimum to maximum [% of limit]")

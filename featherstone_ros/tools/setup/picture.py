"""The check as a picture: the arm in motion, errors, torques."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featherstone_ros.tools.demo.report import short_names
from featherstone_ros.tools.demo.skeleton import seen_from, segments
from featherstone_ros.tools.setup.proposal import Proposal
from featherstone_ros.tools.setup.trial_drive import Drive
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, PANELS_STYLE, RED, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 1e-3  # [mrad] at which the axis of errors begins at the latest
WIDTH = 84  # letters of joints' names that fit side by side
MANY = 9  # joints whose errors' figures do


def draw(proposal: Proposal, drives: list[Drive], path: Path) -> None:
    """Write the picture."""
    timing = proposal.loop.timing
    with picture(path, 128, PANELS_STYLE) as pyplot:
        figure = pyplot.figure(figsize=(12, 6.2), dpi=130, facecolor="white")
        low, gap = (0.2, 0.9) if _turned(proposal) else (0.09, 0.42)
        grid = figure.add_gridspec(
            2, 2, width_ratios=(1, 1.9), left=0.02, right=0.985, top=0.84, bottom=low, hspace=gap,
            wspace=0.14,
        )  # fmt: skip
        figure.text(
            0.02, 0.945, f"{proposal.model.name}: the first motion, simulated",
            fontsize=17, fontweight="bold", color=INK, va="center",
        )  # fmt: skip
        figure.text(
            0.02, 0.897,
            f"All {proposal.model.n} joints at once, by the gains of the parameter file; a command "
            f"every {1e3 * timing.period:g} ms, which acts {1e3 * timing.delay:g} ms late.",
            fontsize=10, color=GREY, va="center",
        )  # fmt: skip
        _arm(figure.add_subplot(grid[:, 0]), proposal, drives[0])
        _errors(figure.add_subplot(grid[0, 1]), proposal, drives)
        _torques(figure.add_subplot(grid[1, 1]), proposal, drives[0])


def _arm(axes: Axes, proposal: Proposal, drive: Drive) -> None:
    """Draw the arm at several instants, the earliest faintest."""
    moments = np.linspace(0, len(drive.desired) - 1, 6).astype(int)
    reached = (drive.desired - drive.error)[moments] if len(drive.desired) else proposal.start[None]
    lines = seen_from(segments(proposal.model, reached))
    for posture, strength in zip(lines, np.linspace(0.15, 1.0, len(lines)), strict=True):
        for x, y in posture.transpose(0, 2, 1):
            axes.plot(
                x, y, color=BLUE, alpha=strength, lw=4, solid_capstyle="round", zorder=strength
            )
    x, y = lines[-1].reshape(-1, 2).T
    axes.plot(x, y, "o", ms=3.5, mfc="white", mec=BLUE, zorder=2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()


def _errors(axes: Axes, proposal: Proposal, drives: list[Drive]) -> None:
    n, width = proposal.model.n, 0.8 / len(drives)
    peaks = [np.maximum(1e3 * drive.peak, LEAST) for drive in drives]  # NaN: no bar
    floor = 10.0 ** np.floor(np.log10(np.nanmin(peaks) * 0.7))
    for k, (drive, peak, colour) in enumerate(zip(drives, peaks, (BLUE, RED), strict=True)):
        x = np.arange(n) + (k - (len(drives) - 1) / 2) * width
        label = (
            f"links {100 * drive.excess:g} % heavier" if drive.excess else "arm as the URDF says"
        )
        axes.bar(x, peak - floor, width * 0.92, bottom=floor, color=colour, label=label)
        if n <= MANY:
            for xi, h in zip(x, peak, strict=True):
                if np.isnan(h):
                    continue
                axes.text(xi, h * 1.1, f"{h:.2g}", ha="center", fontsize=8, color=INK)
    axes.set_yscale("log")
    axes.set_ylim(floor, 6 * np.nanmax(peaks))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    unit = "mrad or mm" if "prismatic" in proposal.model.joint_types else "mrad"
    axes.set_title(f"Largest tracking error [{unit}]")
    _name_joints(axes, proposal)
    axes.legend(ncols=2, frameon=False, loc="upper right", bbox_to_anchor=(1.0, 1.19), fontsize=9)


def _torques(axes: Axes, proposal: Proposal, drive: Drive) -> None:
    limit = proposal.model.effort_limit
    n = proposal.model.n
    least, most = drive.effort.min(axis=0, initial=0.0), drive.effort.max(axis=0, initial=0.0)
    low, high = 100 * least / limit, 100 * most / limit
    axes.axhspan(-100, 100, color=FAINT, alpha=0.5, lw=0)
    axes.bar(range(n), high - low, 0.5, bottom=low, color=BLUE)
    axes.set_ylim(-112, 112)
    axes.set_title("Torque, least to greatest [% of limit]")
    _name_joints(axes, proposal)


def _name_joints(axes: Axes, proposal: Proposal) -> None:
    n = proposal.model.n
    axes.set_xlim(-0.6, n - 0.4)
    style: dict[str, Any] = (
        {"rotation": 90, "fontsize": max(3.5, 8 - n / 20)} if _turned(proposal) else {}
    )
    axes.set_xticks(range(n), short_names(proposal.model.joint_names), color=INK, **style)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _turned(proposal: Proposal) -> bool:
    """Return whether the joints' names are too long to stand side by side."""
    names = short_names(proposal.model.joint_names)
    return len(names) * (1 + max(map(len, names))) > WIDTH

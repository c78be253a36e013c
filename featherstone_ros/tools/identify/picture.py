"""An identification as a picture: torque held out, friction over speed, parameters with bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.session import Identification
from featherstone_ros.tools import panels, study
from featherstone_ros.tools.study import r2_text
from featherstone_ros.tools.style import BLUE, FAINT, GREY, INK, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 8  # [point] of a parameter's name
LETTER = 0.068  # [inch] of such a name
LINE = 0.155  # [inch] height of a parameter's row
LEAST = 5.0  # [inch] of all rows
FAR = 3.0  # [times 30 %] where bars are cut off


def draw(
    found: Identification,
    motion: SmoothMotion,
    held_out: Explanation,
    before: Explanation,
    path: Path,
) -> None:
    """Write the picture."""
    drives = found.arm.drives.of_joints(found.judged)
    own = drives.friction_torque(motion.velocity, motion.sliding) + drives.offset
    names = _names(found)
    study.draw(
        path,
        f"{found.model.name}: torque that was not fitted [N m, N]",
        motion,
        found.joint_names,
        [
            ("measured", panels.MEASURED, motion.effort),
            ("URDF with friction", YELLOW, before.effort),
            ("identified", BLUE, held_out.effort),
        ],
        lambda j: f"R²  {r2_text(before.r2[j])}  →  {r2_text(held_out.r2[j])}",
        friction=(
            "Friction [N m, N] over velocity",
            motion.effort - held_out.effort + own,  # what links and the drives' inertia leave
            drives,
        ),
        beside=study.Beside(
            "Base parameters: data ± 2 σ; written: |",
            max(LEAST, LINE * len(names)),
            LETTER * max(map(len, names), default=0) + 0.2,
            lambda axes: _draw_parameters(axes, found),
        ),
    )


def _links(found: Identification) -> NDArray[np.bool_]:
    """Return which parameters are those of links, and have a scale."""
    e = found.estimate
    return np.isfinite(e.urdf) & np.isfinite(e.scale) & (e.scale > 0)


def _names(found: Identification) -> list[str]:
    names = zip(found.estimate.names, _links(found), strict=True)
    return [name.split(" ")[0] for name, is_links in names if is_links]


def _draw_parameters(axes: Axes, found: Identification) -> None:
    """Draw the links' base parameters minus the URDF's, in units of its assumed error."""
    e = found.estimate
    links = _links(found)
    rows = np.arange(links.sum())
    value = ((e.value - e.urdf) / e.scale)[links]
    bars = np.minimum(2 * (e.deviation / e.scale)[links], 3 * FAR)
    fitted = ((e.fitted - e.urdf) / e.scale)[links]
    colours = [BLUE if known else FAINT for known in e.identified[links]]
    axes.hlines(rows, value - bars, value + bars, color=colours, lw=1.6)
    axes.scatter(value, rows, s=9, color=[BLUE if k else GREY for k in e.identified[links]])
    axes.plot(fitted, rows, "|", color=INK, ms=6)
    axes.axvline(0, color=GREY, lw=0.7)
    axes.set_yticks(rows, _names(found), fontsize=SMALL, color=INK)
    axes.yaxis.tick_right()
    axes.set_xlim(-FAR, FAR)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("off the URDF, in units of 30 %")
    axes.spines["left"].set_visible(False)

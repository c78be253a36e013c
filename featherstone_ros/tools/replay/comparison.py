"""What an arm did, beside what it was taught: in a line, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.tools import panels
from featherstone_ros.tools.motion_client import Sample
from featherstone_ros.tools.style import BLUE, RED, milli, picture
from featherstone_ros.tools.trajectory_check import started, trajectory_of
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

HEAD = 1.2  # [inch] height above all panels
MIN_SPAN = 0.01  # [rad or m] that a panel of positions spans


class Replayed:
    """Joint states along trajectories.

    Attributes:
        arm: That followed them.
    """

    def __init__(self, arm: ControlledArm) -> None:
        """Begin without any."""
        self.arm = arm
        self._parts: list[tuple[Floats, Floats, Floats, Floats]] = []

    def add(self, part: UncheckedTrajectory, samples: Sequence[Sample], start: float) -> None:
        """Add one trajectory. ``start``: when it began [s]."""
        time, position, effort = map(np.array, zip(*samples, strict=True))
        taught = started(trajectory_of(part, self.arm)).sample(time - start)[0]
        taught = taught - self.arm.limits.turns(taught[0] - position[0])
        self._parts.append((time, taught, position, effort))

    @property
    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Time from the first start (N,), taught and replayed position, and effort (N, n)."""
        time, *others = map(np.concatenate, zip(*self._parts, strict=True))
        return time - time[0], *others


def in_short(replayed: Replayed) -> str:
    """Return in a line how well it was followed."""
    time, taught, position, _ = replayed.columns
    limits, off = replayed.arm.limits, np.abs(position - taught)
    rms = np.sqrt((off**2).mean(axis=0))
    joint = int(rms.argmax())
    unit = f"m{limits.unit(joint, 'position')}"
    furthest = off[:, joint].max()
    return (
        f"replayed in {time[-1]:.1f} s; joint {limits.names[joint]!r} is furthest from what was "
        f"taught: RMS {milli(rms[joint])} {unit}, at most {milli(furthest)} {unit}"
    )


def draw(replayed: Replayed, path: Path) -> None:
    """Write the picture: position, difference and torque of every joint over time."""
    time, taught, position, effort = replayed.columns
    names = replayed.arm.limits.names
    n = len(names)
    height = panels.ROW * n + HEAD + panels.FOOT
    with picture(path) as pyplot:
        figure, axes = pyplot.subplots(
            n, 3, squeeze=False, sharex=True, figsize=(11, height), dpi=100, facecolor="white",
            gridspec_kw={
                "hspace": 0.42, "wspace": 0.16, "left": 0.05, "right": 0.988,
                "top": 1 - HEAD / height, "bottom": panels.FOOT / height,
            },
        )  # fmt: skip
        panels.write_title(figure, f"{replayed.arm.model.name}: {in_short(replayed)}", size=11)
        legend = [("taught", panels.MEASURED), ("replayed", BLUE)]
        panels.write_legend(figure, legend, panels.SUBTITLE)
        headings = "position [rad, m]", "replayed - taught [mrad, mm]", "effort [N m, N]"
        for axis, heading in zip(axes[0], headings, strict=True):
            panels.write_heading(figure, axis, heading, panels.LEGEND)
        differences = 1e3 * (position - taught)
        bound = 1.1 * max(np.abs(differences).max(), 0.1)
        for j, row in enumerate(axes):
            difference, torque = differences[:, j], effort[:, j]
            rms, peak = np.sqrt((difference**2).mean()), np.abs(torque).max()
            curves = [(taught[:, j], panels.MEASURED), (position[:, j], BLUE)]
            panels.draw_over_time(row[0], time, curves, names[j], "")
            panels.draw_over_time(
                row[1], time, [(difference, RED)], "", f"RMS  {round(rms, 3):.2g}"
            )
            panels.draw_over_time(row[2], time, [(torque, BLUE)], "", f"at most  {peak:.3g}")
            row[1].set_ylim(-bound, bound)
            middle = (taught[:, j].min() + taught[:, j].max()) / 2.0
            low, high = row[0].get_ylim()
            row[0].set_ylim(min(low, middle - MIN_SPAN / 2.0), max(high, middle + MIN_SPAN / 2.0))
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")

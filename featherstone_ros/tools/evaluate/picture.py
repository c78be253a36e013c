"""The result as a picture: torque over time, and the torque that links leave, over speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.explanation import (
    FITTED,
    KNOWN,
    RIGID,
    Evaluation,
    Explanation,
)
from featherstone_ros.model.friction import friction_torque
from featherstone_ros.tools.evaluate.report import conditions, r2_text, torque_unit
from featherstone_ros.tools.style import BLUE, GREY, INK, YELLOW, finish, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = {RIGID: YELLOW, FITTED: BLUE, KNOWN: BLUE}
ROW, TITLE, FOOT = 1.2, 1.3, 0.5  # [inch] heights: of a joint, above and below all
POINTS = 2000  # drawn of each curve


def draw(evaluation: Evaluation, path: Path) -> None:
    """Write the picture."""
    n = len(evaluation.joint_names)
    height = ROW * n + TITLE + FOOT
    with picture(path) as pyplot:
        figure, axes = pyplot.subplots(
            n, 2, squeeze=False, figsize=(12, height), dpi=110, facecolor="white",
            gridspec_kw={
                "width_ratios": (2.6, 1), "wspace": 0.13, "hspace": 0.32, "left": 0.065,
                "right": 0.988, "top": 1 - TITLE / height, "bottom": FOOT / height,
            },
        )  # fmt: skip
        _title(figure, evaluation, height)
        for joint, (over_time, over_speed) in enumerate(axes):
            _draw_torque(over_time, evaluation, joint)
            _draw_friction(over_speed, evaluation, joint)
        axes[-1, 0].set_xlabel("time [s]")
        linear = "prismatic" in evaluation.joint_types
        axes[-1, 1].set_xlabel("velocity [rad/s, m/s]" if linear else "velocity [rad/s]")
        figure.align_ylabels(axes[:, 0])


def _title(figure: Figure, evaluation: Evaluation, height: float) -> None:
    left, unit = 0.012, torque_unit(evaluation)
    figure.text(
        left, 1 - 0.28 / height, f"{evaluation.robot}: torque measured and predicted [{unit}]",
        fontsize=16, fontweight="bold", color=INK, va="center",
    )  # fmt: skip
    figure.text(
        left, 1 - 0.6 / height, f"{evaluation.source}: {conditions(evaluation)}",
        fontsize=10, color=GREY, va="center",
    )  # fmt: skip
    x = 0.065
    legend = [("measured", INK), *((e.name, COLOURS[e.name]) for e in _shown(evaluation))]
    for text, colour in legend:
        figure.text(
            x, 1 - 0.93 / height, text, color=colour, fontsize=10, fontweight="bold", va="center"
        )
        x += 0.0078 * len(text) + 0.012
    figure.text(
        0.741, 1 - 0.93 / height, "measured minus rigid links, over velocity", color=GREY,
        fontsize=10, va="center",
    )  # fmt: skip


def _shown(evaluation: Evaluation) -> list[Explanation]:
    return [e for e in evaluation.explanations if e.name in COLOURS]


def _draw_torque(axes: Axes, evaluation: Evaluation, joint: int) -> None:
    motion = evaluation.motion
    thin = slice(None, None, max(1, len(motion.time) // POINTS))
    breaks = np.diff(motion.time, prepend=motion.time[0]) > 1.5 * evaluation.period

    def curve(values: Floats) -> Floats:
        return np.where(breaks, np.nan, values[:, joint])[thin]

    time = motion.time[thin]
    axes.plot(time, curve(motion.effort), color=INK, lw=2.6, alpha=0.35)
    for explanation in _shown(evaluation):
        axes.plot(time, curve(explanation.effort), color=COLOURS[explanation.name], lw=1.1)
    scores = "  →  ".join(r2_text(e.r2[joint]) for e in _shown(evaluation))
    axes.set_title(f"R²  {scores}", loc="right", fontsize=8.5, color=GREY, pad=2)
    axes.set_title(evaluation.joint_names[joint], loc="left", fontsize=9.5, color=INK, pad=2)
    axes.set_xlim(motion.time[0], motion.time[-1])
    axes.tick_params(labelbottom=joint == len(evaluation.joint_names) - 1)
    finish(axes)


def _draw_friction(axes: Axes, evaluation: Evaluation, joint: int) -> None:
    motion, rigid = evaluation.motion, _shown(evaluation)[0]
    thin = slice(None, None, max(1, len(motion.time) // POINTS))
    velocity = motion.velocity[:, joint]
    residual = (motion.effort - rigid.effort)[:, joint]
    axes.plot(velocity[thin], residual[thin], ".", color=GREY, ms=2.2, alpha=0.6, mew=0)
    friction = evaluation.friction
    if friction is not None:
        v = np.linspace(velocity.min(), velocity.max(), 400)
        fitted = friction_torque(v, friction.viscous[joint], friction.coulomb[joint])
        axes.plot(v, fitted + friction.offset[joint], color=BLUE, lw=1.6)
    finish(axes)
